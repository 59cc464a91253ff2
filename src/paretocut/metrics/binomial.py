"""The binomial law, exactly: probabilities of counts, and the interval of Clopper and Pearson."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from paretocut.lists import FloatArray, IntArray

_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def binomial_cdf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> FloatArray:
    """Return the probability of at most ``k`` successes in ``n`` trials, each of probability ``p``.

    It is an incomplete beta function, so that ``k`` may be a fraction; ``p`` is in (0, 1).
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
