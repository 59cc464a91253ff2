"""Features of each result: rank and score, on scales that compare lists and systems."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from paretocut.decisions.warnings import saturated
from paretocut.lists import BoolArray, FloatArray, Ragged
from paretocut.truncators.threshold import normalize_scores

__all__ = ["DESIGN", "Features", "Scale"]

_LEVEL = (20, 120)  # the results at ranks 21 to 120 stand for the level of a list
_CLIP = 1e-6  # beyond six digits a probability in single precision is noise

DESIGN = (
    "one",
    "log_rank",
    "z",
    "minmax",
    "raw",
    "over_level",
    "gap",
    "z_log_rank",
    "best_raw",
    "best_z",
    "log_length",
)
"""Names of the columns of `Features.design`."""


@dataclass(frozen=True)
class Scale:
    """The scale on which the scores of a system are compared.

    Attributes
    ----------
    logit
        Whether scores are compared as logits; None decides for each list.
    center, spread
        Mean and standard deviation of the scores on that scale. Before any list of the system
        was seen the spread is infinite, so that raw scores count for nothing.
    """

    logit: bool | None = None
    center: float = 0.0
    spread: float = math.inf

    @classmethod
    def of(cls, merit: Ragged) -> Scale:
        """Return the scale of a system, from its lists.

        Parameters
        ----------
        merit
            Lists in falling order.
        """
        filled = merit.filled
        logit = bool(filled.any() and saturated(merit)[filled].mean() > 0.5)
        values = cls(logit).apply(merit).values
        if values.size == 0:
            return cls(logit, 0.0, 1.0)
        return cls(logit, float(values.mean()), float(values.std()) or 1.0)

    def apply(self, merit: Ragged) -> Ragged:
        """Return the lists on this scale: saturated probabilities as logits.

        Parameters
        ----------
        merit
            Lists in falling order.
        """
        if self.logit is False or merit.values.size == 0:
            return merit
        chosen = saturated(merit) if self.logit is None else _probabilities(merit)
        if not chosen.any():
            return merit
        clipped = np.clip(merit.values, _CLIP, 1 - _CLIP)
        logits = np.log(clipped) - np.log1p(-clipped)
        return merit.with_values(np.where(merit.spread(chosen), logits, merit.values))


def _probabilities(merit: Ragged) -> BoolArray:
    """Return which lists lie within [0, 1]."""
    found: BoolArray = merit.count((merit.values < 0) | (merit.values > 1)) == 0
    return found


class Features:
    """One number of each kind for every result.

    Parameters
    ----------
    merit
        Lists in falling order, on the scale of the system.
    scale
        That scale.
    """

    def __init__(self, merit: Ragged, scale: Scale) -> None:
        self._merit = merit
        self._log_rank = np.log(merit.ranks + 1.0)
        self._minmax = normalize_scores(merit, "minmax").values
        self._z = normalize_scores(merit, "z").values
        self._raw = np.clip((merit.values - scale.center) / scale.spread, -9, 9)

    def design(self) -> FloatArray:
        """Return the matrix that relevance is regressed on, a column for each of `DESIGN`.

        Beside rank, length and the scaled scores: how far the result stands above the level of
        ranks 21 to 120, how far above the next one, and how good the best of its list is.
        """
        merit, lengths = self._merit, self._merit.lengths
        z = np.clip(self._z, -3, 12)
        mean, deviation = self._moments(*_LEVEL)
        deviation = np.where(deviation > 1e-6, deviation, 1.0)
        above = (self._z - merit.spread(mean)) / merit.spread(deviation)
        following = np.append(self._z[1:], 0.0)
        following[merit.offsets[1:][merit.filled] - 1] = np.inf  # the last has nothing below
        columns = {
            "one": np.ones_like(z),
            "log_rank": self._log_rank,
            "z": z,
            "minmax": self._minmax,
            "raw": self._raw,
            "over_level": np.log1p(np.clip(above, 0, 1e4)),
            "gap": np.log1p(10 * np.maximum(self._z - following, 0)),
            "z_log_rank": z * self._log_rank,
            "best_raw": self._best(self._raw),
            "best_z": self._best(z),
            "log_length": merit.spread(np.log(np.maximum(lengths, 1))),
        }
        return np.stack([columns[name] for name in DESIGN], axis=1)

    def _best(self, values: FloatArray) -> FloatArray:
        filled = self._merit.filled
        firsts = values[self._merit.offsets[:-1][filled]]
        return np.asarray(np.repeat(firsts, self._merit.lengths[filled]))

    def _moments(self, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation of z at some ranks; of the last result in a shorter list."""
        offsets, lengths = self._merit.offsets, self._merit.lengths
        low = offsets[:-1] + np.clip(lengths - 1, 0, start)
        high = offsets[:-1] + np.minimum(lengths, stop)
        count = np.maximum(high - low, 1)
        parts = np.stack([low, high], axis=1).ravel()

        def mean_of(numbers: FloatArray) -> FloatArray:
            # Each list on its own: no other one touches the last digits.
            sums = np.add.reduceat(np.append(numbers, 0.0), parts)[::2] if len(low) else low
            return np.asarray(np.where(lengths > 0, sums, 0.0) / count)

        mean = mean_of(self._z)
        return mean, np.sqrt(mean_of((self._z - self._merit.spread(mean)) ** 2))
