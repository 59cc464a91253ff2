"""Cuts without a judgement: from the list alone, or from how many results are expected."""

from __future__ import annotations

import numpy as np

from paretocut import _kernel
from paretocut.ragged import FloatArray, IntArray, Ragged
from paretocut.truncators.consensus.constants import CONSTANTS

__all__ = ["cuts_at", "levels_for", "middle", "upper_half"]

_ODDS = (CONSTANTS.slope, CONSTANTS.rank_weight, CONSTANTS.reach)


def levels_for(merit: Ragged, expected: FloatArray) -> FloatArray:
    """Return the levels of the log-odds at which so many results of each list are relevant.

    Parameters
    ----------
    merit
        Lists in falling order.
    expected
        Numbers of relevant results: one row per list, one column per possible number.
    """
    levels = np.empty(expected.shape)
    _kernel.find_levels(merit.values, merit.offsets, *_ODDS, expected, levels)
    return levels


def cuts_at(merit: Ragged, levels: FloatArray, weights: FloatArray, beta: float = 1.0) -> IntArray:
    """Return the cuts with the highest expected F-beta, the log-odds being at these levels.

    Parameters
    ----------
    merit
        Lists in falling order.
    levels, weights
        Possible levels of each list and how likely each is: one row per list.
    beta
        Of the metric.
    """
    cuts = np.empty(len(merit), dtype=np.int64)
    _kernel.expected_cuts(merit.values, merit.offsets, *_ODDS, levels, weights, beta**2, cuts)
    return cuts


def middle(merit: Ragged) -> FloatArray:
    """Return the middle of the range of each list.

    The range begins a little below the lowest score: the few results of a short list do not show
    how low scores can be.

    Parameters
    ----------
    merit
        Lists in falling order.
    """
    filled = merit.filled
    top, bottom = np.zeros(len(merit)), np.zeros(len(merit))
    top[filled] = merit.values[merit.offsets[:-1][filled]]
    bottom[filled] = merit.values[merit.offsets[1:][filled] - 1]
    lowered = np.minimum(np.abs(bottom), CONSTANTS.reach * (top - bottom))
    low = bottom - lowered / np.maximum(merit.lengths, 1)
    return np.asarray(0.5 * top + 0.5 * low)


def upper_half(merit: Ragged) -> IntArray:
    """Return the number of results in the upper half of each list's range, if these are not many.

    In a flat list half of the range may be most of the list: more than 50 results are kept only
    as long as that many relevant ones make it worth while.

    Parameters
    ----------
    merit
        Lists in falling order.
    """
    cuts = merit.count(merit.values >= merit.spread(middle(merit)))
    over = np.flatnonzero(cuts > CONSTANTS.many)
    if over.size:
        long = merit.take(over)
        levels = levels_for(long, np.full((len(long), 1), CONSTANTS.many))
        cuts[over] = np.minimum(cuts[over], cuts_at(long, levels, np.ones(levels.shape)))
    return cuts
