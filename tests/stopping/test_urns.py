"""The urn test against SciPy's hypergeometric law, over all urns and not only the useful ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from paretocut.stopping.urns import (
    fatal_miss,
    least_pvalue,
    log_factorials,
    most_missed,
    needed,
)


def slow_pvalue(finds: np.ndarray, read: int, total: int, missed: int) -> float:
    if missed > total - read:
        return 0.0
    relevant = np.zeros(read, dtype=bool)
    relevant[finds] = True
    before = np.arange(read)
    found = relevant[::-1].cumsum()[::-1]
    return float(stats.hypergeom.cdf(found, total - before, found + missed, read - before).min())


def reviews(seed: int, count: int) -> list[tuple[np.ndarray, int, int, int]]:
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        total = int(rng.integers(2, 400))
        read = int(rng.integers(1, total))
        finds = np.sort(rng.choice(read, int(rng.integers(0, min(read, 60) + 1)), replace=False))
        drawn.append((finds, read, total, int(rng.integers(1, total - read + 1))))
    return drawn


@pytest.mark.parametrize("seed", range(3))
def test_the_least_pvalue_is_that_of_all_urns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for case in reviews(seed, 200):
        expected = slow_pvalue(*case)
        assert least_pvalue(*case) == pytest.approx(expected, rel=1e-9, abs=1e-15)
        below = float(rng.random())
        assert least_pvalue(*case, below=below) == pytest.approx(min(below, expected), rel=1e-9)


def test_many_finds_are_as_exact_as_few() -> None:
    rng = np.random.default_rng(0)
    finds = np.sort(rng.choice(3000, 900, replace=False))
    for missed in (1, 30, 120, 400):
        expected = slow_pvalue(finds, 3100, 8000, missed)
        assert least_pvalue(finds, 3100, 8000, missed) == pytest.approx(expected, rel=1e-8)


def test_more_cannot_be_missed_than_is_unread() -> None:
    assert least_pvalue(np.array([0]), 9, 10, 2) == 0.0
    assert most_missed(np.array([0]), 9, 10, 1e-9) == 1


def test_the_most_that_can_be_missed_is_the_last_with_a_pvalue_above_the_level() -> None:
    for finds, read, total, _ in reviews(7, 40):
        most = most_missed(finds, read, total, 0.1)
        pvalues = [slow_pvalue(finds, read, total, missed) for missed in range(total - read + 1)]
        assert most == sum(pvalue >= 0.1 for pvalue in pvalues) - 1


def test_log_factorials() -> None:
    expected = [math.lgamma(n + 1) for n in range(3000)]
    assert log_factorials(2999)[:3000] == pytest.approx(expected, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("recall", [0.7, 0.8, 0.9, 0.95, 1.0])
def test_recall_in_whole_documents(recall: float) -> None:
    # 19 of 20 are exactly 95 %, whatever the floating point says of 19 / 0.95.
    for relevant in range(1, 200):
        finds = needed(relevant, recall)
        assert finds >= recall * relevant - 1e-9 > finds - 1 - 1e-6
        assert finds + fatal_miss(finds, recall) > relevant
