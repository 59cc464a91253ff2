"""A gate before any truncator: nothing is kept when the best score may well be chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from paretocut.background import Background
from paretocut.decisions.cuts import Evidence, Tails
from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, IntArray, Ragged, RankedLists
from paretocut.schema.kinds import Either, Fitted, Instance, Kind, Real
from paretocut.schema.parameters import shown
from paretocut.tail import SurpriseFits
from paretocut.truncators.base import TRUNCATOR, Truncator


class Gated(Truncator):
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

    base_: Truncator

    _parameters: ClassVar = {
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

    def threshold(self) -> float:
        """Return the best score from which results are returned, on the scale of the search."""
        groups = self.background.groups
        if self.alpha is None and groups is not None:
            return groups.threshold if self.background.higher_is_better else -groups.threshold
        assert self.alpha is not None
        return self.background.limit(self.alpha)

    def _validate(self) -> None:
        super()._validate()
        if isinstance(self.base, Gated):
            raise InvalidParameterError(
                f"Gated: base must be a truncator without a gate, got {shown(self.base)}"
            )
        if self.alpha is None and self.background.groups is None:
            raise InvalidParameterError(
                f"{type(self).__name__}: alpha must be a number for a background that was given "
                "no queries, got None"
            )
        self.base._validate()

    @property
    def _zeros(self) -> Literal["trim", "keep"]:  # type: ignore[override]
        return self._inner()._zeros

    def _learns(self) -> bool:
        return self.base._learns()

    def _require_fitted(self) -> None:
        self._inner()._require_fitted()

    def _state(self, given: Mapping[str, Any]) -> dict[str, Kind]:
        return {"base_": Fitted(Truncator)}

    def _fit(self, lists: RankedLists) -> None:
        self.base_ = self.base.clone().fit(lists)

    def _inner(self) -> Truncator:
        return getattr(self, "base_", self.base)

    def _decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        inner = self._inner()
        inner._check_direction(lists)
        within, inner_evidence = inner._decide(lists)
        answers = self.background.answers(lists, self.alpha)

        evidence = _Gate(self.background, self.alpha, lists, answers, inner_evidence)
        return np.where(answers, within, 0), evidence

    def _label(self) -> str:
        share = "" if self.alpha is None else f", alpha={self.alpha:g}"
        return f"{type(self).__name__}({self._inner()._label()}{share})"

    def _notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        return self._inner()._notices(lists, tails)

    def _tails(self, lists: RankedLists) -> SurpriseFits:
        return self._inner()._tails(lists)

    def keys(self, lists: RankedLists) -> Ragged:
        """Return the keys of the base, or the lowest if nothing is kept; see `Truncator.keys`."""
        keys = self._inner().keys(lists)
        shut = ~self.background.answers(lists, self.alpha)
        return keys.with_values(np.where(keys.spread(shut), -np.inf, keys.values))

    def keys_learn(self) -> bool:
        """Return whether the base must be fitted before `keys`."""
        return self.base.keys_learn() and not self.base._learned()


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

    def because(self, i: int, k: int) -> str:
        if self.answers[i]:
            return self.inner.because(i, k)
        one = self.lists[i : i + 1]
        if self.alpha is None:
            share = percent(self.background.posterior(one)[0])
            return f"a query with such a best score has no answer with probability {share}"
        share = percent(self.background.pvalue(one)[0])
        return f"{share} of queries without an answer reach a best score as high"
