"""The scale of scores, beliefs about how many results are relevant, and the cuts that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from paretocut import _kernel
from paretocut.decisions.options import EXPECT
from paretocut.decisions.warnings import saturated
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.relevance.constants import CONSTANTS, Constants

_CLIP = 1e-6  # beyond six digits a probability in single precision is noise


@dataclass(frozen=True)
class Scale:
    """The scale on which the scores of a system are compared."""

    logit: bool = False  # as saturated probabilities should be compared
    center: float = 0.0
    spread: float = math.inf  # before any list was seen: raw scores count for nothing

    @classmethod
    def of(cls, merit: Ragged) -> Scale:
        """Return the scale of a system, from its lists in falling order."""
        filled = merit.filled
        logit = bool(filled.any() and saturated(merit)[filled].mean() > 0.5)
        values = cls(logit).apply(merit).values
        if values.size == 0:
            return cls(logit, 0.0, 1.0)
        # No digit changes, but squares of very large or small scores would overflow, or vanish.
        power = np.frexp(np.abs(values).max())[1]
        values = np.ldexp(values, -power)
        mean, deviation = np.ldexp([values.mean(), values.std()], power).tolist()
        return cls(logit, mean, deviation or 1.0)

    def apply(self, merit: Ragged) -> Ragged:
        """Return the lists on this scale: saturated probabilities as logits."""
        if not self.logit or merit.values.size == 0:
            return merit
        chosen = merit.count((merit.values < 0) | (merit.values > 1)) == 0
        clipped = np.clip(merit.values, _CLIP, 1 - _CLIP)
        logits = np.log(clipped) - np.log1p(-clipped)
        return merit.with_values(np.where(merit.spread(chosen), logits, merit.values))


def _odds(constants: Constants) -> tuple[float, float, float]:
    return constants.slope, constants.rank_weight, constants.depth


def levels_for(merit: Ragged, expected: FloatArray, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the shifts of the log-odds of each list (rows) that give it the expected numbers."""
    merit, _ = merit.within_range()
    levels = np.empty(expected.shape)
    _kernel.find_levels(merit.values, merit.offsets, *_odds(constants), expected, levels)
    return levels


def upper_part(
    merit: Ragged, share: float, constants: Constants = CONSTANTS
) -> tuple[IntArray, FloatArray]:
    """Return how many results lie in the upper share of each list's range, and where that begins.

    In a short list the range runs on to where the score at rank ``constants.depth`` would stand.
    """
    counts, lows = np.empty(len(merit), dtype=np.int64), np.empty(len(merit))
    _kernel.upper_part(merit.values, merit.offsets, constants.depth, share, counts, lows)
    return counts, lows


def believed_cuts(
    merit: Ragged, beliefs: FloatArray, beta: float = 1.0, constants: Constants = CONSTANTS
) -> IntArray:
    """Return the cuts with the highest expected F-beta under a belief about the number.

    A row of `beliefs` holds share, mean and standard deviation of two normal laws of the
    logarithm of the number of relevant results.
    """
    merit, _ = merit.within_range()
    cuts = np.empty(len(merit), dtype=np.int64)
    _kernel.believed_cuts(merit.values, merit.offsets, *_odds(constants), beliefs, beta**2, cuts)
    return cuts


def expected_number(expect: str | float) -> float:
    return EXPECT[expect] if isinstance(expect, str) else float(expect)


def stated(count: int, expect: str | float, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the belief of a user who gave `expect`: one row, repeated for each of `count` lists.

    A number leaves room for lists that differ from the mean; a word leaves more.
    """
    spread = constants.word_spread if isinstance(expect, str) else constants.number_spread
    # The logarithm of 0 is minus infinity; the kernel then takes the least a list can hold.
    mean = math.log(max(expected_number(expect), 1e-3))
    return np.tile([1.0, mean, spread, 0.0, 0.0, 1.0], (count, 1))


def beliefs_about(merit: Ragged, mean: FloatArray, spread: float, plain: float) -> FloatArray:
    """Return the estimate of the logarithm, mixed with the number in the upper third of the range.

    Other collections may be unlike this one. The upper third of the range is never far off, so it
    keeps the share `plain` of the belief.
    """
    upper = np.log(np.maximum(upper_part(merit, CONSTANTS.share)[0], 1))
    columns = (1 - plain, mean, spread, plain, upper, CONSTANTS.number_spread)
    return np.stack(np.broadcast_arrays(*columns), axis=1)
