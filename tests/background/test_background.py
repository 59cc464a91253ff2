"""The background null against SciPy, simulated indexes and their growth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.background import Background, fit_gev, gev_log_cdf
from paretocut.errors import DataFormatError, InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists


@pytest.mark.parametrize("shape", [-0.4, -0.1, 0.0, 0.1, 0.4])
def test_distribution_is_the_one_of_scipy(shape: float) -> None:
    stats = importorskip("scipy.stats")
    x = np.linspace(-3, 8, 50)
    expected = stats.genextreme.logcdf(x, -shape, loc=0.5, scale=1.3)
    ours = gev_log_cdf(x, shape=shape, loc=0.5, scale=1.3)
    np.testing.assert_allclose(np.exp(ours), np.exp(expected), atol=1e-12)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.2])
def test_parameters_of_simulated_maxima_are_found(shape: float) -> None:
    stats = importorskip("scipy.stats")
    sample = stats.genextreme.rvs(-shape, loc=2.0, scale=0.5, size=20_000, random_state=1)
    # Standard errors at this size are about 0.006, 0.004 and 0.003.
    np.testing.assert_allclose(fit_gev(sample), (shape, 2.0, 0.5), atol=0.02)


def test_fit_follows_shift_and_scale() -> None:
    sample = np.random.default_rng(0).gumbel(size=300)
    shape, loc, scale = fit_gev(sample)
    moved = fit_gev(3 + 10 * sample)
    np.testing.assert_allclose(moved, (shape, 3 + 10 * loc, 10 * scale), atol=1e-9)


def unanswered(queries: int, size: int, seed: int) -> pc.RankedLists:
    """Return the best 20 scores of queries whose irrelevant scores differ in mean."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.3, 0.05, (queries, 1))
    scores = rng.normal(level, 0.08, (queries, size))
    return pc.RankedLists(-np.sort(-scores, axis=1)[:, :20])


def test_pvalues_of_unanswered_queries_are_uniform() -> None:
    background = Background.fit(unanswered(400, 1000, 0), size=1000)
    pvalues = background.pvalue(unanswered(1000, 1000, 1))
    # Binomial standard errors 0.007 and 0.016, plus that of the fit on 400 queries.
    assert np.mean(pvalues <= 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(pvalues <= 0.5) == pytest.approx(0.5, abs=0.07)


def test_pvalues_stay_uniform_when_the_index_grows_tenfold() -> None:
    background = Background.fit(unanswered(400, 500, 0), size=500)
    grown = unanswered(800, 5000, 1)
    followed = np.mean(background.pvalue(grown, size=5000) <= 0.05)
    assert followed == pytest.approx(0.05, abs=0.04)
    assert np.mean(background.pvalue(grown) <= 0.05) > 2 * followed


def test_lists_that_were_fitted_as_distances_are_asked_as_distances() -> None:
    # Once, bare distances were taken for scores then, and every query had an answer.
    distances = np.sort(1 - np.random.default_rng(0).normal(0.3, 0.1, (200, 300)), axis=1)
    lists = RankedLists(distances, higher_is_better=False)
    background = Background.fit(lists)
    assert background == Background.fit(distances, higher_is_better=False)
    pvalues = background.pvalue(distances)
    np.testing.assert_array_equal(pvalues, background.pvalue(lists))
    assert np.mean(pvalues <= 0.05) < 0.1
    with pytest.raises(InvalidScoresError, match=r"must hold distances, as those .*, got scores"):
        background.pvalue(RankedLists(-distances))
    with pytest.raises(InvalidScoresError, match="distances must not come worst first"):
        background.pvalue(distances[:, ::-1])


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_the_limit_is_where_the_p_value_is_alpha(higher_is_better: bool) -> None:
    sign = 1 if higher_is_better else -1
    best = np.random.default_rng(0).normal(0.3, 0.1, (400, 1000)).max(axis=1)
    background = Background.fit(
        sign * best,
        size=1000,
        higher_is_better=higher_is_better,
    )
    for alpha in (0.01, 0.05, 0.5):
        limit = background.limit(alpha)
        assert background.pvalue([limit])[0] == pytest.approx(alpha)
        grown = background.limit(alpha, size=5000)
        assert background.pvalue([grown], size=5000)[0] == pytest.approx(alpha)


def test_distances_are_judged_by_the_smallest() -> None:
    best = np.random.default_rng(0).weibull(3.0, 300)
    near = Background.fit(best, higher_is_better=False)
    assert near.pvalue([0.0])[0] < 0.05 < near.pvalue([1.0])[0]


def test_saved_backgrounds_come_back_equal(tmp_path: Path) -> None:
    background = Background.fit(unanswered(50, 100, 0), size=100)
    background.save(tmp_path / "background.json")
    assert pc.load(tmp_path / "background.json") == background
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(DataFormatError, match=r'expected "format": .*background'):
        pc.load(tmp_path / "other.json")
    content = json.loads((tmp_path / "background.json").read_text())
    for name, value in (("scale", 0), ("shape", "x"), ("loc", None)):
        (tmp_path / "other.json").write_text(json.dumps(content | {name: value}))
        with pytest.raises(DataFormatError, match="not a background"):
            pc.load(tmp_path / "other.json")


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidScoresError, match="at least 10 queries with a result, got 2"):
        Background.fit([1.0, 2.0])
    raw = np.sort(np.random.default_rng(0).random((20, 9)))[:, ::-1]
    low, high = raw.min(axis=1, keepdims=True), raw.max(axis=1, keepdims=True)
    with pytest.raises(InvalidScoresError, match="got 1 for all 20: each list was put on a scale"):
        Background.fit((raw - low) / (high - low))
    odds = np.exp(9 * raw)
    shares = odds / odds.sum(axis=1, keepdims=True)  # the best share still tells something
    gate = pc.truncators.Gated(pc.truncators.FixedK(3), Background.fit(shares))
    assert "rescaled_scores" in gate.cut(shares[0]).warnings
    with pytest.raises(InvalidParameterError, match="unless fit was given the size"):
        Background.fit(np.arange(20.0)).pvalue([1.0], size=5)


EXTREME = [0.0, 5e-324, 1e-300, 1.0, -1.0, 1e149, -1e149, 1e300, -1e300, 1.7e308, -1.7e308]


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-3, 1.0, 1e100, 1e149])
def test_p_values_are_never_nan_whatever_the_scores(scale: float) -> None:
    rng = np.random.default_rng(0)
    background = Background.fit(RankedLists(scale * rng.random((40, 12))), size=9)
    lists = RankedLists([sorted(rng.choice(EXTREME, 5), reverse=True) for _ in range(300)])
    for size in (None, 1, 9, 2**62):
        pvalues = background.pvalue(lists, size=size)
        assert ((pvalues >= 0) & (pvalues <= 1)).all()
    for alpha in (5e-324, 1e-300, 0.5, 1 - 1e-16):
        assert np.isfinite(background.limit(alpha, size=2**62))


def test_scores_that_would_overflow_are_not_fitted() -> None:
    # They gave infinite moments, and p-values that were NaN.
    rng = np.random.default_rng(0)
    for scale in (1e155, 1e300, 1e308):
        lists = RankedLists(scale * rng.random((40, 12)))
        with pytest.raises(InvalidScoresError, match=r"must be within 1e\+150 of 0, got "):
            Background.fit(lists)
