"""Marks of judged queries, so that a saved model is known on the judgements that taught it."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from paretocut.lists import RankedLists
from paretocut.schema.kinds import Items, Whole

_KEPT = 256  # marks of a model: the smallest ones, so that equal queries keep equal marks
_BYTES = 6  # of a mark, which is then a whole number that every reader of JSON can hold

MARKS = Items(Whole(0, 256**_BYTES - 1))
"""The marks in a file."""


def marks(lists: RankedLists) -> frozenset[int]:
    """Return one number for each query with a relevant result: of its name and those results."""
    if lists.relevance is None:
        return frozenset()
    names = lists.scores if lists.doc_ids is None else lists.doc_ids
    relevant = lists.is_relevant(lists.relevance.values)
    hits, ends = names.values[relevant].tolist(), np.cumsum(lists.relevance.count(relevant))
    found, start = set(), 0
    for query, end in zip(lists.query_ids.tolist(), ends.tolist(), strict=True):
        if end > start:
            text = "\0".join([query, *sorted(map(str, hits[start:end]))])
            digest = blake2b(text.encode(errors="surrogatepass"), digest_size=_BYTES).digest()
            found.add(int.from_bytes(digest))
        start = end
    return frozenset(found)


def kept_marks(lists: RankedLists) -> list[int]:
    """Return the marks that a model keeps of the lists it learned from."""
    return sorted(marks(lists))[:_KEPT]
