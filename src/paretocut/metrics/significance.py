"""Intervals and tests for per-query values and for counts: plain functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from paretocut.errors import InvalidScoresError
from paretocut.lists import FloatArray, IntArray
from paretocut.schema.kinds import Whole
from paretocut.schema.parameters import check, check_int, check_numbers, check_probability

__all__ = ["bootstrap_interval", "holm", "sign_flip_test"]

# Random draws are made in blocks of about this many numbers, so that memory stays small.
_BLOCK = 1 << 22
_RESAMPLES = Whole(1, 10_000_000)
_LARGEST = 1e150
_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def bootstrap_interval(
    values: FloatArray, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Return the percentile bootstrap interval of the mean of each column, by resampling rows.

    Parameters
    ----------
    values
        One row per query, one column per truncator.
    confidence, resamples, seed
        Coverage, number of draws, and their seed; every column gets the same rows.

    Examples
    --------
    >>> low, high = bootstrap_interval(np.arange(100.0)[:, None])
    >>> low.round(), high.round()
    (array([44.]), array([55.]))
    """
    table = _table(values, "bootstrap_interval", "values")
    coverage = check_probability(confidence, who="bootstrap_interval", name="confidence")
    total = check(_RESAMPLES, resamples, who="bootstrap_interval", name="resamples")
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
    resamples, seed
        Number of random sign patterns, and their seed.

    Examples
    --------
    >>> sign_flip_test(np.array([[1.0], [2.0], [3.0], [4.0]]))
    array([0.125])
    """
    table = _table(differences, "sign_flip_test", "differences")
    total = check(_RESAMPLES, resamples, who="sign_flip_test", name="resamples")
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


def _in_blocks(draw: Callable[[int], FloatArray], width: int, total: int) -> FloatArray:
    size = max(1, _BLOCK // max(width, 1))
    sizes = [min(size, total - start) for start in range(0, total, size)]
    return np.concatenate([draw(part) for part in sizes])


def binomial_cdf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> FloatArray:
    """Return the probability of at most ``k`` successes in ``n`` trials, each of probability ``p``.

    It is an incomplete beta function; ``p`` is in (0, 1).
    """
    k, n, p = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (k, n, p)))
    a, b = np.where(k < n, n - k, 1.0), np.maximum(k, 0.0) + 1.0
    # The continued fraction converges fast on this side; the other one is its complement.
    near = 1 - p < (a + 1) / (a + b + 2)
    x, y = np.where(near, 1 - p, p), np.where(near, p, 1 - p)
    a, b = np.where(near, a, b), np.where(near, b, a)
    log = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b) + a * np.log(x) + b * np.log(y)
    part = np.exp(log) / a * _fraction(a, b, x)
    found = np.clip(np.where(near, part, 1 - part), 0.0, 1.0)
    return np.where(k < 0, 0.0, np.where(k < n, found, 1.0))


def exact_interval(
    k: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return the two-sided interval of Clopper and Pearson for ``k`` successes in ``n`` trials."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    tail = (1 - confidence) / 2
    low = _root(k - 1, n, 1 - tail)  # at most k - 1 has probability 1 - tail
    return np.where(k > 0, low, 0.0), np.where(k < n, _root(k, n, tail), 1.0)


@lru_cache(maxsize=32)
def allowed_errors(trials: int, p: float, level: float) -> IntArray:
    """Return the most errors in 0, 1, .. ``trials`` trials that refute an error rate above ``p``.

    The exact one-sided test of that level; -1 where even no error refutes it.
    """
    errors = np.arange(int(p * trials) + 2)
    low, high = errors, np.full(errors.size, trials + 1)  # the fewest trials are in (low, high]
    while np.any(high - low > 1):
        middle = (low + high) // 2
        refuted = binomial_cdf(errors, middle, p) <= level
        low, high = np.where(refuted, low, middle), np.where(refuted, middle, high)
    allowed = np.searchsorted(high, np.arange(trials + 1), side="right") - 1
    allowed.flags.writeable = False  # it is remembered
    return allowed


def _root(k: FloatArray, n: FloatArray, level: float) -> FloatArray:
    """Return the ``p`` at which `binomial_cdf`, which falls with it, is ``level``."""
    low, high = np.zeros(k.shape), np.ones(k.shape)
    for _ in range(50):
        middle = 0.5 * (low + high)
        above = binomial_cdf(k, n, middle) > level
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(0.5 * (low + high))


def _fraction(a: FloatArray, b: FloatArray, x: FloatArray) -> FloatArray:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = np.ones(x.shape), 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d), 1 + term / c
            value = value * c * d
        if np.all(np.abs(c * d - 1) < 1e-13):
            break
    return np.asarray(value)
