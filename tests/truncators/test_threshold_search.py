"""The exact searches against brute force over every threshold and every cut."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from paretocut.lists import Ragged
from paretocut.truncators.search import best_cut, best_threshold, count_kept

Case = list[tuple[list[float], list[float]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Return lists of (falling keys with ties, values of every cut)."""
    grid = st.integers(-4, 4).map(lambda value: value / 2)
    value = st.integers(-8, 8).map(lambda number: number / 4)
    result = []
    for _ in range(draw(st.integers(1, 5))):
        keys = sorted(draw(st.lists(grid, max_size=5)), reverse=True)
        size = len(keys) + 1
        result.append((keys, draw(st.lists(value, min_size=size, max_size=size))))
    return result


def ragged(case: Case) -> tuple[Ragged, Ragged]:
    keys = Ragged.from_any([keys for keys, _ in case], dtype=np.float64)
    return keys, Ragged.from_any([curve for _, curve in case], dtype=np.float64)


def mean_value(case: Case, threshold: float) -> float:
    cuts = [sum(key >= threshold for key in keys) for keys, _ in case]
    return sum(curve[k] for (_, curve), k in zip(case, cuts, strict=True)) / len(case)


def all_thresholds(case: Case, low: float, high: float) -> list[float]:
    """Return a threshold for every outcome within the bounds."""
    points = sorted({key for keys, _ in case for key in keys})
    between = [(a + b) / 2 for a, b in itertools.pairwise(points)]
    beyond = [points[0] - 1, points[-1] + 1] if points else [0.0]
    inside = [low, high, (low + high) / 2] if np.isfinite([low, high]).all() else []
    # A quarter step beside each point reaches outcomes that the bounds cut in two.
    beside = [point + shift for point in points for shift in (-0.25, 0.25)]
    candidates = points + between + beyond + inside + beside
    return [t for t in candidates if low <= t <= high]


@given(cases())
@example([([], [0.5])])
@example([([1.0], [0.0, 0.0])])
def test_no_threshold_beats_the_one_found(case: Case) -> None:
    best = best_threshold(*ragged(case))
    value = mean_value(case, best)
    for threshold in all_thresholds(case, -np.inf, np.inf):
        assert mean_value(case, threshold) <= value + 1e-9


@given(cases(), st.integers(-5, 5), st.integers(0, 6))
def test_no_threshold_within_bounds_beats_the_one_found(case: Case, low: int, width: int) -> None:
    bounds = (low / 2, (low + width) / 2)
    best = best_threshold(*ragged(case), bounds)
    assert bounds[0] <= best <= bounds[1]
    value = mean_value(case, best)
    for threshold in all_thresholds(case, *bounds):
        assert mean_value(case, threshold) <= value + 1e-9


@given(cases())
def test_no_fixed_cut_beats_the_one_found(case: Case) -> None:
    def value(k: int) -> float:
        return sum(curve[min(k, len(curve) - 1)] for _, curve in case)

    best = best_cut(ragged(case)[1])
    longest = max(len(keys) for keys, _ in case)
    assert value(best) >= max(value(k) for k in range(longest + 1)) - 1e-9
    assert all(value(k) < value(best) - 1e-9 for k in range(best))


def test_the_threshold_lies_midway_between_break_points() -> None:
    keys = Ragged.from_any([[4.0, 1.0]])
    keep_one = Ragged.from_any([[0.0, 1.0, 0.0]])
    assert best_threshold(keys, keep_one) == 2.5
    assert best_threshold(keys, keep_one, (3.0, 8.0)) == 3.5
    assert best_threshold(keys, keep_one, (0.0, 2.0)) == 1.5


def test_keeping_nothing_or_everything_is_a_threshold_at_infinity() -> None:
    keys = Ragged.from_any([[4.0, 1.0]])
    assert best_threshold(keys, Ragged.from_any([[1.0, 0.0, 0.0]])) == np.inf
    assert best_threshold(keys, Ragged.from_any([[0.0, 0.0, 1.0]])) == -np.inf


def test_neighbouring_floats_are_told_apart() -> None:
    low = 1.0
    high = np.nextafter(low, 2.0)
    found = best_threshold(Ragged.from_any([[high, low]]), Ragged.from_any([[0.0, 1.0, 0.0]]))
    assert low < found <= high


@given(cases(), st.floats(-3, 3))
def test_count_kept_counts(case: Case, threshold: float) -> None:
    keys, _ = ragged(case)
    expected = [sum(key >= threshold for key in part) for part, _ in case]
    assert count_kept(keys, threshold).tolist() == expected
    assert count_kept(keys, np.full(len(case), threshold)).tolist() == expected
