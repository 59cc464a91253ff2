"""The result of a fit: the tail of a list and the Surprise scores of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.decisions.cuts import Cut, Cuts, decided, in_callers_order, one_decided, one_list
from paretocut.decisions.options import IF_SHALLOW, check_bounds, choose_rule
from paretocut.decisions.warnings import SHALLOW, diagnose, named
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.schema.parameters import check_choice
from paretocut.show.pictures import fit_picture, fits_picture, number
from paretocut.tail.gpd import gof_pvalue
from paretocut.tail.rules import RuleDecider

__all__ = ["SurpriseFit", "SurpriseFits"]

_FLAGS = {1: "too_few_results", 2: "constant_scores", 4: "tied_threshold", 8: "search_limited"}
_POOR_FIT = 0.01


@dataclass(frozen=True, repr=False, eq=False)
class SurpriseFit:
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
        The window of ascending scores the null was fitted on, ``[lower, upper)``.
    cvm
        Cramer-von-Mises statistic W2 of the fit.
    transform
        Scale on which the tail was fitted.
    """

    surprise: FloatArray
    shape: float
    scale: float
    threshold: float
    lower: int
    upper: int
    cvm: float
    transform: str
    _scores: FloatArray
    _sign: float
    _flags: int
    _fitted_on: int
    _again: Callable[[RankedLists], SurpriseFits]
    search: tuple[int, int] = field(compare=False)
    """Windows fitted, and passes over a window to find its shape."""

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
        """Chance of a score at least this high under the fitted tail: ``exp(-surprise)``."""
        pvalues: FloatArray = np.exp(-self.surprise)
        return pvalues

    @property
    def evalues(self) -> FloatArray:
        """Expected number of chance results at least this surprising in this list."""
        return (self.n - self.lower) * self.pvalues

    @property
    def order(self) -> IntArray:
        """Positions of the results, best first; ties stay as they were."""
        return np.argsort(-self._sign * self._scores, kind="stable")

    @property
    def gof_pvalue(self) -> float:
        """Goodness of fit: share of true tails that fit as badly or worse. 1 if nothing fitted."""
        if not self.fitted:
            return 1.0
        return float(gof_pvalue(self.cvm, self.shape, self._fitted_on))

    @property
    def tests(self) -> int:
        """Number of results at or above the threshold: those that have a p-value."""
        return self.n - self.lower

    @property
    def warnings(self) -> tuple[str, ...]:
        """Names of what the user should know, keys of `paretocut.WARNINGS`."""
        column = Ragged.unchecked(self._scores, np.array([0, self.n]))
        return _warnings(
            column,
            self._sign,
            flags=np.array([self._flags]),
            gof=np.array([self.gof_pvalue]),
            little=np.array([self.fitted and 2 * self.upper < self.n]),
            transform=np.array([self.transform]),
        )[0]

    def cut(
        self,
        *,
        alpha: float | None = None,
        evalue: float | None = None,
        fdr: float | None = None,
        min_surprise: float | None = None,
        min_k: int = 0,
        max_k: int | None = None,
        if_shallow: str = "keep",
    ) -> Cut:
        """Return how many results to keep under one rule.

        Parameters
        ----------
        alpha
            Keep results whose p-value is at most this.
        evalue
            Keep results that chance alone would bring to the list at most this many times.
        fdr
            Keep as many as possible with at most this share of chance results expected among
            them (Benjamini-Hochberg).
        min_surprise
            Keep results whose surprise is at least this.
        min_k, max_k
            Bounds on the number kept, whatever the rule says.
        if_shallow
            What happens if the rule keeps nothing of a list of fewer than 50 results, or of
            equal scores: ``"keep"`` all of it, because so few results cannot show that nothing
            stands out, or ``"drop"`` it.
        """
        decider = _decider(self._again, if_shallow, alpha, evalue, fdr, min_surprise)
        bounds = check_bounds("cut", min_k, max_k)
        zeros = 0
        if self._sign > 0 and self.n > 0 and self._scores.min() == 0:
            zeros = self.n - int(np.count_nonzero(self._scores))
        if zeros > 1 or zeros == self.n > 0:  # padding, which matches nothing
            matches = np.append(self._scores[self._scores > 0], 0.0)
            matches[::-1].sort()
            counts = decider.counts(self._again(RankedLists.of_one(matches, True)))
            free = min(int(counts[0]), self.n - zeros)
        else:
            column = Ragged.unchecked(self.surprise, np.array([0, self.n]))
            own = np.array([self.tests]), np.array([self.scale])
            free = int(decider.counts_of(column, *own)[0])
        k = min(max(free, bounds[0]), bounds[1], self.n)
        # A list of ten million results is sorted only if somebody asks which ones are kept.
        return Cut(k, self.n, partial(self._explained, decider, bounds), 0, self._positions)

    def _explained(self, decider: RuleDecider, bounds: tuple[int, int]) -> Cuts:
        return self._by_sorting(decider, bounds)._cuts

    def _positions(self) -> IntArray:
        return self.order

    def _by_sorting(self, decider: RuleDecider, bounds: tuple[int, int]) -> Cut:
        """Return the decision by way of the sorted list."""
        lists, order = one_list(self._scores, self._sign > 0, who="cut", any_order=True)
        cuts = decided(decider, lambda shown: decider.counts(self._again(shown)), lists, bounds)
        return one_decided(cuts, order)

    def __repr__(self) -> str:
        return (
            f"SurpriseFit(n={self.n}, shape={self.shape:.4g}, scale={self.scale:.4g}, "
            f"threshold={self.threshold:.6g}, window=[{self.lower}, {self.upper}))"
        )

    def _repr_html_(self) -> str:
        order = self.order
        names = ("shape", "scale", "threshold", "gof_pvalue")
        facts = {name: number(getattr(self, name)) for name in names} if self.fitted else {}
        return fit_picture(
            self._scores[order],
            self.evalues[order],
            window=(self.lower, self.upper),
            threshold=self.threshold if self.fitted else None,
            facts={"results": str(self.n), **facts},
            warnings=self.warnings,
            higher_is_better=self._sign > 0,
        )


