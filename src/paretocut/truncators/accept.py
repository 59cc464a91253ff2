"""The first result or none, within an error budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from paretocut.background import Background
from paretocut.background.drift import Drift, compare
from paretocut.background.law import as_lists
from paretocut.background.seen import far_outside, seen_range
from paretocut.decisions.cuts import Evidence, Tails
from paretocut.decisions.warnings import named
from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, FloatArray, IntArray, RaggedLike, RankedLists
from paretocut.lists.columns import check_groups
from paretocut.metrics.binomial import exact_interval
from paretocut.relevance.logistic import sigmoid
from paretocut.schema.kinds import Array, Either, Instance, Kind, Real, Text
from paretocut.truncators.base import Truncator
from paretocut.truncators.first_result import (
    FEWEST,
    SIGNALS,
    cross_fitted,
    features,
    judged_first,
    learned,
    lowest_threshold,
    signals_of,
    teaches,
)

_RISK = 0.75  # share of the risk that the test may use; the rest pays for learning on its queries
_LADDER = (  # budgets that a report tries
    *(0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05),
    *(0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
)
_DRIFT = ("best score", "score of the first result", "accepted share")


class Accept(Truncator):
    """Keep the first result or none, so that at most a given share of those kept are wrong.

    Parameters
    ----------
    max_error
        Largest share of wrong results among the accepted ones.
    confidence
        Probability, over the judged queries drawn, that the promise holds.
    name
        Where the scores come from, in your words, such as "e5-small, cosine". Reports and reasons
        mention it.
    background
        For use without judgements: the scores of queries without an answer. A result is accepted if
        at most the share ``max_error`` of such queries reach its score. There is nothing to fit.

    Attributes
    ----------
    coef_
        Intercept and weights of top score, margin and closeness ``exp(-margin / scale_)``: the
        log-odds that the first result is right.
    scale_
        Median margin of the judged queries.
    threshold_
        Log-odds that an accepted result exceeds; infinite if nothing can be accepted.
    seen_
        Lowest and highest best score of the judged queries, higher is better.
    judged_
        One row per distinct judged query: top score, margin, log-odds learned from other queries,
        and whether the first result is right.

    Notes
    -----
    *What counts as wrong.* An accepted result that is not relevant. For a query without any
    relevant result every result is wrong, so judge such queries too. Only first results matter;
    queries with an unjudged first result are left out.

    *Learning.* A logistic regression of four numbers. Each judged query is scored by a regression
    that has not seen it (five folds); the one that decides has seen all.

    *Promise.* Queries are accepted one after the other, the surest first. At each step an exact
    binomial test asks whether the error of the accepted ones may be above ``max_error``. Testing
    stops at the first failure, so the number of tests costs nothing (fixed-sequence testing). The
    tests begin where the learned log-odds give the first one its best chance. For a given score the
    bound is exact. Here the score is learned from the same queries by cross-fitting, and
    simulations replace the proof, so the tests use only three quarters of the risk ``1 -
    confidence``. The promise holds for queries like the judged ones. They must be independent, so
    each query counts once: see ``groups`` of `fit`.

    With a background there is no promise about the error, because on-topic near misses score higher
    than queries without an answer.

    References
    ----------
    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26, 1934. A. N. Angelopoulos, S. Bates, E. J. Candes, M. I.
    Jordan and L. Lei, "Learn then Test", 2021 (arXiv 2110.01052).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random(600) < 0.7
    >>> top = np.where(right, rng.normal(0.8, 0.07, 600), rng.normal(0.5, 0.1, 600))
    >>> lists = RankedLists(np.stack([top, top - 0.1], axis=1), np.stack([right, ~right], axis=1))
    >>> accept = Accept(max_error=0.05).fit(lists)
    >>> accept.cut([0.83, 0.6]).k, accept.cut([0.55, 0.5]).k
    (1, 0)
    >>> print(accept.report().splitlines()[0])
    Accepts 68 % of 600 judged queries: at most 5.0 % of the accepted are wrong, 95 % confidence.
    """

    coef_: FloatArray
    scale_: float
    threshold_: float
    seen_: FloatArray
    judged_: FloatArray

    parameters: ClassVar = {
        "max_error": Real(above=0, below=1),
        "confidence": Real(above=0, below=1),
        "name": Either(Text()),
        "background": Either(Instance(Background)),
    }
    state: Mapping[str, Kind] = {
        "coef_": Array((4,)),
        "scale_": Real(above=0),
        "threshold_": Real(infinite=True),
        "seen_": Array((2,), rising=True),
        "judged_": Array(("", 4)),
    }
    needs_full_judgements = False

    def __init__(
        self,
        max_error: float = 0.01,
        confidence: float = 0.95,
        *,
        name: str | None = None,
        background: Background | None = None,
    ) -> None:
        self.max_error = max_error
        self.confidence = confidence
        self.name = name
        self.background = background

    def drift(self, lists: RankedLists | RaggedLike) -> Drift:
        """Return whether new queries look like those seen at fit.

        Three two-sample tests (Kolmogorov and Smirnov) compare the best score, the learned score
        and the share accepted, corrected for their number.

        Parameters
        ----------
        lists
            Lists of new queries, 50 or more; bare scores must have the direction of those at fit.
        """
        self._require_learned("drift")
        given = as_lists(lists, self.higher_is_better_, who="Accept.drift")
        self._check_direction(given)
        signals = signals_of(given)[given.scores.filled]
        return compare(
            self._looks(self.judged_[:, 0], self.judged_[:, 2]),
            self._looks(signals[:, 0], self._log_odds(signals)),
            names=_DRIFT,
            remedy="Judge new queries and fit again.",
        )

    def report(self) -> str:
        """Return what can be accepted, and at which error, in words and numbers."""
        if self.background is not None:
            return (
                f"Accepts the first result if at most {percent(self.max_error)} of the queries "
                f"without an answer reach its score{self._source()}: "
                f"{self.background.limit(self.max_error):.3g}.\n"
                "Near misses on the topic are not covered: only judged queries show those."
            )
        self.require_fitted()
        lines = [self._verdict()]
        accepted = self.judged_[:, 2] > self.threshold_
        if accepted.any():
            wrong, count = np.count_nonzero(self.judged_[accepted, 3] == 0), int(accepted.sum())
            low, high = (percent(float(end)) for end in exact_interval(wrong, count))
            lines.append(
                f"At fit {wrong} of {count} accepted were wrong: {percent(wrong / count)} "
                f"({low} to {high})."
            )
        if teaches(self.judged_[:, 3]):
            shares = [f"{name} {percent(share)}" for name, share in self._shares().items()]
            lines.append(f"Accepted by the same test, by signal: {', '.join(shares)}.")
        if len(self.judged_):
            lines.append(
                f"{len(self.judged_)} distinct judged queries{self._source()}: "
                f"{percent(self.judged_[:, 3].mean())} of the first results are right, best scores "
                f"{self._range()}."
            )
        return "\n".join(lines)

    def curves(self) -> dict[str, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Return accepted share, error and its 95 % interval by signal, surest queries first.

        The signals are top score, margin and learned score; these curves are not corrected for the
        choice of a point on them.
        """
        self._require_learned("curves")
        found = {}
        for column, name in enumerate(SIGNALS):
            order = np.argsort(-self.judged_[:, column], kind="stable")
            wrong = np.cumsum(self.judged_[order, 3] == 0)
            count = np.arange(wrong.size, 0, -max(1, wrong.size // 100))[::-1]
            low, high = exact_interval(wrong[count - 1], count)
            found[name] = (count / wrong.size, wrong[count - 1] / count, low, high)
        return found

    @property
    def learns(self) -> bool:
        return self.background is None

    def fit(self, lists: RankedLists, *, groups: Iterable[Hashable] | None = None) -> Self:
        """Return the truncator itself, after learning from judged lists, one of each query.

        Parameters
        ----------
        lists
            Lists whose first result is judged; others are left out.
        groups
            The group of each list, such as its user or a cluster of paraphrases, if lists of one
            group are alike. A group counts once, by a list chosen at random, and the promise is
            about new groups. By default copies are one group: see `RankedLists.distinct`.
        """
        if self.learns and isinstance(lists, RankedLists) and lists.relevance is not None:
            own = None if groups is None else check_groups(groups, len(lists), "Accept.fit")
            if (usable := judged_first(lists)).any():
                lists = lists[usable].distinct(None if own is None else own[usable])
        return super().fit(lists)

    def learn(self, lists: RankedLists) -> None:
        lists = lists[judged_first(lists)]
        right = lists.truncate(1).relevant.values.astype(np.float64)
        signals = signals_of(lists)
        self.coef_, self.scale_, self.threshold_ = np.zeros(4), 1.0, np.inf
        self.seen_, log_odds = np.zeros(2), np.zeros(right.size)
        if right.size:
            self.seen_ = seen_range(signals[:, 0])
            self.scale_ = float(np.median(signals[:, 1])) or 1.0
        if teaches(right):
            table = features(signals, self.scale_)
            self.coef_ = learned(table, right, self.max_error)
            log_odds, _, self.threshold_ = self._accepted(table, right, self.max_error)
        self.judged_ = np.column_stack([signals, log_odds, right])

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        if self.background is not None:
            answers = self.background.answers(lists, self.max_error)
            chance = self.background.pvalue(lists)
            return answers.astype(np.int64), _Chance(chance, self._source())
        signals, filled = signals_of(lists), lists.scores.filled
        log_odds = self._log_odds(signals)
        strange = self._strange(signals[:, 0]) & filled
        accepted = filled & ~strange & (log_odds > self.threshold_)
        return accepted.astype(np.int64), _Sure(self, signals[:, 0], log_odds, strange)

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return the names of warnings; see `Truncator.notices`."""
        usual = super().notices(lists, tails)
        if self.background is not None:
            return usual
        found = {
            "accepts_nothing": np.full(len(lists), np.isposinf(self.threshold_)),
            "unseen_scores": self._strange(signals_of(lists)[:, 0]) & lists.scores.filled,
        }
        own = named(found, len(lists))
        return [one + other for one, other in zip(usual, own, strict=True)]

    def _log_odds(self, signals: FloatArray) -> FloatArray:
        table = features(signals, self.scale_)
        return np.asarray(self.coef_[0] + table @ self.coef_[1:])

    def _strange(self, tops: FloatArray) -> BoolArray:
        return far_outside(tops, self.seen_)

    def _looks(self, tops: FloatArray, log_odds: FloatArray) -> FloatArray:
        return np.column_stack([tops, log_odds, log_odds > self.threshold_])

    def _range(self) -> str:
        """Return the range of the best scores at fit, as the search gives them."""
        low, high = self.seen_ if self.higher_is_better_ else -self.seen_[::-1]
        return f"{low:.3g} to {high:.3g}"

    def _source(self) -> str:
        return "" if self.name is None else f" ({self.name})"

    def _verdict(self) -> str:
        right, budget = self.judged_[:, 3], percent(self.max_error)
        if np.any(accepted := self.judged_[:, 2] > self.threshold_):
            return (
                f"Accepts {percent(float(accepted.mean()))} of {right.size} judged queries: at "
                f"most {budget} of the accepted are wrong, "
                f"{percent(self.confidence, exact=True)} confidence."
            )
        if not teaches(right):
            what = "right" if right.all() else "wrong"
            few = f"at least {FEWEST} are needed"
            return (
                f"Cannot say from {right.size} judged queries what may be accepted: "
                f"{few if right.size < FEWEST else f'all their first results are {what}'}."
            )
        text = f"At {budget} nothing can be accepted from {right.size} judged queries; "
        table = features(self.judged_[:, :2], self.scale_)
        for larger in (budget for budget in _LADDER if budget > self.max_error):
            _, count, _ = self._accepted(table, right, larger)
            if count:
                share = percent(count / right.size)
                least = f"{percent(larger)} is the smallest budget tried that accepts anything"
                return f"{text}{least} ({share} of them)."
        return f"{text}no budget up to {percent(_LADDER[-1])} accepts any."

    def _shares(self) -> dict[str, float]:
        """Return the share that each signal alone could accept with the same promise."""
        right, table = self.judged_[:, 3], features(self.judged_[:, :2], self.scale_)
        counts = {
            name: self._accepted(table[:, columns], right, self.max_error)[1]
            for name, columns in SIGNALS.items()
        }
        return {name: count / right.size for name, count in counts.items()}

    def _accepted(
        self, table: FloatArray, right: FloatArray, budget: float
    ) -> tuple[FloatArray, int, float]:
        """Return log-odds of all queries, how many are accepted, and what those exceed."""
        log_odds = cross_fitted(table, right, budget)
        return log_odds, *lowest_threshold(log_odds, right, budget, _RISK * (1 - self.confidence))

    def _require_learned(self, what: str) -> None:
        self.require_fitted()
        if self.background is not None or not len(self.judged_):
            got = "none" if self.background is None else "a background"
            raise InvalidParameterError(
                f"Accept.{what}: it must be fitted on judged queries, got {got}"
            )


@dataclass(frozen=True)
class _Sure:
    """How sure each first result is, and from where on it is accepted."""

    accept: Accept
    tops: FloatArray
    log_odds: FloatArray
    strange: BoolArray
    tails: None = None

    def because(self, i: int, k: int) -> str:
        accept = self.accept
        taught = accept.taught
        if np.isposinf(accept.threshold_):
            return f"nothing can be accepted at {percent(accept.max_error)}, {taught}"
        if self.strange[i]:
            top = self.tops[i] if accept.higher_is_better_ else -self.tops[i]
            return (
                f"its best score, {top:.3g}, is far outside {accept._range()}, the range of the "
                f"scores at fit{accept._source()}, {taught}"
            )
        error, limit = (sigmoid(-np.array(x)) for x in (self.log_odds[i], accept.threshold_))
        accepted = self.log_odds[i] > accept.threshold_
        side = "below" if accepted else "not below"
        return (
            f"the first result is wrong with an estimated probability of {percent(float(error))}, "
            f"{side} {percent(float(limit))}, {taught}"
        )


@dataclass(frozen=True)
class _Chance:
    """How many queries without an answer reach the best score of each list."""

    chance: FloatArray
    source: str
    tails: None = None

    def because(self, i: int, k: int) -> str:
        return (
            f"{percent(float(self.chance[i]))} of queries without an answer reach a best score as "
            f"high{self.source}; near misses on the topic are not covered"
        )
