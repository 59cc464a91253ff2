"""What a gate has seen: the range of scores, its origin, and whether lists still look alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paretocut.decisions import WARNINGS
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists
from paretocut.schema.files import register
from paretocut.schema.kinds import Either, Items, Kind, Real, Text, Whole, checked

# How far scores may lie outside of what was seen, in ranges of all scores: the middle of a list (or
# as far as middles differed), and the best.
_NEAR, _FAR = 0.25, 3.0
# A whole list has so many results, and so much of the depth that was seen.
_FEWEST, _WHOLE = 10, 0.5
_SEEN: dict[str, Kind] = {
    "scores": Items(Real(), size=2),
    "middles": Items(Real(), size=2),
    "depth": Whole(1),
}
_ORIGIN: dict[str, Kind] = {
    "date": Text(),
    "version": Text(),
    "search": Either(Text()),
    "size": Either(Whole(1)),
    "own_words": Either(Whole(1)),
    "queries": Either(Whole(1)),
    "doubts": Items(Text(tuple(WARNINGS))),
}
_FIRST = 100  # results of a list that are compared; deeper ones add nothing
_SURE, _CLEAR = 0.01, 0.2


@dataclass(frozen=True)
class Seen:
    """The lowest and highest scores that a background was fitted on, higher is better."""

    scores: tuple[float, float]  # at any rank
    middles: tuple[float, float]  # in the middle of a list
    depth: int  # largest number of results of a query; 1 if only best scores were given

    @classmethod
    def of(cls, merits: Iterable[Ragged]) -> Seen:
        """Return the range of the scores of ``merits``, best first, not all empty."""
        filled = [merit for merit in merits if merit.values.size]
        values = [merit.values for merit in filled]
        middle = [score_at(own, (own.lengths + 1) // 2)[own.filled] for own in filled]
        parts = (np.concatenate(part) for part in (values, middle))
        scores, middles = ((float(part.min()), float(part.max())) for part in parts)
        return cls(scores, middles, max(int(merit.lengths.max()) for merit in filled))

    def strange(self, merit: Ragged, gate: float) -> BoolArray:
        """Return which of the lists ``merit`` have scores of another kind.

        The best is below everything seen, or far above it. Or, in a whole list, the middle is far
        from where it was, or even the last result reaches the ``gate``.
        """
        (low, high), (least, most) = self.scores, self.middles
        best, last = merit.ends()
        wide = high - low
        deep = self.depth >= _FEWEST
        if not deep:  # the lowest of a few best scores is not the lowest there is
            low -= wide
        middle = score_at(merit, (merit.lengths + 1) // 2)
        room = max(most - least, _NEAR * wide)
        elsewhere = (middle < least - room) | (middle > most + room) | (last > gate)
        whole = deep & (merit.lengths >= max(_FEWEST, _WHOLE * self.depth))
        beyond = (best < low) | (best > high + _FAR * wide)
        return np.asarray(merit.filled & (beyond | (whole & elsewhere)))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Seen:
        known: dict[str, Any] = checked(_SEEN, content)
        return cls(tuple(known["scores"]), tuple(known["middles"]), known["depth"])


def score_at(merit: Ragged, rank: int | IntArray) -> FloatArray:
    """Return the score at a rank, the last one of a shorter list, 0 of an empty one."""
    filled = merit.filled
    values = np.zeros(len(merit))
    place = merit.offsets[:-1] + np.minimum(rank, merit.lengths) - 1
    values[filled] = merit.values[place[filled]]
    return values


def seen_range(tops: FloatArray) -> FloatArray:
    return np.array([tops.min(), tops.max()])


def far_outside(tops: FloatArray, seen: FloatArray) -> BoolArray:
    """Return which best scores lie further outside a range than it is wide."""
    low, high = 0.5 * seen  # halves do not overflow
    width = high - low
    return np.asarray((0.5 * tops < low - width) | (0.5 * tops > high + width))


@dataclass(frozen=True)
class Origin:
    """The search that a gate was made for.

    Attributes
    ----------
    date, version
        Day of the calibration, and version of paretocut.
    search, size, own_words
        Name of the search, documents in the index as far as known, and how many of the eight words
        of each nonsense query came from it. None if only lists were given.
    queries
        Number of unjudged queries that were given; None if there were none.
    doubts
        Names of `paretocut.decisions.WARNINGS` that hold for every decision of the gate.
    """

    date: str
    version: str
    search: str | None = None
    size: int | None = None
    own_words: int | None = None
    queries: int | None = None
    doubts: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Origin:
        known: dict[str, Any] = checked(_ORIGIN, content)
        known["doubts"] = tuple(known["doubts"])
        return cls(**known)


register("origin", Origin, asdict, Origin.from_dict)


@dataclass(frozen=True)
class Drift:
    """Whether lists still look as they did at calibration.

    Attributes
    ----------
    verdict, text, lists
        ``"same"``, ``"changed"`` or ``"unsure"`` (too few lists), a sentence, and how many lists.
    pvalue
        Probability of a difference this large if nothing has changed, over all tests.
    distance
        Largest difference between the cumulative shares, by name of the statistic: best score, gap
        to the second result, results in the upper half (`paretocut.truncators.Accept` has others).
    """

    verdict: str
    text: str
    pvalue: float
    distance: Mapping[str, float]
    lists: int

    def __str__(self) -> str:
        return self.text


def compare(
    old: FloatArray,
    new: FloatArray,
    *,
    names: Sequence[str] = ("best score", "gap", "upper half"),
    remedy: str = "Calibrate again.",
) -> Drift:
    """Return whether new lists differ from old ones, each given by a row, such as `shapes_of`."""
    # One two-sample test (Kolmogorov and Smirnov) per column, corrected for their number.
    distance = {name: _distance(old[:, i], new[:, i]) for i, name in enumerate(names)}
    tests = [_chance(d, len(old), len(new)) for d in distance.values()]
    pvalue = min(1.0, len(tests) * min(tests))
    worst = max(distance, key=distance.__getitem__)
    share, many = f"{100 * distance[worst]:.0f} %", f"{len(new)} lists"
    if pvalue < _SURE and distance[worst] >= _CLEAR:
        found = f"largest difference {share}, p = {pvalue:.2g}"
        verdict, said = "changed", f"the {worst} of {many} has changed ({found}). {remedy}"
    elif _chance(_CLEAR, len(old), len(new)) > _SURE:
        few = f"{many} are too few to see a clear change"
        verdict, said = "unsure", f"{few}; the largest difference is {share}, in the {worst}"
    else:
        verdict, said = "same", f"the largest difference in {many} is {share}, in the {worst}"
    return Drift(verdict, f"{verdict}: {said}", pvalue, distance, len(new))


def shapes_of(lists: RankedLists) -> FloatArray:
    """Return best score, gap and upper half of each list that is not empty."""
    merit = lists.merit.take(np.flatnonzero(lists.merit.filled))
    return np.stack([merit.ends()[0], gaps(merit), halves(merit)], axis=1)


def gaps(merit: Ragged) -> FloatArray:
    """Return how far the second result of each list is behind, in ranges of the first 100."""
    merit, _ = merit.within_range()
    top, low = score_at(merit, 1), score_at(merit, _FIRST)
    wide = top > low
    return np.where(wide, (top - score_at(merit, 2)) / np.where(wide, top - low, 1.0), 0.0)


def halves(merit: Ragged) -> FloatArray:
    """Return the logarithm of the number of results in the upper half of the first 100."""
    merit, _ = merit.within_range()
    between = 0.5 * (score_at(merit, 1) + score_at(merit, _FIRST))
    inside = (merit.ranks < _FIRST) & (merit.values >= merit.spread(between))
    return np.log(np.maximum(merit.count(inside), 1))


def _distance(one: FloatArray, other: FloatArray) -> float:
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(x), points, "right") / max(x.size, 1) for x in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max(initial=0.0))


def _chance(distance: float, n: int, m: int) -> float:
    """Return the asymptotic probability of such a distance, with Stephens' correction."""
    if n == 0 or m == 0:
        return 1.0
    root = math.sqrt(n * m / (n + m))
    x = (root + 0.12 + 0.11 / root) * distance
    if x < 0.2:
        return 1.0
    terms = [(-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101)]
    return min(1.0, max(0.0, 2 * math.fsum(terms)))