@dataclass(frozen=True, repr=False, eq=False)
class SurpriseFits:
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
    _scores: Ragged
    _sign: float
    _flags: NDArray[np.int32]
    _fitted_on: IntArray
    _again: Callable[[RankedLists], SurpriseFits]
    search: NDArray[np.int32] = field(compare=False)
    """Two columns: windows fitted, and passes over a window to find its shape."""

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

    @property
    def tests(self) -> IntArray:
        """Number of results of each list at or above its threshold."""
        return self.n - self.lower

    @property
    def gof_pvalue(self) -> FloatArray:
        """Goodness of fit of each list; 1 where nothing was fitted."""
        return np.where(self.scale > 0, gof_pvalue(self.cvm, self.shape, self._fitted_on), 1.0)

    @property
    def _misfit(self) -> FloatArray:
        """W2 per result: the mean squared distance of the fitted distribution to the results'."""
        return self.cvm / np.maximum(self._fitted_on, 1)

    @property
    def nothing_stands_out(self) -> NDArray[np.bool_]:
        """Whether even the best result of each list has an E-value above 1."""
        unremarkable = self.tests * np.exp(-self._best) > 1
        return np.asarray(unremarkable & (self.scale > 0) & (self.n >= SHALLOW))

    @property
    def _best(self) -> FloatArray:
        """Largest surprise of each list; 0 for an empty one."""
        best = np.zeros(len(self))
        filled = self.surprise.filled
        starts = self.surprise.offsets[:-1][filled]
        if starts.size:
            best[filled] = np.maximum.reduceat(self.surprise.values, starts)
        return best

    @property
    def warnings(self) -> tuple[tuple[str, ...], ...]:
        """Names of what the user should know of each list, keys of `paretocut.WARNINGS`."""
        fitted = self.scale > 0
        return tuple(
            _warnings(
                self._scores,
                self._sign,
                flags=self._flags,
                gof=self.gof_pvalue,
                little=fitted & (2 * self.upper < self.n),
                transform=self.transform,
            )
        )

    def cut(
        self,
        *,
        alpha: float | None = None,
        evalue: float | None = None,
        fdr: float | None = None,
        min_surprise: float | None = None,
        min_k: int = 0,
        max_k: int | None = None,
        if_shallow: str = "keep",
    ) -> Cuts:
        """Return how many results of each list to keep; the rules are those of `SurpriseFit.cut`.

        Parameters
        ----------
        alpha, evalue, fdr, min_surprise, min_k, max_k, if_shallow
            As in `SurpriseFit.cut`.
        """
        decider = _decider(self._again, if_shallow, alpha, evalue, fdr, min_surprise)
        bounds = check_bounds("cut", min_k, max_k)
        lists = RankedLists(self._scores, higher_is_better=self._sign > 0)
        cuts = decided(
            decider,
            lambda shown: decider.counts(self if shown is lists else self._again(shown)),
            lists,
            bounds,
        )
        return in_callers_order(cuts, self._scores, self._sign > 0)

    def __len__(self) -> int:
        return len(self.surprise)

    def __getitem__(self, index: int) -> SurpriseFit:
        i = range(len(self))[index]
        return SurpriseFit(
            surprise=self.surprise[i],
            shape=float(self.shape[i]),
            scale=float(self.scale[i]),
            threshold=float(self.threshold[i]),
            lower=int(self.lower[i]),
            upper=int(self.upper[i]),
            cvm=float(self.cvm[i]),
            transform=str(self.transform[i]),
            _scores=self._scores[i],
            _sign=self._sign,
            _flags=int(self._flags[i]),
            _fitted_on=int(self._fitted_on[i]),
            _again=self._again,
            search=(int(self.search[i, 0]), int(self.search[i, 1])),
        )

    def __iter__(self) -> Iterator[SurpriseFit]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"SurpriseFits({len(self)} lists, {self.surprise.values.size} results)"

    def _repr_html_(self) -> str:
        counts = {
            "lists": len(self),
            "results": self.surprise.values.size,
            "fitted": np.count_nonzero(self.scale > 0),
            "lists where nothing stands out": np.count_nonzero(self.nothing_stands_out),
        }
        facts = {name: str(count) for name, count in counts.items()}
        return fits_picture(self._best[self.n > 0], facts=facts, warnings=self.warnings)


