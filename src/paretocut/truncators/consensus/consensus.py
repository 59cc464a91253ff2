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
from paretocut.relevance.constants import CONSTANTS, Constants
from paretocut.relevance.judged import Relevance, check_errors
from paretocut.relevance.scale import Scale
from paretocut.schema.kinds import Either, Instance, Kind, Sizes, Whole
from paretocut.schema.parameters import shown
from paretocut.truncators.base import METRIC, TRUNCATOR, Truncator
from paretocut.truncators.consensus.expected import is_f_beta
from paretocut.truncators.consensus.fully_judged import Judged, Vote
from paretocut.truncators.consensus.partly_judged import PartlyJudged
from paretocut.truncators.consensus.pretrained import Pretrained, shipped
from paretocut.truncators.consensus.strategy import Setting, Strategy
from paretocut.truncators.consensus.unjudged import Estimated
from paretocut.truncators.consensus.untrained import Stated, Untrained
from paretocut.truncators.evidence import Taught

_UNTRAINED, _STATED = Untrained(Scale()), Stated(Scale())


class _ErrorsKind(Kind):
    """None, or the two shares of errors of a judge."""

    def check(self, value: Any, sizes: Sizes) -> Any:
        if value is not None:
            check_errors(value, who="Consensus", name="judge_errors")
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
        or a number. None, for no idea, suits a handful. Full judgements override it; with lists
        judged in part it is another estimate.
    base
        For accuracy only: the truncator that cuts lists with an answer, fitted with the rest; None
        keeps such a list whole.
    judge_errors
        For lists judged in part: the share of relevant results that the judge misses, and the share
        of irrelevant ones that the judge calls relevant. None estimates the second from the
        judgements and assumes 5 % for the first.
    seed
        Of the bootstrap.

    Attributes
    ----------
    strategy_
        The strategy learned: ``"vote"``, ``"regression"``, ``"answer"``, ``"partly_judged"``,
        ``"number"`` (``expect`` and unjudged lists) or ``"estimate"`` (unjudged lists alone).
    learned_
        The numbers of that strategy: the rules elected, the coefficients of the log-odds of
        relevance, or the expected number of relevant results.

    Notes
    -----
    The strategy for judged lists depends on the metric. For F1 (and any metric not named here)
    it is a vote of some 1,100 simple rules in a Bayesian bootstrap; for DCG and utilities, the cut
    with the highest expected metric under `predict_proba`, or nothing if such cuts lose; for
    accuracy, a model of whether a list holds an answer. Lists judged in part, unjudged lists, and
    ``expect`` say how many results are relevant; the cut is where the metric is highest on average.
    With none of these, F1 keeps the upper third of the score range. docs/consensus.md explains
    each.

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
    """Constants that no user needs to know; a subclass may have others, to measure their effect."""

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
        """Name of the strategy learned."""
        return self.learned_.name

    @property
    def rules_(self) -> list[list[Any]]:
        """Key, threshold and votes of each rule that judged lists elected."""
        assert isinstance(self.learned_, Vote)
        return self.learned_.rules.names()

    @property
    def number_(self) -> float:
        """Number of relevant results to expect in a list, learned from lists judged in part."""
        return self._relevance().number

    @property
    def interval_(self) -> tuple[float, float]:
        """The 95 % interval of `number_`."""
        return self._relevance().interval

    def predict_proba(self, lists: RankedLists | RaggedLike) -> Ragged:
        """Return the probability that each result is relevant.

        After ``fit`` on judged lists it comes from a logistic regression on them, in which rank 1
        counts as much as ranks 2 and 3 or 4 to 7 together, shrunk towards the regression on other
        collections. For lists judged in part it comes from the model of the judged results. Before
        ``fit`` it comes from the regression on other collections; with ``expect`` its log-odds are
        shifted until the probabilities sum to that number.

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
                self.learned_ = self._fit_in_part(setting, lists)
                return
            lists = lists[whole]
            self.queries_ = len(lists)
        if lists.relevance is None and is_f_beta(setting.metric):
            if self.expect is None:
                self.learned_ = Estimated.fit(lists)
            else:
                self.learned_ = Stated(Scale.of(lists.merit))
        else:
            self.learned_ = Judged.of(setting.metric).fit(setting, lists)

    def _fit_in_part(self, setting: Setting, lists: RankedLists) -> PartlyJudged:
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
        return PartlyJudged.fit(setting, lists)

    @property
    def taught(self) -> Taught:
        judged = not isinstance(self.learned_, Estimated | Stated)
        return Taught(self.queries_, judged)

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
        return Setting(
            metric=metrics.get(self.metric),
            expect=self.expect,
            base=self.base,
            elsewhere=self.prior,
            judge_errors=self.judge_errors,
            seed=self.seed,
            constants=self.constants,
            taught=self.taught if hasattr(self, "learned_") else None,
        )

    def _relevance(self) -> Relevance:
        if not isinstance(getattr(self, "learned_", None), PartlyJudged):
            raise NotFittedError(
                "Consensus: number_ and interval_ come from fit on lists judged in part"
            )
        assert isinstance(self.learned_, PartlyJudged)
        return self.learned_.relevance


def _judged_in_full(lists: RankedLists, constants: Constants) -> Any:
    """Return which lists are judged in full, or None if they are few or unlike the others."""
    judged = lists.judged
    counts, lengths = judged.count(judged.values), judged.lengths
    whole = judged.filled & (counts == lengths)
    if np.count_nonzero(whole) < max(constants.whole, 1):
        return None
    # Short lists are soon judged in full, and do not stand for the long ones.
    alike = 2 * lengths[whole].mean() >= lengths.mean()
    most = 2 * counts[whole].sum() >= counts.sum()
    return whole if alike and most else None
