"""The tail of each list and the Surprise scores of its results: the fit, and what it can tell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from paretocut import _kernel
from paretocut.decisions.cuts import Cut, Cuts, Tails, within
from paretocut.decisions.options import (
    TRANSFORMS,
    Bounds,
    Fitting,
    Rule,
    RuleOptions,
    check_bounds,
    chosen_rule,
)
from paretocut.decisions.warnings import SHALLOW, diagnose, named
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists, offsets_of
from paretocut.schema.drawn import Drawn
from paretocut.schema.parameters import check_positive_int
from paretocut.tail.gpd import GOF_LEVEL, gof_pvalue, kernel_gof
from paretocut.tail.rules import RuleEvidence, rule_counts
from paretocut.tail.transforms import allowed, apply

_FLAGS = {1: "too_few_results", 2: "constant_scores", 4: "tied_threshold", 8: "search_limited"}
_POOR_FIT = 0.01
_COLUMNS = ("shape", "scale", "threshold", "lower", "upper", "cvm", "transform", "search", "_flags")
_SCORES_PER_THREAD = 20_000  # a thread costs about as much to start as this many scores to fit


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
    shape, scale
        Parameters of the tail (SciPy's sign of the shape), on the transformed scores; scale 0
        means that nothing was fitted.
    threshold
        Score at which the tail begins, in the caller's units.
    lower, upper
        The window of ascending scores that the null was fitted to, ``[lower, upper)``.
    cvm
        Cramer-von-Mises statistic W2 of the fit.
    transform
        Scale on which the tail was fitted.
    search
        Windows fitted, and passes over a window to find its shape.
    """

    surprise: FloatArray
    shape: float
    scale: float
    threshold: float
    lower: int
    upper: int
    cvm: float
    transform: str
    search: tuple[int, int]
    _scores: FloatArray
    _sign: float
    _flags: int
    _fitting: Fitting

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
        pvalues: FloatArray = np.exp(-self.surprise)
        return pvalues

    @property
    def evalues(self) -> FloatArray:
        """Expected number of chance results at least this surprising in this list."""
        return self.tests * self.pvalues

    @property
    def order(self) -> IntArray:
        """Positions of the results, best first; ties stay as they were."""
        return np.argsort(-self._sign * self._scores, kind="stable")

    @property
    def gof_pvalue(self) -> float:
        """Goodness of fit, the share of true tails that fit as badly. 1 if nothing fitted."""
        return float(self._many.gof_pvalue[0])

    @property
    def tests(self) -> int:
        """Number of results at or above the threshold, which have a p-value."""
        return self.n - self.lower

    @property
    def warnings(self) -> tuple[str, ...]:
        """Names of warnings, keys of `paretocut.WARNINGS`."""
        return self._many.warnings[0]

    def cut(self, **options: Unpack[_RuleCutOptions]) -> Cut:
        """Return how many results to keep under one rule.

        Parameters
        ----------
        **options
            One of ``alpha``, ``evalue``, ``fdr`` and ``min_surprise``, optionally with
            ``if_shallow``, ``min_k`` and ``max_k``. They mean the same as in `paretocut.cut`.
        """
        return self._many.cut(**options)[0]

    @property
    def _many(self) -> SurpriseFits:
        """The same fit as the only one of many."""
        offsets = np.array([0, self.n])
        columns: dict[str, Any] = {name: np.array([getattr(self, name)]) for name in _COLUMNS}
        return SurpriseFits(
            surprise=Ragged.unchecked(self.surprise, offsets),
            _scores=Ragged.unchecked(self._scores, offsets),
            _sign=self._sign,
            _fitting=self._fitting,
            **columns,
        )

    def __repr__(self) -> str:
        return (
            f"SurpriseFit(n={self.n}, shape={self.shape:.4g}, scale={self.scale:.4g}, "
            f"threshold={self.threshold:.6g}, window=[{self.lower}, {self.upper}))"
        )