def _decider(
    again: Callable[[RankedLists], SurpriseFits],
    if_shallow: str,
    alpha: float | None,
    evalue: float | None,
    fdr: float | None,
    min_surprise: float | None,
) -> RuleDecider:
    rule = choose_rule("cut", alpha=alpha, evalue=evalue, fdr=fdr, min_surprise=min_surprise)
    if rule is None:
        raise InvalidParameterError("cut: a rule must be given, such as evalue=0.05, got none")
    return RuleDecider(
        rule, check_choice(if_shallow, IF_SHALLOW, who="cut", name="if_shallow"), again
    )


def _warnings(
    scores: Ragged,
    sign: float,
    *,
    flags: NDArray[Any],
    gof: FloatArray,
    little: NDArray[np.bool_],
    transform: NDArray[np.str_],
) -> list[tuple[str, ...]]:
    """Return the warnings of each list."""
    found = diagnose(scores)
    # Saturated probabilities are no trouble as logits, and distances are no probabilities.
    found["saturated_scores"] &= (transform != "logit") & (sign > 0)
    found["shallow_list"] = (scores.lengths < SHALLOW) & scores.filled
    found["poor_fit"] = gof < _POOR_FIT
    found["little_background"] = little
    for bit, name in _FLAGS.items():
        found[name] = ((flags & bit) != 0) & scores.filled
    found["constant_scores"] &= scores.lengths > 1
    return named(found, len(scores))
