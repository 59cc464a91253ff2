"""The truncators that promise something: an error budget, or an expected loss."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from paretocut.background import Background
from paretocut.background.law import as_lists
from paretocut.background.seen import Drift, compare, far_outside, score_at, seen_range
from paretocut.decisions.cuts import Evidence, Tails
from paretocut.decisions.warnings import named
from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RaggedLike, RankedLists
from paretocut.lists.columns import check_groups, nearly_same
from paretocut.metrics import Metric
from paretocut.metrics.significance import allowed_errors, binomial_cdf, exact_interval
from paretocut.relevance import ridge_logistic, sigmoid
from paretocut.schema.kinds import Array, Either, Instance, Kind, Real, Sizes, Text
from paretocut.truncators.base import TRUNCATOR, Fitted, Truncator, Wrapper
from paretocut.truncators.evidence import Clause
from paretocut.truncators.search import count_kept, sweep

_RISK = 0.75  # share of the risk that the test may use; the rest pays for learning on its queries
_LADDER = (  # budgets that a report tries
    *(0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05),
    *(0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
)
_FOLDS = 5
_FEWEST = 10  # judged queries to learn a score from
_WEIGHT = 0.3  # a wrong result weighs this over the budget
_LARGEST = 1e150  # squares of larger scores overflow


class Accept(Truncator):
    """Keep the first result or none, so that at most a given share of those kept are wrong.

    Parameters
    ----------
    max_error
        Largest share of wrong results among the accepted ones. A result is wrong if it is not
        relevant, so judge queries without any relevant result too.
    confidence
        Probability, over the judged queries drawn, that the promise holds for queries like them.
    name
        Where the scores come from, in your words; reports and reasons mention it.
    background
        For use without judgements: the scores of queries without an answer. A result is accepted if
        at most the share ``max_error`` of such queries reach its score. There is nothing to fit,
        and no promise about the error, because on-topic near misses score higher.

    Attributes
    ----------
    coef_, scale_
        Intercept and weights of top score, margin and closeness ``exp(-margin / scale_)``.
    threshold_
        Log-odds that an accepted result exceeds; infinite if nothing can be accepted.
    seen_
        Lowest and highest best score of the judged queries, higher is better.
    judged_
        One row per distinct judged query: top score, margin, log-odds learned from other queries,
        and whether the first result is right.

    Examples
    --------
    >>> top = np.linspace(0.3, 0.9, 600)
    >>> right = np.stack([top > 0.6, top < 0.0], axis=1)
    >>> accept = Accept(max_error=0.05).fit(RankedLists(np.stack([top, top - 0.1], axis=1), right))
    >>> accept.cut([0.83, 0.6]).k, accept.cut([0.55, 0.5]).k
    (1, 0)
    """

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
        """Return whether new queries look like those at fit (docs/recipes/cache.md).

        Parameters
        ----------
        lists
            Lists of new queries, 50 or more; bare scores must have the direction of those at fit.
        """
        self._require_learned("drift")
        given = as_lists(lists, self.higher_is_better_, who="Accept.drift")
        self._check_direction(given)
        signals = signals_of(given)[given.scores.filled]
        new = np.column_stack([signals[:, 0], self._log_odds(signals)])
        looks = [self.judged_[:, [0, 2]], new]
        return compare(
            *(np.column_stack([look, look[:, 1] > self.threshold_]) for look in looks),
            names=("best score", "score of the first result", "accepted share"),
            remedy="Judge new queries and fit again.",
        )

    def report(self) -> str:
        """Return what can be accepted, and at which error, in words and numbers."""
        if self.background is not None:
            limit, source = self.background.limit(self.max_error), self._source()
            return (
                f"Accepts the first result if at most {percent(self.max_error)} of the queries "
                f"without an answer reach its score{source}: {limit:.3g}.\n"
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
        if len(self.judged_):
            lines.append(
                f"{len(self.judged_)} distinct judged queries{self._source()}: "
                f"{percent(self.judged_[:, 3].mean())} of the first results are right, best scores "
                f"{self._range()}."
            )
        return "\n".join(lines)

    def curves(self) -> dict[str, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Return accepted share, error and its 95 % interval by signal, surest queries first."""
        self._require_learned("curves")
        found = {}
        for column, name in enumerate(("top score", "margin", "learned score")):
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
            The group of each list, if lists of one group are alike; see `RankedLists.distinct`. A
            group counts once, and the promise is about new groups.
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
            chance = self.background.pvalue(lists)
            accepted = np.asarray(chance <= self.max_error)
            return accepted.astype(np.int64), Clause(partial(self._chance, chance), chance=chance)
        signals, filled = signals_of(lists), lists.scores.filled
        tops, log_odds = signals[:, 0], self._log_odds(signals)
        strange = far_outside(tops, self.seen_) & filled
        accepted = filled & ~strange & (log_odds > self.threshold_)
        return accepted.astype(np.int64), Clause(partial(self._sure, tops, log_odds, strange))

    def _chance(self, chance: FloatArray, i: int, k: int) -> str:
        return (
            f"{percent(float(chance[i]))} of queries without an answer reach a best score as "
            f"high{self._source()}; near misses on the topic are not covered"
        )

    def _sure(
        self, tops: FloatArray, log_odds: FloatArray, strange: BoolArray, i: int, k: int
    ) -> str:
        if np.isposinf(self.threshold_):
            return f"nothing can be accepted at {percent(self.max_error)}, {self.taught}"
        if strange[i]:
            top = tops[i] if self.higher_is_better_ else -tops[i]
            return (
                f"its best score, {top:.3g}, is far outside {self._range()}, the range of the "
                f"scores at fit{self._source()}, {self.taught}"
            )
        error, limit = (sigmoid(-np.array(x)) for x in (log_odds[i], self.threshold_))
        side = "below" if log_odds[i] > self.threshold_ else "not below"
        return (
            f"the first result is wrong with an estimated probability of {percent(float(error))}, "
            f"{side} {percent(float(limit))}, {self.taught}"
        )

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return the names of warnings; see `Truncator.notices`."""
        usual = super().notices(lists, tails)
        if self.background is not None:
            return usual
        strange = far_outside(signals_of(lists)[:, 0], self.seen_) & lists.scores.filled
        nothing = np.full(len(lists), np.isposinf(self.threshold_))
        own = named({"accepts_nothing": nothing, "unseen_scores": strange}, len(lists))
        return [one + other for one, other in zip(usual, own, strict=True)]

    def _log_odds(self, signals: FloatArray) -> FloatArray:
        return np.asarray(self.coef_[0] + features(signals, self.scale_) @ self.coef_[1:])

    def _range(self) -> str:
        low, high = self.seen_ if self.higher_is_better_ else -self.seen_[::-1]
        return f"{low:.3g} to {high:.3g}"

    def _source(self) -> str:
        return "" if self.name is None else f" ({self.name})"

    def _verdict(self) -> str:
        right, budget = self.judged_[:, 3], percent(self.max_error)
        if np.any(accepted := self.judged_[:, 2] > self.threshold_):
            share, sure = percent(float(accepted.mean())), percent(self.confidence, exact=True)
            return (
                f"Accepts {share} of {right.size} judged queries: at most {budget} of the accepted "
                f"are wrong, {sure} confidence."
            )
        if not teaches(right):
            why = f"all their first results are {'right' if right.all() else 'wrong'}"
            if right.size < _FEWEST:
                why = f"at least {_FEWEST} are needed"
            return f"Cannot say from {right.size} judged queries what may be accepted: {why}."
        text = f"At {budget} nothing can be accepted from {right.size} judged queries; "
        table = features(self.judged_[:, :2], self.scale_)
        for larger in (budget for budget in _LADDER if budget > self.max_error):
            _, count, _ = self._accepted(table, right, larger)
            if count:
                share = percent(count / right.size)
                least = f"{percent(larger)} is the smallest budget tried that accepts anything"
                return f"{text}{least} ({share} of them)."
        return f"{text}no budget up to {percent(_LADDER[-1])} accepts any."

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
            told = f"it must be fitted on judged queries, got {got}"
            raise InvalidParameterError(told, who=f"Accept.{what}")


def judged_first(lists: RankedLists) -> BoolArray:
    known = lists.scores.filled
    known[known] = lists.judged.values[lists.scores.offsets[:-1][known]]
    return known


def signals_of(lists: RankedLists) -> FloatArray:
    """Return top score and margin to the second of each list; the margin of one result is 0."""
    merit = lists.merit
    top = np.clip(score_at(merit, 1), -_LARGEST, _LARGEST)
    second = np.clip(score_at(merit, 2), -_LARGEST, _LARGEST)
    return np.column_stack([top, top - second])


def features(signals: FloatArray, scale: float) -> FloatArray:
    """Return top score, margin, and how close the second result is: 1 for a tie."""
    with np.errstate(under="ignore", over="ignore"):
        return np.column_stack([signals, np.exp(-signals[:, 1] / scale)])


def teaches(right: FloatArray) -> bool:
    return right.size >= _FEWEST and 0 < right.mean() < 1


def learned(table: FloatArray, right: FloatArray, budget: float) -> FloatArray:
    """Return intercept and coefficients of the log-odds that a first result is right.

    Wrong results count more the smaller the budget, which moves the steep part of the curve to
    where the threshold will be; the intercept takes it back.
    """
    weight = max(1.0, _WEIGHT / budget)
    center, spread = table.mean(axis=0), table.std(axis=0)
    spread[spread <= 1e-9 * np.abs(table).max(axis=0)] = 1.0  # constant but for rounding
    design = np.column_stack([np.ones(len(table)), (table - center) / spread])
    counts = np.where(right > 0, 1.0, weight)
    coef = ridge_logistic(
        design,
        right,
        penalty=np.append(0.01, np.ones(table.shape[1])),
        towards=np.zeros(design.shape[1]),
        weight=counts * right.size / counts.sum(),
    )
    slopes = coef[1:] / spread
    return np.append(coef[0] + np.log(weight) - center @ slopes, slopes)


def cross_fitted(table: FloatArray, right: FloatArray, budget: float) -> FloatArray:
    """Return the log-odds of each query, by a regression on other queries, no near-copies."""
    query = nearly_same(Ragged.from_any(table))
    if query.max() < _FEWEST:  # features that tell no queries apart
        query = np.arange(right.size)
    fold = (np.random.default_rng(0).permutation(query.max() + 1) % _FOLDS)[query]
    log_odds = np.empty(right.size)
    for k in range(_FOLDS):
        own = fold == k
        coef = learned(table[~own], right[~own], budget)
        log_odds[own] = coef[0] + table[own] @ coef[1:]
    return log_odds


def lowest_threshold(
    log_odds: FloatArray, right: FloatArray, budget: float, level: float
) -> tuple[int, float]:
    """Return how many queries are accepted, and the log-odds that they exceed.

    Tests of "the error is above the budget" go on to more queries until one is not refuted.
    """
    order = np.argsort(-log_odds, kind="stable")
    falling = log_odds[order]
    count = np.flatnonzero(np.append(falling[1:] < falling[:-1], True)) + 1
    allowed = allowed_errors(right.size, budget, level)[count]
    expected = np.cumsum(sigmoid(-falling))[count - 1] / count
    start = int(np.argmax(binomial_cdf(allowed, count, np.clip(expected, 1e-12, 1 - 1e-12))))
    refuted = np.cumsum(right[order] == 0)[count - 1][start:] <= allowed[start:]
    steps = refuted.size if refuted.all() else int(np.argmin(refuted))
    if steps == 0:
        return 0, np.inf
    accepted = int(count[start + steps - 1])
    # The next query's own score, so that the error is that of all above it (not of its equals).
    return accepted, float(falling[accepted]) if accepted < falling.size else -np.inf


def _fnr(relevant: BoolArray, num_relevant: int) -> FloatArray:
    """Return the share of the list's relevant results that each cut loses; 0 when it has none."""
    found = np.concatenate([[0], np.cumsum(relevant)])
    return 1.0 - found / found[-1] if found[-1] else np.zeros(found.size)


