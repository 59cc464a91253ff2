"""The strategy for lists judged in part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.decisions.wording import rounded
from paretocut.lists import IntArray, Ragged, RankedLists
from paretocut.relevance.beliefs import believed_cuts
from paretocut.relevance.judged import Relevance, learn_from
from paretocut.schema.kinds import Kind, Made
from paretocut.truncators.consensus.expected import best_expected, is_f_beta, is_linear
from paretocut.truncators.consensus.strategy import Setting, Strategy
from paretocut.truncators.evidence import Clause


@dataclass(frozen=True)
class PartlyJudged(Strategy):
    """By a model of relevance, learned from the judged results."""

    relevance: Relevance

    name: ClassVar[str] = "partly_judged"
    kinds: ClassVar[Mapping[str, Kind]] = {"relevance": Made(Relevance.from_dict)}

    @classmethod
    def fit(cls, setting: Setting, lists: RankedLists) -> PartlyJudged:
        scale, _, model = learn_from(lists, errors=setting.judge_errors)
        if setting.expect is not None:
            model = model.expecting(setting.expect)
        return cls(scale, model)

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        merit, model, metric = self.scale.apply(lists.merit), self.relevance, setting.metric
        low, high = model.interval
        clause = Clause(
            f"highest expected {metric.name} if a list holds about {rounded(model.number)} "
            f"relevant results ({rounded(low)} to {rounded(high)}), {setting.taught}"
        )
        if is_f_beta(metric):
            beliefs = model.beliefs(merit)
            return believed_cuts(merit, beliefs, setting.beta, setting.constants), clause
        if metric == metrics.accuracy:  # whether there is an answer: all of the list, or nothing
            p = model.probabilities(merit)
            none = np.bincount(merit.rows, np.log1p(-np.minimum(p.values, 1 - 1e-12)), len(merit))
            return np.where(np.exp(none) <= 0.5, merit.lengths, 0), clause
        caution = setting.constants.caution if is_linear(metric) else 0.0
        p = model.probabilities(merit, caution)
        return best_expected(p, metric, seed=setting.seed), clause

    def probabilities(self, setting: Setting, lists: RankedLists) -> Ragged:
        return self.relevance.probabilities(self.scale.apply(lists.merit))
