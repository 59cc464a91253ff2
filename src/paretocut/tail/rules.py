"""The rules that turn surprise into a number of results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from paretocut.decisions import Cuts
from paretocut.decisions.options import Rule
from paretocut.decisions.warnings import SHALLOW
from paretocut.decisions.wording import ordinal
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists

__all__ = ["RuleDecider", "Tails", "least_surprise", "rule_counts"]


class Tails(Protocol):
    """What a rule asks of the fitted tails of many lists."""

    @property
    def surprise(self) -> Ragged:
        """Surprise of each result."""

    @property
    def scale(self) -> FloatArray:
        """Scale of each tail; 0 where none was fitted."""

    @property
    def tests(self) -> IntArray:
        """Number of results of each list at or above its threshold."""


def least_surprise(rule: Rule, tests: Any) -> Any:
    """Return the smallest surprise kept among ``tests`` results above the threshold; not for fdr.

    Parameters
    ----------
    rule
        The rule.
    tests
        A number, or an array with one per list.
    """
    if rule.name == "min_surprise":
        return rule.level
    if rule.name == "alpha":
        return -math.log(rule.level)
    log = np.log if isinstance(tests, np.ndarray) else math.log
    return log(tests) - math.log(rule.level)


def rule_counts(rule: Rule, surprise: Ragged, tests: IntArray) -> IntArray:
    """Return how many results of each list the rule keeps.

    Parameters
    ----------
    rule
        The rule.
    surprise
        Surprise of each result, in any order.
    tests
        Results above the threshold of each list.
    """
    if rule.name != "fdr":
        least = least_surprise(rule, np.maximum(tests, 1))
        if np.ndim(least):
            least = surprise.spread(least)
        return surprise.count(surprise.values >= least)
    # Benjamini-Hochberg: the largest j whose j-th smallest p-value is at most j * fdr / tests.
    rows = surprise.rows
    descending = surprise.values[np.lexsort((-surprise.values, rows))]
    j = surprise.ranks + 1
    of = surprise.spread(tests)
    passes = (descending >= np.log(of / (rule.level * j))) & (j <= of)
    counts = np.zeros(len(surprise), dtype=np.int64)
    np.maximum.at(counts, rows[passes], j[passes])
    return counts


class RuleDecider:
    """Cuts lists by one rule on their Surprise scores, and explains the cuts.

    Parameters
    ----------
    rule
        The rule.
    if_shallow
        What becomes of a list with too few results for "nothing stands out" to mean anything,
        of which the rule keeps none: "keep" all of it, or "drop" it.
    fit
        Fits the tails of lists.
    """

    def __init__(self, rule: Rule, if_shallow: str, fit: Callable[[RankedLists], Any]) -> None:
        self.rule = rule
        self.if_shallow = if_shallow
        self._fit = fit

    def counts(self, fits: Tails) -> IntArray:
        """Return how many results of each list to keep."""
        return self.counts_of(fits.surprise, fits.tests, fits.scale)

    def counts_of(self, surprise: Ragged, tests: IntArray, scale: FloatArray) -> IntArray:
        """Return how many results to keep of lists with these surprises.

        Parameters
        ----------
        surprise
            Surprise of each result.
        tests, scale
            Results above the threshold, and scale of the tail (0: none was fitted) of each list.
        """
        counts = rule_counts(self.rule, surprise, tests)
        counts[scale == 0] = 0
        if self.if_shallow == "keep" and not counts.all():
            unsure = (counts == 0) & ((surprise.lengths < SHALLOW) | (scale == 0))
            counts = np.where(unsure, surprise.lengths, counts)
        return counts

    def _label(self) -> str:
        return f"{self.rule.name}={self.rule.level:g}"

    def _tails(self, lists: RankedLists) -> Any:
        return self._fit(lists)

    def _notices(self, cuts: Cuts) -> Sequence[tuple[str, ...]]:
        found: Sequence[tuple[str, ...]] = cuts.fits.warnings
        return found

    def _because(self, cuts: Cuts) -> list[str]:
        fits = cuts.fits
        rows = zip(
            cuts.chosen.tolist(),
            fits.scale.tolist(),
            fits.tests.tolist(),
            fits.surprise,
            strict=True,
        )
        return [self._clause(*row) for row in rows]

    def _clause(self, k: int, scale: float, tests: int, surprise: FloatArray) -> str:
        """Return why the rule keeps ``k`` of a list with these surprises, best first."""
        n = len(surprise)
        if n == 0:
            return "the list is empty"
        shallow = n < SHALLOW or scale == 0
        if shallow and k in (0, n) and not self._passes(surprise, tests, scale):
            if scale == 0:
                why = "all scores are equal" if n > 4 else "too few results for a tail"
            else:
                why = "too few results to say that nothing stands out"
            return f"{why} (if_shallow={self.if_shallow!r})"
        # Speak of the first result left out, or of the last one kept if none is.
        last = min(k, n - 1)
        s = float(surprise[last])
        name = "the best" if k == 0 else f"the {ordinal(last + 1)}"
        level = self.rule.level
        if self.rule.name == "min_surprise":
            side = "below" if k < n else "at or above"
            return f"{name} has surprise {s:.3g}, {side} {level:g}"
        if self.rule.name == "alpha":
            side = "above" if k < n else "at or below"
            return f"{name} has p-value {math.exp(-s):.2g}, {side} {level:g}"
        if self.rule.name == "evalue":
            return f"{name} would appear by chance {tests * math.exp(-s):.2g} times per list"
        share = f"{100 * level:g} %"
        if k == n:
            return f"no more than {share} of them are expected to be chance"
        return f"with more, over {share} of them would be expected to be chance"

    def _passes(self, surprise: FloatArray, tests: int, scale: float) -> bool:
        """Return whether the rule alone keeps any result of the list."""
        if scale == 0:
            return False
        column = Ragged.unchecked(surprise, np.array([0, surprise.size]))
        return bool(rule_counts(self.rule, column, np.array([tests]))[0] > 0)
