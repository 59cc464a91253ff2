"""The truncator that does what suits the metric and what is known."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from functools import cache
from types import NoneType
from typing import Any, ClassVar, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions import Cuts
from paretocut.decisions.wording import rounded
from paretocut.errors import InvalidParameterError, NotFittedError
from paretocut.lists import FloatArray, IntArray, Ragged, RaggedLike, RankedLists
from paretocut.metrics import MetricLike
from paretocut.relevance.beliefs import believed_cuts, stated
from paretocut.relevance.constants import CONSTANTS, EXPECT, Constants
from paretocut.relevance.judged import Relevance, check_errors, learn_from
from paretocut.relevance.logistic import sigmoid
from paretocut.relevance.scale import Scale
from paretocut.schema.kinds import Either, Fitted, Flag, Instance, Kind, Made, Real, Text
from paretocut.schema.parameters import check_int, check_real, shown
from paretocut.truncators._base import Truncator
from paretocut.truncators.consensus.answer import AnswerModel
from paretocut.truncators.consensus.expected import best_expected, is_f_beta, is_linear
from paretocut.truncators.consensus.number import estimated, typical
from paretocut.truncators.consensus.pretrain import Pretrained, shipped, values_elsewhere
from paretocut.truncators.consensus.regression import (
    COEF,
    COVARIANCE,
    careful,
    cross_validated,
    regress,
    standardised,
)
from paretocut.truncators.consensus.untrained import half_clauses, quick_half, upper_half
from paretocut.truncators.consensus.vote import (
    RULES,
    Rules,
    drawn,
    elected,
    rule_values,
    unit,
    winner,
)

__all__ = ["Consensus"]


class Consensus(Truncator):
    """Cut where the metric promises to be best, by what is known: judgements, a word or nothing.

    Parameters
    ----------
    metric
        What "best" means: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    expect
        How many relevant results a list holds on average, as far as you know your questions:
        ``"one"`` (a fact: one or two), ``"few"`` (a how-to: three to ten), ``"many"`` (a
        literature search: a dozen or more), or a number; None for no idea. Full judgements
        overrule it; with lists judged in part it is one more estimate.
    base
        For accuracy only: what cuts the lists that hold an answer, learned along with the rest;
        None keeps all of such a list.
    pretrained
        What `pretrain` made of other collections: the path of the file, or the object itself;
        None for what is shipped. A saved truncator holds its content, not the path.
    judge_errors
        For lists judged in part: the share of relevant results that the judge misses, and the
        share of irrelevant ones that the judge calls relevant. None estimates the second from the
        judgements and takes 5 % for the first.
    seed
        Of the bootstrap.

    Attributes
    ----------
    strategy_
        What was learned: ``"vote"``, ``"regression"``, ``"answer"``, ``"judged"`` (lists judged
        in part), ``"number"`` (``expect`` and unjudged lists) or ``"estimate"`` (unjudged lists
        alone).
    weights_, thresholds_, votes_
        The rules elected by judged lists; `rules_` shows them.
    coef_, covariance_
        Of the log-odds of relevance, from judged lists: coefficients of the standardised
        features, and how uncertain they are.
    gain_, error_
        For DCG and utilities: the mean metric of judged lists, cross-validated, and its standard
        error; nothing is kept of any list when it is negative beyond half of that.
    answer_, base_
        For accuracy: the model of whether a list holds a relevant result, from judged lists; and
        the base, fitted.
    relevance_
        Of lists judged in part: coefficients of the log-odds of relevance and their covariance,
        the rate of false judgements, and what is expected; see `number_` and `interval_`.
    typical_
        What unjudged lists say about the logarithm of the number of relevant results.
    logit_, center_, spread_
        Whether scores are compared as logits; their mean and standard deviation.

    Notes
    -----
    **With judged lists** the metric decides what is learned.

    *F1, and any metric not named below*: ``fit`` compares some 1,100 rules, thresholds on rank,
    on the raw score, on the score scaled within its list (min-max, against its first five, z),
    and on min-max with a little of rank or z. In each of 100 draws of a Bayesian bootstrap over
    the queries one of them is best and has a vote; a list is cut at the median of the cuts voted
    for. The best rule alone would follow the noise of few queries; a median of several is steadier.
    For F1 other collections take part in the draws, with the weight of six queries.

    *DCG and utilities*, to which each result adds its own part: the cut with the highest expected
    metric under `predict_proba`, with log-odds lowered by half a standard error. If such cuts lose
    in cross-validation, nothing is kept.

    *Accuracy*: a regression on the scores at eight ranks tells lists that hold a relevant result
    from others. Lists with a probability of one half or more are kept, cut by ``base`` if there
    is one.

    **With lists judged in part**, as `paretocut.judge` makes them, relevance is a logistic
    regression on log rank, its square, and the score within the range of the list, fitted to the
    judged results alone, and drawn towards the coefficients of other collections. It tells how
    many results are relevant, with an interval. A judge may err: a lone yes deep in a list is
    taken for an error rather than for hundreds of relevant results like it. For F1 and other
    F-beta the number is used as if it had been told with ``expect``, and a tenth of the belief
    stays with the upper half of the range; any other metric is maximised in expectation. If 20
    lists or more are judged in full, these are learned from as above.

    **With** ``expect`` **and no judgements**, for F1 and other F-beta, the log-odds of relevance
    rise by 12 over the score range of a list and fall by 0.25 with every factor *e* in rank.
    They are shifted until the probabilities sum to that number. The number is not taken as exact:
    its logarithm is normal with standard deviation 0.6, or 0.8 for a word, and the cut is where
    the metric is highest on average.

    **With unjudged lists of the system**, ``fit`` estimates the number from three statistics of
    the first 100 results: how far the second result stands behind the best, how many results of
    any list reach the best scores of other lists, and how many stand in the upper half of this
    one. The coefficients come from judged collections; see docs/calibrate.md. The estimate has a
    standard deviation of 1 in the logarithm. It gets seven tenths of the weight; the upper half of
    the range gets three tenths.

    **With neither**, F1 keeps the upper half of the score range. The range begins a little below
    the lowest score: one n-th of that score's size in a list of n results. In a flat list half of
    the range may be most of the list, so a cut of more than 50 results is not deeper than if 50
    results were relevant. For DCG other collections vote on thresholds on z, which can keep
    nothing, and a list is cut at the lower quartile of the cuts voted for. Any other metric is
    maximised in expectation under `predict_proba`.

    Scores that are probabilities, a quarter of them within 0.01 of 0 or 1, are compared as
    logits: decided over all lists in ``fit``, without it in each list.

    References
    ----------
    D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9, 1981. L. Breiman, "Bagging
    predictors", Machine Learning 24, 1996.

    Examples
    --------
    >>> Consensus(expect=1.5).predict([[9.0, 8.5, 2.0, 1.5, 1.2, 1.0], [5.0, 2.0, 1.9, 1.0]])
    array([2, 1])
    """

    constants: ClassVar[Constants] = CONSTANTS
    """Numbers that no user need know; a subclass may have others, to measure what they give."""

    strategy_: str
    weights_: FloatArray
    thresholds_: FloatArray
    votes_: IntArray
    coef_: FloatArray
    covariance_: FloatArray
    gain_: float
    error_: float
    answer_: dict[str, Any]
    base_: Truncator
    relevance_: dict[str, Any]
    typical_: float
    logit_: bool
    center_: float
    spread_: float

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        expect: Literal["one", "few", "many"] | float | None = None,
        base: Truncator | None = None,
        pretrained: str | os.PathLike[str] | Pretrained | None = None,
        judge_errors: tuple[float, float] | None = None,
        seed: int = 0,
    ) -> None:
        self.metric = metric
        self.expect = expect
        self.base = base
        self.pretrained = pretrained
        self.judge_errors = judge_errors
        self.seed = seed

    @property
    def rules_(self) -> list[list[Any]]:
        """Key, threshold and votes of each rule that judged lists elected."""
        return self._rules().names()

    @property
    def number_(self) -> float:
        """Number of relevant results of a list that lists judged in part tell to expect."""
        return self._relevance().number

    @property
    def interval_(self) -> tuple[float, float]:
        """The 95 % interval of `number_`."""
        return self._relevance().interval

    def predict_proba(self, lists: RankedLists | RaggedLike) -> Ragged:
        """Return the probability that each result is relevant.

        After ``fit`` on judged lists it is a logistic regression on them, in which rank 1 counts
        as much as ranks 2 and 3 or 4 to 7 together, drawn towards that on other collections;
        for lists judged in part it is the model of the judged results.
        Before, it is the regression on other collections; with ``expect`` its log-odds are
        shifted until the probabilities sum to that number.

        Parameters
        ----------
        lists
            `RankedLists`, or bare scores in any layout that takes (higher is better).
        """
        ranked = lists if isinstance(lists, RankedLists) else RankedLists(lists)
        self._validate()
        self._check_direction(ranked)
        fitted = hasattr(self, "coef_")
        scale = self._scale()
        # Before any list of the system was seen, its raw scores say nothing.
        coef = self.coef_ if fitted else np.array(self._elsewhere().coef_without_raw)
        merit = scale.apply(ranked.merit)
        if hasattr(self, "relevance_"):
            return self._relevance().probabilities(merit)
        logits = merit.with_values(standardised(merit, scale, self._elsewhere()) @ coef)
        if not fitted and self.expect is not None:
            logits = logits.with_values(
                logits.values + logits.spread(_shift(logits, self._number()))
            )
        return logits.with_values(sigmoid(logits.values))

    def _validate(self) -> None:
        metrics.get(self.metric)
        check_int(self.seed, who="Consensus", name="seed")
        if isinstance(self.expect, str):
            if self.expect not in EXPECT:
                raise InvalidParameterError(
                    f"Consensus: expect must be {', '.join(map(repr, EXPECT))} or a number, "
                    f"got {self.expect!r}"
                )
        elif self.expect is not None:
            check_real(self.expect, who="Consensus", name="expect", low=0)
        if self.judge_errors is not None:
            check_errors(self.judge_errors, who="Consensus", name="judge_errors")
        if self.base is not None:
            if not isinstance(self.base, Truncator):
                raise InvalidParameterError(
                    f"Consensus: base must be a truncator, got {shown(self.base)}"
                )
            if metrics.get(self.metric) != metrics.accuracy:
                raise InvalidParameterError(
                    "Consensus: base must be left out unless the metric is accuracy, "
                    f"got {shown(self.base)}"
                )
        if not isinstance(self.pretrained, (str, os.PathLike, Pretrained, NoneType)):
            raise InvalidParameterError(
                "Consensus: pretrained must be the path of a file that pretrain(...).save wrote, "
                f"got {self.pretrained!r:.60}"
            )

    def _require_fitted(self) -> None:
        """Accept lists before fit: other collections have been learned from."""

    def _saved_params(self) -> dict[str, Any]:
        # The content, not the path: a model must not make its reader open another file.
        known = None if self.pretrained is None else self._elsewhere()
        return {**super()._saved_params(), "pretrained": known}

    def _data(self) -> dict[str, Kind]:
        return {"pretrained": Either(Instance(Pretrained))}

    def _state(self, given: Mapping[str, Any]) -> dict[str, Kind]:
        metric = metrics.get(self.metric)
        judged = "vote"
        if metric == metrics.accuracy:
            judged = "answer"
        elif is_linear(metric):
            judged = "regression"
        unjudged = "estimate" if self.expect is None else "number"
        possible = [judged]
        if is_f_beta(metric):
            possible.append(unjudged)
        if self.base is None:
            possible.append("judged")
        state: dict[str, Kind] = {
            "strategy_": Text(tuple(possible)),
            "logit_": Flag(),
            "center_": Real(),
            "spread_": Real(above=0),
        }
        strategy = given.get("strategy_")
        if strategy == judged:
            state |= {"coef_": COEF, "covariance_": COVARIANCE}
        if strategy == "estimate":
            state |= {"typical_": Real(-100, 100)}
        elif strategy == "regression":
            state |= {"gain_": Real(), "error_": Real(0)}
        elif strategy == "answer":
            state |= {"answer_": Made(AnswerModel.from_dict, keep=True)}
            if self.base is not None:
                state |= {"base_": Fitted(Truncator)}
        elif strategy == "vote":
            state |= RULES
        elif strategy == "judged":
            state |= {"relevance_": Made(Relevance.from_dict, keep=True)}
        return state

    def _fit(self, lists: RankedLists) -> None:
        if lists.relevance is not None and not lists.fully_judged:
            judged = lists.judged
            counts, lengths = judged.count(judged.values), judged.lengths
            whole = judged.filled & (counts == lengths)
            # Short lists are soon judged in full, and do not stand for the long ones.
            alike = 2 * lengths[whole].mean() >= lengths.mean() if whole.any() else False
            most = 2 * counts[whole].sum() >= counts.sum()
            if np.count_nonzero(whole) < self.constants.whole or not (alike and most):
                self._fit_in_part(lists)
                return
            lists = lists[whole]
            self.queries_ = len(lists)
        unjudged = lists.relevance is None and is_f_beta(metrics.get(self.metric))
        relevant = None if unjudged else lists.relevant  # refuses lists without judgements
        scale = Scale.of(lists.merit)
        self.logit_, self.center_, self.spread_ = bool(scale.logit), scale.center, scale.spread
        merit = scale.apply(lists.merit)
        if relevant is None:
            self.strategy_ = "estimate" if self.expect is None else "number"
            if self.expect is None:
                if not merit.filled.any():
                    raise InvalidParameterError(
                        "Consensus: lists must hold at least one result to learn from, got none"
                    )
                self.typical_ = typical(merit)
            return
        metric, known = metrics.get(self.metric), self._elsewhere()
        design, weight = standardised(merit, scale, known), 1 / (merit.ranks + 1.0)
        towards = np.array(known.coef)
        self.coef_, self.covariance_ = regress(
            design, relevant.values, weight, towards, self.constants
        )
        if metric == metrics.accuracy:
            self.strategy_ = "answer"
            if self.base is not None:
                self.base_ = self.base.clone().fit(lists)
            answered = np.array([part.any() for part in relevant], dtype=bool)
            # If the list holds no relevant result, every cut of it is wrong.
            told = np.flatnonzero(answered | (lists.num_relevant == 0))
            self.answer_ = AnswerModel.fit(lists.merit.take(told), answered[told]).to_dict()
        elif is_linear(metric):
            self.strategy_ = "regression"
            self.gain_, self.error_ = cross_validated(
                lists, metric, design, weight, towards, self.seed, self.constants
            )
        else:
            self.strategy_ = "vote"
            curves = metric.curves(lists)
            rng = np.random.default_rng(self.seed)
            totals = len(lists) * drawn(
                rule_values(merit, scale, curves), rng, self.constants.draws
            )
            if metric == metrics.f1:
                elsewhere = values_elsewhere(known, "f1", rng, self.constants.draws)
                totals += self.constants.pseudo_queries * unit(curves) * elsewhere
            self.weights_, self.thresholds_, self.votes_ = elected(totals, self.constants)

    def _fit_in_part(self, lists: RankedLists) -> None:
        judged = lists.judged
        if not judged.values.any():
            raise InvalidParameterError(
                "Consensus: lists must hold at least one judged result to learn from, or no "
                f"relevance at all, got {lists!r}"
            )
        if self.base is not None:
            raise InvalidParameterError(
                f"Consensus: lists must be judged in full where there is a base, got {lists!r}"
            )
        scale, _, model = learn_from(lists, errors=self.judge_errors)
        self.logit_, self.center_, self.spread_ = bool(scale.logit), scale.center, scale.spread
        self.strategy_ = "judged"
        if self.expect is not None:
            model = model.expecting(self.expect)
        self.relevance_ = dataclasses.asdict(model)
        self.queries_ = int(np.count_nonzero(judged.count(judged.values)))

    def _quick(self, scores: FloatArray, higher_is_better: bool) -> int | None:
        if self.metric != "f1" or self.expect is not None or hasattr(self, "strategy_"):
            return None
        self._validate()
        return quick_half(scores, higher_is_better, self.constants)

    def _predict(self, lists: RankedLists) -> IntArray:
        scale = self._scale()
        merit = scale.apply(lists.merit)
        strategy = getattr(self, "strategy_", "untrained")
        if strategy == "vote":
            return winner(self._rules().counts(merit, scale), self.votes_)
        if strategy == "judged":
            return self._judged_cuts(merit)
        if strategy == "estimate":
            beliefs = estimated(merit, self.typical_)
            return believed_cuts(merit, beliefs, self._beta(), self.constants)
        if strategy == "regression":
            if self._loses():
                return np.zeros(len(lists), dtype=np.int64)
            design = standardised(merit, scale, self._elsewhere())
            p = merit.with_values(careful(design, self.coef_, self.covariance_, self.constants))
            return best_expected(p, metrics.get(self.metric))
        if strategy == "answer":
            answered = self._answered(lists) >= 0.5
            within = lists.scores.lengths if self.base is None else self.base_.predict(lists)
            return np.where(answered, within, 0)
        return self._untrained(lists, merit)

    def _judged_cuts(self, merit: Ragged) -> IntArray:
        metric, model = metrics.get(self.metric), self._relevance()
        if is_f_beta(metric):
            return believed_cuts(merit, model.beliefs(merit), self._beta(), self.constants)
        if metric == metrics.accuracy:  # whether there is an answer: all of the list, or nothing
            p = model.probabilities(merit)
            none = np.bincount(merit.rows, np.log1p(-np.minimum(p.values, 1 - 1e-12)), len(merit))
            return np.where(np.exp(none) <= 0.5, merit.lengths, 0)
        caution = self.constants.caution if is_linear(metric) else 0.0
        return best_expected(model.probabilities(merit, caution), metric, seed=self.seed)

    def _untrained(self, lists: RankedLists, merit: Ragged) -> IntArray:
        metric = metrics.get(self.metric)
        if self.expect is not None and is_f_beta(metric):
            beliefs = stated(len(merit), self.expect, self.constants)
            return believed_cuts(merit, beliefs, self._beta(), self.constants)
        if metric == metrics.f1:
            return upper_half(merit, self.constants)
        if metric == metrics.dcg and self.expect is None:
            if self.pretrained is None:
                rules = _dcg_rules(self.seed)
            else:
                rules = elected(_dcg_values(self._elsewhere(), self.seed))
            return winner(rules.counts(merit, Scale()), rules.votes, self.constants.unsure)
        return best_expected(self.predict_proba(lists), metric, seed=self.seed)

    def _because(self, cuts: Cuts) -> list[str]:
        metric = metrics.get(self.metric)
        strategy = getattr(self, "strategy_", "untrained")
        if strategy == "vote":
            clause = f"median of the {len(self.votes_)} cut-offs {self._taught()}"
        elif strategy == "judged":
            low, high = self.interval_
            clause = (
                f"highest expected {metric.name} if a list holds about {rounded(self.number_)} "
                f"relevant results ({rounded(low)} to {rounded(high)}), {self._taught()}"
            )
        elif strategy == "estimate":
            return self._estimate_clauses(cuts)
        elif strategy == "regression" and self._loses():
            clause = f"any cut would lose {metric.name}, as {self._taught()}"
        elif strategy == "regression":
            clause = f"highest expected {metric.name} by probabilities {self._taught()}"
        elif strategy == "answer":
            return self._answer_clauses(cuts)
        elif self.expect is not None:
            clause = f"highest expected {metric.name} if the list holds {self._expected()}"
        elif metric == metrics.f1:
            merit = self._scale().apply(cuts.lists.merit)
            return half_clauses(cuts, merit, self.constants)
        else:
            clause = f"highest expected {metric.name}, by what other collections taught"
        return [clause] * len(cuts)

    def _estimate_clauses(self, cuts: Cuts) -> list[str]:
        numbers = np.exp(estimated(self._scale().apply(cuts.lists.merit), self.typical_)[:, 1])
        name = metrics.get(self.metric).name
        seen = f"{self.queries_} unjudged {'query' if self.queries_ == 1 else 'queries'}"
        return [
            f"highest expected {name} if the list holds about {max(number, 1.0):.2g} relevant "
            f"result{'s' if number > 1 else ''}, as {seen} suggest"
            for number in numbers.tolist()
        ]

    def _answer_clauses(self, cuts: Cuts) -> list[str]:
        chances = self._answered(cuts.lists).tolist()
        inner = None if self.base is None else self.base_._because(cuts)
        clauses = []
        for i, p in enumerate(chances):
            clause = f"it holds an answer with probability {p:.2g}, {self._taught()}"
            if inner is not None and p >= 0.5:
                clause = f"{inner[i]} ({clause})"
            clauses.append(clause)
        return clauses

    def _answered(self, lists: RankedLists) -> FloatArray:
        return AnswerModel(**self.answer_).probability(lists.merit)

    def _relevance(self) -> Relevance:
        if not hasattr(self, "relevance_"):
            raise NotFittedError(
                "Consensus: number_ and interval_ come from fit on lists judged in part"
            )
        return Relevance.from_dict(self.relevance_)

    def _loses(self) -> bool:
        return self.gain_ < -self.constants.loss * self.error_

    def _rules(self) -> Rules:
        return Rules(self.weights_, self.thresholds_, self.votes_)

    def _scale(self) -> Scale:
        if hasattr(self, "logit_"):
            return Scale(self.logit_, self.center_, self.spread_)
        return Scale()

    def _number(self) -> float:
        """Return how many relevant results are expected."""
        assert self.expect is not None
        return EXPECT[self.expect] if isinstance(self.expect, str) else float(self.expect)

    def _expected(self) -> str:
        number = f"about {self._number():g} relevant result{'s' if self._number() != 1 else ''}"
        return f"{self.expect} ({number})" if isinstance(self.expect, str) else number

    def _beta(self) -> float:
        return float(metrics.settings_of(metrics.get(self.metric))["beta"])

    def _elsewhere(self) -> Pretrained:
        if self.pretrained is None:
            return shipped()
        if isinstance(self.pretrained, Pretrained):
            return self.pretrained
        return Pretrained.load(self.pretrained)


@cache
def _dcg_rules(seed: int) -> Rules:
    return elected(_dcg_values(shipped(), seed))


def _dcg_values(known: Pretrained, seed: int) -> FloatArray:
    return values_elsewhere(known, "dcg", np.random.default_rng(seed))


def _shift(logits: Ragged, expected: float) -> FloatArray:
    """Return what to add to the log-odds of each list so that they sum to this number."""
    low, high = np.full(len(logits), -60.0), np.full(len(logits), 60.0)
    # A list cannot hold more relevant results than results, nor surely all of them.
    target = np.minimum(expected, 0.9 * logits.lengths)
    rows = logits.rows
    for _ in range(50):
        between = 0.5 * (low + high)
        sums = np.bincount(rows, sigmoid(logits.values + between[rows]), minlength=len(logits))
        low, high = np.where(sums < target, between, low), np.where(sums < target, high, between)
    return np.where(logits.lengths > 0, 0.5 * (low + high), 0.0)
