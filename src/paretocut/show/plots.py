"""Figures for papers: the tail of a fit, the gain of each query, recall and precision by depth.

Every function draws into the Axes it is given, or makes a figure with a transparent background
and grey text. Nothing is shown and no global setting is changed. The colours are those of Okabe
and Ito that stand out from both white and black, and tell apart for the colour-blind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paretocut import metrics
from paretocut.errors import InvalidParameterError, require
from paretocut.evaluation import Evaluation
from paretocut.lists import FloatArray, RankedLists
from paretocut.show.drawing import KEPT, NULL, RELEVANT, tail_histogram
from paretocut.tail import SurpriseFit
from paretocut.truncators import ScoreThreshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREY = "#808080"
_COLOURS = (KEPT, NULL, RELEVANT, "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", "--", "-.", ":")
# All but the data is grey, which reads on any background.
_LOOK = {
    **{"figure.facecolor": "none", "axes.facecolor": "none", "axes.edgecolor": _GREY},
    **{"axes.labelcolor": _GREY, "xtick.color": _GREY, "ytick.color": _GREY, "grid.color": _GREY},
    **{"grid.alpha": 0.2, "grid.linewidth": 0.6, "axes.grid": True, "axes.axisbelow": True},
    **{"axes.spines.top": False, "axes.spines.right": False},
}


def tail(fit: SurpriseFit, *, ax: Axes | None = None) -> Axes:
    """Return Axes with the scores above the threshold counted, and the counts the tail expects.

    Parameters
    ----------
    fit
        The result of `paretocut.fit_tail`.
    ax
        Where to draw.

    Examples
    --------
    >>> import paretocut as pc
    >>> axes = tail(pc.fit_tail([9.0, 8.5, *-np.log(np.linspace(0.01, 1.0, 100))]))
    >>> axes.figure.savefig("tail.svg")  # doctest: +SKIP
    """
    if not fit.fitted:
        got = f"one of {fit.n} results to which none was fitted"
        raise InvalidParameterError(f"tail: fit must have a tail, got {got}")
    (axes,) = _axes(1)[1] if ax is None else (ax,)
    edges, counts, grid, expected = tail_histogram(fit)
    label = f"{fit.tests} results"
    axes.stairs(counts, edges, fill=True, color=_GREY, alpha=0.45, label=label)
    axes.plot(grid, expected, color=NULL, linewidth=2, label="expected by chance")
    _caption(axes, "score" if fit.higher_is_better else "distance", "results")
    return axes


def per_query_gain(
    evaluation: Evaluation,
    metric: str | None = None,
    *,
    truncators: Sequence[str] | None = None,
    baseline: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Return Axes with each query's difference to the baseline, sorted, one line per truncator.

    It shows what a mean hides: how much each query gains or loses, and how many of each there are.

    Parameters
    ----------
    evaluation
        The result of `evaluate`.
    metric
        By default the first.
    truncators
        Names, up to six; by default the six with the highest means, the ceiling left out.
    baseline
        By default the evaluation's.
    ax
        Where to draw.
    """
    measure = evaluation.metrics[0] if metric is None else metric
    base = evaluation.baseline if baseline is None else baseline
    if base is None:
        every = ", ".join(evaluation.truncators)
        raise InvalidParameterError(f"per_query_gain: baseline must be one of {every}, got None")
    if truncators is None:
        usable = [t for t in evaluation.truncators if t != base and t not in evaluation.ceiling]
        usable.sort(key=lambda name: -evaluation[measure, name].mean)
        truncators = usable[: len(_COLOURS)]
    if not 1 <= len(truncators) <= len(_COLOURS):
        must = f"per_query_gain: truncators must be 1 to {len(_COLOURS)} names"
        raise InvalidParameterError(f"{must}, got {len(truncators)}")
    (axes,) = _axes(1)[1] if ax is None else (ax,)
    reference = evaluation.per_query(measure, base)
    share = (np.arange(reference.size) + 0.5) / reference.size
    axes.axhline(0.0, color=_GREY, linewidth=1)
    for i, name in enumerate(truncators):
        gain = np.sort(evaluation.per_query(measure, name) - reference)[::-1]
        axes.plot(share, gain, label=f"{name} ({gain.mean():+.3f})", **_style(i))
    axes.xaxis.set_major_formatter(_matplotlib("ticker").PercentFormatter(1.0))
    axes.set_xlim(0.0, 1.0)
    # The lower left is the one corner that falling lines leave free.
    y = f"{measure} minus that of {base}"
    _caption(axes, "queries, from most gained to most lost", y, legend="lower left")
    return axes


def frontier(runs: Mapping[str, RankedLists]) -> Figure:
    """Return a figure with recall and precision against the mean number of results kept.

    Each run is one curve: its lists are cut at thresholds on the min-max score, from the best
    result alone to all of them. Recall is over all relevant documents there are.

    Parameters
    ----------
    runs
        Judged lists by name: single runs, and their fusion by `paretocut.fuse`.
    """
    if not runs:
        raise InvalidParameterError("frontier: runs must hold at least one run, got none")
    figure, panels = _axes(2)
    for i, (run, lists) in enumerate(runs.items()):
        kept, *values = frontier_points(lists)
        for axes, found in zip(panels, values, strict=True):
            axes.plot(kept, found, label=run, **_style(i))
    for axes, name in zip(panels, ("recall", "precision"), strict=True):
        axes.set_xscale("log")
        _caption(axes, "mean results kept", f"mean {name}")
    return figure


def frontier_points(lists: RankedLists) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean number kept, mean recall and mean precision at each threshold of `frontier`."""
    recall, precision = metrics.recall.curves(lists), metrics.precision.curves(lists)
    rows = []
    for threshold in np.linspace(1, 0, 41):
        k = ScoreThreshold("minmax", float(threshold)).predict(lists)
        values = (curves.values[curves.offsets[:-1] + k] for curves in (recall, precision))
        rows.append([k.mean(), *(value.mean() for value in values)])
    kept, found, right = np.array(rows).T
    return kept, found, right


def _matplotlib(module: str) -> Any:
    return require(f"matplotlib.{module}", feature="plots", extra="plots")


def _style(i: int) -> dict[str, Any]:
    return {"color": _COLOURS[i % len(_COLOURS)], "linestyle": _DASHES[i % len(_DASHES)]}


def _axes(count: int) -> tuple[Figure, Sequence[Axes]]:
    pyplot, width = _matplotlib("pyplot"), 6.4 if count == 1 else 8.4
    with pyplot.rc_context(_LOOK):
        how = {"layout": "constrained", "squeeze": False}
        figure, panels = pyplot.subplots(ncols=count, figsize=(width, 3.6), **how)
    return figure, panels[0]


def _caption(axes: Axes, x: str, y: str, *, legend: Any = "best") -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    # The colour of the axes' labels: the caller's, if the caller made the Axes.
    axes.legend(frameon=False, loc=legend, labelcolor=axes.xaxis.label.get_color())
