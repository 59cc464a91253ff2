"""The slow, obvious version of Surprise scoring, with SciPy: the judge of the kernel.

Everything is computed in extended precision where the platform has it, by the textbook formulas and
SciPy's root finder; nothing here is shared with the engine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

Array = NDArray[np.longdouble]


def profile_score(theta: float, excess: Array) -> float:
    """Return ``h(theta)``: negative left of the maximum of the profile likelihood."""
    x = np.longdouble(theta) * excess
    k = np.log1p(x).mean()
    q = (x / (1 + x)).mean()
    # (1 - A)(1 + k) - k, with the difference of nearly equal parts taken inside the mean
    return float((x / (1 + x) - np.log1p(x)).mean() + q * k)


def profile_scores(thetas: NDArray[np.float64], excess: Array) -> NDArray[np.float64]:
    x = thetas.astype(np.longdouble)[:, None] * excess[None, :]
    log = np.log1p(x)
    ratio = x / (1 + x)
    return ((ratio - log).mean(axis=1) + ratio.mean(axis=1) * log.mean(axis=1)).astype(float)


def fit_gpd(excess: Array) -> tuple[float, float]:
    """Return ``(shape, scale)`` of maximum likelihood under ``shape >= 0``."""
    # In units of the largest: SciPy's tolerances are absolute in places, and its numbers doubles.
    unit = excess[-1]
    shape, scale = _fit_scaled(excess / unit)
    return shape, float(scale * unit)


def _fit_scaled(excess: Array) -> tuple[float, np.longdouble]:
    mean = excess.mean()
    if (excess**2).mean() <= (2 + 1e-10) * mean**2:
        return 0.0, mean
    zeros = int((excess == 0).sum())
    # Beyond this mean logarithm the likelihood rises for ever.
    most = (excess.size - zeros) / zeros if zeros else np.inf
    # The first crossing from below, on a grid; where ties leave only a narrow hump between two
    # grid points, its top is looked for.
    deficit = (excess**2).mean() / 2 - mean**2
    first = float(deficit / (4 * (excess**3).mean()))
    octaves = np.log2(1e290) - np.log2(first)
    grid = first * 2.0 ** np.arange(0, octaves, 0.25)
    for start in range(0, grid.size - 2, 48):
        chunk = grid[start : start + 50]
        h = profile_scores(chunk, excess)
        for j in range(1, chunk.size - 1):
            right = float(chunk[j])
            if h[j] < 0 and h[j] >= h[j - 1] and h[j] >= h[j + 1]:
                right = float(
                    np.exp(
                        minimize_scalar(
                            lambda t: -profile_score(np.exp(t), excess),
                            bounds=(np.log(chunk[j - 1]), np.log(chunk[j + 1])),
                            method="bounded",
                            options={"xatol": 1e-10},
                        ).x
                    )
                )
            if profile_score(right, excess) >= 0:
                theta = brentq(
                    profile_score, chunk[j - 1], right, args=(excess,), xtol=1e-300, rtol=1e-15
                )
                shape = np.log1p(np.longdouble(theta) * excess).mean()
                return float(shape), shape / np.longdouble(theta)
        if np.log1p(np.longdouble(chunk[-1]) * excess).mean() > most:
            break
    return 0.0, mean


def cdf(excess: Array, shape: float, scale: float) -> Array:
    """Return the distribution function, in SciPy's parametrisation."""
    y = excess / np.longdouble(scale)
    if shape == 0:
        return -np.expm1(-y)
    return -np.expm1(-np.log1p(np.longdouble(shape) * y) / np.longdouble(shape))


def cvm(excess: Array, shape: float, scale: float) -> float:
    """Return the Cramer-von-Mises statistic of ascending excesses."""
    m = excess.size
    linear = (2 * np.arange(1, m + 1, dtype=np.longdouble) - 1) / (2 * m)
    return float(((cdf(excess, shape, scale) - linear) ** 2).sum() + np.longdouble(1) / (12 * m))


@dataclass(frozen=True)
class Reference:
    shape: float
    scale: float
    lower: int
    upper: int
    cvm: float
    surprise: NDArray[np.float64]
    closest: float  # smallest relative difference of two W2 values that a decision hung on


def surprise(
    scores: NDArray[np.float64], *, refit: str = "window", min_window: int = 5
) -> Reference:
    """Return the paper's Algorithm 1, step by step."""
    order = np.argsort(scores, kind="stable")
    x = np.asarray(scores, dtype=np.longdouble)[order]
    spread = x[-1] - x[0]
    n = x.size

    def assess(i: int, j: int) -> tuple[float, float, float]:
        excess = (x[i:j] - x[i]) / spread
        if excess[-1] == 0:
            return 0.0, 0.0, np.inf
        shape, scale = fit_gpd(excess)
        return shape, scale, cvm(excess, shape, scale)

    closest = np.inf
    i, j = 0, n
    current = assess(i, j)
    for side in ("largest", "smallest"):
        while j - i - 1 >= min_window:
            following = assess(i, j - 1) if side == "largest" else assess(i + 1, j)
            closest = min(closest, abs(following[2] - current[2]))
            if not following[2] < current[2]:
                break
            current = following
            if side == "largest":
                j -= 1
            else:
                i += 1
    if refit == "all":
        current = assess(i, n)
    shape, scale, statistic = current
    excess = np.maximum((x - x[i]) / spread, 0)
    if shape == 0:
        rescored = excess / np.longdouble(scale)
    else:
        rescored = np.log1p(shape * excess / np.longdouble(scale)) / np.longdouble(shape)
    out = np.empty(n)
    with np.errstate(over="ignore"):  # beyond the largest double is infinity
        out[order] = rescored.astype(float)
    return Reference(shape, float(scale * spread), i, j, statistic, out, float(closest))
