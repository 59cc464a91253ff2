"""Warnings about a list: their names, and the code that finds those about its scores."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from paretocut import _kernel
from paretocut.lists import BoolArray, Ragged, best_first

SHALLOW = 50
"""Lists of fewer results are too shallow for a tail to be told from its head."""

WARNINGS = {
    "too_few_results": "fewer results than min_window: nothing was fitted, every surprise is 0",
    "constant_scores": "all scores are equal: they do not tell one result from another",
    "shallow_list": f"fewer than {SHALLOW} results: too shallow for a tail; fetch 100 or more",
    "heavy_ties": "many results share their score: p-values are coarse",
    "rank_only_scores": "scores only encode the rank (as in reciprocal-rank fusion): a cut means "
    "little; use the scores from before the fusion",
    "rescaled_scores": "each list was put on a scale of its own (best 1 and last 0, a sum of 1, or "
    "one best score in all lists): a cut still works, but a gate can hardly tell whether there is "
    "an answer; use the scores from before",
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
    "few_texts": "the gate was calibrated with fewer than 10 texts and may turn away good "
    "questions; calibrate with 100 texts or more",
    "few_queries": "the gate was calibrated with fewer than 30 different queries: its threshold "
    "may be far off; give more, or none",
    "copied_queries": "the gate was calibrated with passages of the texts as queries: they score "
    "higher than questions, so good questions may be turned away; give real questions, or none",
    "over_budget": "results were worth keeping, but not one of them fits into max_tokens: allow "
    "more tokens, or smaller chunks",
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
    "rescaled_scores",
    "saturated_scores",
    "accepts_nothing",
    "unseen_scores",
    "over_budget",
)
"""Warnings of scores from which little can be decided; adapters raise them as `ScoresWarning`."""


class ScoresWarning(UserWarning):
    """Scores from which little can be decided, such as ranks, saturated or very few ones."""


def warn(text: str) -> None:
    """Raise a `ScoresWarning` that points at the first caller outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("paretocut."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ScoresWarning, stacklevel=level)


def named(found: Mapping[str, BoolArray], lists: int) -> list[tuple[str, ...]]:
    """Return the names of the warnings of each list, in the order of `WARNINGS`."""
    names = [name for name, there in found.items() if (there[0] if lists == 1 else there.any())]
    if not names:
        return [()] * lists
    names.sort(key=list(WARNINGS).index)
    table = np.stack([found[name] for name in names], axis=1)
    return [tuple(name for name, there in zip(names, row, strict=True) if there) for row in table]


def diagnose(scores: Ragged) -> dict[str, BoolArray]:
    """Return, for every warning about scores alone, which lists deserve it."""
    order = best_first(scores, True)
    found = _flags(scores if order is None else scores.with_values(scores.values[order]))
    rank_only = (found & 2) != 0
    return {
        "heavy_ties": (found & 1) != 0,
        "rank_only_scores": rank_only,
        "rescaled_scores": ((found & 8) != 0) & ~rank_only,
        "saturated_scores": ((found & 4) != 0) & ~rank_only,
    }


def saturated(scores: Ragged) -> BoolArray:
    """Return which lists, in falling order, are probabilities piled up at 0 or 1.

    A quarter of them is within 0.01 of one of these.
    """
    return np.asarray((_flags(scores) & 4) != 0)


def _flags(scores: Ragged) -> NDArray[np.uint8]:
    """Return the warnings of lists in falling order, as `_kernel.diagnose` numbers them."""
    found = np.empty(len(scores), dtype=np.uint8)
    _kernel.diagnose(np.ascontiguousarray(scores.values, dtype=np.float64), scores.offsets, found)
    return found
