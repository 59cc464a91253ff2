"""Strategies for judged lists: a vote for F1, a regression for DCG, a model of answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance.logistic import sigmoid
from paretocut.relevance.scale import Scale
from paretocut.schema.kinds import Either, Kind, Made, Real
from paretocut.truncators.base import Fitted, Truncator
from paretocut.truncators.consensus.accuracy import AnswerModel
from paretocut.truncators.consensus.expected import best_expected, is_linear
from paretocut.truncators.consensus.pretrained import values_elsewhere
from paretocut.truncators.consensus.regression import (
    COEF,
    COVARIANCE,
    careful,
    cross_validated,
    regress,
)
from paretocut.truncators.consensus.strategy import Setting, Strategy
from paretocut.truncators.consensus.vote import (
    ELECTED,
    Rules,
    drawn,
    elected,
    rule_values,
    unit,
    winner,
)
from paretocut.truncators.evidence import Clause, Taught


class Lesson(NamedTuple):
    """Judged lists, their scores on the scale of the system, and the features of each result."""

    lists: RankedLists
    merit: Ragged
    scale: Scale
    design: FloatArray
    weight: FloatArray


@dataclass(frozen=True)
class Judged(Strategy):
    """Base of the strategies for judged lists: the log-odds of relevance.

    ``coef`` are the coefficients of the standardised features; ``covariance`` says how uncertain
    they are.
    """

    coef: FloatArray
    covariance: FloatArray

    kinds: ClassVar[Mapping[str, Kind]] = {"coef": COEF, "covariance": COVARIANCE}

    @staticmethod
    def of(metric: Metric) -> type[Judged]:
        """Return the strategy for a metric."""
        if metric == metrics.accuracy:
            return Accuracy
        return Regression if is_linear(metric) else Vote

    @classmethod
    def fit(cls, setting: Setting, lists: RankedLists) -> Self:
        relevant = lists.relevant  # refuses lists without judgements
        scale, known = Scale.of(lists.merit), setting.elsewhere()
        merit = scale.apply(lists.merit)
        design, weight = known.standardised(merit, scale), 1 / (merit.ranks + 1.0)
        towards = np.array(known.coef)
        coef, covariance = regress(design, relevant.values, weight, towards, setting.constants)
        more = cls.learn(setting, Lesson(lists, merit, scale, design, weight))
        return cls(scale, coef, covariance, **more)

    @classmethod
    @abstractmethod
    def learn(cls, setting: Setting, seen: Lesson) -> dict[str, Any]:
        """Return the fields of this strategy beside the coefficients."""

    def probabilities(self, setting: Setting, lists: RankedLists) -> Ragged:
        merit = self.scale.apply(lists.merit)
        design = setting.elsewhere().standardised(merit, self.scale)
        return merit.with_values(sigmoid(design @ self.coef))


@dataclass(frozen=True)
class Vote(Judged):
    """The median of the cuts of elected rules."""

    weights: FloatArray
    thresholds: FloatArray
    votes: IntArray

    name: ClassVar[str] = "vote"
    kinds: ClassVar[Mapping[str, Kind]] = {**Judged.kinds, **ELECTED}

    @classmethod
    def learn(cls, setting: Setting, seen: Lesson) -> dict[str, Any]:
        constants, rng = setting.constants, np.random.default_rng(setting.seed)
        curves = setting.metric.curves(seen.lists)
        values = rule_values(seen.merit, seen.scale, curves)
        totals = len(curves) * drawn(values, rng, constants.draws)
        if setting.metric == metrics.f1:
            elsewhere = values_elsewhere(setting.elsewhere(), "f1", rng, constants.draws)
            totals += constants.pseudo_queries * unit(curves) * elsewhere
        return elected(totals)._asdict()

    @property
    def rules(self) -> Rules:
        return Rules(self.weights, self.thresholds, self.votes)

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        counts = self.rules.counts(self.scale.apply(lists.merit), self.scale)
        clause = f"median of the {len(self.votes)} cut-offs {setting.taught}"
        return winner(counts, self.votes), Clause(clause)


@dataclass(frozen=True)
class Regression(Judged):
    """The cut with the highest expected metric, or nothing if cuts lose.

    ``gain`` is the mean metric of judged lists, cross-validated, and ``error`` its standard error.
    """

    gain: float
    error: float

    name: ClassVar[str] = "regression"
    kinds: ClassVar[Mapping[str, Kind]] = {**Judged.kinds, "gain": Real(), "error": Real(0)}

    @classmethod
    def learn(cls, setting: Setting, seen: Lesson) -> dict[str, Any]:
        towards, protocol = np.array(setting.elsewhere().coef), (setting.seed, setting.constants)
        gain, error = cross_validated(
            seen.lists, setting.metric, seen.design, seen.weight, towards, *protocol
        )
        return {"gain": gain, "error": error}

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        name, constants = setting.metric.name, setting.constants
        if self.gain < -constants.loss * self.error:
            nothing = np.zeros(len(lists), dtype=np.int64)
            return nothing, Clause(f"any cut would lose {name}, as {setting.taught}")
        merit = self.scale.apply(lists.merit)
        design = setting.elsewhere().standardised(merit, self.scale)
        p = merit.with_values(careful(design, self.coef, self.covariance, constants))
        clause = Clause(f"highest expected {name} by probabilities {setting.taught}")
        return best_expected(p, setting.metric), clause


@dataclass(frozen=True)
class Accuracy(Judged):
    """Whether a list holds an answer; the base, or nothing, cuts those that do."""

    answer: AnswerModel
    base: Truncator | None

    name: ClassVar[str] = "answer"
    kinds: ClassVar[Mapping[str, Kind]] = {
        **Judged.kinds,
        "answer": Made(AnswerModel.from_dict),
        "base": Either(Fitted()),
    }

    @classmethod
    def learn(cls, setting: Setting, seen: Lesson) -> dict[str, Any]:
        lists = seen.lists
        answered = np.array([part.any() for part in lists.relevant], dtype=bool)
        # If the list holds no relevant result, every cut of it is wrong.
        known = np.flatnonzero(answered | (lists.num_relevant == 0))
        model = AnswerModel.fit(lists.merit.take(known), answered[known])
        base = None if setting.base is None else setting.base.clone().fit(lists)
        return {"answer": model, "base": base}

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        chances = self.answer.probability(lists.merit)
        within, inner = lists.scores.lengths, None
        if self.base is not None:
            within, inner = self.base.decision(lists)
        why = partial(_why_answered, chances, setting.taught, inner)
        return np.where(chances >= 0.5, within, 0), Clause(why)


def _why_answered(
    chances: FloatArray, taught: Taught | None, inner: Evidence | None, i: int, k: int
) -> str:
    clause = f"it holds an answer with probability {chances[i]:.2g}, {taught}"
    if inner is not None and chances[i] >= 0.5:
        return f"{inner.because(i, k)} ({clause})"
    return clause
