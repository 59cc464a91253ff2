"""Warnings about scores: the kernel against a version that is slow and obvious."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from paretocut.decisions.warnings import diagnose, saturated
from paretocut.lists import Ragged

Array = NDArray[np.float64]


def obvious(x: list[float]) -> dict[str, bool]:
    """Return the warnings of one falling list."""
    n = len(x)
    quarters = [value / 4 for value in x]  # whose differences cannot overflow
    least = (quarters[n // 4] - quarters[3 * n // 4]) * min(3e-6, 0.01 / n)
    gaps = [first - second for first, second in itertools.pairwise(quarters)]
    logs = [math.log(gap) for gap in gaps if gap > least]
    steps = [abs(second - first) for first, second in itertools.pairwise(logs)]
    smooth = len(steps) >= 8 and sum(step < 0.1 for step in steps) > len(steps) / 2
    heavy_ties = n > 1 and len(gaps) - len(logs) > (n - 1) / 4

    inverses = [1 / value for value in dict.fromkeys(x) if 1 / 400 < value < 1 / 10]
    whole = sum(abs(inverse - round(inverse)) < 0.02 for inverse in inverses)
    chance = 0.04 * len(inverses)
    fused = len(inverses) >= 20 and whole > chance + 4 * math.sqrt(chance)

    top, bottom = x[0], x[-1]
    high = sum(value > 0.99 for value in x) >= n / 4 and top > 0.99 and top > bottom + 0.01
    low = sum(value < 0.01 for value in x) >= n / 4 and top > 0.5
    piled = 0 <= bottom < top <= 1 and (high or low)

    rank_only = fused or (smooth and not heavy_ties)
    return {
        "heavy_ties": heavy_ties,
        "rank_only_scores": rank_only,
        "saturated_scores": piled and not rank_only,
        "piled": piled,
    }


def drawn(rng: np.random.Generator, kind: int, n: int) -> Array:
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return 1 / (60.0 + np.arange(1, n + 1))
    if kind == 2:
        return np.round(rng.exponential(size=n), int(rng.integers(3)))
    if kind == 3:
        return 1000.0 - np.arange(n)
    if kind == 4:
        return rng.beta(0.2, 0.2, n)
    if kind == 5:
        return 0.1 * rng.random(n)
    if kind == 6:
        twice = rng.random(n) < 0.3
        return 1 / (60 + rng.integers(1, 80, n)) + twice / (60 + rng.integers(1, 80, n))
    if kind == 7:
        return np.where(rng.random(n) < 0.3, 0.5, rng.random(n)) * 1e308
    return np.append(1e9, rng.random(n - 1))


def test_the_kernel_finds_what_the_obvious_version_finds() -> None:
    rng = np.random.default_rng(0)
    lists = [-np.sort(-drawn(rng, i % 9, int(rng.integers(1, 120)))) for i in range(1800)]
    expected = [obvious(list(map(float, one))) for one in lists]
    ragged = Ragged.from_any(lists)
    found = {**diagnose(ragged), "piled": saturated(ragged)}
    for name, flags in found.items():
        assert flags.tolist() == [one[name] for one in expected], name
        assert 50 < flags.sum() < 1750


def test_empty_lists_carry_no_warning() -> None:
    for flags in diagnose(Ragged.from_any([np.empty(0), np.empty(0)])).values():
        assert flags.tolist() == [False, False]
