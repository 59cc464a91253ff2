"""Cuts without a judgement: by the list alone, by a word about it, by other collections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.decisions.wording import distinct, ordinal
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.relevance.beliefs import believed_cuts, stated, upper_part
from paretocut.relevance.constants import CONSTANTS, Constants
from paretocut.relevance.scale import Scale
from paretocut.truncators.consensus.expected import best_expected, is_f_beta
from paretocut.truncators.consensus.pretrained import Pretrained, shipped, values_elsewhere
from paretocut.truncators.consensus.strategy import Setting, Strategy
from paretocut.truncators.consensus.vote import Rules, elected, winner
from paretocut.truncators.evidence import Clause


@dataclass(frozen=True)
class Untrained(Strategy):
    """Before any list was seen: the upper third of the range for F1, else other collections."""

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        if setting.metric == metrics.f1:
            return upper_third(lists, self.scale, setting.constants)
        name = setting.metric.name
        taught = Clause(f"highest expected {name}, by what other collections taught")
        if setting.metric == metrics.penalized_dcg:
            merit = self.scale.apply(lists.merit)
            known, seed = setting.elsewhere(), setting.seed
            rules = _shipped_rules(seed) if known is shipped() else _dcg_rules(known, seed)
            counts = rules.counts(merit, Scale())
            return winner(counts, rules.votes, setting.constants.unsure), taught
        return best_expected(
            self.probabilities(setting, lists), setting.metric, setting.seed
        ), taught


@dataclass(frozen=True)
class Stated(Strategy):
    """By the number of relevant results that the user expects."""

    name: ClassVar[str] = "number"

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        if is_f_beta(setting.metric):
            merit = self.scale.apply(lists.merit)
            beliefs = stated(len(merit), setting.expect or 0.0, setting.constants)
            cuts = believed_cuts(merit, beliefs, setting.beta, setting.constants)
        else:
            cuts = best_expected(self.probabilities(setting, lists), setting.metric, setting.seed)
        number = setting.number
        said = f"about {number:g} relevant result{'s' if number != 1 else ''}"
        if isinstance(setting.expect, str):
            said = f"{setting.expect} ({said})"
        why = f"highest expected {setting.metric.name} if the list holds {said}"
        best, last = lists.scores.ends()
        equal = (best == last) & (lists.scores.lengths > 1)  # nothing tells one from another
        reasons = ["all scores are equal" if same else why for same in equal.tolist()]
        return np.where(equal, lists.scores.lengths, cuts), Clause(reasons)


def upper_third(
    lists: RankedLists, scale: Scale | None = None, constants: Constants = CONSTANTS
) -> tuple[IntArray, Evidence]:
    """Return the number of results in the upper third of each list's range."""
    merit = (scale or Scale()).apply(lists.merit)
    cuts, lows = upper_part(merit, constants.share, constants)
    sign = 1 if lists.higher_is_better else -1
    return cuts, Clause(partial(_why_third, merit, lows, sign, constants))


def _why_third(
    merit: Ragged, lows: FloatArray, sign: int, constants: Constants, i: int, k: int
) -> str:
    """Return the clause for list ``i``, whose range begins at ``lows[i]``."""
    values = merit[i]
    n, top, low = values.size, float(values[0]), float(lows[i])
    if top == values[-1]:
        return "all scores are equal" if n > 1 else "it is the only result"
    share, at = constants.share, min(k, n - 1)
    if abs(low) < 1e-12 * abs(top) and low != values[-1]:
        low = 0.0  # a difference of rounding errors
    numbers = (float(values[at]), top - (share * top - share * low), top, low)
    score, least, best, last = distinct(*(sign * number for number in numbers))
    side = "above" if (k == n) == (sign > 0) else "below"
    expected = f", expected at rank {constants.depth:g}" if low < values[-1] else ""
    more = "; for more than a handful say expect='dozens'" if k < n else ""
    return (
        f"the {ordinal(at + 1)} has score {score}, {side} {least}, where the upper third of "
        f"the range ends ({best} to {last}{expected}){more}"
    )


def _dcg_rules(known: Pretrained, seed: int) -> Rules:
    return elected(values_elsewhere(known, "penalized_dcg", np.random.default_rng(seed)))


@cache
def _shipped_rules(seed: int) -> Rules:
    return _dcg_rules(shipped(), seed)
