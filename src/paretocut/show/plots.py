"""Figures for papers: the tail of a fit, and the curves of an evaluation.

Every function draws into the Axes it is given, or makes a figure with a transparent background
and grey text. Nothing is shown and no global setting is changed. The colours are those of Okabe
and Ito that stand out from both white and black, and tell apart for the colour-blind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from paretocut import metrics
from paretocut.errors import InvalidParameterError, require
from paretocut.evaluation import Evaluation
from paretocut.lists import FloatArray, RankedLists
from paretocut.metrics import MetricLike
from paretocut.show.drawing import KEPT, NULL, RELEVANT
from paretocut.show.picture import tail_histogram
from paretocut.tail import SurpriseFit
from paretocut.truncators import Accept, ScoreThreshold, Surprise
from paretocut.truncators.search import best_threshold, sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "acceptance",
    "frontier",
    "k_distribution",
    "metric_against_threshold",
    "per_query_gain",
    "tail",
]

_GREY = "#808080"
_COLOURS = (KEPT, NULL, RELEVANT, "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", "--", "-.", ":")


def tail(fit: SurpriseFit, *, ax: Axes | None = None) -> Axes:
    """Return Axes with the scores above the threshold counted, and the counts the tail expects.

    Parameters
    ----------
    fit
        What `paretocut.fit_tail` returned.
    ax
        Where to draw.

    Examples
    --------
    >>> import paretocut as pc
    >>> axes = tail(pc.fit_tail([9.0, 8.5, *-np.log(np.linspace(0.01, 1.0, 100))]))
    >>> axes.figure.savefig("tail.svg")  # doctest: +SKIP
    """
    if not fit.fitted:
        raise InvalidParameterError(
            f"tail: fit must have a tail, got one of {fit.n} results to which none was fitted"
        )
    axes, found = _axes(ax), tail_histogram(fit)
    label = f"{fit.tests} results"
    axes.stairs(found.counts, found.edges, fill=True, color=_GREY, alpha=0.45, label=label)
    axes.plot(found.grid, found.expected, color=NULL, linewidth=2, label="expected by chance")
    _caption(axes, "score" if fit.higher_is_better else "distance", "results")
    _legend(axes)
    return axes


def metric_against_threshold(
    truncator: Surprise | ScoreThreshold,
    lists: RankedLists,
    *,
    test: RankedLists | None = None,
    metric: MetricLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Return Axes with the mean metric of every threshold, and the best one marked.

    A flat top says that the threshold hardly matters; a test curve that peaks elsewhere says
    that it does not carry over.

    Parameters
    ----------
    truncator
        `Surprise` or `ScoreThreshold`, fitted or not; its own threshold is not used.
    lists
        Judged lists to choose the threshold on.
    test
        Other judged lists, drawn as a second curve.
    metric
        By default the truncator's.
    ax
        Where to draw.
    """
    if not isinstance(truncator, (Surprise, ScoreThreshold)):
        raise InvalidParameterError(
            "metric_against_threshold: truncator must be a Surprise or a ScoreThreshold, "
            f"got {truncator!r}"
        )
    measure = metrics.get(truncator.metric if metric is None else metric)
    axes = _axes(ax)
    parts = {"training" if test is not None else "all": lists}
    parts |= {} if test is None else {"test": test}
    best = best_threshold(truncator.result_values(lists), measure.curves(lists))
    for i, (name, part) in enumerate(parts.items()):
        points, totals = sweep(truncator.result_values(part), measure.curves(part))
        # The first point is infinity, "keep nothing": drawn a little beyond the last finite one.
        x, y = points[1:], totals[1:] / len(part)
        edge = x[0] + 0.03 * (x[0] - x[-1]) if x.size else 1.0
        axes.step(
            np.append(edge, x),
            np.append(totals[0] / len(part), y),
            where="post",
            color=_COLOURS[i],
            linestyle=_DASHES[i],
            label=f"{name} queries",
        )
    if np.isfinite(best):
        axes.axvline(best, color=_GREY, linewidth=1, linestyle=":", label=f"best: {best:.3g}")
    what = "surprise" if isinstance(truncator, Surprise) else f"{truncator.normalize} score"
    _caption(axes, f"threshold on the {what}", f"mean {measure.name}")
    _legend(axes)
    return axes


