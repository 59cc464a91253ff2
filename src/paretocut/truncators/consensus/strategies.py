"""The strategies of `Consensus`, one for each kind of knowledge: learned numbers that decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from paretocut import metrics
from paretocut.background.seen import gaps, halves
from paretocut.decisions.cuts import Evidence
from paretocut.decisions.wording import distinct, ordinal, rounded
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance import (
    CONSTANTS,
    Constants,
    Relevance,
    Scale,
    beliefs_about,
    believed_cuts,
    cautious,
    curvature,
    expected_number,
    learn_from,
    ridge_logistic,
    sigmoid,
    stated,
    upper_part,
)
from paretocut.schema.files import decode, encode, register, shipped
from paretocut.schema.kinds import Array, Either, Flag, Kind, Made, Real, checked
from paretocut.truncators.base import Fitted, Truncator
from paretocut.truncators.consensus.accuracy import AnswerModel
from paretocut.truncators.consensus.expected import best_expected, is_f_beta, is_linear
from paretocut.truncators.consensus.pretrained import (
    COLUMNS,
    DESIGN,
    Pretrained,
    Rules,
    drawn,
    elected,
    rule_values,
    unit,
    values_elsewhere,
    winner,
)
from paretocut.truncators.evidence import Clause, Taught

Fields: TypeAlias = dict[str, Any]
_SCALE: dict[str, Kind] = {"logit": Flag(), "center": Real(), "spread": Real(above=0)}


class Setting(NamedTuple):
    """The parameters of a `Consensus`, as its strategies need them."""

    metric: Metric
    expect: str | float | None
    base: Truncator | None
    elsewhere: Callable[[], Pretrained]
    judge_errors: tuple[float, float] | None
    seed: int
    constants: Constants
    taught: Taught | None


@dataclass(frozen=True)
class Strategy(ABC):
    """A way to cut lists, with the numbers learned for it."""

    scale: Scale

    name: ClassVar[str]
    kinds: ClassVar[Mapping[str, Kind]] = {}  # of the saved values, beside the scale

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            register(f"consensus-{cls.name}", cls, cls.to_dict, cls.from_dict)

    @abstractmethod
    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        """Return how many results of each list to keep, and the evidence."""

    def probabilities(self, setting: Setting, lists: RankedLists) -> Ragged:
        """Return the probability that each result is relevant, by other collections."""
        known = setting.elsewhere()
        merit = self.scale.apply(lists.merit)
        logits = known.standardised(merit, self.scale) @ np.array(known.coef_without_raw)
        if setting.expect is not None:
            number = expected_number(setting.expect)
            logits = logits + merit.spread(_shift(merit.with_values(logits), number))
        return merit.with_values(sigmoid(logits))

    def to_dict(self) -> dict[str, Any]:
        own = asdict(self)
        own |= own.pop("scale")
        return dict(encode(own, who="Consensus", name=self.name))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        found = checked({**_SCALE, **cls.kinds}, decode(dict(content)))
        return cls(scale=Scale(*(found.pop(name) for name in _SCALE)), **found)


def _shift(logits: Ragged, expected: float) -> FloatArray:
    """Return the shift of the log-odds of each list that makes them sum to this number."""
    low, high = np.full(len(logits), -60.0), np.full(len(logits), 60.0)
    # A list cannot hold more relevant results than results, nor surely all of them.
    target = np.minimum(expected, 0.9 * logits.lengths)
    rows = logits.rows
    for _ in range(50):
        between = 0.5 * (low + high)
        sums = np.bincount(rows, sigmoid(logits.values + between[rows]), minlength=len(logits))
        low, high = np.where(sums < target, between, low), np.where(sums < target, high, between)
    return np.where(logits.lengths > 0, 0.5 * (low + high), 0.0)


@dataclass(frozen=True)
class Untrained(Strategy):
    """Before any list was seen: the upper third of the range for F1, else other collections."""

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        metric = setting.metric
        if metric == metrics.f1:
            return upper_third(lists, self.scale, setting.constants)
        taught = Clause(f"highest expected {metric.name}, learned from other collections")
        if metric != metrics.penalized_dcg:
            return best_expected(self.probabilities(setting, lists), metric, setting.seed), taught
        rules = _dcg_rules(setting.elsewhere(), setting.seed)
        counts = rules.counts(self.scale.apply(lists.merit), Scale())
        return winner(counts, rules.votes, setting.constants.unsure), taught


@lru_cache(maxsize=16)
def _dcg_rules(known: Pretrained, seed: int) -> Rules:
    return elected(values_elsewhere(known, "penalized_dcg", np.random.default_rng(seed)))


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


@dataclass(frozen=True)
class Stated(Strategy):
    """By the number of relevant results that the user expects."""

    name: ClassVar[str] = "number"

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        expect = setting.expect
        assert expect is not None
        if is_f_beta(setting.metric):
            merit = self.scale.apply(lists.merit)
            beliefs = stated(len(merit), expect, setting.constants)
            cuts = believed_cuts(merit, beliefs, setting.metric.settings["beta"], setting.constants)
        else:
            cuts = best_expected(self.probabilities(setting, lists), setting.metric, setting.seed)
        number = expected_number(expect)
        said = f"about {number:g} relevant result{'s' if number != 1 else ''}"
        if isinstance(expect, str):
            said = f"{expect} ({said})"
        why = f"highest expected {setting.metric.name} if the list holds {said}"
        best, last = lists.scores.ends()
        equal = (best == last) & (lists.scores.lengths > 1)  # nothing tells one from another
        reasons = ["all scores are equal" if same else why for same in equal.tolist()]
        return np.where(equal, lists.scores.lengths, cuts), Clause(reasons)


@dataclass(frozen=True)
class Estimated(Strategy):
    """By the number of relevant results that unjudged lists suggest."""

    typical: float  # logarithm of that number

    name: ClassVar[str] = "estimate"
    kinds: ClassVar[Mapping[str, Kind]] = {"typical": Real(-100, 100)}

    @classmethod
    def fit(cls, lists: RankedLists) -> Estimated:
        scale = Scale.of(lists.merit)
        merit = scale.apply(lists.merit)
        if not merit.filled.any():
            raise InvalidParameterError(
                "Consensus: lists must hold at least one result to learn from, got none"
            )
        return cls(scale, typical(merit))

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        merit = self.scale.apply(lists.merit)
        beliefs = estimated(merit, self.typical)
        cuts = believed_cuts(merit, beliefs, setting.metric.settings["beta"], setting.constants)
        assert setting.taught is not None
        about = np.exp(beliefs[:, 1]), setting.metric.name, setting.taught.source
        return cuts, Clause(partial(_why_estimated, *about))


def _why_estimated(numbers: FloatArray, metric: str, source: str, i: int, k: int) -> str:
    number = float(numbers[i])
    return (
        f"highest expected {metric} if the list holds about {max(number, 1.0):.2g} "
        f"relevant result{'s' if number > 1 else ''}, as {source} suggest"
    )


def crowd(merit: Ragged) -> float:
    """Return the mean over lists of log(1 + results as good as the weaker of all best results)."""
    filled = merit.take(np.flatnonzero(merit.filled))
    least = np.quantile(filled.ends()[0], CONSTANTS.low_top)
    return float(np.log1p(filled.count(filled.values >= least)).mean())


def typical(merit: Ragged, known: Mapping[str, Any] | None = None) -> float:
    """Return the logarithm of the number that unjudged lists, not all empty, suggest."""
    coef = known or shipped_number()
    filled = merit.take(np.flatnonzero(merit.filled))
    mean_gap = float(gaps(filled).mean())
    return float(coef["level"] + coef["gap"] * mean_gap + coef["crowd"] * crowd(filled))


def estimated(merit: Ragged, level: float, known: Mapping[str, Any] | None = None) -> FloatArray:
    """Return the belief about each list of a system, `level` being its `typical` value."""
    coef = known or shipped_number()
    return beliefs_about(merit, level + coef["half"] * halves(merit), coef["spread"], coef["plain"])


@cache
def shipped_number() -> dict[str, Any]:
    return shipped("number.json")  # coefficients learned by `experiments.calibrate`


@dataclass(frozen=True)
class PartlyJudged(Strategy):
    """By a model of relevance, learned from the judged results."""

    relevance: Relevance

    name: ClassVar[str] = "partly_judged"
    kinds: ClassVar[Mapping[str, Kind]] = {"relevance": Made(Relevance.from_dict)}

    @classmethod
    def fit(cls, setting: Setting, lists: RankedLists) -> PartlyJudged:
        scale, _, model = learn_from(lists, errors=setting.judge_errors)
        return cls(scale, model if setting.expect is None else model.expecting(setting.expect))

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        merit, model, metric = self.scale.apply(lists.merit), self.relevance, setting.metric
        low, high = model.interval
        clause = Clause(
            f"highest expected {metric.name} if a list holds about {rounded(model.number)} "
            f"relevant results ({rounded(low)} to {rounded(high)}), {setting.taught}"
        )
        if is_f_beta(metric):
            beta, beliefs = metric.settings["beta"], model.beliefs(merit)
            return believed_cuts(merit, beliefs, beta, setting.constants), clause
        if metric == metrics.accuracy:  # whether there is an answer: all of the list, or nothing
            p = model.probabilities(merit)
            none = np.bincount(merit.rows, np.log1p(-np.minimum(p.values, 1 - 1e-12)), len(merit))
            return np.where(np.exp(none) <= 0.5, merit.lengths, 0), clause
        p = model.probabilities(merit, setting.constants.caution if is_linear(metric) else 0.0)
        return best_expected(p, metric, seed=setting.seed), clause

    def probabilities(self, setting: Setting, lists: RankedLists) -> Ragged:
        return self.relevance.probabilities(self.scale.apply(lists.merit))


@dataclass(frozen=True)
class Judged(Strategy):
    """Base of the strategies for judged lists: the log-odds of relevance."""

    coef: FloatArray  # of the standardised features
    covariance: FloatArray

    # Features are standardised, so no coefficient is anywhere near these bounds.
    kinds: ClassVar[Mapping[str, Kind]] = {
        "coef": Array((len(DESIGN),), low=-1e6, high=1e6),
        "covariance": Array((len(DESIGN), len(DESIGN)), low=-1e12, high=1e12, covariance=True),
    }

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
        design, towards = known.standardised(merit, scale), np.array(known.coef)
        found = _regress(design, relevant.values, merit.ranks, towards, setting.constants)
        return cls(scale, *found, **cls.learn(setting, lists, scale, known))

    @classmethod
    @abstractmethod
    def learn(cls, setting: Setting, lists: RankedLists, scale: Scale, known: Pretrained) -> Fields:
        """Return the fields of this strategy beside the coefficients."""

    def probabilities(self, setting: Setting, lists: RankedLists) -> Ragged:
        merit = self.scale.apply(lists.merit)
        design = setting.elsewhere().standardised(merit, self.scale)
        return merit.with_values(sigmoid(design @ self.coef))


def _regress(
    design: FloatArray, relevant: Any, ranks: IntArray, towards: FloatArray, constants: Constants
) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of the log-odds of relevance, and their covariance."""
    weight, penalty = 1 / (ranks + 1.0), np.full(towards.size, constants.ridge)
    coef = ridge_logistic(design, relevant, penalty=penalty, towards=towards, weight=weight)
    matrix = curvature(design, sigmoid(design @ coef), weight, penalty)
    return coef, np.asarray(np.linalg.inv(matrix), dtype=np.float64)


