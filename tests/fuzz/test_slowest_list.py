"""The slowest list: what a search for the worst finds costs a bounded number of ordinary lists."""

from __future__ import annotations

import time

import numpy as np
import pytest
import reference
from numpy.typing import NDArray

import paretocut as pc

Array = NDArray[np.float64]

# The bars the project sets itself, for the slowest list against an ordinary one of its length.
BARS = {200: 60, 1000: 400}
# Machines are shared, and a hill-climb on times climbs on their noise as well.
NOISE = 1.5


def ordinary(n: int, seed: int) -> Array:
    """Return the top of a large collection that has nothing relevant."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.normal(0.25, 0.06, 100_000))[-n:]


def seconds(scores: Array, rounds: int) -> float:
    best = np.inf
    for _ in range(rounds):
        start = time.thread_time()
        pc.fit_tail(scores)
        best = min(best, time.thread_time() - start)
    return best


def seeds(n: int, rng: np.random.Generator) -> list[Array]:
    """Return logarithms of scores that have been slow, or look as if they could be."""
    lines = [np.arange(n) * span / n - span / 2 for span in (5, 10, 20, 40, 100, 300, 680, 1300)]
    tied = np.concatenate([np.full(n // 10, -690.0), np.arange(n - n // 10) * 400 / n - 200])
    return [
        *lines,
        tied,
        -n / np.arange(1.0, n + 1),
        np.sort(rng.uniform(-30, 30, n)),
        np.sort(rng.standard_cauchy(n)),
        np.sort(rng.exponential(50, n)),
        -np.sort(rng.exponential(50, n))[::-1],
    ]


def changed(logs: Array, other: Array, rng: np.random.Generator) -> Array:
    """Return the logarithms with one change of a random kind."""
    new = logs.copy()
    n = new.size
    low, high = np.sort(rng.integers(0, n, 2))
    match rng.integers(6):
        case 0:
            new *= np.exp(rng.normal(0, 0.3))
        case 1:
            new[low:] += rng.normal(0, 10)
        case 2:
            new[low : high + 1] = new[low]
        case 3:
            new += rng.normal(0, rng.choice([0.1, 1, 10]), n)
        case 4:
            new[low : high + 1] = np.linspace(new[low], new[high], high - low + 1)
        case _:
            new[low:] = other[low:]
    return np.sort(new)


def climb(n: int, cost: object, steps: int, seed: int) -> tuple[float, Array]:
    """Return the highest cost found, and its list."""
    rng = np.random.default_rng(seed)
    assert callable(cost)

    def scores(logs: Array) -> Array:
        return np.exp(np.clip(logs, -690, 690))

    best = sorted(((cost(scores(x)), x) for x in seeds(n, rng)), key=lambda pair: -pair[0])[:4]
    for _ in range(steps):
        i, j = rng.integers(len(best), size=2)
        new = changed(best[i][1], best[j][1], rng)
        if not scores(new)[0] < scores(new)[-1]:
            continue
        if (value := cost(scores(new))) > best[i][0]:
            best[i] = (value, new)
    value, logs = max(best, key=lambda pair: pair[0])
    return value, scores(logs)


@pytest.mark.parametrize("n", [20, 200, 1000])
def test_no_list_takes_many_evaluations_for_its_length(n: int) -> None:
    # It was 700 for every score of the exponential of a line.
    def evaluations(scores: Array) -> float:
        return float(pc.fit_tails([scores]).search[0, 1]) / n

    worst, _ = climb(n, evaluations, steps=20_000 // n, seed=n)
    print(f"{n}: {worst:.1f} evaluations a score")  # noqa: T201 - shown by pytest -s
    assert worst <= 20


@pytest.mark.parametrize("span", [5, 20, 60, 200, 680])
def test_exponentials_of_a_line_are_fitted_as_the_reference_does(span: float) -> None:
    scores = np.exp(np.arange(40) * span / 40 - span / 2)
    fit, judge = pc.fit_tail(scores), reference.surprise(scores)
    assert (fit.lower, fit.upper) == (judge.lower, judge.upper)
    assert fit.shape == pytest.approx(judge.shape, rel=1e-7, abs=1e-9)
    assert fit.scale == pytest.approx(judge.scale, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("n", BARS)
def test_the_slowest_list_costs_a_bounded_number_of_ordinary_ones(n: int) -> None:
    usual = float(np.median([seconds(ordinary(n, seed), 30) for seed in range(9)]))
    _, worst = climb(n, lambda scores: seconds(scores, 3), steps=100_000 // n, seed=n)
    ratio = seconds(worst, 20) / usual
    print(f"{n}: {ratio:.0f} ordinary lists")  # noqa: T201 - the measurement, shown by pytest -s
    assert ratio <= NOISE * BARS[n]
    line = np.exp(np.arange(n) * 680 / n)  # the worst that was known
    assert seconds(line, 20) / usual <= BARS[n]
