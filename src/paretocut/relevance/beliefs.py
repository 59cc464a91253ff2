"""Beliefs about how many results of a list are relevant, and the cuts that follow from them."""

from __future__ import annotations

import math

import numpy as np

from paretocut import _kernel
from paretocut.decisions.options import EXPECT
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.relevance.constants import CONSTANTS, Constants


def _odds(constants: Constants) -> tuple[float, float, float]:
    return constants.slope, constants.rank_weight, constants.depth


def levels_for(merit: Ragged, expected: FloatArray, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the shifts of the log-odds at which probabilities sum to the expected numbers.

    `expected` has one row per list and one column per possible number of relevant results.
    """
    merit, _ = merit.within_range()
    levels = np.empty(expected.shape)
    _kernel.find_levels(merit.values, merit.offsets, *_odds(constants), expected, levels)
    return levels


def upper_part(
    merit: Ragged, share: float, constants: Constants = CONSTANTS
) -> tuple[IntArray, FloatArray]:
    """Return how many results lie in the upper share of each list's range, and where that begins.

    The range runs from the best score down to the last. In a short list it runs on to where the
    score at rank ``constants.depth`` would stand, so that it hardly matters how many were fetched.
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


def stated(count: int, expect: str | float, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the belief of a user who gave `expect`: one row, repeated for each of `count` lists.

    A number leaves room for lists that differ from the mean; a word leaves more.
    """
    number = EXPECT[expect] if isinstance(expect, str) else float(expect)
    spread = constants.word_spread if isinstance(expect, str) else constants.number_spread
    # The logarithm of 0 is minus infinity; the kernel then takes the least a list can hold.
    mean = math.log(max(number, 1e-3))
    return np.tile([1.0, mean, spread, 0.0, 0.0, 1.0], (count, 1))


def beliefs_about(merit: Ragged, mean: FloatArray, spread: float, plain: float) -> FloatArray:
    """Return the belief: the estimate, mixed with the number in the upper third of the range.

    Other collections may be unlike this one. The upper third of the range is never far off, so it
    keeps the share `plain` of the belief. The estimate is of the logarithm: one mean per list.
    """
    upper = np.maximum(upper_part(merit, CONSTANTS.share)[0], 1)
    beliefs = np.empty((len(merit), 6))
    beliefs[:, 0], beliefs[:, 1], beliefs[:, 2] = 1 - plain, mean, spread
    beliefs[:, 3], beliefs[:, 4] = plain, np.log(upper)
    beliefs[:, 5] = CONSTANTS.number_spread
    return beliefs
