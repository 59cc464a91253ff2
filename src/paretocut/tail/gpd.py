"""The generalized Pareto tail: survival function, fit, goodness of fit.

Sign convention, here and everywhere in paretocut: ``shape`` is SciPy's ``c`` (the paper's ``-c``),
so that ``P(excess >= e) = (1 + shape * e / scale) ** (-1 / shape)``, and ``exp(-e / scale)`` at
shape 0. Fits use ``shape >= 0``: a tail without an end.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretocut import _kernel
from paretocut.errors import InvalidScoresError
from paretocut.lists import FloatArray
from paretocut.schema.files import shipped
from paretocut.schema.parameters import check_numbers, check_real

__all__ = ["GOF_LEVEL", "GpdFit", "fit_gpd", "gof_pvalue", "gpd_survival"]

GOF_LEVEL = 0.1
"""Smallest goodness-of-fit p-value at which a tail counts as fitting, for ``selection="gof"``."""


@dataclass(frozen=True, slots=True)
class GpdFit:
    """A fitted generalized Pareto distribution.

    Attributes
    ----------
    shape, scale
        Parameters of maximum likelihood under ``shape >= 0``.
    cvm
        Cramer-von-Mises statistic W2 of the excesses under the fit.
    gof_pvalue
        Share of samples from such a distribution that fit it as badly as this one or worse.
    """

    shape: float
    scale: float
    cvm: float
    gof_pvalue: float


def gpd_survival(excess: ArrayLike, *, shape: float, scale: float) -> FloatArray:
    """Return the probability of reaching each excess under a generalized Pareto tail.

    Parameters
    ----------
    excess
        Scores minus the threshold; negative values get probability 1.
    shape
        Tail index xi. Negative means that the tail ends at ``-scale / shape``.
    scale
        Positive scale, in score units.

    Examples
    --------
    >>> gpd_survival([0.0, 1.0, 4.0], shape=0.0, scale=2.0).round(3)
    array([1.   , 0.607, 0.135])
    """
    xi = check_real(shape, who="gpd_survival", name="shape")
    sigma = check_real(scale, who="gpd_survival", name="scale", low=0)
    given: FloatArray = check_numbers(excess, who="gpd_survival", name="excess")
    with np.errstate(over="ignore", divide="ignore"):
        y = np.maximum(given, 0.0) / sigma
        if xi == 0:
            return np.exp(-y)
        inner = np.maximum(np.where(y == 0, 0.0, xi * y), -1.0)
        return np.exp(-np.where(inner == 0, y, np.log1p(inner) / xi))


def fit_gpd(excess: ArrayLike) -> GpdFit:
    """Return the tail of maximum likelihood under ``shape >= 0``.

    Parameters
    ----------
    excess
        Scores minus the threshold, in any order; at least two, not all equal, none negative.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = fit_gpd(rng.pareto(2.0, size=2000))  # true shape 0.5, scale 0.5
    >>> round(fit.shape, 2), round(fit.scale, 2)
    (0.52, 0.5)
    """
    values = np.sort(check_numbers(excess, who="fit_gpd", name="excess").ravel())
    if values.size < 2 or values[0] < 0 or values[-1] == values[0]:
        raise InvalidScoresError(
            "fit_gpd: excess must be at least two finite values of 0 or more, not all equal, "
            f"got {np.array2string(values, threshold=6)}"
        )
    statistic, shape, scale = np.empty((3, 1))
    _kernel.cvm_rows((values / values[-1])[None, :], 1, statistic, shape, scale)
    pvalue = gof_pvalue(statistic, shape, values.size)
    return GpdFit(
        float(shape[0]), float(scale[0] * values[-1]), float(statistic[0]), float(pvalue[0])
    )


def gof_pvalue(cvm: ArrayLike, shape: ArrayLike, m: ArrayLike) -> FloatArray:
    """Return p-values of W2 for fits of the given shape on windows of ``m`` scores.

    The values come from a simulated table (100,000 samples per grid point: standard error 0.0007 at
    0.05) with linear interpolation, and are limited to 0.0005 and 0.999. Because the fitted shape
    is used to look them up, windows of fewer than about 20 scores with a heavy tail get p-values
    that are too large: 0.05 means about 0.02 at shape 0.5 and 9 scores.

    Parameters
    ----------
    cvm, shape, m
        Statistic, fitted shape and number of scores in the window, broadcast together.
    """
    named = {"cvm": cvm, "shape": shape, "m": m}
    numbers = [check_numbers(x, who="gof_pvalue", name=name) for name, x in named.items()]
    try:
        statistic, xi, size = np.broadcast_arrays(*numbers)
    except ValueError:
        raise InvalidScoresError(
            "gof_pvalue: cvm, shape and m must fit together, got shapes "
            f"{', '.join(str(x.shape) for x in numbers)}"
        ) from None
    surface = _surface()
    i, wx = _place(surface.shapes, xi)
    j, wm = _place(surface.inverse_sizes, 1.0 / np.maximum(size, 1.0))
    wx, wm = wx[..., None], wm[..., None]
    table = surface.critical
    critical = (1 - wx) * ((1 - wm) * table[i, j] + wm * table[i, j + 1]) + wx * (
        (1 - wm) * table[i + 1, j] + wm * table[i + 1, j + 1]
    )
    # Linear interpolation of the level, one row of critical values per statistic.
    levels = surface.levels
    right = np.clip((critical < statistic[..., None]).sum(axis=-1), 1, levels.size - 1)
    low = np.take_along_axis(critical, right[..., None] - 1, axis=-1)[..., 0]
    high = np.take_along_axis(critical, right[..., None], axis=-1)[..., 0]
    # Where most samples have no interior maximum, neighbouring critical values are equal.
    weight = np.clip((statistic - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    pvalues: FloatArray = levels[right - 1] + weight * (levels[right] - levels[right - 1])
    return pvalues


@dataclass(frozen=True, slots=True)
class _Surface:
    shapes: FloatArray
    inverse_sizes: FloatArray  # ascending
    levels: FloatArray  # descending, as critical values rise
    critical: FloatArray  # [shape, inverse size, level]


@functools.cache
def _surface() -> _Surface:
    raw = shipped("gof_surface.json")
    return _Surface(
        shapes=np.array(raw["shapes"]),
        inverse_sizes=1.0 / np.array(raw["sizes"], dtype=np.float64)[::-1],
        levels=np.array(raw["levels"]),
        critical=np.ascontiguousarray(np.array(raw["critical"])[:, ::-1, :]),
    )


@functools.cache
def kernel_gof() -> _kernel.Gof:
    """Return the critical values at `GOF_LEVEL` in the kernel's form."""
    surface = _surface()
    column = int(np.flatnonzero(surface.levels == GOF_LEVEL)[0])
    return _kernel.Gof(
        surface.shapes, surface.inverse_sizes, np.ascontiguousarray(surface.critical[:, :, column])
    )


def _place(grid: FloatArray, x: FloatArray) -> tuple[Any, FloatArray]:
    """Return the grid cell of each x and the position in it, clipped to the grid."""
    i = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, grid.size - 2)
    return i, np.clip((x - grid[i]) / (grid[i + 1] - grid[i]), 0.0, 1.0)
