"""Cuts without a judgement: from the list alone, or from how many results are expected."""

from __future__ import annotations

import numpy as np

from paretocut import _kernel
from paretocut.decisions import Cuts
from paretocut.decisions.warnings import saturated
from paretocut.decisions.wording import ordinal
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.truncators.consensus.constants import CONSTANTS, Constants

__all__ = [
    "cuts_at",
    "half_clauses",
    "levels_for",
    "low_ends",
    "middle",
    "odds",
    "quick_half",
    "upper_half",
]


def odds(constants: Constants) -> tuple[float, float, float]:
    """Return what the kernel needs to know of the log-odds inside a list."""
    return constants.slope, constants.rank_weight, constants.reach


def levels_for(merit: Ragged, expected: FloatArray, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the shifts of the log-odds at which probabilities sum to the expected numbers.

    Parameters
    ----------
    merit
        Lists in falling order.
    expected
        Numbers of relevant results: one row per list, one column per possible number.
    constants
        They hold the slopes of the log-odds.
    """
    levels = np.empty(expected.shape)
    _kernel.find_levels(merit.values, merit.offsets, *odds(constants), expected, levels)
    return levels


def cuts_at(
    merit: Ragged,
    levels: FloatArray,
    weights: FloatArray,
    beta: float = 1.0,
    constants: Constants = CONSTANTS,
) -> IntArray:
    """Return the cuts with the highest expected F-beta, the log-odds being at these levels.

    Parameters
    ----------
    merit
        Lists in falling order.
    levels, weights
        Possible levels of each list and how likely each is: one row per list.
    beta
        Of the metric.
    constants
        As for `levels_for`.
    """
    cuts = np.empty(len(merit), dtype=np.int64)
    _kernel.expected_cuts(
        merit.values, merit.offsets, *odds(constants), levels, weights, beta**2, cuts
    )
    return cuts


def _above_middle(merit: Ragged, constants: Constants) -> tuple[IntArray, FloatArray]:
    """Return how many results reach the middle of each list's range, and that middle."""
    counts, middles = np.empty(len(merit), dtype=np.int64), np.empty(len(merit))
    _kernel.above_middle(merit.values, merit.offsets, constants.reach, counts, middles)
    return counts, middles


def middle(merit: Ragged, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the middle of the range of each list.

    The range begins a little below the lowest score: the few results of a short list do not show
    how low scores can be.

    Parameters
    ----------
    merit
        Lists in falling order.
    constants
        They say how far the range reaches.
    """
    return _above_middle(merit, constants)[1]


def low_ends(merit: Ragged) -> FloatArray:
    """Return where the range of each list begins: a little below its lowest score.

    Parameters
    ----------
    merit
        Lists in falling order.
    """
    top, _ = merit.ends()
    return np.asarray(2 * middle(merit) - top, dtype=np.float64)


def quick_half(
    scores: FloatArray, higher_is_better: bool, constants: Constants = CONSTANTS
) -> int | None:
    """Return what `upper_half` gives for one ordinary list that stands best first, else None.

    Ordinary are finite scores in falling order (distances in rising order) that neither end in
    zeros nor may be saturated probabilities, and of which no more than 50 are kept.

    Parameters
    ----------
    scores
        Scores of one list.
    higher_is_better
        False for distances.
    constants
        As for `upper_half`.
    """
    k = _kernel.quick_half(scores, higher_is_better, constants.reach, int(constants.many))
    return None if k < 0 else k


def upper_half(merit: Ragged, constants: Constants = CONSTANTS) -> IntArray:
    """Return the number of results in the upper half of each list's range, if these are not many.

    In a flat list half of the range may be most of the list. So a cut of more than 50 results is
    not deeper than the best cut if 50 results were relevant.

    Parameters
    ----------
    merit
        Lists in falling order.
    constants
        They say how far the range reaches, and how many results are many.
    """
    cuts, _ = _above_middle(merit, constants)
    if cuts.max(initial=0) > constants.many:
        top, bottom = merit.ends()
        over = np.flatnonzero((cuts > constants.many) & (top > bottom))  # equal results stay
        long = merit.take(over)
        levels = levels_for(long, np.full((len(long), 1), constants.many), constants)
        bound = cuts_at(long, levels, np.ones(levels.shape), constants=constants)
        cuts[over] = np.minimum(cuts[over], bound)
    return cuts


def half_clauses(cuts: Cuts, merit: Ragged, constants: Constants = CONSTANTS) -> list[str]:
    """Return why each list is cut at the upper half of its range.

    Parameters
    ----------
    cuts
        What was decided.
    merit
        The lists on the scale they were compared on.
    constants
        As for `upper_half`.
    """
    raw = cuts.lists.merit
    logit = np.zeros(len(raw), dtype=bool) if merit is raw else saturated(raw)
    columns = (cuts.chosen.tolist(), merit, middle(merit, constants).tolist(), logit.tolist())
    clauses = []
    for k, values, half, as_logit in zip(*columns, strict=True):
        if values.size == 0:
            clauses.append("the list is empty")
        elif values[0] == values[-1]:
            clauses.append("all scores are equal" if k > 1 else "it is the only result")
        elif k == values.size:
            clauses.append("all scores are close to the best")
        elif values[k] >= half:
            many = f"{constants.many:g}"
            clauses.append(f"more than {many} relevant results are not expected in one list")
        else:
            sign = 1.0 if cuts.lists.higher_is_better else -1.0
            side = "below" if cuts.lists.higher_is_better else "above"
            what = "logit" if as_logit else "score"
            clauses.append(
                f"the {ordinal(k + 1)} has {what} {sign * values[k]:.3g}, {side} the middle "
                f"of the list's range, {sign * half:.3g}"
            )
    return clauses