@dataclass(repr=False, eq=False)
class SurpriseFits(Drawn):
    """The tails fitted to many lists: arrays with one value per list, `Ragged` per result.

    Attributes are those of `SurpriseFit`; ``fits[i]`` is the fit of one list.
    """

    surprise: Ragged
    shape: FloatArray
    scale: FloatArray
    threshold: FloatArray
    lower: IntArray
    upper: IntArray
    cvm: FloatArray
    transform: NDArray[np.str_]
    search: NDArray[np.int32]
    _scores: Ragged
    _sign: float
    _flags: NDArray[np.int32]
    _fitting: Fitting

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
        return self.surprise.with_values(tests * np.exp(-self.surprise.values))

    @cached_property
    def tests(self) -> IntArray:
        """Number of results of each list at or above its threshold."""
        return self.n - self.lower

    @property
    def gof_pvalue(self) -> FloatArray:
        """Goodness of fit of each list; 1 where nothing was fitted."""
        return np.where(self.scale > 0, gof_pvalue(self.cvm, self.shape, self._fitted_on), 1.0)

    @property
    def _fitted_on(self) -> IntArray:
        """Number of scores that each final tail was fitted to."""
        return (self.n if self._fitting.refit == "all" else self.upper) - self.lower

    @property
    def misfit(self) -> FloatArray:
        """W2 per result, the mean squared distance of the fitted distribution to the results'."""
        return self.cvm / np.maximum(self._fitted_on, 1)

    @property
    def best(self) -> FloatArray:
        """Largest surprise of each list; 0 for an empty one."""
        best = np.zeros(len(self))
        filled = self.surprise.filled
        starts = self.surprise.offsets[:-1][filled]
        if starts.size:
            best[filled] = np.maximum.reduceat(self.surprise.values, starts)
        return best

    @property
    def warnings(self) -> tuple[tuple[str, ...], ...]:
        """Names of warnings about each list, keys of `paretocut.WARNINGS`."""
        scores = self._scores
        found = diagnose(scores)
        # Saturated probabilities are no trouble as logits, and distances are no probabilities.
        found["saturated_scores"] &= (self.transform != "logit") & (self._sign > 0)
        found["shallow_list"] = (scores.lengths < SHALLOW) & scores.filled
        found["poor_fit"] = self.gof_pvalue < _POOR_FIT
        found["little_background"] = (self.scale > 0) & (2 * self.upper < self.n)
        for bit, name in _FLAGS.items():
            found[name] = ((self._flags & bit) != 0) & scores.filled
        found["constant_scores"] &= scores.lengths > 1
        return tuple(named(found, len(scores)))

    def cut(self, **options: Unpack[_RuleCutOptions]) -> Cuts:
        """Return how many results of each list to keep; the rules are those of `SurpriseFit.cut`.

        Parameters
        ----------
        **options
            As in `SurpriseFit.cut`.
        """
        rule = chosen_rule("cut", options)
        if rule is None:
            raise InvalidParameterError("cut: a rule must be given, such as evalue=0.05, got none")
        bounds = check_bounds("cut", options.get("min_k", 0), options.get("max_k"))
        decider, matches = RuleDecider(rule, self._fitting), self._matches()
        # A list of ten million results is sorted only if somebody asks which ones are kept.
        seen = self if matches is None else self._trimmed(matches)
        chosen = rule_counts(rule, seen.surprise, seen.tests, seen.scale)
        chosen = chosen if matches is None else np.minimum(chosen, matches)
        evidence = RuleEvidence(rule, seen, ranked=False)
        given, kept = (self._scores, self._sign > 0), within(chosen, self.n, bounds)
        return Cuts(kept, self.n, chosen, evidence, decider, None, matches, given)

    def _matches(self) -> IntArray | None:
        """Return how many results of each list match, or None if none is padded: see `matching`."""
        scores = self._scores
        zeros = scores.count(scores.values == 0)
        padded = (zeros > 1) | ((zeros > 0) & (zeros == scores.lengths))
        if self._sign < 0 or not padded.any():
            return None
        padded &= scores.count(scores.values < 0) == 0
        return np.where(padded, scores.lengths - zeros, scores.lengths) if padded.any() else None

    def _trimmed(self, matches: IntArray) -> SurpriseFits:
        """Return the fits of the lists without padding; one zero stays, where the scale begins."""
        scores = self._scores
        padded = matches < scores.lengths
        keep = (scores.values != 0) | scores.spread(~padded)
        for i in np.flatnonzero(padded).tolist():
            own = keep[scores.offsets[i] : scores.offsets[i + 1]]
            own[np.argmin(own)] = True
        trimmed = Ragged(scores.values[keep], offsets_of(scores.count(keep)))
        return fit_ragged(trimmed, True, self._fitting, threads_of())

    def __len__(self) -> int:
        return len(self.surprise)

    def __getitem__(self, index: int) -> SurpriseFit:
        i = range(len(self))[index]
        columns: dict[str, Any] = {name: getattr(self, name)[i].tolist() for name in _COLUMNS}
        return SurpriseFit(
            surprise=self.surprise[i],
            _scores=self._scores[i],
            _sign=self._sign,
            _fitting=self._fitting,
            **columns | {"search": tuple(columns["search"])},
        )

    def __iter__(self) -> Iterator[SurpriseFit]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"SurpriseFits({len(self)} lists, {self.surprise.values.size} results)"


