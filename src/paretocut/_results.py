"""What a fit gives: the tail of a list, the Surprise scores of its results, and the decision."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut._diagnostics import SHALLOW, diagnose
from paretocut._rules import check_bounds, choose_rule, rule_counts
from paretocut.gpd import gof_pvalue
from paretocut.types import BoolArray, FloatArray, IntArray, Ragged

__all__ = ["WARNINGS", "Cut", "SurpriseFit", "SurpriseFits"]

WARNINGS = {
    "too_few_results": "fewer results than min_window: nothing was fitted, every surprise is 0",
    "constant_scores": "all scores are equal: nothing was fitted, every surprise is 0",
    "shallow_list": f"fewer than {SHALLOW} results: too shallow for a tail; fetch 100 or more",
    "heavy_ties": "many results share their score: p-values are coarse",
    "rank_only_scores": "scores encode only the rank (such as reciprocal-rank fusion): a tail of "
    "them means nothing; use the scores from before the fusion",
    "saturated_scores": "scores are piled up at 0 or 1: use logits, or transform='logit'",
    "poor_fit": "the scores do not follow a generalized Pareto tail: try transform='auto' or "
    "selection='gof'",
    "little_background": "more than half of the list was found too high for chance: it is mostly "
    "relevant, or all there is in a small collection; do not rely on the cut, or set max_k",
    "tied_threshold": "ties at the threshold leave no interior maximum of the likelihood: an "
    "exponential tail was used",
    "search_limited": "the list is so long that the search for the window was stopped early",
}
"""Every warning a result can carry, with its meaning and remedy."""

_FLAGS = {1: "too_few_results", 2: "constant_scores", 4: "tied_threshold", 8: "search_limited"}
_POOR_FIT = 0.01


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Cut:
    """How many results to keep, and why.

    It may stand for its number: ``results[:cut]``, ``int(cut)``; it is false when nothing is kept.

    Attributes
    ----------
    k
        Number of results kept; 0 is a possible answer.
    rule, level
        The rule that decided (``"alpha"``, ``"threshold"``, ``"evalue"`` or ``"fdr"``), and its
        level.
    n
        Number of results there were.

    Examples
    --------
    >>> import paretocut as pc
    >>> background = -np.log(np.linspace(0.005, 0.995, 197))  # a smooth tail of chance
    >>> decision = pc.cut([9.5, *background, 12.0, 11.0], evalue=0.05)
    >>> int(decision), decision.indices.tolist()
    (3, [198, 199, 0])
    >>> decision.reason
    'kept 3 of 200: the 4th would appear by chance 0.91 times per list'
    """

    k: int
    rule: str
    level: float
    n: int
    _fit: SurpriseFit
    _unlimited: int

    @property
    def indices(self) -> IntArray:
        """Positions of the kept results in the caller's list, best first."""
        return self._fit.order[: self.k]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Names of what the user should know, keys of `WARNINGS`."""
        return self._fit.warnings

    @property
    def reason(self) -> str:
        """One sentence that explains the decision."""
        fit = self._fit
        kept = f"kept {'none' if self.k == 0 else 'all' if self.k == self.n else self.k}"
        kept += f" {self.n}" if self.k == self.n > 0 else f" of {self.n}"
        if self.n == 0:
            return "kept none of 0: the list is empty"
        if not fit.fitted:
            why = "all scores are equal"
            if "too_few_results" in fit.warnings:
                why = "too few results to fit a tail to"
            return f"{kept}: {why}"
        if self.k != self._unlimited:
            bound = "the minimum asked for" if self.k > self._unlimited else "the most allowed"
            return f"{kept}, {bound}: the rule alone would keep {self._unlimited}"
        # Speak of the first result left out, or of the last one kept if none is.
        last = min(self.k, self.n - 1)
        s = float(fit.surprise[fit.order[last]])
        name = "the best" if self.k == 0 else f"the {_ordinal(last + 1)}"
        if self.rule == "threshold":
            side = "below" if self.k < self.n else "at or above"
            return f"{kept}: {name} has surprise {s:.3g}, {side} {self.level:g}"
        if self.rule == "alpha":
            side = "above" if self.k < self.n else "at or below"
            return f"{kept}: {name} has p-value {math.exp(-s):.2g}, {side} {self.level:g}"
        if self.rule == "evalue":
            times = (self.n - fit.lower) * math.exp(-s)
            return f"{kept}: {name} would appear by chance {times:.2g} times per list"
        share = f"{100 * self.level:g}%"
        if self.k == self.n:
            return f"{kept}: no more than {share} of them are expected to be chance"
        return f"{kept}: with more, over {share} of them would be expected to be chance"

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain values, ready for JSON."""
        return {
            "k": self.k,
            "n": self.n,
            "indices": self.indices.tolist(),
            "rule": self.rule,
            "level": self.level,
            "reason": self.reason,
            "warnings": list(self.warnings),
        }

    def __int__(self) -> int:
        return self.k

    __index__ = __int__

    def __bool__(self) -> bool:
        return self.k > 0

    def __repr__(self) -> str:
        return f"Cut(k={self.k}, n={self.n}, {self.rule}={self.level:g})"


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

    @functools.cached_property
    def order(self) -> IntArray:
        """Positions of the results, best first; ties stay as they were."""
        return np.argsort(-self._sign * self._scores, kind="stable")

    @functools.cached_property
    def gof_pvalue(self) -> float:
        """Goodness of fit: share of true tails that fit as badly or worse. 1 if nothing fitted."""
        if not self.fitted:
            return 1.0
        return float(gof_pvalue(self.cvm, self.shape, self._fitted_on))

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """Names of what the user should know, keys of `WARNINGS`."""
        scores = Ragged(self._scores, np.array([0, self.n]))
        return next(
            _warnings(
                scores,
                np.array([self._flags]),
                np.array([self.gof_pvalue]),
                np.array([self.fitted and 2 * self.upper < self.n]),
                self.transform,
            )
        )

    def cut(
        self,
        *,
        alpha: float | None = None,
        threshold: float | None = None,
        evalue: float | None = None,
        fdr: float | None = None,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cut:
        """Return how many results to keep under one rule; ``alpha=0.05`` if none is named.

        Parameters
        ----------
        alpha
            Keep results whose p-value is at most this.
        threshold
            Keep results whose surprise is at least this.
        evalue
            Keep results of which chance alone would bring at most this many to the list.
        fdr
            Keep as many as possible with at most this share of chance results expected among
            them (Benjamini-Hochberg).
        min_k, max_k
            Bounds on the number kept, whatever the rule says.
        """
        rule = choose_rule("cut", alpha=alpha, threshold=threshold, evalue=evalue, fdr=fdr)
        low, high = check_bounds("cut", min_k, max_k)
        n = self.n
        tests = n - self.lower
        if not self.fitted:
            unlimited = 0
        elif rule.name == "fdr":
            column = Ragged(self.surprise, np.array([0, n]))
            unlimited = int(rule_counts(rule, column, np.array([tests]))[0])
        else:
            unlimited = int(np.count_nonzero(self.surprise >= rule.least_surprise(tests)))
        k = min(max(unlimited, low), high, n)
        return Cut(k, rule.name, rule.level, n, self, unlimited)

    def __repr__(self) -> str:
        return (
            f"SurpriseFit(n={self.n}, shape={self.shape:.4g}, scale={self.scale:.4g}, "
            f"threshold={self.threshold:.6g}, window=[{self.lower}, {self.upper}))"
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
        tests = np.repeat(self.n - self.lower, self.n)
        return self.surprise.with_values(tests * np.exp(-self.surprise.values))

    @functools.cached_property
    def gof_pvalue(self) -> FloatArray:
        """Goodness of fit of each list; 1 where nothing was fitted."""
        return np.where(self.scale > 0, gof_pvalue(self.cvm, self.shape, self._fitted_on), 1.0)

    @property
    def _misfit(self) -> FloatArray:
        """W2 per result: the mean squared distance of the fitted distribution to the results'."""
        return self.cvm / np.maximum(self._fitted_on, 1)

    @functools.cached_property
    def warnings(self) -> tuple[tuple[str, ...], ...]:
        """Names of what the user should know of each list, keys of `WARNINGS`."""
        little = (self.scale > 0) & (2 * self.upper < self.n)
        return tuple(_warnings(self._scores, self._flags, self.gof_pvalue, little, self.transform))

    def cut(
        self,
        *,
        alpha: float | None = None,
        threshold: float | None = None,
        evalue: float | None = None,
        fdr: float | None = None,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> IntArray:
        """Return how many results of each list to keep; the rules are those of `SurpriseFit.cut`.

        Parameters
        ----------
        alpha, threshold, evalue, fdr, min_k, max_k
            As in `SurpriseFit.cut`.
        """
        rule = choose_rule("cut", alpha=alpha, threshold=threshold, evalue=evalue, fdr=fdr)
        low, high = check_bounds("cut", min_k, max_k)
        counts = rule_counts(rule, self.surprise, self.n - self.lower)
        counts[self.scale == 0] = 0
        return np.minimum(np.clip(counts, low, high), self.n)

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
            search=(int(self.search[i, 0]), int(self.search[i, 1])),
        )

    def __iter__(self) -> Iterator[SurpriseFit]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"SurpriseFits({len(self)} lists, {self.surprise.values.size} results)"


def _warnings(
    scores: Ragged, flags: NDArray[Any], gof: FloatArray, little: BoolArray, transform: Any
) -> Iterator[tuple[str, ...]]:
    found = diagnose(scores)
    # Seen as logits, saturated probabilities are no trouble any more.
    found["saturated_scores"] &= np.asarray(transform) != "logit"
    found["shallow_list"] = scores.lengths < SHALLOW
    found["poor_fit"] = gof < _POOR_FIT
    found["little_background"] = little
    for bit, name in _FLAGS.items():
        found[name] = (flags & bit) != 0
    table = np.stack([found[name] for name in WARNINGS])
    names = tuple(WARNINGS)
    for i in range(len(scores)):
        yield tuple(names[j] for j in np.flatnonzero(table[:, i]))


def _ordinal(number: int) -> str:
    suffix = "th"
    if number % 100 not in (11, 12, 13):
        suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
