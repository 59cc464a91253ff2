"""Why a truncator decided so, and from which queries it learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.cuts import Tails
from paretocut.decisions.wording import ordinal
from paretocut.lists import FloatArray, Ragged, RankedLists
from paretocut.schema.kinds import Items, Whole

KEPT = 256  # marks of a model: the smallest ones, so that equal queries keep equal marks
_BYTES = 6  # of a mark, which is then a whole number that every reader of JSON can hold
MARKS = Items(Whole(0, 256**_BYTES - 1))


@dataclass(frozen=True)
class Clause:
    """The same clause for every list, one for each, or a function of list and number kept."""

    text: str | Sequence[str] | Callable[[int, int], str]
    tails: Tails | None = None
    chance: FloatArray | None = None

    def because(self, i: int, k: int) -> str:
        if callable(self.text):
            return self.text(i, k)
        return self.text if isinstance(self.text, str) else self.text[i]


class Taught(NamedTuple):
    """How many queries something was learned from, and whether they were judged, if known."""

    queries: int
    judged: bool | None = True

    @property
    def source(self) -> str:
        """The queries, in words: "30 judged queries"."""
        kind = "" if self.judged is None else "judged " if self.judged else "unjudged "
        return f"{self.queries} {kind}{'query' if self.queries == 1 else 'queries'}"

    def __str__(self) -> str:
        return f"learned from {self.source}"


@dataclass(frozen=True)
class AgainstLimit:
    """One number for each result, and the limit it was compared with.

    ``what`` names the number ("score", "surprise"), ``source`` says where the limit comes from,
    and ``falling`` is False for distances.
    """

    keys: Ragged
    limits: ArrayLike
    what: str
    source: Taught | str = ""
    falling: bool = True
    tails: Tails | None = None

    def because(self, i: int, k: int) -> str:
        values = self.keys[i]
        limit = float(np.broadcast_to(self.limits, (len(self.keys),))[i])
        left_out, kept = ("below", "at or above") if self.falling else ("above", "at or below")
        # Speak of the first result left out, or of the last one kept if none is.
        last = min(k, values.size - 1)
        name = "the best" if k == 0 else f"the {ordinal(last + 1)}"
        side = left_out if k < values.size else kept
        source = f", {self.source}" if self.source else ""
        return f"{name} has {self.what} {values[last]:.3g}, {side} {limit:.3g}{source}"


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
