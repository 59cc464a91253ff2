"""Cuts from the list alone, without a judgement."""

from __future__ import annotations

import numpy as np

from paretocut import _kernel
from paretocut.decisions import Cuts
from paretocut.decisions.warnings import saturated
from paretocut.decisions.wording import ordinal
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.relevance.beliefs import above_middle, cuts_at, levels_for
from paretocut.relevance.constants import CONSTANTS, Constants

__all__ = ["half_clauses", "quick_half", "upper_half"]


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
    cuts, _ = above_middle(merit, constants)
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
    _, middles = above_middle(merit, constants)
    columns = (cuts.chosen.tolist(), merit, middles.tolist(), logit.tolist())
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
