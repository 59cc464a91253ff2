"""The truncator that `paretocut.calibrate` returns: a gate, a cut, and their data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from paretocut.background import Background, QueryScale
from paretocut.background.drift import Drift, compare, shapes_of
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, RaggedLike, RankedLists
from paretocut.schema.drawn import Drawn
from paretocut.schema.kinds import Array, Either, Instance, Kind, checked
from paretocut.truncators.base import Truncator
from paretocut.truncators.consensus.unjudged import Estimated, shipped_number
from paretocut.truncators.gated import Gated, percent

_BEST = Either(Array(("",)))
_RECORD: dict[str, Kind] = {
    "nonsense_": _BEST,
    "log_": _BEST,
    "shapes_": Either(Array(("", 3))),
    "scale_": Either(Instance(QueryScale)),
}


class Calibrated(Gated):
    """A truncator that knows an index: what nonsense scores there, and how many to expect.

    `paretocut.calibrate` makes it.

    Parameters
    ----------
    base, background, alpha
        As for `Gated`.

    Attributes
    ----------
    nonsense_
        Best scores of the nonsense, higher is better.
    log_
        Best scores of the unjudged queries, higher is better; None if there were none.
    shapes_
        Of the lists that later lists are compared with, by `check`: best score, gap and half.
    scale_
        The scale of lexical scores (`paretocut.background.QueryScale`); None for scores that need
        no scale. With it every decision needs the query.
    """

    nonsense_: FloatArray | None
    log_: FloatArray | None
    shapes_: FloatArray | None
    scale_: QueryScale | None

    _kept: ClassVar = tuple(_RECORD)

    def __init__(
        self, base: Truncator, background: Background, *, alpha: float | None = 0.05
    ) -> None:
        super().__init__(base, background, alpha=alpha)
        self.record()

    def record(
        self,
        nonsense: FloatArray | None = None,
        log: FloatArray | None = None,
        shapes: FloatArray | None = None,
        scale: QueryScale | None = None,
    ) -> Self:
        """Return the truncator itself, with what calibration measured; see `Calibrated`."""
        self.nonsense_, self.log_, self.shapes_, self.scale_ = nonsense, log, shapes, scale
        return self

    def check(
        self, lists: RankedLists | RaggedLike, *, queries: Sequence[str] | None = None
    ) -> Drift:
        """Return whether lists of real queries are still what was calibrated on.

        Another model, another index or other questions change the best scores or the shape of
        lists. Three two-sample tests (Kolmogorov and Smirnov) look for that, corrected for their
        number. Without queries at calibration there is nothing to compare with.

        Parameters
        ----------
        lists
            Lists of the same kind as the unjudged queries at calibration; 50 or more tell most.
        queries
            Texts of the queries; needed where calibration was for lexical scores.
        """
        return self.compare(self.measure(lists, queries=queries))

    def measure(
        self, lists: RankedLists | RaggedLike, *, queries: Sequence[str] | None = None
    ) -> FloatArray:
        """Return best score, gap and upper half of each list: what `check` compares.

        Parameters
        ----------
        lists, queries
            As for `check`.
        """
        if not isinstance(lists, RankedLists):
            lists = RankedLists(lists, higher_is_better=self.background.higher_is_better)
        return shapes_of(self._scaled(lists, queries))

    def compare(self, new: FloatArray) -> Drift:
        """Return what `check` does, for lists that were measured before.

        Parameters
        ----------
        new
            Rows of `measure`, of as many lists as there are.
        """
        if self.shapes_ is None:
            raise InvalidParameterError(
                "Calibrated.check: calibrate must be given queries, got none"
            )
        return compare(self.shapes_, new)

    def report(self) -> str:
        """Return what calibration found, in words and numbers."""
        background = self.background
        sign = 1.0 if background.higher_is_better else -1.0
        side = "above" if background.higher_is_better else "below"
        lines = []
        if self.nonsense_ is not None:
            low, middle, high = sign * np.quantile(self.nonsense_, [0.05, 0.5, 0.95])
            lines.append(
                f"{self.nonsense_.size} nonsense queries have a best score of {middle:.3g} "
                f"({low:.3g} to {high:.3g} for nine in ten)."
            )
        if self.log_ is not None:
            low, middle, high = sign * np.quantile(self.log_, [0.05, 0.5, 0.95])
            lines.append(
                f"{self.log_.size} of your queries have {middle:.3g} ({low:.3g} to {high:.3g})."
            )
        groups = background.groups
        if self.alpha is None and groups is not None:
            lines += [
                f"Results are returned when the best score is {side} "
                f"{sign * groups.threshold:.3g}.",
                f"By estimate, {percent(groups.share)} of your queries have no answer; of those "
                f"with one {percent(groups.lost)} are left empty, of those without "
                f"{percent(groups.passed)} get results.",
            ]
        elif self.alpha is not None:
            limit = background.limit(self.alpha)
            lines.append(
                f"Results are returned when the best score is {side} {limit:.3g}: "
                f"{percent(self.alpha)} of nonsense gets there."
            )
            if self.log_ is not None:
                empty = float(np.mean(self.log_ < sign * limit))
                lines.append(f"{percent(empty)} of your queries are left empty.")
        lines.append(f"How many: {self._inner()!r}{self._how_many()}.")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Return a plot of the best scores of nonsense and queries, on ``ax`` or on new axes."""
        return Drawn._plots["Calibrated"](self, ax=ax)

    def _restore(self, learned: Mapping[str, Any]) -> None:
        record = {name: value for name, value in learned.items() if name in _RECORD}
        self.__dict__ |= checked(_RECORD, record)
        super()._restore({name: value for name, value in learned.items() if name not in _RECORD})

    def _how_many(self) -> str:
        learned = getattr(self._inner(), "learned_", None)
        if not isinstance(learned, Estimated) or self.shapes_ is None:
            return ""
        half = shipped_number()["half"]
        number = math.exp(learned.typical + half * float(np.median(self.shapes_[:, 2])))
        return f", about {max(number, 1):.2g} relevant results in a typical list by estimate"

    def _scaled(self, lists: RankedLists, queries: Sequence[str] | None) -> RankedLists:
        if self.scale_ is None:
            return lists
        if queries is None or len(queries) != len(lists):
            got = "none" if queries is None else str(len(queries))
            raise InvalidParameterError(
                f"Calibrated: it was calibrated for lexical scores, so the texts of {len(lists)} "
                f"queries must be given, got {got}"
            )
        return lists.divided_by(self.scale_(queries))
