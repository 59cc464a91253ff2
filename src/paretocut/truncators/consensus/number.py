"""Estimates, from unjudged lists, of how many relevant results a list holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from paretocut.background.drift import gaps, halves
from paretocut.lists import FloatArray, Ragged
from paretocut.relevance.beliefs import beliefs_about
from paretocut.relevance.constants import CONSTANTS, shipped

__all__ = ["crowd", "estimated", "shipped_number", "typical"]


def crowd(merit: Ragged) -> float:
    """Return how crowded the scores are that best results have.

    It is the mean over lists of log(1 + c), where c counts the results that reach the 10 %
    quantile of the best scores of all lists. Few results do so where one is right.
    """
    filled = merit.take(np.flatnonzero(merit.filled))
    least = np.quantile(filled.ends()[0], CONSTANTS.low_top)
    return float(np.log1p(filled.count(filled.values >= least)).mean())


def typical(merit: Ragged, known: Mapping[str, Any] | None = None) -> float:
    """Return the logarithm of the number that unjudged lists of a system suggest.

    At least one list is not empty. `known` are the coefficients; None for those that are shipped.
    """
    coef = known or shipped_number()
    filled = merit.take(np.flatnonzero(merit.filled))
    mean_gap = float(gaps(filled).mean())
    return float(coef["level"] + coef["gap"] * mean_gap + coef["crowd"] * crowd(filled))


def estimated(merit: Ragged, level: float, known: Mapping[str, Any] | None = None) -> FloatArray:
    """Return the belief about each list of a system, `level` being its `typical` value."""
    coef = known or shipped_number()
    return beliefs_about(merit, level + coef["half"] * halves(merit), coef["spread"], coef["plain"])


@cache
def shipped_number() -> dict[str, Any]:
    """Return the coefficients that `experiments.calibrate` learned from judged collections."""
    return shipped("number.json")