@dataclass(frozen=True)
class RuleDecider:
    """Cuts lists by one rule on the Surprise scores of tails fitted in one way."""

    rule: Rule
    fitting: Fitting

    def decision(self, lists: RankedLists) -> tuple[IntArray, RuleEvidence]:
        tails = self.tails_of(lists)
        counts = rule_counts(self.rule, tails.surprise, tails.tests, tails.scale)
        return counts, RuleEvidence(self.rule, tails)

    @property
    def label(self) -> str:
        return str(self.rule)

    def tails_of(self, lists: RankedLists) -> SurpriseFits:
        return fit_lists(lists, self.fitting)

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        return tails().warnings


_LIMIT: ContextVar[int | None] = ContextVar("_LIMIT", default=None)


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


def fit_lists(lists: RankedLists, fitting: Fitting = Fitting()) -> SurpriseFits:  # noqa: B008
    """Return the tails of ranked lists; distances are treated as distances."""
    few = lists.scores.values.size < _SCORES_PER_THREAD
    return fit_ragged(lists.scores, lists.higher_is_better, fitting, 1 if few else threads_of())


def fit_ragged(
    scores: Ragged, up: bool, fitting: Fitting, threads: int, *, who: str = "fit_tails"
) -> SurpriseFits:
    """Return the tails of scores that are finite."""
    if fitting.transform != "auto":
        return _fit_on_scale(scores, fitting.transform, up, fitting, threads, who)
    chosen = _fit_on_scale(scores, "identity", up, fitting, threads, who)
    for candidate in TRANSFORMS[1:-1]:
        # Only where nothing so far fits, and the scale exists.
        open_ = np.flatnonzero((chosen.gof_pvalue < GOF_LEVEL) & allowed(scores, candidate))
        if open_.size:
            other = _fit_on_scale(scores.take(open_), candidate, up, fitting, threads, who)
            now, before = other.gof_pvalue, chosen.gof_pvalue[open_]
            # P-values end at 0.0005. A list that fits no scale takes the one with the least misfit.
            closer = other.misfit < chosen.misfit[open_]
            better = (now > before) | ((now == before) & closer)
            chosen = _replaced(chosen, open_[better], other, np.flatnonzero(better))
    return chosen


def _fit_on_scale(
    scores: Ragged, transform: str, up: bool, fitting: Fitting, threads: int, who: str
) -> SurpriseFits:
    values = np.ascontiguousarray(scores.values, dtype=np.float64)
    scores = Ragged.unchecked(values, scores.offsets)
    scaled = apply(scores, transform, who=who)
    lists, size = len(scores), values.size
    sign = 1.0 if up else -1.0
    surprise = np.empty(size)
    shape, scale, threshold, cvm = np.empty((4, lists))
    lower, upper = np.empty((2, lists), dtype=np.int64)
    flags, windows, evaluations = counts = np.empty((3, lists), dtype=np.int32)
    _kernel.fit_batch(
        scaled.values,
        scores.offsets,
        sign,
        fitting.min_window,
        fitting.refit == "all",
        kernel_gof() if fitting.selection == "gof" else None,
        min(threads, size // _SCORES_PER_THREAD + 1),
        surprise,
        shape,
        scale,
        threshold,
        cvm,
        lower,
        upper,
        flags,
        windows,
        evaluations,
    )
    if transform != "identity":
        filled = scores.filled  # an empty list has no threshold, and 0 stands for it
        if transform == "log":
            threshold[filled] = np.exp(threshold[filled])
        else:
            threshold[filled] = np.exp(-np.logaddexp(0.0, -threshold[filled]))
    return SurpriseFits(
        surprise=Ragged.unchecked(surprise, scores.offsets),
        shape=shape,
        scale=scale,
        threshold=threshold,
        lower=lower,
        upper=upper,
        cvm=cvm,
        transform=np.array([transform] * lists, dtype="<U8"),
        search=counts[1:].T,
        _scores=scores,
        _sign=sign,
        _flags=flags,
        _fitting=fitting,
    )


def _replaced(
    fits: SurpriseFits, at: IntArray, other: SurpriseFits, pick: IntArray
) -> SurpriseFits:
    """Return the fits with some lists' results taken from other fits."""
    surprise = fits.surprise.values.copy()
    for i, j in zip(at, pick, strict=True):
        surprise[fits.surprise.offsets[i] : fits.surprise.offsets[i + 1]] = other.surprise[j]
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        column = getattr(fits, name).copy()
        column[at] = getattr(other, name)[pick]
        columns[name] = column
    return replace(fits, surprise=fits.surprise.with_values(surprise), **columns)
