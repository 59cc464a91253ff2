"""What results are looked at by: rank and score, on scales that compare lists and systems."""

from __future__ import annotations

import math

import numpy as np

from paretocut.truncators.threshold import normalize_scores
from paretocut.types import FloatArray, IntArray, Ragged

__all__ = ["DESIGN", "Columns", "Scale"]

_TOP = 5
# The results that stand for the level of a list: from rank 21 to rank 120.
_LEVEL = (20, 120)
_SATURATED, _NEAR, _CLIP = 0.25, 0.01, 1e-6

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
"""Names of the columns of `Columns.design`."""


class Scale:
    """The scale on which the scores of a system are compared.

    Parameters
    ----------
    logit
        Whether scores are compared as logits; None decides for each list.
    center, spread
        Mean and standard deviation of the scores, then.
    """

    def __init__(
        self, logit: bool | None = None, center: float = 0.0, spread: float = math.inf
    ) -> None:
        self.logit = logit
        self.center = center
        self.spread = spread

    @classmethod
    def of(cls, scores: Ragged) -> Scale:
        """Return the scale of a system, from lists of its scores.

        Parameters
        ----------
        scores
            Lists of the system.
        """
        logit = _saturated(scores.values)
        values = _rescaled(scores, logit).values
        if values.size == 0:
            return cls(logit, 0.0, 1.0)
        return cls(logit, float(values.mean()), float(values.std()) or 1.0)


class Columns:
    """One number of each kind for every result.

    Parameters
    ----------
    scores
        Lists in falling order.
    scale
        Of the system; before any of its lists were seen, raw scores count for nothing.

    Attributes
    ----------
    rank, log_rank
        From 1 on, and its logarithm.
    minmax, z
        The score scaled within its list; see `normalize_scores`.
    top
        ``minmax`` over its mean in the first five results, which a single outlier moves less.
    raw
        The score scaled over all lists of the system.
    """

    def __init__(self, scores: Ragged, scale: Scale) -> None:
        self.scores = _rescaled(scores, scale.logit)
        self.offsets = self.scores.offsets
        self.lengths: IntArray = self.scores.lengths
        self.rank: FloatArray = np.arange(1.0, self.scores.values.size + 1) - np.repeat(
            self.offsets[:-1], self.lengths
        )
        self.log_rank: FloatArray = np.log(self.rank)
        self.minmax: FloatArray = normalize_scores(self.scores, "minmax").values
        self.z: FloatArray = normalize_scores(self.scores, "z").values
        self.raw: FloatArray = np.clip((self.scores.values - scale.center) / scale.spread, -9, 9)

    @property
    def top(self) -> FloatArray:
        """``minmax`` over its mean in the first five results."""
        mean, _ = self._moments(self.minmax, 0, _TOP)
        return self.minmax / self._spread_out(np.where(mean > 0, mean, 1.0))

    def sum(self, weights: dict[str, float]) -> Ragged:
        """Return a weighted sum of columns.

        Parameters
        ----------
        weights
            By name of the column.
        """
        values = sum(weight * getattr(self, column) for column, weight in weights.items())
        return Ragged(np.asarray(values), self.offsets)

    def design(self) -> FloatArray:
        """Return the matrix that relevance is regressed on, a column for each of `DESIGN`.

        Beside rank, length and the scaled scores: how far the result stands above the level of
        ranks 21 to 120, how far above the next one, and how good the best of its list is.
        """
        z = np.clip(self.z, -3, 12)
        mean, deviation = self._moments(self.z, *_LEVEL)
        deviation = np.where(deviation > 1e-6, deviation, 1.0)
        above = (self.z - self._spread_out(mean)) / self._spread_out(deviation)
        following = np.append(self.z[1:], 0.0)
        following[self.offsets[1:][self.lengths > 0] - 1] = np.inf  # the last has nothing below
        columns = {
            "one": np.ones_like(z),
            "log_rank": self.log_rank,
            "z": z,
            "minmax": self.minmax,
            "raw": self.raw,
            "over_level": np.log1p(np.clip(above, 0, 1e4)),
            "gap": np.log1p(10 * np.maximum(self.z - following, 0)),
            "z_log_rank": z * self.log_rank,
            "best_raw": self._best(self.raw),
            "best_z": self._best(z),
            "log_length": self._spread_out(np.log(np.maximum(self.lengths, 1))),
        }
        return np.stack([columns[name] for name in DESIGN], axis=1)

    def _best(self, values: FloatArray) -> FloatArray:
        filled = self.lengths > 0
        return np.asarray(np.repeat(values[self.offsets[:-1][filled]], self.lengths[filled]))

    def _spread_out(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.repeat(values, self.lengths))

    def _moments(self, values: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation of some ranks of each list; of its last result, if shorter."""
        low = self.offsets[:-1] + np.clip(self.lengths - 1, 0, start)
        high = self.offsets[:-1] + np.minimum(self.lengths, stop)
        count = np.maximum(high - low, 1)
        parts = np.stack([low, high], axis=1).ravel()

        def mean_of(numbers: FloatArray) -> FloatArray:
            # Each list on its own: no other one touches the last digits.
            sums = np.add.reduceat(np.append(numbers, 0.0), parts)[::2] if len(low) else low
            return np.asarray(np.where(self.lengths > 0, sums, 0.0) / count)

        mean = mean_of(values)
        return mean, np.sqrt(mean_of((values - self._spread_out(mean)) ** 2))


def _saturated(values: FloatArray) -> bool:
    """Return whether scores are probabilities, a quarter of them within 0.01 of 0 or 1."""
    if values.size == 0 or values.min() < 0 or values.max() > 1:
        return False
    return bool(np.mean((values < _NEAR) | (values > 1 - _NEAR)) > _SATURATED)


def _rescaled(scores: Ragged, logit: bool | None) -> Ragged:
    """Return the scores, as logits where asked for or, for None, where a list is saturated."""
    values = scores.values
    if logit is False or values.size == 0:
        return scores
    chosen = np.array(
        [
            part.size > 0
            and (_saturated(part) if logit is None else bool(part[-1] >= 0 and part[0] <= 1))
            for part in scores
        ],
        dtype=bool,
    )
    if not chosen.any():
        return scores
    # Beyond six digits a probability in single precision is noise.
    clipped = np.clip(values, _CLIP, 1 - _CLIP)
    logits = np.log(clipped) - np.log1p(-clipped)
    return scores.with_values(np.where(chosen[scores.rows], logits, values))
