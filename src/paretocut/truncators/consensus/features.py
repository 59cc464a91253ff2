"""Features of each result: rank and score, on scales that compare lists and systems."""

from __future__ import annotations

import numpy as np

from paretocut.lists import FloatArray, Ragged
from paretocut.relevance.scale import Scale
from paretocut.truncators.threshold import normalize_scores

_LEVEL = (20, 120)  # the results at ranks 21 to 120 stand for the level of a list

DESIGN: tuple[str, ...] = (
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
        with np.errstate(over="ignore"):
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
