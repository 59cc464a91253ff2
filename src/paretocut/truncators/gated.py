"""A gate before any truncator: nothing is kept when the best score may well be chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from paretocut.background import Background
from paretocut.decisions.cuts import Evidence, Tails
from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists
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
