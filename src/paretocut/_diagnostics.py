"""What can be wrong with a list before any statistics: ties, ranks in disguise, saturation."""

from __future__ import annotations

import numpy as np

from paretocut.types import BoolArray, FloatArray, IntArray, Ragged

__all__ = ["SHALLOW", "count_true", "diagnose"]

SHALLOW = 50
"""Lists of fewer results are too shallow for a tail to be told from its head."""

_HEAVY_TIES = 0.25  # share of results that equal their neighbour
_SATURATED = 0.25  # share of results within 0.01 of 0 or 1
_SMOOTH = 0.1  # median step between logs of neighbouring gaps; about 1 for anything measured


def count_true(mask: BoolArray, offsets: IntArray) -> IntArray:
    """Return how many values of each list are true."""
    total = np.concatenate([[0], np.cumsum(mask)])
    return np.diff(total[offsets])


def diagnose(scores: Ragged) -> dict[str, BoolArray]:
    """Return, for every warning about scores alone, which lists deserve it."""
    lengths = scores.lengths
    rows = scores.rows
    values = scores.values[np.lexsort((-scores.values, rows))]  # every list best first
    same_list = rows[1:] == rows[:-1]
    owners = rows[:-1]
    filled = lengths > 0
    quartiles = [scores.offsets[:-1][filled] + (lengths[filled] * q) // 4 for q in (1, 3)]
    spread = np.zeros(len(scores))
    quarter = 0.25 * values  # whose differences cannot overflow
    spread[filled] = quarter[quartiles[0]] - quarter[quartiles[1]]
    # Some engines break ties by subtracting a millionth: such gaps are ties too. The spread is that
    # of the middle half, because one far outlier must not make ties of all the others.
    least = spread * np.minimum(3e-6, 0.01 / np.maximum(lengths, 1))
    gaps = np.where(same_list, quarter[:-1] - quarter[1:], 0.0)
    gaps[gaps <= least[owners]] = 0.0

    ties = np.bincount(owners[same_list & (gaps == 0)], minlength=len(scores))
    heavy_ties = (ties > _HEAVY_TIES * np.maximum(lengths - 1, 1)) & (lengths > 1)
    # Scores rounded to a grid have equal gaps too, but also ties.
    rank_only = (_smooth(gaps, owners, len(scores)) & ~heavy_ties) | _fused(
        values, rows, len(scores)
    )
    saturated = np.zeros(len(scores), dtype=np.bool_)
    if filled.any():
        first, last = scores.offsets[:-1][filled], scores.offsets[1:][filled] - 1
        top, bottom = values[first], values[last]
        high = count_true(values > 0.99, scores.offsets)[filled] >= _SATURATED * lengths[filled]
        low = count_true(values < 0.01, scores.offsets)[filled] >= _SATURATED * lengths[filled]
        # Probabilities piled at 0 are told from small cosines by a top that gets well above it.
        piled = (high & (top > bottom + 0.01)) | (low & (top > 0.5))
        saturated[filled] = (bottom >= 0) & (top <= 1) & piled & (top > bottom)
    return {
        "heavy_ties": heavy_ties,
        "rank_only_scores": rank_only,
        "saturated_scores": saturated & ~rank_only,
    }


def _smooth(gaps: FloatArray, owners: IntArray, lists: int) -> BoolArray:
    """Return the lists whose gaps follow each other smoothly, as those of a function of rank do.

    Gaps between measured scores are close to independent, so that the logs of two neighbouring
    ones differ by about 1 (median of a logistic variable); for ``1000 - rank`` or
    ``1 / (60 + rank)`` they hardly differ.
    """
    positive = gaps > 0
    logs, of = np.log(gaps[positive]), owners[positive]
    steps = np.abs(np.diff(logs))
    within = of[1:] == of[:-1]
    counted = np.bincount(of[1:][within], minlength=lists)
    small = np.bincount(of[1:][within & (steps < _SMOOTH)], minlength=lists)
    smooth: BoolArray = (counted >= 8) & (small > 0.5 * counted)
    return smooth


def _fused(values: FloatArray, rows: IntArray, lists: int) -> BoolArray:
    """Return the lists in which too many scores are the reciprocal of an integer.

    In reciprocal-rank fusion a result that only one ranking has found scores ``1 / (k + rank)``
    exactly, and such results are many.
    """
    candidate = (values > 1 / 400) & (values < 1 / 10)
    candidate[1:] &= (values[1:] != values[:-1]) | (rows[1:] != rows[:-1])
    of, inverse = rows[candidate], 1.0 / values[candidate]
    whole = np.abs(inverse - np.round(inverse)) < 0.02
    counted = np.bincount(of, minlength=lists)
    found = np.bincount(of[whole], minlength=lists)
    chance = 0.04 * counted
    fused: BoolArray = (counted >= 20) & (found > chance + 4.0 * np.sqrt(chance))
    return fused
