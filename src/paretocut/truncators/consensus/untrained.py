"""Cuts without a judgement: by the list alone, by a word about it, by what others taught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.decisions.wording import ordinal
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.relevance.beliefs import above_middle, believed_cuts, cuts_at, levels_for, stated
from paretocut.relevance.constants import CONSTANTS, Constants
from paretocut.relevance.scale import Scale
from paretocut.truncators.consensus.expected import best_expected, is_f_beta
from paretocut.truncators.consensus.pretrain import Pretrained, shipped, values_elsewhere
from paretocut.truncators.consensus.strategy import Setting, Strategy
from paretocut.truncators.consensus.vote import Rules, elected, winner
from paretocut.truncators.evidence import Clause


@dataclass(frozen=True)
class Untrained(Strategy):
    """Before any list was seen: the upper half of the range for F1, other collections else."""

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        if setting.metric == metrics.f1:
            return upper_half(lists, self.scale, setting.constants)
        name = setting.metric.name
        taught = Clause(f"highest expected {name}, by what other collections taught")
        if setting.metric == metrics.dcg:
            merit = self.scale.apply(lists.merit)
            known, seed = setting.elsewhere(), setting.seed
            ours = known is shipped()
            rules = _shipped_dcg_rules(seed) if ours else _dcg_rules(known, seed)
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
        return cuts, Clause(f"highest expected {setting.metric.name} if the list holds {said}")


def upper_half(
    lists: RankedLists, scale: Scale | None = None, constants: Constants = CONSTANTS
) -> tuple[IntArray, Evidence]:
    """Return the number of results in the upper half of each list's range, if these are not many.

    In a flat list half of the range may be most of the list. So a cut of more than 50 results is
    not deeper than the best cut if 50 results were relevant.
    """
    merit = (scale or Scale()).apply(lists.merit)
    cuts, middles, most = above_middle(merit, constants)
    if most > constants.many:
        top, bottom = merit.ends()
        over = np.flatnonzero((cuts > constants.many) & (top > bottom))  # equal results stay
        long = merit.take(over)
        levels = levels_for(long, np.full((len(long), 1), constants.many), constants)
        bound = cuts_at(long, levels, np.ones(levels.shape), constants=constants)
        cuts[over] = np.minimum(cuts[over], bound)

    return cuts, _Middles(lists, merit, middles, constants.many)


@dataclass(frozen=True)
class _Middles:
    """The middle of each list's range, on the scale that scores were compared on."""

    lists: RankedLists
    merit: Ragged
    middles: FloatArray
    many: float
    tails: None = None

    def because(self, i: int, k: int) -> str:
        values, half = self.merit[i], float(self.middles[i])
        if values[0] == values[-1]:
            return "all scores are equal" if k > 1 else "it is the only result"
        if k == values.size:
            return "all scores are close to the best"
        if values[k] >= half:
            return f"more than {self.many:g} relevant results are not expected in one list"
        up = self.lists.higher_is_better
        sign, side = (1.0, "below") if up else (-1.0, "above")
        what = "logit" if values[0] != sign * self.lists.scores[i][0] else "score"
        return (
            f"the {ordinal(k + 1)} has {what} {sign * values[k]:.3g}, {side} the middle of the "
            f"list's range, {sign * half:.3g}"
        )


def _dcg_rules(known: Pretrained, seed: int) -> Rules:
    return elected(values_elsewhere(known, "dcg", np.random.default_rng(seed)))


@cache
def _shipped_dcg_rules(seed: int) -> Rules:
    return _dcg_rules(shipped(), seed)
