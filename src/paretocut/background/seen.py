"""Whether scores are of the kind that a model was fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged
from paretocut.schema.kinds import Items, Kind, Real, Whole, checked

# How far scores may lie outside of what was seen, in ranges of all scores: the middle of a list (or
# as far as middles differed), and the best.
_NEAR, _FAR = 0.25, 3.0
# A whole list has so many results, and so much of the depth that was seen.
_FEWEST, _WHOLE = 10, 0.5
_STATE: dict[str, Kind] = {
    "scores": Items(Real(), size=2),
    "middles": Items(Real(), size=2),
    "depth": Whole(1),
}


@dataclass(frozen=True)
class Seen:
    """The range of the scores that a background was fitted on, higher is better.

    Attributes
    ----------
    scores
        Lowest and highest score at any rank.
    middles
        Lowest and highest score in the middle of a list.
    depth
        Largest number of results of a query; 1 if only best scores were given.
    """

    scores: tuple[float, float]
    middles: tuple[float, float]
    depth: int

    @classmethod
    def of(cls, merits: Iterable[Ragged]) -> Seen:
        """Return the range of the scores of lists that are not all empty.

        Parameters
        ----------
        merits
            The lists, best first, higher is better.
        """
        filled = [merit for merit in merits if merit.values.size]
        values = np.concatenate([merit.values for merit in filled])
        middle = np.concatenate([middles(merit)[merit.filled] for merit in filled])
        depth = max(int(merit.lengths.max()) for merit in filled)
        return cls(_ends(values), _ends(middle), depth)

    def strange(self, merit: Ragged, gate: float) -> BoolArray:
        """Return which lists have scores of another kind.

        The best is below everything seen, or far above it. Or, in a whole list, the middle is far
        from where it was, or even the last result would be an answer.

        Parameters
        ----------
        merit
            The lists, best first, higher is better.
        gate
            The best score from which there is an answer.
        """
        (low, high), (least, most) = self.scores, self.middles
        best, last = merit.ends()
        wide = high - low
        deep = self.depth >= _FEWEST
        if not deep:  # the lowest of a few best scores is not the lowest there is
            low -= wide
        middle, room = middles(merit), max(most - least, _NEAR * wide)
        elsewhere = (middle < least - room) | (middle > most + room) | (last > gate)
        whole = deep & (merit.lengths >= max(_FEWEST, _WHOLE * self.depth))
        beyond = (best < low) | (best > high + _FAR * wide)
        return np.asarray(merit.filled & (beyond | (whole & elsewhere)))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Seen:
        known: dict[str, Any] = checked(_STATE, content)
        return cls(tuple(known["scores"]), tuple(known["middles"]), known["depth"])


def middles(merit: Ragged) -> FloatArray:
    """Return the score in the middle of each list, 0 of an empty one."""
    return score_at(merit, (merit.lengths + 1) // 2)


def score_at(merit: Ragged, rank: int | IntArray) -> FloatArray:
    """Return the score at a rank, the last one of a shorter list, 0 of an empty one."""
    filled = merit.filled
    values = np.zeros(len(merit))
    place = merit.offsets[:-1] + np.minimum(rank, merit.lengths) - 1
    values[filled] = merit.values[place[filled]]
    return values


def seen_range(tops: FloatArray) -> FloatArray:
    """Return the lowest and the highest of these best scores."""
    return np.array([tops.min(), tops.max()])


def far_outside(tops: FloatArray, seen: FloatArray) -> BoolArray:
    """Return which best scores lie further outside a range than it is wide.

    A new query may well score a little more than all at fit. Another retriever, another unit or
    another direction is far off.
    """
    low, high = 0.5 * seen  # halves do not overflow
    width = high - low
    return np.asarray((0.5 * tops < low - width) | (0.5 * tops > high + width))


def _ends(values: FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())
