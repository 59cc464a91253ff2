"""Intervals and tests for per-query values: plain functions of arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray
from paretocut.schema.parameters import (
    check_int,
    check_numbers,
    check_positive_int,
    check_probability,
)

__all__ = ["bootstrap_interval", "holm", "sign_flip_test"]

# Random draws are made in blocks of about this many numbers, so that memory stays small.
_BLOCK = 1 << 22
_MOST = 10_000_000
_LARGEST = 1e150


def bootstrap_interval(
    values: FloatArray, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Return the percentile bootstrap interval of the mean of each column, by resampling rows.

    Parameters
    ----------
    values
        One row per query, one column per truncator.
    confidence
        Coverage, in (0, 1).
    resamples
        Number of draws.
    seed
        Seed of the draws; the same rows are drawn for every column.

    Examples
    --------
    >>> low, high = bootstrap_interval(np.arange(100.0)[:, None])
    >>> low.round(), high.round()
    (array([44.]), array([55.]))
    """
    table = _table(values, "bootstrap_interval", "values")
    coverage = check_probability(confidence, who="bootstrap_interval", name="confidence")
    total = _total(resamples, "bootstrap_interval")
    rng = np.random.default_rng([check_int(seed, who="bootstrap_interval", name="seed"), 1])
    n = len(table)
    chance = np.full(n, 1 / n)
    means = _in_blocks(lambda size: rng.multinomial(n, chance, size=size) @ table / n, n, total)
    tail = (1 - coverage) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def sign_flip_test(
    differences: FloatArray, *, resamples: int = 10_000, seed: int = 0
) -> FloatArray:
    """Return the two-sided p-value of "the mean of this column is zero", by flipping signs.

    Under the null hypothesis, the difference of each query is equally likely with the opposite
    sign. All sign patterns are tried if there are at most ``resamples``. Otherwise the p-value also
    counts the observed pattern, so it is never 0.

    Parameters
    ----------
    differences
        One row per query, one column per comparison.
    resamples
        Number of random sign patterns.
    seed
        Seed of the patterns.

    Examples
    --------
    >>> sign_flip_test(np.array([[1.0], [2.0], [3.0], [4.0]]))
    array([0.125])
    """
    table = _table(differences, "sign_flip_test", "differences")
    total = _total(resamples, "sign_flip_test")
    rng = np.random.default_rng([check_int(seed, who="sign_flip_test", name="seed"), 2])
    n = len(table)
    observed = np.abs(table.sum(axis=0))
    # Patterns that give the same sum up to rounding are as extreme as the one observed.
    limit = observed - 1e-12 * np.abs(table).sum(axis=0)
    exact = n < 63 and 2**n <= total
    if exact:
        patterns = np.arange(2**n)[:, None] >> np.arange(n) & 1
        sums = (1 - 2 * patterns) @ table
    else:
        sums = _in_blocks(
            lambda size: (1.0 - 2.0 * rng.integers(0, 2, (size, n))) @ table, n, total
        )
    hits = np.count_nonzero(np.abs(sums) >= limit, axis=0)
    pvalues: FloatArray = hits / len(sums) if exact else (hits + 1) / (total + 1)
    return pvalues


def holm(pvalues: FloatArray) -> FloatArray:
    """Return p-values corrected for their number by Holm's step-down method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(pvalues)
    scaled = pvalues[order] * np.arange(len(pvalues), 0, -1)
    corrected = np.empty(len(pvalues))
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


def _table(values: FloatArray, who: str, name: str) -> FloatArray:
    table: FloatArray = check_numbers(values, who=who, name=name)
    if table.ndim not in (1, 2):
        raise InvalidScoresError(f"{name} must be a table, got {table.ndim} dimensions", who=who)
    if not len(table):
        raise InvalidScoresError(f"{name} must have at least one row, got none", who=who)
    if np.abs(table).max(initial=0.0) > _LARGEST:
        raise InvalidScoresError(
            f"{name} must be within {_LARGEST:g} of 0, so that sums stay finite, got more", who=who
        )
    return table


def _total(resamples: int, who: str) -> int:
    total = check_positive_int(resamples, who=who, name="resamples")
    if total > _MOST:
        raise InvalidParameterError(f"resamples must be at most {_MOST}, got {total}", who=who)
    return total


def _in_blocks(draw: Callable[[int], FloatArray], width: int, total: int) -> FloatArray:
    size = max(1, _BLOCK // max(width, 1))
    sizes = [min(size, total - start) for start in range(0, total, size)]
    return np.concatenate([draw(part) for part in sizes])
