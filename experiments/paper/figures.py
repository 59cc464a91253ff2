"""Figures 1 to 4 of the paper on our data, as SVG and PNG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import paretocut as pc
from experiments.data import ROOT
from experiments.paper import authorship, omniglot, robust04, same_document
from experiments.paper.rows import BOUNDS
from experiments.paper.tables import authorship_embeddings, same_document_embeddings
from paretocut.truncators import Surprise

FOLDER = ROOT / "docs" / "images"
# Of Okabe and Ito's colours, which the colour-blind tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "paretocut",
    "svg.fonttype": "path",
}
REFITS = (("window", BLUE, "-", 0.07), ("all", ORANGE, "--", 0.02))
RUNS = {"drmm-trec8": "DRMM", "colbert-prf-title": "ColBERT-PRF"}


def distances() -> Figure:
    """Return Figure 1: distances to the first relevant and to the ten closest other results."""
    documents, _ = same_document_embeddings()
    tasks = [
        (same_document.make_task(documents, 0), "Same Document (Euclidean)"),
        (omniglot.make_task(*omniglot.read_embeddings(omniglot.STAGES[0]), 0), "Omniglot"),
        (authorship.make_task(*authorship_embeddings(), 0), "News Authorship, C50"),
    ]
    units = ("Euclidean distance", "Euclidean distance", "negative dot product")
    figure = Figure(figsize=(6.5, 6.6), layout="constrained")
    grid = figure.subplots(3, 2, sharex="row")
    for line, (task, title), unit in zip(grid, tasks, units, strict=True):
        parts = [first_and_others(lists) for lists in (task.train, task.test)]
        everything = np.concatenate([values for part in parts for values in part])
        bins = np.linspace(*np.quantile(everything, [0.001, 0.999]), 50).tolist()
        for axes, part, name in zip(line, parts, ("training queries", "test queries"), strict=True):
            for values, color, label in zip(
                part, (BLUE, ORANGE), ("first relevant", "ten closest others"), strict=True
            ):
                axes.hist(values, bins, density=True, color=color, alpha=0.3)
                axes.hist(values, bins, density=True, color=color, histtype="step", label=label)
            axes.set_title(f"{title}: {name}")
            axes.set_xlabel(unit)
            axes.set_yticks([])
    grid[0, 0].set_ylabel("density")
    grid[0, 0].legend(loc="upper right")
    return figure


def first_and_others(lists: pc.RankedLists) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return distances to the first relevant result, and to the first ten that are not."""
    first, others = [], []
    for scores, relevant in zip(lists.scores, lists.relevant, strict=True):
        first.append(-scores[relevant][:1])
        others.append(-scores[~relevant][:10])
    return np.concatenate(first), np.concatenate(others)


