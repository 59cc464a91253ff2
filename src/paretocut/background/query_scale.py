"""The scale of lexical scores: the weight of the words of each query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray
from paretocut.schema.files import register
from paretocut.schema.kinds import Made, Whole, checked
from paretocut.schema.parameters import shown

# Scripts that put no space between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0002ffff"
)
# Accents and Indian vowel signs belong to a word, but are no letters to Python.
_WORD = re.compile(
    rf"([{UNSPACED}]+)|(?:(?![{UNSPACED}])[\w\u0300-\u036f\u0900-\u0963\u0966-\u0dff])+"
)
_POWER = 0.75


def words(text: str) -> set[str]:
    """Return the different words of a text; without spaces, every two characters are one."""
    found: set[str] = set()
    for match in _WORD.finditer(text.lower()):
        run = match[0]
        ends = range(max(len(run) - 1, 1)) if match[1] else ()
        found.update([run[i : i + 2] for i in ends] or [run])
    return found


def texts_of(given: Any, who: str, wanted: str = "texts must be a list of strings") -> list[str]:
    """Return the given texts as a list, or refuse anything else."""
    many = not isinstance(given, (str, bytes)) and np.iterable(given)
    found: list[Any] = list(given) if many else [given]
    strange = [text for text in found if not (many and isinstance(text, str))]
    if strange:
        raise InvalidParameterError(f"{wanted}, got {shown(strange[0]):.60}", who=who)
    return found


def frequencies(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Return in how many texts each word occurs, and how many texts there are."""
    given = texts_of(texts, "nonsense")
    return Counter(word for text in given for word in words(text)), len(given)


@dataclass(frozen=True)
class QueryScale:
    """Divisors of lexical scores, which make long and short queries comparable.

    A BM25 score grows with every word that matches. The scale of a query is the sum of the
    inverse document frequencies of its words, to the power 0.75. Unknown words count as the rarest.
    ``counts`` has the number of texts that contain each word, unless it is 1, of ``size`` texts.

    Examples
    --------
    >>> scale = QueryScale.from_texts(["the cat sat", "the dog ran", "the sun", "a cat"])
    >>> scale(["the cat", "the purple cat"]).round(2)
    array([1.04, 2.48])
    """

    counts: Mapping[str, int]
    size: int

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> QueryScale:
        """Return the scale of an index, from a few hundred of its ``texts`` or more."""
        counts, size = frequencies(texts)
        if size == 0:
            raise InvalidParameterError("QueryScale: texts must hold at least one text, got none")
        return cls({word: count for word, count in sorted(counts.items()) if count > 1}, size)

    def __call__(self, queries: Sequence[str]) -> FloatArray:
        """Return the scale of each of the ``queries``, given by text; 1 for one without a word."""
        scales = []
        for query in texts_of(queries, "QueryScale", "queries must be a list of texts"):
            counts = np.array([self.counts.get(word, 0) for word in words(query)], dtype=np.float64)
            mass = float(np.log1p((self.size - counts + 0.5) / (counts + 0.5)).sum())
            scales.append(mass**_POWER or 1.0)
        return np.array(scales)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> QueryScale:
        known = checked({"size": Whole(1), "counts": Made(dict)}, content)
        checked(dict.fromkeys(known["counts"], Whole(1, known["size"])), known["counts"])
        return cls(**known)


register("query_scale", QueryScale, asdict, QueryScale.from_dict)
