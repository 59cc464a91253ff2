"""A gate before any truncator: nothing is kept when the best score may well be chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from paretocut.answers import read
from paretocut.background import Background
from paretocut.background.law import as_lists
from paretocut.decisions.cuts import Evidence, Tails
from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RaggedLike, RankedLists
from paretocut.metrics.significance import exact_interval
from paretocut.schema.kinds import Either, Instance, Kind, Real
from paretocut.schema.parameters import shown
from paretocut.truncators.base import TRUNCATOR, Fitted, Truncator, Wrapper


class Gated(Wrapper):
    """Keep nothing, unless the best score is better than queries without an answer reach.

    Parameters
    ----------
    base
        The truncator that decides how many results to keep of a list with an answer.
    background
        The scores of queries without an answer; see `paretocut.Background`.
    alpha
        Share of the queries without an answer that still get results. None uses the threshold that
        the background learned from unjudged queries.

    Attributes
    ----------
    base_
        The base, fitted; only after ``fit``.

    Notes
    -----
    A base that is already fitted, or needs no fit, is used as it is. ``fit`` fits a clone of the
    base to judged lists; the background stays.

    Examples
    --------
    >>> import numpy as np
    >>> from paretocut.truncators import FixedK
    >>> unanswered = np.random.default_rng(0).normal(0.3, 0.1, (300, 1000)).max(axis=1)
    >>> gated = Gated(FixedK(2), Background.fit(unanswered))
    >>> gated.cut([0.9, 0.8, 0.4]).k, gated.cut([0.65, 0.6, 0.4]).reason
    (2, 'kept none of 3: 22 % of queries without an answer reach a best score as high')
    """

    parameters: ClassVar = {
        "base": TRUNCATOR,
        "background": Instance(Background),
        "alpha": Either(Real(above=0, below=1)),
    }

    def __init__(
        self, base: Truncator, background: Background, *, alpha: float | None = 0.05
    ) -> None:
        if isinstance(base, Background):
            raise InvalidParameterError(
                f"{type(self).__name__}: base comes first, then the background: "
                f"Gated(base, background); got {shown(base):.60} as base"
            )
        self.base = base
        self.background = background
        self.alpha = alpha

    @property
    def direction(self) -> bool | None:
        """Whether higher was better in the background."""
        return getattr(self.background, "higher_is_better", None)  # not checked yet

    def threshold(self) -> float:
        """Return the best score from which results are returned, on the scale of the search."""
        groups = self.background.groups
        if self.alpha is None and groups is not None:
            return groups.threshold if self.background.higher_is_better else -groups.threshold
        assert self.alpha is not None
        return self.background.limit(self.alpha)

    def check(self) -> None:
        super().check()
        if isinstance(self.base, Gated):
            raise InvalidParameterError(
                f"Gated: base must be a truncator without a gate, got {shown(self.base)}"
            )
        if self.alpha is None and self.background.groups is None:
            raise InvalidParameterError(
                f"{type(self).__name__}: alpha must be a number for a background that was given "
                "no queries, got None"
            )

    @property
    def learns(self) -> bool:
        return self.base.learns

    @property
    def needs_fit(self) -> bool:
        return self.inner.needs_fit

    @property
    def is_fitted(self) -> bool:
        return self.inner.is_fitted

    def require_fitted(self) -> None:
        """Raise NotFittedError if the base must be fitted first."""
        self.inner.require_fitted()

    @property
    def needs_full_judgements(self) -> bool:
        return self.base.needs_full_judgements

    state: Mapping[str, Kind] = {"base_": Fitted()}

    def learn(self, lists: RankedLists) -> None:
        self.base_ = self.base.clone().fit(lists)

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        within, inner_evidence = self.inner.decision(lists)
        answers = self.background.answers(lists, self.alpha)
        evidence = _Gate(self.background, self.alpha, lists, answers, inner_evidence)
        return np.where(answers, within, 0), evidence

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return the names of warnings, also of scores unlike those of the background.

        Parameters
        ----------
        lists, tails
            As for `Truncator.notices`.
        """
        found = super().notices(lists, tails)
        if self.background.seen is None or not len(lists):
            return found
        strange = self.background.seen.strange(lists.merit, self._limit())
        return [
            (*names, "unseen_scores") if odd else names
            for names, odd in zip(found, strange.tolist(), strict=True)
        ]

    def evaluate(
        self,
        good: Mapping[str, Any] | RankedLists | RaggedLike = (),
        off_topic: Mapping[str, Any] | RankedLists | RaggedLike = (),
    ) -> GateCheck:
        """Return what the gate does to questions of your own, with intervals.

        Parameters
        ----------
        good
            Questions that the index answers: the text of each and the answer of your search, as
            `paretocut.keep` takes it, or its scores. Lists of scores without texts will do, unless
            the scores are lexical.
        off_topic
            Questions that the index does not answer, in the same form. Give 50 or more of each.

        Examples
        --------
        >>> unanswered = np.random.default_rng(0).normal(0.3, 0.1, (300, 1000)).max(axis=1)
        >>> from paretocut.truncators import Consensus
        >>> gate = Gated(Consensus(), Background.fit(unanswered))
        >>> checked = gate.evaluate({"who?": [0.8, 0.3], "when?": [0.68, 0.4]}, [[0.6, 0.5]])
        >>> checked.left_empty.count, checked.refused.count, round(checked.balanced, 2)
        (1, 1, 0.64)
        """
        tops, passed = {}, {}
        for name, given in (("good", good), ("off_topic", off_topic)):
            lists = self._asked(given, name)
            merit = lists.merit
            tops[name] = np.where(merit.filled, merit.ends()[0], -np.inf)
            passed[name] = self.background.answers(lists, self.alpha)
        if not tops["good"].size + tops["off_topic"].size:
            raise InvalidParameterError(
                f"{type(self).__name__}.evaluate: good or off_topic must hold a question, got none"
            )
        balanced = _balanced(tops["good"], tops["off_topic"])
        alpha = None
        if balanced is not None:
            at = balanced if self.background.higher_is_better else -balanced
            pvalue = float(self.background.pvalue([at])[0])
            alpha = pvalue if 0 < pvalue < 1 else None
            balanced = at
        empty, got = (~passed["good"]).sum(), passed["off_topic"].sum()
        return GateCheck(
            left_empty=Rate(int(empty), passed["good"].size),
            refused=Rate(passed["off_topic"].size - int(got), passed["off_topic"].size),
            threshold=self.threshold(),
            balanced=balanced,
            alpha=alpha,
        )

    def _asked(self, given: Any, name: str) -> RankedLists:
        """Return the answers to some questions, on the scale of the gate."""
        who, queries = f"{type(self).__name__}.evaluate: {name}", None
        if isinstance(given, Mapping):
            queries = list(given)
            answers = [scores for one in given.values() for scores in read(one, who=who).scores]
            given = [scores[np.isfinite(scores)] for scores in answers]
        lists = as_lists(given, self.background.higher_is_better, who=who)
        return self.scaled(lists, queries) if len(lists) else lists

    def _limit(self) -> float:
        """Return the threshold, higher is better."""
        return self.threshold() if self.background.higher_is_better else -self.threshold()

    @property
    def label(self) -> str:
        share = "" if self.alpha is None else f", alpha={self.alpha:g}"
        return f"{type(self).__name__}({self.inner.label}{share})"

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return the values of the base, or the lowest if nothing is kept; see `Truncator`."""
        values = self.inner.result_values(lists)
        shut = ~self.background.answers(lists, self.alpha)
        return values.with_values(np.where(values.spread(shut), -np.inf, values.values))

    @property
    def values_need_fit(self) -> bool:
        """Whether the base must be fitted before `result_values`."""
        return self.base.values_need_fit and not self.base.is_fitted


@dataclass(frozen=True)
class Rate:
    """A share that was counted: ``count`` of ``total``, with its interval.

    Attributes
    ----------
    count, total
        How many of how many.
    """

    count: int
    total: int

    @property
    def share(self) -> float:
        """The share; NaN of nothing."""
        return self.count / self.total if self.total else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval (Clopper and Pearson) of the share among all such questions."""
        low, high = exact_interval(self.count, self.total) if self.total else (0.0, 1.0)
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count} of {self.total} ({percent(low)} to {percent(high)} of all such)"


