"""How many relevant results a list holds: the user's belief, and estimates from unjudged lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from paretocut import _kernel
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.truncators.consensus.constants import CONSTANTS, EXPECT, Constants
from paretocut.truncators.consensus.untrained import middle, odds

__all__ = [
    "beliefs_about",
    "believed_cuts",
    "crowd",
    "estimated",
    "gaps",
    "halves",
    "shipped_number",
    "told",
    "typical",
]


def believed_cuts(
    merit: Ragged, beliefs: FloatArray, beta: float = 1.0, constants: Constants = CONSTANTS
) -> IntArray:
    """Return the cuts with the highest expected F-beta under a belief about the number.

    Parameters
    ----------
    merit
        Lists in falling order.
    beliefs
        One row per list: share, mean and standard deviation of two normal laws of the logarithm
        of the number of relevant results.
    beta
        Of the metric.
    constants
        They hold the slopes of the log-odds.
    """
    cuts = np.empty(len(merit), dtype=np.int64)
    _kernel.believed_cuts(merit.values, merit.offsets, *odds(constants), beliefs, beta**2, cuts)
    return cuts


def told(count: int, expect: str | float, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the belief of a user who said a word or a number, the same for each list.

    Parameters
    ----------
    count
        Number of lists.
    expect
        One of the words, or a number. A number leaves room for lists that differ from the mean;
        a word leaves more.
    constants
        They say how much more.
    """
    word = isinstance(expect, str)
    number = EXPECT[expect] if isinstance(expect, str) else float(expect)
    spread = constants.word_spread if word else constants.number_spread
    # The logarithm of 0 is minus infinity; the kernel then takes the least a list can hold.
    mean = math.log(max(number, 1e-3))
    return np.tile([1.0, mean, spread, 0.0, 0.0, 1.0], (count, 1))


def gaps(merit: Ragged) -> FloatArray:
    """Return how far the second result of each list stands behind the best.

    It is a share of the range of the first 100 results; 0 where that range is 0.

    Parameters
    ----------
    merit
        Lists in falling order.
    """
    top, low = _at(merit, 1), _at(merit, CONSTANTS.first)
    wide = top > low
    return np.where(wide, (top - _at(merit, 2)) / np.where(wide, top - low, 1.0), 0.0)


def halves(merit: Ragged) -> FloatArray:
    """Return the logarithm of the number of results in the upper half of the first 100.

    Parameters
    ----------
    merit
        Lists in falling order.
    """
    between = 0.5 * (_at(merit, 1) + _at(merit, CONSTANTS.first))
    inside = (merit.ranks < CONSTANTS.first) & (merit.values >= merit.spread(between))
    return np.log(np.maximum(merit.count(inside), 1))


def crowd(merit: Ragged) -> float:
    """Return how crowded the scores are that best results have.

    It is the mean over lists of log(1 + c), where c counts the results that reach the 10 %
    quantile of the best scores of all lists. Few results do so where one is right.

    Parameters
    ----------
    merit
        Lists of one system, in falling order.
    """
    filled = merit.take(np.flatnonzero(merit.filled))
    least = np.quantile(_at(filled, 1), CONSTANTS.low_top)
    return float(np.log1p(filled.count(filled.values >= least)).mean())


def typical(merit: Ragged, known: Mapping[str, Any] | None = None) -> float:
    """Return what unjudged lists of a system say about the logarithm of the number.

    Parameters
    ----------
    merit
        Lists of the system, in falling order; at least one is not empty.
    known
        Coefficients; None for those that are shipped.
    """
    coef = known or shipped_number()
    filled = merit.take(np.flatnonzero(merit.filled))
    mean_gap = float(gaps(filled).mean())
    return float(coef["level"] + coef["gap"] * mean_gap + coef["crowd"] * crowd(filled))


def estimated(merit: Ragged, level: float, known: Mapping[str, Any] | None = None) -> FloatArray:
    """Return the belief about each list of a system of which unjudged lists were seen.

    Parameters
    ----------
    merit
        Lists in falling order.
    level
        What `typical` gave for lists of the system.
    known
        Coefficients; None for those that are shipped.
    """
    coef = known or shipped_number()
    return beliefs_about(merit, level + coef["half"] * halves(merit), coef["spread"], coef["plain"])


@cache
def shipped_number() -> dict[str, Any]:
    """Return the coefficients that `experiments.calibrate` learned from judged collections."""
    import importlib.resources
    import json

    source = importlib.resources.files("paretocut").joinpath("data/number.json")
    content: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return content


def beliefs_about(merit: Ragged, mean: FloatArray, spread: float, plain: float) -> FloatArray:
    """Return the belief: the estimate, mixed with the number in the upper half of the range.

    Other collections may be unlike this one. The upper half of the range is never far off, so it
    keeps a share of the belief.

    Parameters
    ----------
    merit
        Lists in falling order.
    mean, spread
        Of the logarithm of the number: one mean per list.
    plain
        Share of the belief that the upper half of the range is right.
    """
    upper = np.maximum(merit.count(merit.values >= merit.spread(middle(merit))), 1)
    beliefs = np.empty((len(merit), 6))
    beliefs[:, 0], beliefs[:, 1], beliefs[:, 2] = 1 - plain, mean, spread
    beliefs[:, 3], beliefs[:, 4] = plain, np.log(upper)
    beliefs[:, 5] = CONSTANTS.number_spread
    return beliefs


def _at(merit: Ragged, rank: int) -> FloatArray:
    """Return the score at a rank, the last one of a shorter list, 0 of an empty one."""
    filled = merit.filled
    values = np.zeros(len(merit))
    place = merit.offsets[:-1] + np.minimum(rank, merit.lengths) - 1
    values[filled] = merit.values[place[filled]]
    return values
