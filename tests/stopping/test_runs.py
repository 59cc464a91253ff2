"""Runs of irrelevant documents against SciPy's law, and the sum behind the promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from paretocut.stopping.urns import (
    _log_level,
    fatal_miss,
    log_chance,
    long_enough,
    most_relevant,
    needed,
)


def test_the_chance_of_a_run_is_hypergeometric() -> None:
    for missed, rest, run in ((1, 10, 3), (7, 200, 150), (40, 5000, 300), (3, 10, 8)):
        expected = stats.hypergeom.logpmf(0, rest, missed, run)
        assert log_chance(missed, rest, run) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("doubt", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("recall", [0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
def test_wrong_stops_sum_to_less_than_the_doubt(recall: float, doubt: float) -> None:
    # For each number of relevant documents, the chances of a stop after each find that is too
    # early, in a random order of an endless list: the worst case, since it has no last document.
    for relevant in [*range(2, 300), 1000, 3000]:
        total = 0.0
        for found in range(1, needed(relevant, recall)):
            # The chance at which a stop excludes the fewest that are too many, in an endless list.
            short = found + fatal_miss(found, recall)
            level = math.log(0.1 * doubt / (found * (found + 1))) / (short - found)
            level = max(level, _log_level(short - found, 0.9 * doubt))
            total += math.exp((relevant - found) * level)
        assert total <= doubt * (1 + 1e-9)


@pytest.mark.parametrize("recall", [0.8, 0.95, 1.0])
def test_the_bound_is_that_of_every_run(recall: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        total, read = 300, int(rng.integers(100, 300))
        finds = np.sort(rng.choice(read, int(rng.integers(1, 40)), replace=False))
        most = total - read + len(finds)
        ends = [*finds[1:].tolist(), read]
        for k, (find, end) in enumerate(zip(finds.tolist(), ends, strict=True), 1):
            # Excluded one by one, from the top, with nothing said about those in between.
            for relevant in range(most, k + fatal_miss(k, recall) - 1, -1):
                missed = fatal_miss(needed(relevant, recall) - 1, recall)
                level = max(
                    (relevant - k) * _log_level(missed, 0.045), math.log(0.005 / k / (k + 1))
                )
                if log_chance(relevant - k, total - find - 1, end - find - 1) > level:
                    break
                most = relevant - 1
        most = most if most >= len(finds) else total - read + len(finds)
        assert most_relevant(finds, read, total, recall, 0.05) == most


def test_the_rule_stops_when_the_bound_reaches_the_recall() -> None:
    finds = np.arange(0, 40, 4)
    for read in range(37, 200):
        bound = len(finds) / most_relevant(finds, read, 200, 0.9, 0.05)
        assert long_enough(finds, read, 200, 0.9, 0.05) == (bound >= 0.9)