@dataclass(frozen=True)
class GateCheck:
    """What a gate does to questions of its user; made by `Gated.evaluate`.

    Attributes
    ----------
    left_empty
        Good questions that get nothing (`Rate`).
    refused
        Off-topic questions that get nothing (`Rate`).
    threshold
        The best score from which results are returned.
    balanced
        The threshold with the smallest mean of both error rates on these questions; None unless
        both kinds were given.
    alpha
        The level that puts the threshold there: ``gate.set_params(alpha=...)``.
    """

    left_empty: Rate
    refused: Rate
    threshold: float
    balanced: float | None
    alpha: float | None

    def __str__(self) -> str:
        lines = []
        if self.left_empty.total:
            lines.append(f"Good questions left empty: {self.left_empty}.")
        if self.refused.total:
            lines.append(f"Off-topic questions refused: {self.refused}.")
        lines.append(f"The threshold is {self.threshold:.3g}.")
        if self.balanced is not None:
            level = "" if self.alpha is None else f", as alpha={self.alpha:.2g} does"
            lines.append(f"{self.balanced:.3g} would balance both errors here{level}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, intervals included."""
        rates = {"left_empty": self.left_empty, "refused": self.refused}
        return {
            name: {"count": rate.count, "total": rate.total, "interval": list(rate.interval)}
            for name, rate in rates.items()
        } | {"threshold": self.threshold, "balanced": self.balanced, "alpha": self.alpha}


def _balanced(good: FloatArray, other: FloatArray) -> float | None:
    """Return the score with the smallest mean of both error rates, between the nearest two."""
    if not good.size or not other.size:
        return None
    tops = np.unique(np.concatenate([good, other])[np.isfinite(np.concatenate([good, other]))])
    if tops.size < 2:
        return None
    lost = np.searchsorted(np.sort(good), tops) / good.size
    passed = 1 - np.searchsorted(np.sort(other), tops) / other.size
    at = int(np.argmin((lost + passed)[1:])) + 1
    return float(0.5 * (tops[at - 1] + tops[at]))


@dataclass(frozen=True)
class _Gate:
    """Which lists passed the gate, and what the base looked at."""

    background: Background
    alpha: float | None
    lists: RankedLists
    answers: BoolArray
    inner: Evidence

    @property
    def tails(self) -> Tails | None:
        return self.inner.tails

    @cached_property
    def chance(self) -> FloatArray:
        return self.background.pvalue(self.lists)

    def because(self, i: int, k: int) -> str:
        if self.answers[i]:
            return self.inner.because(i, k)
        if self.alpha is None:
            share = percent(self.background.posterior(self.lists[i : i + 1])[0])
            return f"a query with such a best score has no answer with probability {share}"
        share = percent(self.chance[i])
        return f"{share} of queries without an answer reach a best score as high"
