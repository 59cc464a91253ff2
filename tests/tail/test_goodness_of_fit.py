"""Goodness of fit: the shipped surface against fresh simulation, and the selection that uses it."""

from __future__ import annotations

import importlib.resources
import json

import numpy as np
import pytest
from numpy.typing import NDArray

import paretocut as pc
from paretocut import _kernel
from paretocut.tail.gpd import GOF_LEVEL, gof_pvalue

Array = NDArray[np.float64]
SURFACE = importlib.resources.files("paretocut").joinpath("data/gof_surface.json")


def simulate(shape: float, m: int, count: int, seed: int) -> tuple[Array, Array]:
    """Return W2 and fitted shape of windows whose excesses over their minimum follow the null."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=(count, m - 1))
    excess = -np.log(p) if shape == 0 else (p**-shape - 1) / shape
    rows = np.zeros((count, m))
    rows[:, 1:] = np.sort(excess, axis=1)
    statistic, fitted, scale = np.empty((3, count))
    _kernel.cvm_rows(rows, 1, statistic, fitted, scale)
    return statistic, fitted


@pytest.mark.parametrize("m", [5, 9, 40, 150, 1000])
@pytest.mark.parametrize("shape", [0.0, 0.12, 0.5, 1.2])
def test_pvalues_at_the_true_shape_are_uniform(shape: float, m: int) -> None:
    count = 4000
    statistic, _ = simulate(shape, m, count, seed=m)
    pvalues = gof_pvalue(statistic, shape, m)
    for level in (0.01, 0.05, 0.1, 0.25, 0.5, 0.75):
        error = np.sqrt(level * (1 - level) / count)  # the surface's own is five times smaller
        # Between grid points the surface is linear, which costs up to 0.01.
        assert abs((pvalues <= level).mean() - level) < 4 * error + 0.01 * min(1, 4 * level)


@pytest.mark.parametrize("m", [40, 150, 1000])
@pytest.mark.parametrize("shape", [0.0, 0.12, 0.5, 1.2])
def test_pvalues_at_the_fitted_shape_are_close_to_uniform(shape: float, m: int) -> None:
    count = 4000
    statistic, fitted = simulate(shape, m, count, seed=m + 1)
    pvalues = gof_pvalue(statistic, fitted, m)
    for level in (0.01, 0.05, 0.1, 0.25):
        error = np.sqrt(level * (1 - level) / count)
        # The surface is entered with the fitted shape: within a fifth of the level, or 0.01.
        assert abs((pvalues <= level).mean() - level) < 4 * error + max(0.2 * level, 0.01)


@pytest.mark.parametrize("shape", [0.0, 0.12, 0.5, 1.2])
def test_pvalues_of_tiny_windows_are_never_too_small(shape: float) -> None:
    statistic, fitted = simulate(shape, 9, 4000, seed=2)
    for level in (0.01, 0.05, 0.1):
        error = np.sqrt(level * (1 - level) / 4000)
        assert (gof_pvalue(statistic, fitted, 9) <= level).mean() < level + 4 * error + 0.01


def test_the_surface_rises_with_the_statistic_and_is_small() -> None:
    content = SURFACE.read_bytes()
    surface = json.loads(content)
    critical = np.array(surface["critical"])
    assert len(content) < 100_000
    assert critical.shape == (
        len(surface["shapes"]),
        len(surface["sizes"]),
        len(surface["levels"]),
    )
    assert (np.diff(surface["levels"]) < 0).all()
    assert (np.diff(critical, axis=2) >= 0).all()
    assert (np.diff(critical[:8], axis=2) > 0).all()  # shapes up to 0.5
    assert GOF_LEVEL in surface["levels"]
    statistic = np.linspace(0.001, 3, 500)
    for shape in (0.0, 0.33, 2.5, 5.0, 9.0):
        for m in (3, 5, 6, 77, 10_000):
            pvalues = gof_pvalue(statistic, shape, m)
            assert (np.diff(pvalues) <= 0).all()
            assert pvalues.max() <= 0.999
            assert pvalues.min() >= 0.0005


def test_pvalues_of_arrays_equal_those_of_numbers() -> None:
    rng = np.random.default_rng(0)
    statistic, shape = rng.exponential(0.1, 50), rng.exponential(0.5, 50)
    m = rng.integers(5, 500, 50)
    together = gof_pvalue(statistic, shape, m)
    for i in range(50):
        assert together[i] == gof_pvalue(statistic[i], shape[i], m[i])


def test_two_points_of_the_surface_are_those_of_an_independent_simulation() -> None:
    # Quantiles of 20,000 fresh samples at grid points; their relative standard error is about 1 %.
    surface = json.loads(SURFACE.read_bytes())
    for shape, m in ((0.0, 50), (0.5, 200)):
        statistic, _ = simulate(shape, m, 20_000, seed=3)
        cell = surface["critical"][surface["shapes"].index(shape)][surface["sizes"].index(m)]
        for level in (0.5, 0.1, 0.05):
            expected = cell[surface["levels"].index(level)]
            assert np.quantile(statistic, 1 - level) == pytest.approx(expected, rel=0.04)


def lists() -> list[Array]:
    rng = np.random.default_rng(1)
    return [
        *rng.normal(size=(30, 200)),
        *rng.exponential(size=(30, 120)),
        *rng.beta(2, 5, size=(30, 300)),
        *np.round(rng.normal(size=(10, 100)), 1),
        *rng.uniform(size=(10, 40)),
    ]


def test_windows_chosen_by_goodness_of_fit_are_acceptable_or_the_threshold_stays() -> None:
    fits = pc.fit_tails(lists(), selection="gof")
    acceptable = fits.gof_pvalue >= GOF_LEVEL - 1e-9
    assert acceptable.mean() > 0.8
    assert (fits.lower[~acceptable] == 0).all()
    assert (fits.upper - fits.lower >= 5).all()
    # Where one was found, the window one result larger was not acceptable.
    for i in np.flatnonzero(acceptable & (fits.lower > 0)):
        window = np.sort(lists()[i])[fits.lower[i] - 1 : fits.upper[i]]
        excess = (window - window[0])[None, :]
        statistic, shape, scale = np.empty((3, 1))
        _kernel.cvm_rows(np.ascontiguousarray(excess), 1, statistic, shape, scale)
        assert gof_pvalue(statistic, shape, excess.size)[0] < GOF_LEVEL + 1e-9


def test_both_selections_drop_the_same_head() -> None:
    greedy, by_fit = pc.fit_tails(lists()), pc.fit_tails(lists(), selection="gof")
    np.testing.assert_array_equal(greedy.upper, by_fit.upper)


def test_nothing_fitted_counts_as_a_good_fit() -> None:
    assert pc.fit_tail([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).gof_pvalue == 1.0
    assert pc.fit_tail([]).gof_pvalue == 1.0
    assert pc.fit_tails([[], [1.0]]).gof_pvalue.tolist() == [1.0, 1.0]
