"""The truncator that `paretocut.calibrate` returns: a gate, a cut, and their data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from paretocut.background import Background, Origin, QueryScale
from paretocut.background.seen import Drift, compare, shapes_of
from paretocut.decisions import WARNINGS
from paretocut.decisions.cuts import Tails
from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, RaggedLike, RankedLists
from paretocut.schema.files import decode
from paretocut.schema.kinds import Array, Either, Instance, Kind, checked
from paretocut.truncators.base import Truncator
from paretocut.truncators.consensus.strategies import Estimated, shipped_number
from paretocut.truncators.gated import Gated, Rate

_BEST = Either(Array(("",)))
SEEN = {"dense": (0.01, 0.05, 0.18), "lexical": (0.05, 0.14, 0.46)}
"""Share of off-topic questions that get results: least, median and most of the collections of
`make calibrate`, by the kind of scores."""
_RECORD: dict[str, Kind] = {
    "nonsense_": _BEST,
    "unjudged_": _BEST,
    "shapes_": Either(Array(("", 3))),
    "scale_": Either(Instance(QueryScale)),
    "origin_": Either(Instance(Origin)),
}


class Calibrated(Gated):
    """A truncator that knows an index: how high nonsense scores, and how many results to expect.

    `paretocut.calibrate` makes it.

    Parameters
    ----------
    base, background, alpha
        As for `Gated`.

    Attributes
    ----------
    nonsense_
        Best scores of the nonsense, higher is better.
    unjudged_
        Best scores of the unjudged queries, higher is better; None if there were none.
    shapes_
        Best score, gap and upper half of the lists that `drift` compares later lists with.
    scale_
        The scale of lexical scores (`paretocut.background.QueryScale`); None for scores that need
        no scale. With it every decision needs the query.
    origin_
        What the gate was made for: the search, its scores, the index
        (`paretocut.background.Origin`).
    """

    nonsense_: FloatArray | None
    unjudged_: FloatArray | None
    shapes_: FloatArray | None
    scale_: QueryScale | None
    origin_: Origin | None

    _kept: ClassVar = tuple(_RECORD)

    def __init__(
        self, base: Truncator, background: Background, *, alpha: float | None = 0.05
    ) -> None:
        super().__init__(base, background, alpha=alpha)
        self.record()

    def record(
        self,
        nonsense: FloatArray | None = None,
        unjudged: FloatArray | None = None,
        shapes: FloatArray | None = None,
        scale: QueryScale | None = None,
        origin: Origin | None = None,
    ) -> Self:
        """Return the truncator itself, with what calibration measured; see `Calibrated`."""
        self.nonsense_, self.unjudged_, self.shapes_ = nonsense, unjudged, shapes
        self.scale_, self.origin_ = scale, origin
        return self

    def drift(
        self, lists: RankedLists | RaggedLike, *, queries: Sequence[str] | None = None
    ) -> Drift:
        """Return whether lists of real queries still look as they did at calibration.

        A new model, a new index or different questions change the best scores or the shape of
        lists. Three two-sample tests (Kolmogorov and Smirnov) look for such changes, corrected for
        their number. Calibration must have been given queries, or there is nothing to compare with.

        Parameters
        ----------
        lists
            Lists of the same kind as the unjudged queries at calibration, preferably 50 or more.
        queries
            Texts of the queries; needed if calibrated for lexical scores.
        """
        return self.drift_of(self.shapes(lists, queries=queries))

    def shapes(
        self, lists: RankedLists | RaggedLike, *, queries: Sequence[str] | None = None
    ) -> FloatArray:
        """Return best score, gap and upper half of each list: what `drift` compares.

        Parameters
        ----------
        lists, queries
            As for `drift`.
        """
        if not isinstance(lists, RankedLists):
            lists = RankedLists(lists, higher_is_better=self.background.higher_is_better)
        return shapes_of(self.scaled(lists, queries))

    def drift_of(self, shapes: FloatArray) -> Drift:
        """Return the same as `drift`, for lists whose `shapes` were kept.

        Parameters
        ----------
        shapes
            Rows returned by `shapes`.
        """
        if self.shapes_ is None:
            raise InvalidParameterError(
                "Calibrated.drift: calibrate must be given queries, got none"
            )
        return compare(self.shapes_, shapes)

    def report(self) -> str:
        """Return what calibration found, in words and numbers."""
        sign = 1.0 if self.background.higher_is_better else -1.0
        lines = []
        if self.nonsense_ is not None:
            low, middle, high = sign * np.quantile(self.nonsense_, [0.05, 0.5, 0.95])
            lines.append(
                f"{self.nonsense_.size} nonsense queries have a best score of {middle:.3g} "
                f"({low:.3g} to {high:.3g} for nine in ten)."
            )
        if self.unjudged_ is not None:
            low, middle, high = sign * np.quantile(self.unjudged_, [0.05, 0.5, 0.95])
            given = self.origin_ and self.origin_.queries
            among = f" different ones of your {given}" if given != self.unjudged_.size else ""
            lines.append(
                f"{self.unjudged_.size}{among or ' of your'} queries have {middle:.3g} "
                f"({low:.3g} to {high:.3g})."
            )
        lines += self.gate_in_words()
        lines.append(f"How many: {self.inner!r}{self._how_many()}.")
        if self.origin_ is not None:
            lines += self._background_in_words(self.origin_)
        return "\n".join(lines)

    def gate_in_words(self) -> list[str]:
        """Return when results are returned, and for how many queries, one sentence each."""
        side = "above" if self.background.higher_is_better else "below"
        chance = ""
        if self.alpha is not None:
            chance = f": {percent(self.alpha)} of the nonsense gets that far"
        lines = [
            f"Results are returned when the best score is {side} {self.threshold():.3g}{chance}."
        ]
        if self.unjudged_ is not None:
            empty = Rate(int(np.sum(self.unjudged_ < self._limit())), self.unjudged_.size)
            lines.append(f"Of your different queries it leaves empty {empty}.")
        return lines

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return the names of warnings; see `Truncator.notices`."""
        found = super().notices(lists, tails)
        if self.origin_ is None or not len(lists):
            return found
        return [(*names, *self.origin_.doubts) for names in found]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the truncator, with what calibration measured; see `Truncator.from_dict`."""
        learned = content["learned"]
        own = {name: value for name, value in learned.items() if name not in _RECORD}
        made = super().from_dict({**content, "learned": own})
        record = {name: decode(value) for name, value in learned.items() if name in _RECORD}
        made.__dict__ |= checked(_RECORD, record)
        return made

    def _background_in_words(self, origin: Origin) -> list[str]:
        """Return what others saw, what the gate was made for, and doubts."""
        lines = []
        kind = "dense" if self.scale_ is None else "lexical"
        low, middle, high = SEEN[kind]
        lines.append(
            f"Off-topic questions are not nonsense: with {kind} scores, {percent(low)} to "
            f"{percent(high)} of them got results on test collections, {percent(middle)} on the "
            "median one."
        )
        if origin.own_words is not None and origin.own_words < 8:
            lines.append(
                f"The index was assumed to hold {origin.size} documents (size= changes this), "
                f"so {origin.own_words} of the 8 words of nonsense come from it."
            )
        about = [f"made {origin.date} by version {origin.version}"]
        if self.background.seen is not None:
            about.append(f"depth {self.background.seen.depth}")
        if origin.search is not None:
            about.insert(0, f"for {origin.search}")
        lines.append(f"This gate was {', '.join(about)}.")
        lines += [f"Warning, {name}: {WARNINGS[name]}." for name in origin.doubts]
        lines.append("Check it on questions of your own: gate.evaluate(good=..., off_topic=...).")
        return lines

    def _how_many(self) -> str:
        learned = getattr(self.inner, "learned_", None)
        if not isinstance(learned, Estimated) or self.shapes_ is None:
            return ""
        half = shipped_number()["half"]
        number = math.exp(learned.typical + half * float(np.median(self.shapes_[:, 2])))
        return f", about {max(number, 1):.2g} relevant results in a typical list (estimated)"

    @property
    def needs_queries(self) -> bool:
        return self.scale_ is not None

    def scaled(self, lists: RankedLists, queries: Sequence[str] | None) -> RankedLists:
        """Return lexical scores divided by the weight of the query; see `Truncator.scaled`."""
        if self.scale_ is None:
            return lists
        if queries is None or len(queries) != len(lists):
            got = "none" if queries is None else str(len(queries))
            raise InvalidParameterError(
                f"Calibrated: it was calibrated for lexical scores, so the texts of {len(lists)} "
                f"queries must be given, got {got}"
            )
        return lists.divided_by(self.scale_(queries))
