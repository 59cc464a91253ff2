"""The origin of a gate: the search, its scores, the index."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from paretocut.background.law import score_at
from paretocut.lists import FloatArray, Ragged
from paretocut.schema.files import register
from paretocut.schema.kinds import Either, Items, Kind, Real, Text, Whole, checked

_STATE: dict[str, Kind] = {
    "search": Either(Text()),
    "scores": Items(Real(), size=2),
    "middles": Items(Real(), size=2),
    "depth": Whole(1),
    "size": Either(Whole(1)),
    "own_words": Either(Whole(1)),
    "script": Either(Text()),
    "date": Text(),
    "version": Text(),
    "passages": Either(Items(Whole(0), size=2)),
}


@dataclass(frozen=True)
class Origin:
    """The search that a gate was made for.

    Attributes
    ----------
    scores
        Lowest and highest score at any rank, higher is better.
    middles
        Lowest and highest score in the middle of a list.
    depth
        Largest number of results of a query.
    date, version
        Day of the calibration, and version of paretocut.
    search
        Name of the search. This and everything below is None if only lists were given.
    size
        Number of documents in the index, as far as known.
    own_words
        How many of the eight words of each nonsense query came from the index.
    script
        Script of the texts: "latin", "cjk", "thai", ...
    passages
        How many passages got results, and how many were tested; no nonsense was made from their
        texts.
    """

    scores: tuple[float, float]
    middles: tuple[float, float]
    depth: int
    date: str
    version: str
    search: str | None = None
    size: int | None = None
    own_words: int | None = None
    script: str | None = None
    passages: tuple[int, int] | None = None

    @classmethod
    def of(cls, merits: Iterable[Ragged], **about: Any) -> Origin:
        """Return the origin of these lists, dated today; ``about`` has the other attributes."""
        filled = [merit for merit in merits if merit.values.size]
        values = np.concatenate([merit.values for merit in filled])
        middle = np.concatenate([middles(merit)[merit.filled] for merit in filled])
        depth = max(int(merit.lengths.max()) for merit in filled)
        today = time.strftime("%Y-%m-%d")
        return cls(_ends(values), _ends(middle), depth, today, version("paretocut"), **about)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Origin:
        known: dict[str, Any] = checked(_STATE, content)
        for name in ("scores", "middles", "passages"):
            known[name] = known[name] and tuple(known[name])
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def middles(merit: Ragged) -> FloatArray:
    """Return the score in the middle of each list, 0 of an empty one."""
    return score_at(merit, (merit.lengths + 1) // 2)


def _ends(values: FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


register("origin", Origin, Origin.to_dict, Origin.from_dict)