@dataclass(frozen=True)
class Vote(Judged):
    """The median of the cuts of elected rules."""

    weights: FloatArray
    thresholds: FloatArray
    votes: IntArray

    name: ClassVar[str] = "vote"
    kinds: ClassVar[Mapping[str, Kind]] = {
        **Judged.kinds,
        "weights": Array(("rules", len(COLUMNS)), low=-1e6, high=1e6),
        "thresholds": Array(("rules",), infinite=True),
        "votes": Array(("rules",), "i", low=1, high=2**31),
    }

    @classmethod
    def learn(cls, setting: Setting, lists: RankedLists, scale: Scale, known: Pretrained) -> Fields:
        constants, rng = setting.constants, np.random.default_rng(setting.seed)
        curves = setting.metric.curves(lists)
        values = rule_values(scale.apply(lists.merit), scale, curves)
        totals = len(curves) * drawn(values, rng, constants.draws)
        if setting.metric == metrics.f1:
            elsewhere = values_elsewhere(known, "f1", rng, constants.draws)
            totals += constants.pseudo_queries * unit(curves) * elsewhere
        return elected(totals)._asdict()

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        rules = Rules(self.weights, self.thresholds, self.votes)
        counts = rules.counts(self.scale.apply(lists.merit), self.scale)
        clause = f"median of the {len(self.votes)} cut-offs {setting.taught}"
        return winner(counts, self.votes), Clause(clause)


