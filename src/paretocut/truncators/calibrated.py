"""The truncator that `paretocut.calibrate` returns: a gate, a cut, and their data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretocut.background import Background
from paretocut.background.drift import gaps, halves
from paretocut.background.query_scale import QueryScale
from paretocut.decisions import Cut, Cuts
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, Ragged, RaggedLike, RankedLists
from paretocut.schema.kinds import Array, Either, Kind, Made
from paretocut.truncators._base import Truncator
from paretocut.truncators.gated import Gated

__all__ = ["Calibrated", "Drift"]

_SURE, _CLEAR = 0.01, 0.2


@dataclass(frozen=True)
class Drift:
    """Whether lists are still what a truncator was calibrated on.

    Attributes
    ----------
    verdict
        ``"same"``, ``"changed"`` or ``"unsure"`` (too few lists to tell).
    text
        The verdict in a sentence.
    pvalue
        Chance of a difference as large if nothing has changed, over all tests.
    distance
        Largest difference of the shares below any value, by name of the statistic: the best
        score, the gap to the second result, and the number of results in the upper half.
    lists
        Number of lists compared.
    """

    verdict: str
    text: str
    pvalue: float
    distance: Mapping[str, float]
    lists: int

    def __str__(self) -> str:
        return self.text


class Calibrated(Gated):
    """A truncator that knows an index: what nonsense scores there, and how many to expect.

    `paretocut.calibrate` makes it.

    Parameters
    ----------
    base, background, alpha
        As for `Gated`.
    nonsense
        Best scores of the nonsense, higher is better.
    queries
        Best scores of the unjudged queries, higher is better; None if there were none.
    shapes
        Of the lists that a later list is compared with, by `check`: best score, gap and half.
    scale
        Counts of words, by which the scores of a query are scaled; None for scores that need
        no scale. With it every decision needs the query.
    """

    def __init__(
        self,
        base: Truncator,
        background: Background,
        *,
        alpha: float | None = 0.05,
        nonsense: FloatArray | None = None,
        queries: FloatArray | None = None,
        shapes: FloatArray | None = None,
        scale: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(base, background, alpha=alpha)
        self.nonsense = nonsense
        self.queries = queries
        self.shapes = shapes
        self.scale = scale

    def cut(
        self,
        scores: ArrayLike,
        *,
        query: str | None = None,
        higher_is_better: bool = True,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cut:
        """Return how many results of one list to keep, and why.

        Parameters
        ----------
        scores, higher_is_better, min_k, max_k
            As for every truncator.
        query
            Text of the query; needed where calibration was for lexical scores.
        """
        scaled = np.asarray(scores, dtype=np.float64)
        divisor = self._divisors(None if query is None else [query], 1)
        if divisor is not None:
            scaled = scaled / divisor[0]
        return super().cut(scaled, higher_is_better=higher_is_better, min_k=min_k, max_k=max_k)

    def cut_batch(
        self,
        lists: RankedLists | RaggedLike,
        *,
        queries: Sequence[str] | None = None,
        higher_is_better: bool = True,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cuts:
        """Return how many results of each list to keep, and why.

        Parameters
        ----------
        lists, higher_is_better, min_k, max_k
            As for every truncator.
        queries
            Texts of the queries; needed where calibration was for lexical scores.
        """
        scaled = self._scaled(lists, queries)
        return super().cut_batch(
            scaled, higher_is_better=higher_is_better, min_k=min_k, max_k=max_k
        )

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
        given = self._scaled(lists, queries)
        if not isinstance(given, RankedLists):
            given = RankedLists(given, higher_is_better=self.background.higher_is_better)
        return shapes_of(given)

    def compare(self, new: FloatArray) -> Drift:
        """Return what `check` does, for lists that were measured before.

        Parameters
        ----------
        new
            Rows of `measure`, of as many lists as there are.
        """
        if self.shapes is None:
            raise InvalidParameterError(
                "Calibrated.check: calibrate must be given queries, got none"
            )
        names = ("best score", "gap", "upper half")
        pairs = [(self.shapes[:, i], new[:, i]) for i in range(len(names))]
        distance = {name: _distance(*pair) for name, pair in zip(names, pairs, strict=True)}
        tests = [_chance(d, len(self.shapes), len(new)) for d in distance.values()]
        pvalue = min(1.0, len(tests) * min(tests))
        worst = max(distance, key=lambda name: distance[name])
        share = f"{100 * distance[worst]:.0f} %"
        if pvalue < _SURE and distance[worst] >= _CLEAR:
            verdict = "changed"
            text = (
                f"changed: the {worst} of {len(new)} lists is not what it was (largest "
                f"difference {share}, p = {pvalue:.2g}). Calibrate again."
            )
        elif _chance(_CLEAR, len(self.shapes), len(new)) > _SURE:
            verdict = "unsure"
            text = (
                f"unsure: {len(new)} lists are too few to see a clear change; the largest "
                f"difference is {share}, in the {worst}"
            )
        else:
            verdict = "same"
            text = f"same: the largest difference in {len(new)} lists is {share}, in the {worst}"
        return Drift(verdict, text, pvalue, distance, len(new))

    def report(self) -> str:
        """Return what calibration found, in words and numbers."""
        background = self.background
        sign = 1.0 if background.higher_is_better else -1.0
        side = "above" if background.higher_is_better else "below"
        lines = []
        if self.nonsense is not None:
            low, middle, high = sign * np.quantile(self.nonsense, [0.05, 0.5, 0.95])
            lines.append(
                f"{self.nonsense.size} nonsense queries have a best score of {middle:.3g} "
                f"({low:.3g} to {high:.3g} for nine in ten)."
            )
        if self.queries is not None:
            low, middle, high = sign * np.quantile(self.queries, [0.05, 0.5, 0.95])
            lines.append(
                f"{self.queries.size} of your queries have {middle:.3g} ({low:.3g} to {high:.3g})."
            )
        groups = background.groups
        if self.alpha is None and groups is not None:
            lines += [
                f"Results are returned when the best score is {side} "
                f"{sign * groups.threshold:.3g}.",
                f"By estimate, {_percent(groups.share)} of your queries have no answer; of those "
                f"with one {_percent(groups.lost)} are left empty, of those without "
                f"{_percent(groups.passed)} get results.",
            ]
        elif self.alpha is not None:
            limit = background.limit(self.alpha)
            lines.append(
                f"Results are returned when the best score is {side} {limit:.3g}: "
                f"{_percent(self.alpha)} of nonsense gets there."
            )
            if self.queries is not None:
                empty = float(np.mean(self.queries < sign * limit))
                lines.append(f"{_percent(empty)} of your queries are left empty.")
        lines.append(f"How many: {self._inner()!r}{self._how_many()}.")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Return a plot of the best scores of nonsense and queries, with the threshold.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on; None makes new ones.
        """
        from importlib import import_module

        return import_module("paretocut.show.plots").calibration(self, ax=ax)

    def __repr__(self) -> str:
        # Its own arguments are thousands of numbers and words.
        return f"{type(self).__name__}({self.base!r}, {self.background!r}, alpha={self.alpha!r})"

    def _data(self) -> dict[str, Kind]:
        best = Either(Array(("",)))
        return {
            "nonsense": best,
            "queries": best,
            "shapes": Either(Array(("", 3))),
            "scale": Either(Made(QueryScale.from_dict, keep=True)),
        }

    def _needs_query(self) -> bool:
        return self.scale is not None

    def _how_many(self) -> str:
        inner = self._inner()
        typical = getattr(inner, "typical_", None)
        if typical is None or self.shapes is None:
            return ""
        from paretocut.truncators.consensus.number import shipped_number

        half = shipped_number()["half"]
        number = math.exp(typical + half * float(np.median(self.shapes[:, 2])))
        return f", about {max(number, 1):.2g} relevant results in a typical list by estimate"

    def _scaled(
        self, lists: RankedLists | RaggedLike, queries: Sequence[str] | None
    ) -> RankedLists | RaggedLike:
        divisors = self._divisors(queries, len(lists))
        if divisors is None:
            return lists
        if isinstance(lists, RankedLists):
            return lists.divided_by(divisors)
        bare = Ragged.from_any(lists, dtype=np.float64)
        return bare.with_values(bare.values / bare.spread(divisors))

    def _divisors(self, queries: Sequence[str] | None, count: int) -> FloatArray | None:
        if self.scale is None:
            return None
        if queries is None or len(queries) != count:
            got = "none" if queries is None else str(len(queries))
            raise InvalidParameterError(
                f"Calibrated: it was calibrated for lexical scores, so the texts of {count} "
                f"queries must be given, got {got}"
            )
        return QueryScale(**self.scale)(queries)


def shapes_of(lists: RankedLists) -> FloatArray:
    """Return best score, gap and upper half of each list that is not empty.

    Parameters
    ----------
    lists
        The lists.
    """
    merit = lists.merit.take(np.flatnonzero(lists.merit.filled))
    tops = merit.values[merit.offsets[:-1]]
    return np.stack([tops, gaps(merit), halves(merit)], axis=1)


def _distance(one: FloatArray, other: FloatArray) -> float:
    """Return the largest difference of two empirical distributions (Kolmogorov, Smirnov)."""
    points = np.concatenate([one, other])
    below = [
        np.searchsorted(np.sort(x), points, side="right") / max(x.size, 1) for x in (one, other)
    ]
    return float(np.abs(below[0] - below[1]).max(initial=0.0))


def _chance(distance: float, n: int, m: int) -> float:
    """Return the asymptotic chance of such a distance, with Stephens' correction."""
    if n == 0 or m == 0:
        return 1.0
    root = math.sqrt(n * m / (n + m))
    x = (root + 0.12 + 0.11 / root) * distance
    if x < 0.2:
        return 1.0
    terms = [(-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101)]
    return min(1.0, max(0.0, 2 * math.fsum(terms)))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