def _fdr(relevant: BoolArray, num_relevant: int) -> FloatArray:
    """Return the share of each cut's results that are not relevant; 0 when nothing is kept."""
    wrong = np.concatenate([[0], np.cumsum(~relevant)])
    return wrong / np.maximum(np.arange(wrong.size), 1)


_LOSSES = {"fnr": _fnr, "fdr": _fdr}


class _LossKind(Kind):
    """The name of a loss, or a function."""

    def check(self, value: Any, sizes: Sizes) -> Any:
        return value if callable(value) else Text(tuple(_LOSSES)).check(value, sizes)


class Conformal(Wrapper):
    """Cut so that the expected loss on a new list stays below a level, on top of any truncator.

    It is a mean over queries and judged samples, not a promise for each query. If no threshold
    keeps it, as with fewer than ``1 / level`` lists, everything (fnr) or nothing (fdr) is kept.

    Parameters
    ----------
    base
        The truncator whose family of cuts is calibrated. It is cloned, never changed. If it must
        learn, half of the lists train it, and the others calibrate.
    loss
        "fnr": the share of the relevant results in the list that the cut loses; "fdr": the
        share of the results kept that are not relevant (0 when nothing is kept); or a function
        of (relevant, num_relevant) that gives the loss, within [0, 1], of every cut ``0..n``.
    level
        Largest expected loss, in (0, 1).

    Attributes
    ----------
    base_, threshold_
        The base, fitted if it had to be, and the calibrated threshold on its result values.

    Examples
    --------
    >>> from paretocut.truncators import ScoreThreshold
    >>> from paretocut.lists import RankedLists
    >>> lists = RankedLists([[3 + i, 2, 1] for i in range(20)], relevance=[[1, 1, 0]] * 20)
    >>> Conformal(ScoreThreshold("raw"), level=0.1).fit(lists).predict(lists[:1])
    array([2])
    """

    parameters: ClassVar = {
        "base": TRUNCATOR,
        "loss": _LossKind(),
        "level": Real(above=0, below=1),
    }
    zeros = "keep"  # a relevant result counts for the guarantee, whatever its score
    state: Mapping[str, Kind] = {
        "base_": Fitted(values_only=True),
        "threshold_": Real(infinite=True),
    }

    def __init__(
        self,
        base: Truncator,
        *,
        loss: Literal["fnr", "fdr"] | Callable[[BoolArray, int], ArrayLike] = "fnr",
        level: float = 0.1,
    ) -> None:
        self.base = base
        self.loss = loss
        self.level = level

    def fit(self, lists: RankedLists, *, groups: Iterable[Hashable] | None = None) -> Self:
        """Return the truncator itself, calibrated on judged lists, one of each query.

        Parameters
        ----------
        lists
            Judged lists.
        groups
            The group of each list, as for `Accept`.
        """
        own = lists.distinct(groups) if isinstance(lists, RankedLists) else lists
        return super().fit(own)

    def learn(self, lists: RankedLists) -> None:
        base = self.base.clone()
        if base.values_need_fit:
            if len(lists) < 2:
                told = "lists must be at least 2, to train the base and to calibrate"
                raise InvalidParameterError(f"Conformal: {told}, got {len(lists)}")
            train, lists = lists.split(0.5, seed=0)
            base.fit(train)
        function: Any = self.loss if callable(self.loss) else _LOSSES[self.loss]
        losses = Metric("loss", function).curves(lists)
        if np.any((losses.values < 0) | (losses.values > 1)):
            raise InvalidParameterError(
                "Conformal: loss must stay within [0, 1], "
                f"got values from {losses.values.min():g} to {losses.values.max():g}"
            )
        keep_all_is_safe = self.loss == "fnr"
        if callable(self.loss):
            nothing, everything = losses.ends()
            keep_all_is_safe = bool(everything.sum() <= nothing.sum())
        points, totals = sweep(base.result_values(lists), losses)
        self.threshold_ = _calibrated(points, totals, len(lists), keep_all_is_safe, self.level)
        self.base_ = base

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        loss = getattr(self.loss, "__name__", self.loss)
        clause = f"the expected {loss} stays at or below {self.level:g}, {self.taught}"
        return count_kept(self.base_.result_values(lists), self.threshold_), Clause(clause)


def _calibrated(
    points: FloatArray, totals: FloatArray, n: int, keep_all_is_safe: bool, level: float
) -> float:
    """Return the threshold furthest from the safe end with an acceptable corrected mean loss."""
    # From the safe end outwards: each outcome is as bad as the worst on its way.
    order = slice(None, None, -1) if keep_all_is_safe else slice(None)
    worst = np.maximum.accumulate(totals[order])
    # A hair of tolerance: the sums of the sweep are exact only to rounding.
    good = np.count_nonzero((worst + 1.0) / (n + 1.0) <= level + 1e-12)
    if good == 0:
        return -np.inf if keep_all_is_safe else np.inf
    return float(points[order][good - 1])
