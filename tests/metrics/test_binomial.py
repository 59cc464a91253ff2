"""Binomial probabilities and the interval of Clopper and Pearson, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest

from paretocut.metrics.significance import allowed_errors, binomial_cdf, exact_interval

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")


def cases() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = np.concatenate([rng.integers(1, 40, 300), rng.integers(40, 20_000, 300)])
    k = np.floor(n * rng.random(n.size) * rng.choice([0.02, 0.3, 1.0], n.size)).astype(int)
    return np.append(k, [0, 5, 5, -1]), np.append(n, [7, 5, 6, 3])


def test_probabilities_are_those_of_scipy() -> None:
    k, n = cases()
    for p in (1e-6, 0.01, 0.3, 0.5, 0.99):
        np.testing.assert_allclose(binomial_cdf(k, n, p), stats.binom.cdf(k, n, p), atol=1e-10)


def test_a_fraction_of_a_success_is_the_incomplete_beta_function() -> None:
    n = np.arange(1, 200)
    k = 0.3 * n
    np.testing.assert_allclose(
        binomial_cdf(k, n, 0.2), special.betainc(n - k, k + 1, 0.8), atol=1e-12
    )


def test_the_interval_is_that_of_clopper_and_pearson() -> None:
    k, n = cases()
    low, high = exact_interval(k[:200], n[:200], 0.9)
    for i in range(200):
        interval = stats.binomtest(int(k[i]), int(n[i])).proportion_ci(0.9, "exact")
        assert (low[i], high[i]) == pytest.approx((interval.low, interval.high), abs=1e-10)


@pytest.mark.parametrize(("p", "level"), [(0.01, 0.05), (0.1, 0.0375), (0.9, 0.2)])
def test_errors_allowed_are_the_most_that_the_test_refutes_with(p: float, level: float) -> None:
    n = np.arange(1501)
    allowed = allowed_errors(1500, p, level)
    assert (np.where(allowed >= 0, stats.binom.cdf(allowed, n, p), 0.0) <= level).all()
    assert (stats.binom.cdf(allowed + 1, n, p) > level).all()
