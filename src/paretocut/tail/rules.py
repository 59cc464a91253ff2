"""The rules that turn surprise into a number of results, and the reasons they give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretocut.decisions.cuts import Tails, evalues
from paretocut.decisions.options import Rule
from paretocut.decisions.warnings import SHALLOW
from paretocut.decisions.wording import ordinal
from paretocut.lists import FloatArray, IntArray, Ragged


def rule_counts(rule: Rule, tails: Tails) -> IntArray:
    """Return how many results of each list, best first, the rule keeps."""
    surprise, scale = tails.surprise, tails.scale
    if len(scale) == 1:  # plain numbers are ten times as fast
        n, fitted = surprise.values.size, scale[0] > 0
        kept = _passing_one(rule, surprise.values, tails, 0) if fitted else 0
        unsure = kept == 0 and (n < SHALLOW or not fitted) and rule.if_unsure == "keep"
        return np.array([n if unsure else kept])
    counts = np.where(scale > 0, _passing(rule, surprise, tails.tests), 0)
    if rule.if_unsure == "keep" and not counts.all():
        unsure = (counts == 0) & ((surprise.lengths < SHALLOW) | (scale == 0))
        counts = np.where(unsure, surprise.lengths, counts)
    return counts


def _passing_one(rule: Rule, surprise: FloatArray, tails: Tails, i: int) -> int:
    if rule.name == "fdr":
        column = Ragged.unchecked(surprise, np.array([0, surprise.size]))
        return int(_passing(rule, column, tails.tests[i : i + 1])[0])
    least = _least(rule, math.log(max(tails.tests[i], 1)) if rule.name == "evalue" else 0.0)
    return int(surprise.size - surprise[::-1].searchsorted(least))


def _passing(rule: Rule, surprise: Ragged, tests: IntArray) -> IntArray:
    if rule.name != "fdr":
        least = np.broadcast_to(_least(rule, np.log(np.maximum(tests, 1))), tests.shape)
        return surprise.count(surprise.values >= surprise.spread(least))
    # Benjamini-Hochberg: the largest j whose j-th smallest p-value is at most j * fdr / tests.
    j, of = surprise.ranks + 1, surprise.spread(tests)
    passes = (surprise.values >= np.log(of / (rule.level * j))) & (j <= of)
    counts = np.zeros(len(surprise), dtype=np.int64)
    np.maximum.at(counts, surprise.rows[passes], j[passes])
    return counts


def _least(rule: Rule, log_tests: Any) -> Any:
    """Return the smallest surprise that the rule keeps; not for fdr."""
    if rule.name == "min_surprise":
        return rule.level
    return (log_tests if rule.name == "evalue" else 0.0) - math.log(rule.level)


@dataclass(slots=True, eq=False)
class RuleEvidence:
    """The tails that a rule looked at."""

    rule: Rule
    tails: Tails

    def because(self, i: int, k: int) -> str:
        surprise, tests = self.tails.surprise[i], int(self.tails.tests[i])
        scale, n = float(self.tails.scale[i]), surprise.size
        rule = self.rule
        if (n < SHALLOW or scale == 0) and k in (0, n):
            if scale == 0 or _passing_one(rule, surprise, self.tails, i) == 0:
                why = "too few results to say that nothing stands out"
                if scale == 0:
                    why = "all scores are equal" if n > 4 else "too few results for a tail"
                return f"{why} (if_unsure={rule.if_unsure!r})"
        # Speak of the first result left out, or of the last one kept if none is.
        last = min(k, n - 1)
        s = surprise[last]
        name = "the best" if k == 0 else f"the {ordinal(last + 1)}"
        level = rule.level
        if rule.name == "min_surprise":
            return f"{name} has surprise {s:.3g}, {'below' if k < n else 'at or above'} {level:g}"
        if rule.name == "alpha":
            side = "above" if k < n else "at or below"
            return f"{name} has p-value {math.exp(-s):.2g}, {side} {level:g}"
        if rule.name == "evalue":
            return f"{name} would appear by chance {evalues(s, tests):.2g} times per list"
        share = f"{100 * level:g} %"
        if k == n:
            return f"no more than {share} of them are expected to be chance"
        return f"with more, over {share} of them would be expected to be chance"
