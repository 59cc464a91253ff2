"""The rules that turn surprise into a number of results."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretocut._diagnostics import count_true
from paretocut._validation import check_int, check_real
from paretocut.errors import InvalidParameterError
from paretocut.types import IntArray, Ragged

__all__ = ["RULES", "Rule", "check_bounds", "choose_rule", "rule_counts"]

RULES = ("alpha", "threshold", "evalue", "fdr")
_DEFAULT = ("alpha", 0.05)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and its level."""

    name: str
    level: float

    def least_surprise(self, tests: Any) -> Any:
        """Return the smallest surprise kept among ``tests`` results above the threshold."""
        if self.name == "threshold":
            return self.level
        if self.name == "alpha":
            return -math.log(self.level)
        log = np.log if isinstance(tests, np.ndarray) else math.log
        return log(tests) - math.log(self.level)


def choose_rule(who: str, **levels: float | None) -> Rule:
    """Return the one rule that has a level, or the default if none has."""
    given = [(name, level) for name, level in levels.items() if level is not None]
    if len(given) > 1:
        names = " and ".join(name for name, _ in given)
        raise InvalidParameterError(f"{who}: one of {', '.join(RULES)} must be given, got {names}")
    name, level = given[0] if given else _DEFAULT
    if name in ("alpha", "fdr"):
        check_real(level, who=who, name=name, low=0, high=1)
    elif name == "evalue":
        check_real(level, who=who, name=name, low=0)
    else:
        check_real(level, who=who, name=name, low=0, closed="low")
    return Rule(name, float(level))


def rule_counts(rule: Rule, surprise: Ragged, tests: IntArray) -> IntArray:
    """Return how many results of each list the rule keeps."""
    if rule.name != "fdr":
        least = rule.least_surprise(np.maximum(tests, 1))
        if np.ndim(least):
            least = np.repeat(least, surprise.lengths)
        return count_true(surprise.values >= least, surprise.offsets)
    # Benjamini-Hochberg: the largest j whose j-th smallest p-value is at most j * fdr / tests.
    rows = surprise.rows
    descending = surprise.values[np.lexsort((-surprise.values, rows))]
    j = np.arange(descending.size) - np.repeat(surprise.offsets[:-1], surprise.lengths) + 1
    of = np.repeat(tests, surprise.lengths)
    passes = (descending >= np.log(of / (rule.level * j))) & (j <= of)
    counts = np.zeros(len(surprise), dtype=np.int64)
    np.maximum.at(counts, rows[passes], j[passes])
    return counts


def check_bounds(who: str, min_k: int, max_k: int | None) -> tuple[int, int]:
    """Return the bounds on the number of results kept; no upper one is a very large one."""
    low = check_int(min_k, who=who, name="min_k")
    high = sys.maxsize if max_k is None else check_int(max_k, who=who, name="max_k")
    if low > high:
        raise InvalidParameterError(f"{who}: min_k must be at most max_k={high}, got {low}")
    return low, high