@dataclass(frozen=True)
class Regression(Judged):
    """The cut with the highest expected metric, or nothing if cuts lose."""

    gain: float  # mean metric of judged lists, cross-validated
    error: float  # its standard error

    name: ClassVar[str] = "regression"
    kinds: ClassVar[Mapping[str, Kind]] = {**Judged.kinds, "gain": Real(), "error": Real(0)}

    @classmethod
    def learn(cls, setting: Setting, lists: RankedLists, scale: Scale, known: Pretrained) -> Fields:
        constants, merit = setting.constants, scale.apply(lists.merit)
        design, relevant = known.standardised(merit, scale), lists.relevant.values
        folds = min(constants.folds, len(lists))
        fold = lists.fold_numbers(folds, seed=setting.seed)
        cuts: IntArray = np.zeros(len(lists), dtype=np.int64)
        for own in (fold == k for k in range(folds)):
            inside = own[merit.rows]
            rest = design[~inside], relevant[~inside], merit.ranks[~inside]
            fitted = _regress(*rest, np.array(known.coef), constants)
            logits = cautious(design[inside], *fitted, constants.caution)
            p = merit.take(np.flatnonzero(own)).with_values(sigmoid(logits))
            cuts[own] = best_expected(p, setting.metric)
        values = setting.metric(lists, cuts)
        return {"gain": float(values.mean()), "error": float(values.std() / np.sqrt(len(values)))}

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        name, constants = setting.metric.name, setting.constants
        if self.gain < -constants.loss * self.error:
            nothing = np.zeros(len(lists), dtype=np.int64)
            return nothing, Clause(f"any cut would lose {name}, as {setting.taught}")
        merit = self.scale.apply(lists.merit)
        design = setting.elsewhere().standardised(merit, self.scale)
        logits = cautious(design, self.coef, self.covariance, constants.caution)
        clause = Clause(f"highest expected {name} by probabilities {setting.taught}")
        return best_expected(merit.with_values(sigmoid(logits)), setting.metric), clause


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
    def learn(cls, setting: Setting, lists: RankedLists, scale: Scale, known: Pretrained) -> Fields:
        answered = np.array([part.any() for part in lists.relevant], dtype=bool)
        # If the list holds no relevant result, every cut of it is wrong.
        sure = np.flatnonzero(answered | (lists.num_relevant == 0))
        model = AnswerModel.fit(lists.merit.take(sure), answered[sure])
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
