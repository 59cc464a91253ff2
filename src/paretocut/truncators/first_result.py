"""How sure a first result is, learned from judged ones, and the threshold that a budget allows."""

from __future__ import annotations

import numpy as np

from paretocut.background.seen import score_at
from paretocut.lists import BoolArray, FloatArray, Ragged, RankedLists
from paretocut.lists.columns import nearly_same
from paretocut.metrics.binomial import allowed_errors, binomial_cdf
from paretocut.relevance.logistic import ridge_logistic, sigmoid

_FOLDS = 5
FEWEST = 10  # judged queries to learn a score from
_WEIGHT = 0.3  # a wrong result weighs this over the budget
_LARGEST = 1e150  # squares of larger scores overflow
SIGNALS = {"top score": [0], "margin": [1], "learned score": [0, 1, 2]}
"""What lists may be ordered by, and the columns of `features` it looks at."""


def judged_first(lists: RankedLists) -> BoolArray:
    """Return which lists have a first result that somebody judged."""
    known = lists.scores.filled
    known[known] = lists.judged.values[lists.scores.offsets[:-1][known]]
    return known


def signals_of(lists: RankedLists) -> FloatArray:
    """Return top score and margin to the second of each list; the margin of one result is 0."""
    merit = lists.merit
    top = np.clip(score_at(merit, 1), -_LARGEST, _LARGEST)
    second = np.clip(score_at(merit, 2), -_LARGEST, _LARGEST)
    return np.column_stack([top, top - second])


def features(signals: FloatArray, scale: float) -> FloatArray:
    """Return top score, margin, and how close the second result is: 1 for a tie."""
    with np.errstate(under="ignore", over="ignore"):
        return np.column_stack([signals, np.exp(-signals[:, 1] / scale)])


def teaches(right: FloatArray) -> bool:
    """Return whether there are enough queries, right and wrong, to learn from."""
    return right.size >= FEWEST and 0 < right.mean() < 1


def learned(table: FloatArray, right: FloatArray, budget: float) -> FloatArray:
    """Return intercept and coefficients of the log-odds that a first result is right.

    Wrong results count more the smaller the budget, which moves the steep part of the curve to
    where the threshold will be; the intercept takes it back.
    """
    weight = max(1.0, _WEIGHT / budget)
    center, spread = table.mean(axis=0), table.std(axis=0)
    spread[spread <= 1e-9 * np.abs(table).max(axis=0)] = 1.0  # constant but for rounding
    design = np.column_stack([np.ones(len(table)), (table - center) / spread])
    counts = np.where(right > 0, 1.0, weight)
    coef = ridge_logistic(
        design,
        right,
        penalty=np.append(0.01, np.ones(table.shape[1])),
        towards=np.zeros(design.shape[1]),
        weight=counts * right.size / counts.sum(),
    )
    slopes = coef[1:] / spread
    return np.append(coef[0] + np.log(weight) - center @ slopes, slopes)


def cross_fitted(table: FloatArray, right: FloatArray, budget: float) -> FloatArray:
    """Return the log-odds of each query, by a regression on the queries of the other folds.

    Near-copies, with the same features to four digits, are in one fold.
    """
    query = nearly_same(Ragged.from_any(table))
    if query.max() < FEWEST:  # features that tell no queries apart
        query = np.arange(right.size)
    fold = (np.random.default_rng(0).permutation(query.max() + 1) % _FOLDS)[query]
    log_odds = np.empty(right.size)
    for k in range(_FOLDS):
        own = fold == k
        coef = learned(table[~own], right[~own], budget)
        log_odds[own] = coef[0] + table[own] @ coef[1:]
    return log_odds


def lowest_threshold(
    log_odds: FloatArray, right: FloatArray, budget: float, level: float
) -> tuple[int, float]:
    """Return how many queries are accepted, and the log-odds that they exceed.

    Tests of "the error is above the budget", from the start towards more queries, up to the first
    that is not refuted at this level. Ties are accepted together.
    """
    order = np.argsort(-log_odds, kind="stable")
    falling = log_odds[order]
    count = np.flatnonzero(np.append(falling[1:] < falling[:-1], True)) + 1
    allowed = allowed_errors(right.size, budget, level)[count]
    expected = np.cumsum(sigmoid(-falling))[count - 1] / count
    start = int(np.argmax(binomial_cdf(allowed, count, np.clip(expected, 1e-12, 1 - 1e-12))))
    refuted = np.cumsum(right[order] == 0)[count - 1][start:] <= allowed[start:]
    steps = refuted.size if refuted.all() else int(np.argmin(refuted))
    if steps == 0:
        return 0, np.inf
    accepted = int(count[start + steps - 1])
    # The next query's own score, so that the error is that of all above it (not of its equals).
    return accepted, float(falling[accepted]) if accepted < falling.size else -np.inf
