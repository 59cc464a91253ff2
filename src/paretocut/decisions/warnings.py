"""Warnings about a list: their names, and the code that finds those about its scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, best_first

SHALLOW = 50
"""Lists of fewer results are too shallow for a tail to be told from its head."""

_HEAVY_TIES = 0.25  # share of results that equal their neighbour
_SATURATED = 0.25  # share of results within 0.01 of 0 or 1
_SMOOTH = 0.1  # median step between logs of neighbouring gaps; about 1 for anything measured


WARNINGS = {
    "too_few_results": "fewer results than min_window: nothing was fitted, every surprise is 0",
    "constant_scores": "all scores are equal: they do not tell one result from another",
    "shallow_list": f"fewer than {SHALLOW} results: too shallow for a tail; fetch 100 or more",
    "heavy_ties": "many results share their score: p-values are coarse",
    "rank_only_scores": "scores only encode the rank (as in reciprocal-rank fusion): a cut means "
    "little; use the scores from before the fusion",
    "saturated_scores": "scores are piled up at 0 or 1: use logits, or transform='logit'",
    "poor_fit": "the scores do not follow a generalized Pareto tail: try transform='auto' or "
    "selection='gof'",
    "little_background": "more than half of the list scores too high for chance: it is mostly "
    "relevant, or it is a whole small collection; set max_k, or do not rely on the cut",
    "tied_threshold": "ties at the threshold leave no interior maximum of the likelihood: an "
    "exponential tail was used",
    "search_limited": "the list is so long that the search for the window was stopped early",
    "accepts_nothing": "the judged queries do not allow accepting any result within max_error: "
    "allow more errors, or judge more queries",
    "unseen_scores": "the scores are unlike those learned from: another model, metric or unit, or "
    "too few results; fit or calibrate again",
    "zero_scores": "results with score 0 match nothing and are not kept",
    "worst_first": "the scores came worst first and were sorted: if they are distances, give "
    "higher_is_better=False",
}
"""Every warning a decision can have, with its meaning and remedy."""

ABOUT_SCORES = (
    "too_few_results",
    "constant_scores",
    "shallow_list",
    "rank_only_scores",
    "saturated_scores",
    "accepts_nothing",
    "unseen_scores",
)
"""Warnings of scores from which little can be decided; adapters raise them as `ScoresWarning`."""


def named(found: Mapping[str, BoolArray], lists: int) -> list[tuple[str, ...]]:
    """Return the names of the warnings of each list, in the order of `WARNINGS`."""
    names = [name for name in WARNINGS if name in found and found[name].any()]
    if not names:
        return [()] * lists
    table = np.stack([found[name] for name in names], axis=1)
    return [tuple(name for name, there in zip(names, row, strict=True) if there) for row in table]


def diagnose(scores: Ragged) -> dict[str, BoolArray]:
    """Return, for every warning about scores alone, which lists deserve it."""
    lengths = scores.lengths
    rows = scores.rows
    order = best_first(scores, True)
    values = scores.values if order is None else scores.values[order]
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
    return {
        "heavy_ties": heavy_ties,
        "rank_only_scores": rank_only,
        "saturated_scores": saturated(scores.with_values(values)) & ~rank_only,
    }


def saturated(scores: Ragged) -> BoolArray:
    """Return which lists, in falling order, are probabilities piled up at 0 or 1.

    A quarter of them is within 0.01 of one of these.
    """
    top, bottom = scores.ends()
    inside = (bottom >= 0) & (top <= 1) & (top > bottom)
    # Small cosines lie near 0 too; probabilities piled at 0 have a best score well above it.
    may: BoolArray = inside & ((top > 0.99) | ((bottom < 0.01) & (top > 0.5)))
    if not may.any():
        return may
    values, enough = scores.values, _SATURATED * scores.lengths
    high = scores.count(values > 0.99) >= enough
    low = scores.count(values < 0.01) >= enough
    found: BoolArray = may & ((high & (top > bottom + 0.01)) | (low & (top > 0.5)))
    return found


def _smooth(gaps: FloatArray, owners: IntArray, lists: int) -> BoolArray:
    """Return the lists whose gaps follow each other smoothly, as those of a function of rank do.

    Gaps between measured scores are nearly independent, so the logarithms of two neighbouring
    gaps differ by about 1 (the median of a logistic variable). For ``1000 - rank`` or
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
