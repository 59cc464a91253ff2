"""The same algorithm as plain SciPy has it: what the kernel is measured against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]


def fit_window(ascending: Array) -> tuple[float, float, float]:
    """Return shape and scale of maximum likelihood under shape >= 0, and W2."""
    excess = ascending - ascending[0]
    shape, _, scale = stats.genpareto.fit(excess, floc=0)
    if shape < 0:
        shape, scale = 0.0, excess.mean()
    cdf = stats.genpareto.cdf(excess, shape, scale=scale)
    return float(shape), float(scale), float(stats.cramervonmises(cdf, "uniform").statistic)


def surprise(scores: Array, min_window: int = 5) -> tuple[Array, int]:
    """Return the Surprise scores of a list, and how many windows were fitted."""
    x = np.sort(scores)
    i, j, windows = 0, len(x), 1
    shape, scale, best = fit_window(x)
    for head in (True, False):
        while j - i > min_window:
            window = x[i : j - 1] if head else x[i + 1 : j]
            windows += 1
            candidate = fit_window(window)
            if not candidate[2] < best:
                break
            shape, scale, best = candidate
            i, j = (i, j - 1) if head else (i + 1, j)
    return -stats.genpareto.logsf(np.maximum(scores - x[i], 0), shape, scale=scale), windows
