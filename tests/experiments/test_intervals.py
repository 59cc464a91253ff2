"""Intervals over few collections: right by a formula, by another library, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from experiments.intervals import gain_over, interval_over


def test_of_a_mean_it_is_the_interval_of_student() -> None:
    values = np.random.default_rng(0).normal(size=(7, 1))
    whole, low, high = interval_over(values, lambda own: float(own.mean()))
    error = stats.sem(values[:, 0])
    wanted = stats.t.interval(0.95, 6, loc=values.mean(), scale=error)
    assert whole == pytest.approx(values.mean())
    assert (low, high) == pytest.approx(wanted)


def test_a_gain_lies_in_its_interval_as_often_as_it_should() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        rival = rng.uniform(0.2, 0.6, size=8)
        ours = rival * 1.05 + rng.normal(0, 0.03, size=8)
        _, low, high = gain_over(np.column_stack([ours, rival]))
        inside += low <= 0.05 <= high
    # 95 %, less two points for a ratio of so few and three standard errors of the simulation.
    assert inside / 2000 >= 0.93 - 3 * (0.05 * 0.95 / 2000) ** 0.5


def test_a_gain_is_not_below_losing_all() -> None:
    _, low, _ = gain_over([[1.0, 0.1], [0.1, 0.5], [0.1, 0.4]])
    assert low == -1.0