def k_distribution(
    evaluation: Evaluation,
    metric: str | None = None,
    *,
    truncators: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Return Axes with how many results each truncator keeps: median, quartiles, 5 to 95 %.

    Parameters
    ----------
    evaluation
        What `evaluate` gave.
    metric
        Metric the truncators were fitted for; by default the first.
    truncators
        Names, from top to bottom; by default all.
    ax
        Where to draw.
    """
    measure = evaluation.metrics[0] if metric is None else metric
    names = evaluation.truncators if truncators is None else tuple(truncators)
    axes = _axes(ax, height=0.8 + 0.28 * len(names))
    for row, name in enumerate(names):
        cuts = evaluation.cuts(measure, name)
        low, first, middle, third, high = np.quantile(cuts, [0.05, 0.25, 0.5, 0.75, 0.95])
        colour = _GREY if name in evaluation.ceiling else NULL
        axes.plot([low, high], [row, row], color=colour, linewidth=1.2)
        axes.plot([first, third], [row, row], color=colour, linewidth=6, alpha=0.6)
        axes.plot([middle], [row], "o", color=KEPT, markersize=5)
        empty = np.mean(cuts == 0)
        right = axes.get_yaxis_transform()  # shares of the width, rows
        axes.text(1.01, row, f"{empty:.0%}", transform=right, va="center", color=_GREY)
    axes.text(1.01, 1.02, "empty", transform=axes.transAxes, color=_GREY)
    axes.set_xscale("symlog", linthresh=10, linscale=1.0)
    axes.set_xlim(left=-0.4)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    _caption(axes, f"results kept, fitted for {measure}", "")
    return axes


def acceptance(accept: Accept, *, ax: Axes | None = None) -> Axes:
    """Return Axes with the error of the accepted against their share, by signal, with intervals.

    Parameters
    ----------
    accept
        A fitted `paretocut.truncators.Accept`.
    ax
        Where to draw.
    """
    axes = _axes(ax)
    for i, (name, (share, error, low, high)) in enumerate(accept.curves().items()):
        axes.plot(share, error, color=_COLOURS[i], linestyle=_DASHES[i], label=name)
        axes.fill_between(share, low, high, color=_COLOURS[i], alpha=0.12, linewidth=0)
    budget = f"max_error {accept.max_error:g}"
    axes.axhline(accept.max_error, color=_GREY, linewidth=1.2, label=budget)
    wrong = 1 - accept.judged_[:, 3].mean()
    axes.set_ylim(0.0, max(4 * accept.max_error, 1.1 * float(wrong)))
    _caption(axes, "share of the queries accepted", "share of the accepted that is wrong")
    _legend(axes)
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
        What `evaluate` gave.
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
        raise InvalidParameterError(
            f"per_query_gain: baseline must be one of {', '.join(evaluation.truncators)}, got None"
        )
    if truncators is None:
        usable = [t for t in evaluation.truncators if t != base and t not in evaluation.ceiling]
        usable.sort(key=lambda name: -evaluation[measure, name].mean)
        truncators = usable[: len(_COLOURS)]
    if not 1 <= len(truncators) <= len(_COLOURS):
        raise InvalidParameterError(
            f"per_query_gain: truncators must be 1 to {len(_COLOURS)} names, got {len(truncators)}"
        )
    axes = _axes(ax)
    reference = evaluation.per_query(measure, base)
    share = (np.arange(reference.size) + 0.5) / reference.size
    axes.axhline(0.0, color=_GREY, linewidth=1)
    for i, name in enumerate(truncators):
        gain = evaluation.per_query(measure, name) - reference
        axes.plot(
            share,
            np.sort(gain)[::-1],
            color=_COLOURS[i],
            linestyle=_DASHES[i % len(_DASHES)],
            label=f"{name} ({gain.mean():+.3f})",
        )
    axes.xaxis.set_major_formatter(_matplotlib("ticker").PercentFormatter(1.0))
    axes.set_xlim(0.0, 1.0)
    _caption(axes, "queries, from most gained to most lost", f"{measure} minus that of {base}")
    _legend(axes, loc="lower left")  # the one corner that falling lines leave free
    return axes


def frontier(runs: Mapping[str, RankedLists]) -> Figure:
    """Return a figure with recall and precision against the mean number of results kept.

    Each run is one curve: its lists are cut at thresholds on the min-max score, from the best
    result alone to all of them. Recall is over all relevant documents there are.

    Parameters
    ----------
    runs
        Judged lists by name: single runs, and what `paretocut.fuse` made of them.
    """
    if not runs:
        raise InvalidParameterError("frontier: runs must hold at least one run, got none")
    figure, panels = _matplotlib("pyplot").subplots(
        ncols=2, figsize=(8.4, 3.6), layout="constrained"
    )
    figure.patch.set_alpha(0.0)
    for axes, name in zip(panels, ("recall", "precision"), strict=True):
        _dress(axes)
        axes.set_xscale("log")
        _caption(axes, "mean results kept", f"mean {name}")
    for i, (run, lists) in enumerate(runs.items()):
        kept, recall, precision = frontier_points(lists)
        style = {"color": _COLOURS[i % len(_COLOURS)], "linestyle": _DASHES[i % len(_DASHES)]}
        for axes, values in zip(panels, (recall, precision), strict=True):
            axes.plot(kept, values, label=run, **style)
    _legend(panels[1], loc="best")
    whole: Figure = figure
    return whole


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


# What all pictures share.


def _matplotlib(module: str) -> Any:
    return require(f"matplotlib.{module}", feature="plots", extra="plots")


def _axes(ax: Axes | None, *, height: float = 3.6) -> Axes:
    if ax is not None:
        return ax
    figure, axes = _matplotlib("pyplot").subplots(figsize=(6.4, height), layout="constrained")
    _dress(axes)
    figure.patch.set_alpha(0.0)
    own: Axes = axes
    return own


def _dress(axes: Axes) -> None:
    """Make everything but the data grey, which reads on any background."""
    axes.patch.set_alpha(0.0)
    axes.tick_params(colors=_GREY, which="both")
    for name, spine in axes.spines.items():
        spine.set_color(_GREY)
        spine.set_visible(name in ("left", "bottom"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_color(_GREY)
    axes.grid(color=_GREY, alpha=0.2, linewidth=0.6)
    axes.set_axisbelow(True)


def _caption(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def _legend(axes: Axes, *, loc: Literal["best", "upper right", "lower left"] = "best") -> None:
    # The colour of the axes' labels: the caller's, if the caller made the Axes.
    axes.legend(frameon=False, loc=loc, labelcolor=axes.xaxis.label.get_color())