def one_query() -> Figure:
    """Return Figure 2: the fitted density of one Omniglot query, and its Surprise scores."""
    task = omniglot.make_task(*omniglot.read_embeddings(omniglot.STAGES[0]), 0)
    # The first query with ten relevant results, the best two among them, part of which the fit
    # leaves out of its window.
    found = np.array([row.sum() >= 10 and row[:2].all() for row in task.test.relevant])
    i = int(np.argmax(found & (pc.fit_batch(task.test).upper < task.test.scores.lengths - 2)))
    scores = np.sort(task.test[i].scores)
    relevant = task.test[i].relevant
    assert relevant is not None
    marks = relevant[::-1]
    fit = pc.fit(scores)
    figure = Figure(figsize=(6.8, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    excess = scores[fit.lower :] - fit.threshold
    bins = np.linspace(0, excess.max(), 31)
    left.hist(excess, bins.tolist(), density=True, color=BLUE, alpha=0.35, label="excesses")
    x = np.linspace(0, excess.max(), 300)
    survival = pc.gpd.gpd_survival(x, shape=fit.shape, scale=fit.scale)
    left.plot(x, survival / (fit.scale + fit.shape * x), color=ORANGE, label="fitted density")
    left.axvline(
        scores[fit.upper - 1] - fit.threshold, color=GREY, linestyle=":", label="end of window"
    )
    left.set_xlabel("excess over the threshold")
    left.set_ylabel("density")
    left.legend()
    rank = np.arange(1, len(scores) + 1)
    right.scatter(rank[~marks], fit.surprise[~marks], s=9, color=GREY, label="not relevant")
    right.scatter(
        rank[marks], fit.surprise[marks], s=16, color=ORANGE, marker="D", label="relevant"
    )
    right.set_xlabel("order statistic (best on the right)")
    right.set_ylabel("Surprise score")
    right.legend(loc="upper left")
    return figure


def ten_queries() -> Figure:
    """Return Figure 3: raw and Surprise scores of ten test queries, with two p-values."""
    figure = Figure(figsize=(6.8, 5.4), layout="constrained")
    grid = figure.subplots(2, 2)
    colors = mpl.colormaps["cividis"](np.linspace(0, 0.9, 10))
    for line, (name, title) in zip(grid, RUNS.items(), strict=True):
        test = robust04.make_task(name, 0).test[:10]
        fits = pc.fit_batch(test)
        for scores, surprise, color in zip(test.scores, fits.surprise, colors, strict=True):
            rank = np.arange(1, len(scores) + 1)
            line[0].plot(rank, scores, color=color, linewidth=1)
            line[1].plot(rank, surprise, color=color, linewidth=1)
        for p, style in ((0.1, "--"), (0.01, ":")):
            line[1].axhline(-np.log(p), color=ORANGE, linestyle=style, label=f"p = {p}")
        line[0].set_title(f"{title}: scores of ten test queries")
        line[1].set_title(f"{title}: Surprise scores")
        line[0].set_ylabel("score")
        line[1].set_ylabel("Surprise score")
        line[1].set_ylim(-0.2, 10)
        for axes in line:
            axes.set_xscale("log")
            axes.set_xlabel("rank")
    grid[0, 1].legend()
    return figure


def thresholds() -> Figure:
    """Return Figure 4: test F1 against the Surprise threshold, over ten splits."""
    figure = Figure(figsize=(6.8, 2.9), layout="constrained")
    grid = np.linspace(*BOUNDS, 161)
    for axes, (name, title) in zip(figure.subplots(1, 2), RUNS.items(), strict=True):
        for refit, color, style, level in (
            ("window", BLUE, "-", 0.07),
            ("all", ORANGE, "--", 0.02),
        ):
            curves, chosen = [], []
            for seed in range(10):
                task = robust04.make_task(name, seed)
                curve = pc.metrics.f1.curves(task.test)
                surprise = pc.fit_batch(task.test, refit=refit).surprise
                kept = np.stack(
                    [np.searchsorted(-row, -grid, side="right") for row in surprise], axis=1
                )
                curves.append(curve.values[curve.offsets[:-1] + kept].mean(axis=1))
                chosen.append(Surprise(bounds=BOUNDS, refit=refit).fit(task.train).threshold_)
            values = np.stack(curves)
            mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
            axes.plot(grid, mean, style, color=color, label=f"refit on {refit}")
            axes.fill_between(
                grid, mean - deviation, mean + deviation, color=color, alpha=0.12, linewidth=0
            )
            height = axes.get_xaxis_transform()
            axes.plot(chosen, np.full(10, level), "|", color=color, transform=height, markersize=9)
        axes.set_title(f"{title}: test F1, ten splits")
        axes.set_xlabel("threshold on the Surprise score\n(ticks: chosen on training queries)")
        axes.set_ylabel("F1")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "paper-figure-1": distances,
    "paper-figure-2": one_query,
    "paper-figure-3": ten_queries,
    "paper-figure-4": thresholds,
}


def draw() -> None:
    """Write every figure as SVG and as PNG."""
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        for name, make in FIGURES.items():
            figure = make()
            # Without a date, a figure that did not change is the same file.
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
            figure.savefig(FOLDER / f"{name}.png", dpi=150)
