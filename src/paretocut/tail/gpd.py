"""The generalized Pareto tail: survival, goodness of fit, and the scales it is fitted on.

Sign convention, here and everywhere in paretocut: ``shape`` is SciPy's ``c`` (the paper's ``-c``),
so that ``P(excess >= e) = (1 + shape * e / scale) ** (-1 / shape)``, and ``exp(-e / scale)`` at
shape 0. Fits use ``shape >= 0``: a tail without an end.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretocut import _kernel
from paretocut.errors import InvalidScoresError
from paretocut.lists import BoolArray, FloatArray, Ragged
from paretocut.schema.files import shipped

GOF_LEVEL = 0.1
"""Smallest goodness-of-fit p-value at which a tail counts as fitting, for ``selection="gof"``."""


def gpd_survival(excess: FloatArray, *, shape: float, scale: float) -> FloatArray:
    """Return the probability of reaching each excess, 0 or more, under a tail."""
    with np.errstate(over="ignore"):
        y = excess / scale
        return np.asarray(np.exp(-(np.log1p(shape * y) / shape if shape > 0 else y)))


def gof_pvalue(cvm: ArrayLike, shape: ArrayLike, m: ArrayLike) -> FloatArray:
    """Return p-values of W2 for fits of the given shape on windows of ``m`` scores.

    The values come from a simulated table (100,000 samples per grid point: standard error 0.0007 at
    0.05) with linear interpolation, and are limited to 0.0005 and 0.999. Because the fitted shape
    is used to look them up, windows of fewer than about 20 scores with a heavy tail get p-values
    that are too large: 0.05 means about 0.02 at shape 0.5 and 9 scores.
    """
    shapes, inverse_sizes, levels, table = _surface()
    statistic, xi, size = np.broadcast_arrays(cvm, shape, m)
    i, wx = _place(shapes, xi)
    j, wm = _place(inverse_sizes, 1.0 / np.maximum(size, 1.0))
    wx, wm = wx[..., None], wm[..., None]
    critical = (1 - wx) * ((1 - wm) * table[i, j] + wm * table[i, j + 1]) + wx * (
        (1 - wm) * table[i + 1, j] + wm * table[i + 1, j + 1]
    )
    # Linear interpolation of the level, one row of critical values per statistic.
    right = np.clip((critical < statistic[..., None]).sum(axis=-1), 1, levels.size - 1)
    low = np.take_along_axis(critical, right[..., None] - 1, axis=-1)[..., 0]
    high = np.take_along_axis(critical, right[..., None], axis=-1)[..., 0]
    # Where most samples have no interior maximum, neighbouring critical values are equal.
    weight = np.clip((statistic - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    return np.asarray(levels[right - 1] + weight * (levels[right] - levels[right - 1]))


@cache
def _surface() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return shapes, ascending 1 / m, descending levels, and W2 by [shape, 1 / m, level]."""
    raw = shipped("gof_surface.json")
    inverse_sizes = 1.0 / np.array(raw["sizes"], dtype=np.float64)[::-1]
    critical = np.ascontiguousarray(np.array(raw["critical"])[:, ::-1, :])
    return np.array(raw["shapes"]), inverse_sizes, np.array(raw["levels"]), critical


@cache
def kernel_gof() -> _kernel.Gof:
    """Return the critical values at `GOF_LEVEL` in the kernel's form."""
    shapes, inverse_sizes, levels, critical = _surface()
    column = int(np.flatnonzero(levels == GOF_LEVEL)[0])
    return _kernel.Gof(shapes, inverse_sizes, np.ascontiguousarray(critical[:, :, column]))


def _place(grid: FloatArray, x: FloatArray) -> tuple[Any, FloatArray]:
    """Return the grid cell of each x and the position in it, clipped to the grid."""
    i = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, grid.size - 2)
    return i, np.clip((x - grid[i]) / (grid[i + 1] - grid[i]), 0.0, 1.0)


def allowed(scores: Ragged, transform: str) -> BoolArray:
    """Return which lists the transform is defined for."""
    values = scores.values
    if transform == "log":
        bad = values <= 0
    elif transform == "logit":
        bad = (values < 0) | (values > 1)
        inside = scores.count((values > 0) & (values < 1)) > 0
        bad |= scores.spread(~inside)
    else:
        bad = np.zeros(values.size, dtype=np.bool_)
    return np.asarray(scores.count(bad) == 0)


def apply(scores: Ragged, transform: str, *, who: str) -> Ragged:
    """Return the scores on another scale.

    On the logit scale exact zeros and ones lie infinitely far out. They get the value of the
    outermost score of their list that is neither 0 nor 1.
    """
    if transform == "identity":
        return scores
    fine = allowed(scores, transform)
    if not fine.all():
        i = int(np.flatnonzero(~fine)[0])
        needs = "positive scores" if transform == "log" else "scores in [0, 1], not all 0 or 1"
        raise InvalidScoresError(
            f"transform={transform!r} needs {needs}, "
            f"got {np.array2string(scores[i], threshold=6)} in list {i}",
            who=who,
        )
    if transform == "log":
        return scores.with_values(np.log(scores.values))
    values = scores.values
    inside = (values > 0) & (values < 1)
    if not inside.all():
        values = values.copy()
        for i in np.unique(scores.rows[~inside]):
            part = values[scores.offsets[i] : scores.offsets[i + 1]]
            core = part[(part > 0) & (part < 1)]
            np.clip(part, core.min(), core.max(), out=part)
    return scores.with_values(np.log(values) - np.log1p(-values))
