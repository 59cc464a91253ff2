"""Two groups of queries are told apart by their best scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paretocut.background.law import Groups
from paretocut.errors import InvalidScoresError


def test_groups_find_the_share_and_weigh_both_errors() -> None:
    rng = np.random.default_rng(0)
    nonsense = rng.normal(0.40, 0.05, size=150)
    log = np.concatenate([rng.normal(0.37, 0.06, size=300), rng.normal(0.70, 0.08, size=700)])
    groups = Groups.fit(log, nonsense, unanswered=0.3)
    assert groups.share == pytest.approx(0.3, abs=0.03)
    assert groups.mean == pytest.approx(0.70, abs=0.02)
    grid = np.linspace(0.3, 0.8, 5001)
    errors = stats.norm.sf(grid, 0.37, 0.06) + stats.norm.cdf(grid, 0.70, 0.08)
    assert groups.threshold == pytest.approx(grid[np.argmin(errors)], abs=0.03)


def test_posterior_is_bayes_rule_and_never_rises_with_the_score() -> None:
    groups = Groups(0.2, 0.3, 0.05, 0.7, 0.1, 0.45)
    x = np.linspace(0.32, 0.68, 7)
    null, other = stats.norm.pdf(x, 0.3, 0.05), stats.norm.pdf(x, 0.7, 0.1)
    expected = 0.2 * null / (0.2 * null + 0.8 * other)
    np.testing.assert_allclose(groups.posterior(x), expected, rtol=1e-9)
    wide = groups.posterior(np.linspace(-5, 5, 1001))
    assert (np.diff(wide) <= 1e-12).all()


def test_a_clean_log_loses_at_most_a_tenth() -> None:
    rng = np.random.default_rng(1)
    # Short queries: answers score hardly better than nonsense does.
    nonsense, log = rng.normal(0.40, 0.06, size=150), rng.normal(0.46, 0.10, size=400)
    groups = Groups.fit(log, nonsense)
    assert groups.share < 0.1
    assert np.mean(log < groups.threshold) <= 0.105


def test_groups_refuse_logs_that_cannot_be_told_apart() -> None:
    rng = np.random.default_rng(2)
    nonsense = rng.normal(0.4, 0.05, size=100)
    with pytest.raises(InvalidScoresError, match="at least 10 lists"):
        Groups.fit(rng.normal(size=5), nonsense)
    with pytest.raises(InvalidScoresError, match="must score higher than nonsense"):
        Groups.fit(rng.normal(-3.0, 0.01, size=50), nonsense)
