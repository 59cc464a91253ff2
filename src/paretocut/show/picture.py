"""One description of a ranked list, for every surface that draws it.

Notebooks, reports and the documentation draw it as SVG (`drawing`), the explorer draws it on its
page, and the demo draws it in the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from paretocut.decisions import Cut
from paretocut.lists import FloatArray, IntArray, Ragged, RankedList
from paretocut.tail import SurpriseFit
from paretocut.tail.gpd import apply, gpd_survival


@dataclass(frozen=True)
class Picture:
    """The values of one list by rank, and the marks on them.

    Attributes
    ----------
    values
        Best first.
    name
        Of the values: score, distance or surprise.
    higher_is_better
        False for distances; the best is drawn on top either way.
    k
        Number of results kept; None if there is no cut.
    judgements
        1 for relevant results, 0 for others, NaN for unjudged ones; None without judgements.
    levels
        Values that are marked, by label.
    window
        First and last rank that the tail was fitted to.
    chance
        Values, and the number of chance results expected at or above each.
    """

    values: FloatArray
    name: str = "score"
    higher_is_better: bool = True
    k: int | None = None
    judgements: FloatArray | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    window: tuple[int, int] | None = None
    chance: tuple[FloatArray, FloatArray] | None = None

    @property
    def hits(self) -> IntArray:
        """Positions of the relevant results."""
        return np.flatnonzero(False if self.judgements is None else self.judgements == 1)


def of_list(ranked: RankedList) -> Picture:
    """Return the picture of a list: its scores and judgements."""
    name = _name(ranked.higher_is_better)
    return Picture(ranked.scores, name, ranked.higher_is_better, judgements=ranked.judgements)


def of_cut(cut: Cut) -> Picture:
    """Return the picture of a decision, with the results that match nothing as zeros."""
    own, padding = of_list(cut.ranked), cut.n - len(cut.ranked)
    known = own.judgements
    if known is not None:
        known = np.append(known, np.full(padding, np.nan))
    values = np.append(own.values, np.zeros(padding))
    return replace(own, values=values, k=cut.k, judgements=known)


def of_fit(fit: SurpriseFit, judgements: FloatArray | None = None) -> Picture:
    """Return the picture of a fit: the window, the threshold, and the expectation of chance."""
    values, up = fit.scores[fit.order], fit.higher_is_better
    if not fit.fitted:
        return Picture(values, _name(up), up, judgements=judgements)
    # Ascending positions [lower, upper) are these ranks from the top.
    first, last = fit.n - fit.upper + 1, fit.n - fit.lower
    # Between two results the logarithm of the E-value is nearly a straight line. Halves, because
    # the difference of two doubles may be too large for one.
    above, half = slice(last - 1, None, -1), 0.5 if up else -0.5
    grid = 2 * np.linspace(fit.threshold / 2, values[0] / 2, 100)
    logs = np.log(np.maximum(fit.evalues[fit.order][above], 1e-300))
    chance = np.exp(np.interp(half * grid, half * values[above], logs))
    return Picture(
        values,
        _name(up),
        up,
        judgements=judgements,
        levels={"the tail begins here": fit.threshold},
        window=(first, last),
        chance=(grid, chance),
    )


def _name(higher_is_better: bool) -> str:
    return "score" if higher_is_better else "distance"


class TailHistogram(NamedTuple):
    """The scores of a list from its threshold up, counted, and the counts the tail expects."""

    edges: FloatArray
    counts: IntArray
    grid: FloatArray
    expected: FloatArray


def tail_histogram(fit: SurpriseFit, *, points: int = 400) -> TailHistogram:
    """Return a histogram of the scores at or above the threshold, and the fitted density."""
    above = fit.scores[fit.order][: fit.tests]
    counts, edges = np.histogram(above, bins=min(40, max(8, fit.n // 6)))
    grid = np.linspace(fit.threshold, above[0], points)
    scaled = apply(Ragged(grid, np.array([0, grid.size])), fit.transform, who="tail").values
    survival = gpd_survival(np.abs(scaled - scaled[0]), shape=fit.shape, scale=fit.scale)
    # A numerical derivative needs no Jacobian of the transform.
    density = np.abs(np.gradient(survival, grid))
    width = abs(edges[1] - edges[0])
    return TailHistogram(edges, counts, grid, fit.fitted_on * density * width)
