"""Conformal risk control on top of any truncator."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.cuts import Evidence
from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, FloatArray, IntArray, RankedLists
from paretocut.metrics import Metric
from paretocut.schema.kinds import Kind, Real, Sizes, Text
from paretocut.truncators.base import TRUNCATOR, Fitted, Truncator, Wrapper
from paretocut.truncators.evidence import Clause
from paretocut.truncators.search import count_kept, sweep


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
    base_
        The base, fitted if it had to be.
    threshold_
        The calibrated threshold on the base's result values.

    Notes
    -----
    With ``n`` calibration lists, the threshold on `Truncator.result_values` is the furthest from
    the safe end (everything for fnr, nothing for fdr, the lower mean loss for your own function)
    for which ``(n * mean loss + 1) / (n + 1) <= level`` there and everywhere on the safe side. If
    the loss falls with every result kept, as fnr does, the expected loss on a list like those is at
    most ``level``, on average. For other losses the guarantee holds as ``n`` grows.

    Examples
    --------
    >>> from paretocut.truncators import ScoreThreshold
    >>> from paretocut.lists import RankedLists
    >>> lists = RankedLists([[3 + i, 2, 1] for i in range(20)], relevance=[[1, 1, 0]] * 20)
    >>> Conformal(ScoreThreshold("raw"), level=0.1).fit(lists).predict(lists[:1])
    array([2])
    """

    threshold_: float

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
                raise InvalidParameterError(
                    "Conformal: lists must be at least 2, to train the base and to calibrate, "
                    f"got {len(lists)}"
                )
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
