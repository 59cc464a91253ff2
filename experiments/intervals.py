"""Intervals over collections: by the jackknife and Student's t, because there are few of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["gain_over", "interval_over"]

CONFIDENCE = 0.95


def interval_over(
    rows: ArrayLike, statistic: Callable[[NDArray[np.float64]], float]
) -> tuple[float, float, float]:
    """Return a statistic of rows, one for each collection, and its 95 % interval.

    The standard error is that of the jackknife, and the quantile that of Student's t with one
    degree of freedom less than there are rows. A percentile bootstrap of so few is too narrow.
    """
    table = np.asarray(rows, dtype=float)
    n = len(table)
    whole = statistic(table)
    if n < 2:
        return whole, -np.inf, np.inf
    without = np.array([statistic(np.delete(table, i, axis=0)) for i in range(n)])
    error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * error)
    return whole, whole - reach, whole + reach


def gain_over(pairs: ArrayLike) -> tuple[float, float, float]:
    """Return the relative gain of the first column's mean over the second's, and its interval.

    The interval does not go below -1: a mean of F1 cannot be negative.
    """
    whole, low, high = interval_over(
        pairs, lambda own: float(own[:, 0].sum() / own[:, 1].sum() - 1)
    )
    return whole, max(low, -1.0), high
