"""The default truncator, which chooses a strategy by the metric and the knowledge it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.decisions.options import OPTIONS
from paretocut.errors import InvalidParameterError, NotFittedError
from paretocut.lists import IntArray, Ragged, RaggedLike, RankedLists
from paretocut.metrics import MetricLike
from paretocut.relevance import CONSTANTS, Constants, Scale
from paretocut.schema.kinds import Either, Instance, Kind, Real, Sizes, Whole
from paretocut.schema.parameters import shown
from paretocut.truncators.base import METRIC, TRUNCATOR, Truncator
from paretocut.truncators.consensus.expected import is_f_beta
from paretocut.truncators.consensus.pretrained import Pretrained, shipped
from paretocut.truncators.consensus.strategies import (
    Estimated,
    Judged,
    PartlyJudged,
    Setting,
    Stated,
    Strategy,
    Untrained,
)
from paretocut.truncators.evidence import Taught

_UNTRAINED, _STATED = Untrained(Scale()), Stated(Scale())


class _ErrorsKind(Kind):
    """None, or the two shares of errors of a judge."""

    def check(self, value: Any, sizes: Sizes) -> Any:
        if value is not None:
            try:
                missed, false = (Real(0).check(share, sizes) for share in value)
            except (TypeError, ValueError):
                missed = false = 1.0
            if missed + false >= 1:
                raise ValueError(
                    "two shares that add up to less than 1, of relevant results missed and of "
                    "irrelevant ones called relevant"
                )
        return value


class Consensus(Truncator):
    """Cut where the metric should be best, given judgements, a word or nothing.

    Parameters
    ----------
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    expect
        How many relevant results a list holds on average: ``"one"`` (a fact: one or two), ``"few"``
        (a how-to: three to ten), ``"dozens"`` (a literature search), ``"hundreds"`` (a category),
        or a number. Full judgements override it; with lists judged in part it is another estimate.
    base
        For accuracy only: the truncator that cuts lists with an answer, fitted with the rest; None
        keeps such a list whole.
    judge_errors
        For lists judged in part: the shares of relevant results that the judge misses, 5 % by
        default, and of irrelevant ones called relevant, by default estimated.
    seed
        Of the bootstrap.

    Attributes
    ----------
    strategy_, learned_
        The strategy: ``"vote"``, ``"regression"``, ``"answer"``, ``"partly_judged"``, ``"number"``
        (``expect`` and unjudged lists) or ``"estimate"`` (unjudged lists alone); its numbers.

    Notes
    -----
    docs/consensus.md explains each. With judged lists, some 1,100 simple rules vote for F1 (and any
    metric not named here); for DCG and utilities the cut has the highest expected metric; for
    accuracy a model says whether a list holds an answer. Other lists and ``expect`` say how many
    results are relevant. With neither, F1 keeps the upper third of the score range.

    Examples
    --------
    >>> Consensus(expect=1.5).predict([[9.0, 8.5, 2.0, 1.5, 1.2, 1.0], [5.0, 2.0, 1.9, 1.0]])
    array([2, 1])
    """

    constants: ClassVar[Constants] = CONSTANTS  # a subclass may have others

    learned_: Strategy

    parameters: ClassVar[Mapping[str, Kind]] = {
        "metric": METRIC,
        "expect": Either(OPTIONS["expect"].kind),
        "base": Either(TRUNCATOR),
        "judge_errors": _ErrorsKind(),
        "seed": Whole(),
    }
    needs_fit = False  # other collections have been learned from
    needs_full_judgements = False

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        expect: Literal["one", "few", "dozens", "hundreds"] | float | None = None,
        base: Truncator | None = None,
        judge_errors: tuple[float, float] | None = None,
        seed: int = 0,
    ) -> None:
        self.metric = metric
        self.expect = expect
        self.base = base
        self.judge_errors = judge_errors
        self.seed = seed

    @property
    def strategy_(self) -> str:
        """Name of the strategy."""
        return self.learned_.name

    @property
    def number_(self) -> float:
        """Number of relevant results to expect in a list, learned from lists judged in part."""
        learned = getattr(self, "learned_", None)
        if not isinstance(learned, PartlyJudged):
            raise NotFittedError(
                "Consensus: number_ and interval_ come from fit on lists judged in part"
            )
        return learned.relevance.number

    @property
    def interval_(self) -> tuple[float, float]:
        """The 95 % interval of `number_`."""
        self.number_  # noqa: B018 - refuses other strategies
        assert isinstance(self.learned_, PartlyJudged)
        return self.learned_.relevance.interval

    def predict_proba(self, lists: RankedLists | RaggedLike) -> Ragged:
        """Return the probability that each result is relevant.

        After ``fit`` on judged lists it comes from a logistic regression on them, shrunk towards
        the one on other collections; on lists judged in part, from the model of the judged results.
        Before ``fit`` it comes from other collections; with ``expect`` its log-odds are shifted
        until the probabilities sum to that number.

        Parameters
        ----------
        lists
            `RankedLists`, or bare scores in any layout they take (higher is better).
        """
        ranked = lists if isinstance(lists, RankedLists) else RankedLists(lists)
        self.check()
        self._check_direction(ranked)
        return self._strategy().probabilities(self._setting(), ranked)

    def check(self) -> None:
        super().check()
        if self.base is not None and metrics.get(self.metric) != metrics.accuracy:
            raise InvalidParameterError(
                "Consensus: base must be left out unless the metric is accuracy, "
                f"got {shown(self.base)}"
            )

    @property
    def state(self) -> dict[str, Kind]:
        metric = metrics.get(self.metric)
        possible: list[type[Strategy]] = [Judged.of(metric)]
        if is_f_beta(metric):
            possible.append(Estimated if self.expect is None else Stated)
        if self.base is None:
            possible.append(PartlyJudged)
        return {"learned_": Instance(tuple(possible), "strategy for these parameters")}

    def learn(self, lists: RankedLists) -> None:
        setting = self._setting()
        if lists.relevance is not None and not lists.fully_judged:
            whole = _judged_in_full(lists, self.constants)
            if whole is None:
                self._learn_from_some(setting, lists)
                return
            lists = lists[whole]
            self.queries_ = len(lists)
        if lists.relevance is not None or not is_f_beta(setting.metric):
            self.learned_ = Judged.of(setting.metric).fit(setting, lists)
        elif self.expect is None:
            self.learned_ = Estimated.fit(lists)
        else:
            self.learned_ = Stated(Scale.of(lists.merit))

    def _learn_from_some(self, setting: Setting, lists: RankedLists) -> None:
        judged = lists.judged
        if not judged.values.any():
            raise InvalidParameterError(
                "Consensus: lists must hold at least one judged result to learn from, or no "
                f"relevance at all, got {lists!r}"
            )
        if self.base is not None:
            raise InvalidParameterError(
                f"Consensus: lists must be fully judged if there is a base, got {lists!r}"
            )
        self.queries_ = int(np.count_nonzero(judged.count(judged.values)))
        self.learned_ = PartlyJudged.fit(setting, lists)

    @property
    def taught(self) -> Taught:
        return Taught(self.queries_, judged=not isinstance(self.learned_, Estimated | Stated))

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        return self._strategy().decide(self._setting(), lists)

    def prior(self) -> Pretrained:
        """Return the knowledge from other collections; a subclass may have other knowledge."""
        return shipped()

    def _strategy(self) -> Strategy:
        if hasattr(self, "learned_"):
            return self.learned_
        return _UNTRAINED if self.expect is None else _STATED

    def _setting(self) -> Setting:
        metric, taught = metrics.get(self.metric), None
        if hasattr(self, "learned_"):
            taught = self.taught
        given = (self.expect, self.base, self.prior, self.judge_errors, self.seed)
        return Setting(metric, *given, self.constants, taught)


def _judged_in_full(lists: RankedLists, constants: Constants) -> Any:
    """Return which lists are judged in full, or None if they are few or unlike the others."""
    judged = lists.judged
    counts, lengths = judged.count(judged.values), judged.lengths
    whole = judged.filled & (counts == lengths)
    if np.count_nonzero(whole) < max(constants.whole, 1):
        return None
    # Short lists are soon judged in full, and do not stand for the long ones.
    alike = 2 * lengths[whole].mean() >= lengths.mean()
    return whole if alike and 2 * counts[whole].sum() >= counts.sum() else None
