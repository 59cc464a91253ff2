"""The tail of each list and the Surprise scores of its results: one or many fits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut import _kernel
from paretocut.decisions.cuts import Cut, Cuts, Tails, as_scores, decided, evalues, positions, trim
from paretocut.decisions.options import (
    FITTING,
    TRANSFORMS,
    Bounds,
    FitOptions,
    Rule,
    RuleOptions,
    check_bounds,
    check_fitting,
    chosen_rule,
    spelt_out,
)
from paretocut.decisions.warnings import SHALLOW, diagnose, named
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray, IntArray, Ragged, RaggedLike, RankedLists
from paretocut.lists.ragged import refuse_not_finite
from paretocut.schema.drawn import Drawn
from paretocut.schema.parameters import check_bool, check_positive_int
from paretocut.tail.gpd import GOF_LEVEL, allowed, apply, gof_pvalue, kernel_gof
from paretocut.tail.rules import RuleEvidence, rule_counts

_FLAGS = {1: "too_few_results", 2: "constant_scores", 4: "tied_threshold", 8: "search_limited"}
_POOR_FIT = 0.01
_NUMBERS = {
    **dict.fromkeys(("shape", "scale", "threshold", "cvm"), np.float64),
    **dict.fromkeys(("lower", "upper"), np.int64),
    **dict.fromkeys(("flags", "windows", "evaluations"), np.int32),
}  # what the kernel finds, in its order
_ROW = np.dtype([*_NUMBERS.items(), ("transform", "<U8")])
_SCORES_PER_THREAD = 20_000  # a thread costs about as much to start as this many scores to fit
_DEFAULT = check_fitting("fit_tail", {})
_LIMIT: ContextVar[int | None] = ContextVar("_LIMIT", default=None)


class _RuleCutOptions(RuleOptions, Bounds, total=False):
    """A rule, and bounds on the number kept."""


@dataclass(frozen=True, repr=False, eq=False)
class SurpriseFit(Drawn):
    """The tail fitted to one list, and the Surprise score of every result.

    Arrays are in the order of the caller's list.

    Attributes
    ----------
    surprise
        ``-log P(excess >= observed)`` under the fitted tail; 0 below the threshold.
    shape, scale, transform
        Parameters of the tail (SciPy's sign of the shape), on the transformed scores; scale 0
        means that nothing was fitted.
    threshold
        Score at which the tail begins, in the caller's units.
    lower, upper
        The window of ascending scores that the null was fitted to, ``[lower, upper)``.
    cvm
        Cramer-von-Mises statistic W2 of the fit.
    scores, higher_is_better
        The scores, and False if they are distances.
    """

    surprise: FloatArray
    scores: FloatArray
    higher_is_better: bool
    transform: str
    _fitting: FitOptions
    shape: float
    scale: float
    threshold: float
    cvm: float
    lower: int
    upper: int
    _flags: int
    _windows: int
    _evaluations: int

    @property
    def n(self) -> int:
        """Number of results."""
        return len(self.surprise)

    @property
    def fitted(self) -> bool:
        """Whether there was anything to fit."""
        return self.scale > 0

    @property
    def pvalues(self) -> FloatArray:
        """Probability of a score at least this high under the fitted tail, ``exp(-surprise)``."""
        return np.asarray(np.exp(-self.surprise))

    @property
    def evalues(self) -> FloatArray:
        """Expected number of chance results at least this surprising in this list."""
        return evalues(self.surprise, self.tests)

    @property
    def order(self) -> IntArray:
        """Positions of the results, best first; ties stay as they were."""
        merit = self.scores if self.higher_is_better else -self.scores
        return np.argsort(-merit, kind="stable")

    @property
    def gof_pvalue(self) -> float:
        """Goodness of fit, the share of true tails that fit as badly. 1 if nothing fitted."""
        return float(self._many.gof_pvalue[0])

    @property
    def tests(self) -> int:
        """Number of results at or above the threshold, which have a p-value."""
        return self.n - self.lower

    @property
    def fitted_on(self) -> int:
        """Number of scores that the final tail was fitted to."""
        return int(self._many.fitted_on[0])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Names of warnings, keys of `paretocut.decisions.WARNINGS`."""
        return self._many.warnings[0]

    def cut(self, **options: Unpack[_RuleCutOptions]) -> Cut:
        """Return how many results to keep under one rule.

        Parameters
        ----------
        **options
            A rule, ``if_unsure``, ``min_k`` and ``max_k``, as in `paretocut.cut`.
        """
        return self._many.cut(**options)[0]

    @cached_property
    def _many(self) -> SurpriseFits:
        """The same fit as the only one of many."""
        row = (
            *(self.shape, self.scale, self.threshold, self.cvm, self.lower, self.upper),
            *(self._flags, self._windows, self._evaluations, self.transform),
        )
        offsets = np.array([0, self.n])
        return SurpriseFits(
            Ragged.unchecked(self.surprise, offsets),
            np.array([row], dtype=_ROW),
            Ragged.unchecked(self.scores, offsets),
            self.higher_is_better,
            self._fitting,
        )

    def __repr__(self) -> str:
        return (
            f"SurpriseFit(n={self.n}, shape={self.shape:.4g}, scale={self.scale:.4g}, "
            f"threshold={self.threshold:.6g}, window=[{self.lower}, {self.upper}))"
        )


class _Column:
    """One number of each fit, as an attribute of `SurpriseFits`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, fits: SurpriseFits | None, owner: type) -> NDArray[Any]:
        return self if fits is None else fits._table[self.name]  # type: ignore[return-value]


@dataclass(repr=False, eq=False)
class SurpriseFits(Drawn):
    """The tails fitted to many lists: arrays with one value per list, `Ragged` per result.

    Attributes are those of `SurpriseFit`; ``fits[i]`` is the fit of one list.
    """

    surprise: Ragged
    _table: NDArray[np.void]
    scores: Ragged
    higher_is_better: bool
    _fitting: FitOptions

    shape = _Column()
    scale = _Column()
    threshold = _Column()
    lower = _Column()
    upper = _Column()
    cvm = _Column()
    transform = _Column()

    @property
    def search(self) -> NDArray[np.int32]:
        """Windows fitted and passes over a window, two numbers per list."""
        return np.stack([self._table["windows"], self._table["evaluations"]], axis=1)

    @property
    def n(self) -> IntArray:
        """Number of results of each list."""
        return self.surprise.lengths

    @property
    def pvalues(self) -> Ragged:
        """Chance of a score at least this high under the fitted tail."""
        return self.surprise.with_values(np.exp(-self.surprise.values))

    @property
    def evalues(self) -> Ragged:
        """Expected number of chance results at least this surprising in the list."""
        tests = self.surprise.spread(self.tests)
        return self.surprise.with_values(evalues(self.surprise.values, tests))

    @cached_property
    def tests(self) -> IntArray:
        """Number of results of each list at or above its threshold."""
        return np.asarray(self.n - self.lower)

    @property
    def gof_pvalue(self) -> FloatArray:
        """Goodness of fit of each list; 1 where nothing was fitted."""
        return np.where(self.scale > 0, gof_pvalue(self.cvm, self.shape, self.fitted_on), 1.0)

    @property
    def fitted_on(self) -> IntArray:
        """Number of scores that each final tail was fitted to."""
        end = self.n if self._fitting["refit"] == "all" else self.upper
        return np.asarray(end - self.lower)

    @property
    def warnings(self) -> tuple[tuple[str, ...], ...]:
        """Names of warnings about each list, keys of `paretocut.decisions.WARNINGS`."""
        scores = self.scores
        found = diagnose(scores)
        # Saturated probabilities are no trouble as logits, and distances are no probabilities.
        found["saturated_scores"] &= (self.transform != "logit") & self.higher_is_better
        found["shallow_list"] = (scores.lengths < SHALLOW) & scores.filled
        found["poor_fit"] = self.gof_pvalue < _POOR_FIT
        found["little_background"] = (self.scale > 0) & (2 * self.upper < self.n)
        for bit, name in _FLAGS.items():
            found[name] = ((self._table["flags"] & bit) != 0) & scores.filled
        found["constant_scores"] &= scores.lengths > 1
        return tuple(named(found, len(scores)))

    def cut(self, **options: Unpack[_RuleCutOptions]) -> Cuts:
        """Return how many results of each list to keep; see `SurpriseFit.cut`."""
        rule = chosen_rule("cut", options)
        if rule is None:
            raise InvalidParameterError("cut: a rule must be given, such as evalue=0.05, got none")
        bounds = check_bounds("cut", options.get("min_k", 0), options.get("max_k"))
        lists, order, tails = self._ranked
        decider = _RuleDecider(str(rule), rule, self if tails is None else tails)
        return decided(decider, lists, bounds, order=order)

    @cached_property
    def _ranked(self) -> tuple[RankedLists, Ragged | None, SurpriseFits | None]:
        """The lists best first, where their results were, and their tails (None: these)."""
        lists, order = RankedLists.of_scores(
            self.scores, self.higher_is_better, who="cut", any_order=True
        )
        tails = None
        seen, matches = trim(lists)
        if matches is not None:
            tails = fit_lists(seen, self._fitting)
        elif order is not None:
            surprise = self.surprise.with_values(self.surprise.values[order])
            tails = replace(self, surprise=surprise, scores=lists.scores)
        return lists, positions(self.scores, order), tails

    def __len__(self) -> int:
        return len(self.surprise)

    def __getitem__(self, index: int) -> SurpriseFit:
        i = range(len(self))[index]
        *numbers, transform = self._table[i].tolist()
        about = self.scores[i], self.higher_is_better, transform, self._fitting
        return SurpriseFit(self.surprise[i], *about, *numbers)

    def __iter__(self) -> Iterator[SurpriseFit]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"SurpriseFits({len(self)} lists, {self.surprise.values.size} results)"


@dataclass(slots=True)
class _RuleDecider:
    """Cuts lists, whose tails are known, by one rule on their Surprise scores."""

    label: str
    rule: Rule
    tails: SurpriseFits

    def decision(self, lists: RankedLists) -> tuple[IntArray, RuleEvidence]:
        return rule_counts(self.rule, self.tails), RuleEvidence(self.rule, self.tails)

    def tails_of(self, lists: RankedLists) -> SurpriseFits:
        return self.tails

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        return self.tails.warnings


@spelt_out(*FITTING)
def fit_tail(
    scores: ArrayLike, *, higher_is_better: bool = True, **options: Unpack[FitOptions]
) -> SurpriseFit:
    """Return the tail of one list and the Surprise score of each of its results.

    Parameters
    ----------
    scores
        Scores of one ranked list, in any order: the more results, the better (200 is good).
    higher_is_better
        False if the scores are distances.
    {options}

    Raises
    ------
    InvalidScoresError
        For scores that are not one-dimensional, not numbers, or not finite.

    References
    ----------
    .. [1] Bahri, Zheng, Tay, Metzler, Tomkins. Surprise: Result List Truncation via Extreme Value
       Theory. Algorithm 1; ``refit="window"`` follows its text, ``refit="all"`` its listing.

    Examples
    --------
    >>> import paretocut as pc
    >>> background = -np.log(np.linspace(0.005, 0.995, 198))  # a smooth tail of chance
    >>> fit = pc.fit_tail([12.0, 11.0, *background])
    >>> fit.cut(evalue=0.05).k, fit.surprise[:2].round(1).tolist()
    (2, [12.2, 11.2])
    """
    fitting = check_fitting("fit_tail", options) if options else _DEFAULT
    up = check_bool(higher_is_better, who="fit_tail", name="higher_is_better")
    values = as_scores(scores, who="fit_tail")
    if fitting["transform"] != "identity":
        lists = Ragged.unchecked(values, np.array([0, values.size]))
        refuse_not_finite(lists, "fit_tail")
        return _fit(lists, up, fitting, who="fit_tail")[0]
    surprise = np.empty(values.size)
    numbers: Any = _kernel.fit_list(values, *_how(up, fitting), surprise)
    if isinstance(numbers, int):  # the index of a score that is not finite
        raise InvalidScoresError(
            f"fit_tail: scores must be finite, got {values[numbers]} at index {numbers}"
        )
    return SurpriseFit(surprise, values, up, "identity", fitting, *numbers)


@spelt_out(*FITTING)
def fit_tails(
    lists: RaggedLike | RankedLists,
    *,
    higher_is_better: bool = True,
    threads: int | None = None,
    **options: Unpack[FitOptions],
) -> SurpriseFits:
    """Return the tails of many lists; each is exactly that of `fit_tail`.

    Parameters
    ----------
    lists
        A 2-D array, a sequence of 1-D arrays, a tuple ``(values, offsets)`` with an integer array
        of offsets, an Arrow list array, a `Ragged` or `RankedLists`.
    higher_is_better
        As in `fit_tail`.
    threads
        Threads to use; by default as many as there are processors. Results do not depend on it.
    {options}

    Examples
    --------
    >>> import paretocut as pc
    >>> rng = np.random.default_rng(0)
    >>> fits = pc.fit_tails(rng.exponential(size=(3, 200)))
    >>> fits.cut(evalue=0.05).k.tolist(), len(fits.surprise[2])
    ([0, 0, 0], 200)
    """
    fitting = check_fitting("fit_tails", options)
    up = check_bool(higher_is_better, who="fit_tails", name="higher_is_better")
    if isinstance(lists, RankedLists):
        if up:
            return _fit(lists.scores, lists.higher_is_better, fitting, threads_of(threads))
        raise InvalidScoresError(
            "fit_tails: higher_is_better must be left out for RankedLists, which know their "
            "direction; got False"
        )
    ragged = Ragged.from_any(lists, dtype=np.float64)
    refuse_not_finite(ragged, "fit_tails")
    return _fit(ragged, up, fitting, threads_of(threads))


def fit_lists(lists: RankedLists, fitting: FitOptions = _DEFAULT) -> SurpriseFits:
    """Return the tails of ranked lists; distances are treated as distances."""
    return _fit(lists.scores, lists.higher_is_better, fitting)


def _fit(
    scores: Ragged,
    up: bool,
    fitting: FitOptions,
    threads: int | None = None,
    who: str = "fit_tails",
) -> SurpriseFits:
    """Return the tails of scores that are finite."""
    transform = fitting["transform"]
    if transform != "auto":
        return _fit_on_scale(scores, transform, up, fitting, threads, who)
    chosen = _fit_on_scale(scores, "identity", up, fitting, threads, who)
    for candidate in TRANSFORMS[1:-1]:
        # Only where nothing so far fits, and the scale exists.
        open_ = np.flatnonzero((chosen.gof_pvalue < GOF_LEVEL) & allowed(scores, candidate))
        if open_.size:
            other = _fit_on_scale(scores.take(open_), candidate, up, fitting, threads, who)
            now, before = other.gof_pvalue, chosen.gof_pvalue[open_]
            # P-values end at 0.0005. A list that fits no scale takes the one with the least W2 per
            # result.
            misfit, least = (fits.cvm / np.maximum(fits.fitted_on, 1) for fits in (other, chosen))
            closer = misfit < least[open_]
            better = (now > before) | ((now == before) & closer)
            for i, j in zip(open_[better].tolist(), np.flatnonzero(better).tolist(), strict=True):
                chosen.surprise[i][:] = other.surprise[j]
                chosen._table[i] = other._table[j]
    return chosen


def _fit_on_scale(
    scores: Ragged, transform: str, up: bool, fitting: FitOptions, threads: int | None, who: str
) -> SurpriseFits:
    values = np.ascontiguousarray(scores.values, dtype=np.float64)
    if values is not scores.values:
        scores = Ragged.unchecked(values, scores.offsets)
    scaled = apply(scores, transform, who=who)
    surprise, table = np.empty(values.size), np.empty(len(scores.offsets) - 1, dtype=_ROW)
    if len(table) == 1:
        numbers: Any = _kernel.fit_list(scaled.values, *_how(up, fitting), surprise)
        table[0] = (*numbers, transform)
    else:
        columns = {name: np.empty(len(table), dtype=_ROW[name]) for name in _NUMBERS}
        most = values.size // _SCORES_PER_THREAD + 1
        threads = 1 if most == 1 else min(threads_of(threads), most)
        how = *_how(up, fitting), threads
        _kernel.fit_batch(scaled.values, scores.offsets, *how, surprise, *columns.values())
        for name, column in columns.items():
            table[name] = column
        table["transform"] = transform
    if transform != "identity":
        filled = scores.filled  # 0 stands for the threshold of an empty list
        own = table["threshold"][filled]
        table["threshold"][filled] = np.exp(own if transform == "log" else -np.logaddexp(0.0, -own))
    return SurpriseFits(Ragged.unchecked(surprise, scores.offsets), table, scores, up, fitting)


def _how(up: bool, fitting: FitOptions) -> tuple[float, int, bool, _kernel.Gof | None]:
    """Return the options of a fit as the kernel takes them."""
    gof = kernel_gof() if fitting["selection"] == "gof" else None
    return 1.0 if up else -1.0, fitting["min_window"], fitting["refit"] == "all", gof


@contextmanager
def limited_threads(threads: int | None) -> Iterator[None]:
    """Let fits inside the block use at most so many threads; None means one per processor."""
    if threads is not None:
        check_positive_int(threads, who="threads", name="threads")
    token = _LIMIT.set(threads)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def threads_of(threads: int | None = None) -> int:
    """Return how many threads a fit uses."""
    threads = _LIMIT.get() if threads is None else threads
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    return check_positive_int(threads, who="fit_tails", name="threads")
