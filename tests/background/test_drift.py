"""The test of drift is that of Kolmogorov and Smirnov."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paretocut.background.seen import _chance, _distance


def test_distance_and_chance_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=180), rng.normal(0.2, 1.0, size=140)
    ours = stats.ks_2samp(one, other, method="asymp")
    assert _distance(one, other) == pytest.approx(ours.statistic)
    exact = stats.ks_2samp(one, other, method="exact")
    assert _chance(exact.statistic, 180, 140) == pytest.approx(exact.pvalue, rel=0.15)
