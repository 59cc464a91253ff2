"""Figures 1 to 4 of the paper on our data, and one of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import paretocut as pc
from experiments.pages import IMAGES
from experiments.paper import omniglot, tables
from experiments.paper.draws import AUTHORSHIP, OMNIGLOT, SAME_DOCUMENT, Draw
from experiments.paper.rows import BOUNDS, RIVALS, SURPRISE
from experiments.paper.tables import SPLITS
from experiments.results import read
from paretocut.lists import Ragged
from paretocut.truncators import Surprise

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
Refit = Literal["window", "all"]
REFITS: tuple[tuple[Refit, str, str, float], ...] = (
    ("window", BLUE, "-", 0.07),
    ("all", ORANGE, "--", 0.02),
)
RUNS = {"drmm-trec8": "DRMM", "colbert-prf-title": "ColBERT-PRF"}
CEILING = 10.0
"""Surprise scores above this are outside the picture."""

Drawn = tuple[Figure, dict[str, Any]]


def distances() -> Drawn:
    """Return Figure 1: distances to the first relevant and to the ten closest other results."""
    tasks = [
        (Draw(SAME_DOCUMENT, 0, similarity="cosine").task(), "Same Document"),
        (Draw(OMNIGLOT, 0, stage=omniglot.STAGES[0]).task(), "Omniglot"),
        (Draw(AUTHORSHIP, 0).task(), "News Authorship, C50"),
    ]
    units = ("negative cosine", "Euclidean distance", "negative dot product")
    figure = Figure(figsize=(6.5, 6.6), layout="constrained")
    grid = figure.subplots(3, 2, sharex="row")
    facts: dict[str, Any] = {}
    for line, (task, title), unit in zip(grid, tasks, units, strict=True):
        parts = [first_and_others(lists) for lists in (task.train, task.test)]
        everything = np.concatenate([values for part in parts for values in part])
        low, high = np.quantile(everything, [0.001, 0.999])
        bins = np.linspace(low, high, 50).tolist()
        facts[title] = {
            "outside the bins": float(((everything < low) | (everything > high)).mean()),
            "test queries without a relevant result": int(len(task.test) - len(parts[1][0])),
            "overlap in training": overlap(*parts[0], bins),
            "overlap in testing": overlap(*parts[1], bins),
        }
        for axes, part, name in zip(line, parts, ("training queries", "test queries"), strict=True):
            for values, color, label in zip(
                part, (BLUE, ORANGE), ("first relevant", "ten closest others"), strict=True
            ):
                axes.hist(values, bins, density=True, color=color, alpha=0.3)
                axes.hist(values, bins, density=True, color=color, histtype="step", label=label)
            axes.set_title(f"{title}: {name}")
            axes.set_xlabel(unit)
            axes.set_yticks([])
            axes.locator_params(axis="x", nbins=4)
    grid[0, 0].set_ylabel("density")
    grid[0, 0].legend(loc="upper right")
    return figure, facts


def first_and_others(lists: pc.RankedLists) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return distances to the first relevant result, and to the first ten that are not."""
    first, others = [], []
    for scores, relevant in zip(lists.scores, lists.relevant, strict=True):
        first.append(-scores[relevant][:1])
        others.append(-scores[~relevant][:10])
    return np.concatenate(first), np.concatenate(others)


def overlap(left: NDArray[Any], right: NDArray[Any], bins: list[float]) -> float:
    """Return the area that two histograms share: 0 if they are apart, 1 if they are the same."""
    shares = [np.histogram(np.clip(x, bins[0], bins[-1]), bins)[0] / len(x) for x in (left, right)]
    return float(np.minimum(*shares).sum())


def one_query() -> Drawn:
    """Return Figure 2: the fitted density of a typical Omniglot query, and its Surprise scores.

    Typical: of all test queries, the best F1 of any cut is nearest to its mean.
    """
    test = Draw(OMNIGLOT, 0, stage=omniglot.STAGES[0]).task().test
    best = np.array([curve.max() for curve in pc.metrics.f1.curves(test)])
    i = int(np.argmin(np.abs(best - best.mean())))
    fits = pc.fit_tails(test)
    scores = np.sort(test[i].scores)
    relevant = test[i].relevant
    assert relevant is not None
    marks = relevant[::-1]
    fit = pc.fit_tail(scores)
    rank = np.arange(len(scores))
    inside = (rank >= fit.lower) & (rank < fit.upper)
    figure = Figure(figsize=(6.8, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    excess = scores[fit.lower :] - fit.threshold
    bins = np.linspace(0, excess.max(), 31)
    left.hist(excess, bins.tolist(), density=True, color=BLUE, alpha=0.35, label="excesses")
    x = np.linspace(0, excess.max(), 300)
    survival = pc.tail.gpd.gpd_survival(x, shape=fit.shape, scale=fit.scale)
    left.plot(x, survival / (fit.scale + fit.shape * x), color=ORANGE, label="fitted density")
    left.axvline(
        scores[fit.upper - 1] - fit.threshold, color=GREY, linestyle=":", label="end of window"
    )
    left.set_xlabel("excess over the threshold")
    left.set_ylabel("density")
    left.legend()
    for kind, size, color, marker, label in (
        (~marks, 9, GREY, "o", "not relevant"),
        (marks, 18, ORANGE, "D", "relevant"),
    ):
        for where, face in ((inside, color), (~inside, "none")):
            chosen = kind & where
            right.scatter(
                rank[chosen] + 1,
                fit.surprise[chosen],
                s=size,
                facecolors=face,
                edgecolors=color,
                linewidths=0.8,
                marker=marker,
                label=label if face != "none" else None,
            )
    right.set_xlabel("order statistic (best on the right)")
    right.set_ylabel("Surprise score")
    right.legend(loc="upper left")
    facts = {
        "query": str(test.query_ids[i]),
        "best F1": float(best[i]),
        "mean best F1": float(best.mean()),
        "results": len(scores),
        "relevant": int(marks.sum()),
        "below the window": int(fit.lower),
        "above the window": int(len(scores) - fit.upper),
        "queries with results above the window": float((fits.upper < test.scores.lengths).mean()),
    }
    return figure, facts


def ten_queries() -> Drawn:
    """Return Figure 3: raw and Surprise scores of ten test queries, with two p-values."""
    figure = Figure(figsize=(6.8, 5.4), layout="constrained")
    grid = figure.subplots(2, 2)
    colors = mpl.colormaps["cividis"](np.linspace(0, 0.9, 10))
    facts: dict[str, Any] = {"ceiling": CEILING}
    for line, (name, title) in zip(grid, RUNS.items(), strict=True):
        test = Draw(name, 0).task().test[:10]
        fits = pc.fit_tails(test)
        for scores, surprise, color in zip(test.scores, fits.surprise, colors, strict=True):
            rank = np.arange(1, len(scores) + 1)
            line[0].plot(rank, scores, color=color, linewidth=1)
            line[1].plot(rank, surprise, color=color, linewidth=1)
        facts[title] = {
            "queries": [str(query) for query in test.query_ids],
            "results above the ceiling": int((fits.surprise.values > CEILING).sum()),
            "in lists": sum(bool((row > CEILING).any()) for row in fits.surprise),
            "scatter of scores": scatter(test.scores),
            "scatter of Surprise": scatter(fits.surprise),
            "heads between the p-values": sum(
                bool(-np.log(0.1) <= np.median(row[:10]) <= -np.log(0.01)) for row in fits.surprise
            ),
        }
        for p, style in ((0.1, "--"), (0.01, ":")):
            line[1].axhline(-np.log(p), color=ORANGE, linestyle=style, label=f"p = {p}")
        line[0].set_title(f"{title}: scores of ten test queries")
        line[1].set_title(f"{title}: Surprise scores")
        line[0].set_ylabel("score")
        line[1].set_ylabel("Surprise score")
        line[1].set_ylim(-0.2, CEILING)
        for axes in line:
            axes.set_xscale("log")
            axes.set_xlabel("rank")
    grid[0, 1].legend()
    return figure, facts


def scatter(lists: Ragged) -> float:
    """Return how far the medians of lists are apart, in deviations inside a list."""
    medians = [np.median(row) for row in lists]
    return float(np.std(medians, ddof=1) / np.mean([row.std() for row in lists]))


def thresholds() -> Drawn:
    """Return Figure 4: test F1 against the Surprise threshold, over all folds."""
    figure = Figure(figsize=(6.8, 2.9), layout="constrained")
    grid = np.linspace(*BOUNDS, 161)
    facts: dict[str, Any] = {"folds": len(SPLITS)}
    for axes, (name, title) in zip(figure.subplots(1, 2), RUNS.items(), strict=True):
        for refit, color, style, level in REFITS:
            curves, chosen = [], []
            for seed in SPLITS:
                task = Draw(name, seed).task()
                curve = pc.metrics.f1.curves(task.test)
                surprise = pc.fit_tails(task.test, refit=refit).surprise
                kept = np.stack(
                    [np.searchsorted(-row, -grid, side="right") for row in surprise], axis=1
                )
                curves.append(curve.values[curve.offsets[:-1] + kept].mean(axis=1))
                chosen.append(Surprise(bounds=BOUNDS, refit=refit).fit(task.train).threshold_)
            values = np.stack(curves)
            mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
            facts[f"{title}, {refit}"] = {
                "best threshold in testing": float(grid[mean.argmax()]),
                "chosen in training": [float(min(chosen)), float(max(chosen))],
                "middle of these": float(np.median(chosen)),
                "F1 at the best": float(mean.max()),
                "F1 at the middle": float(np.interp(np.median(chosen), grid, mean)),
                "way up and down": float(np.abs(np.diff(mean)).sum()),
                "shortest way": float(2 * mean.max() - mean[0] - mean[-1]),
                "largest step": float(np.abs(np.diff(mean)).max()),
            }
            axes.plot(grid, mean, style, color=color, label=f"refit on {refit}")
            axes.fill_between(
                grid, mean - deviation, mean + deviation, color=color, alpha=0.12, linewidth=0
            )
            height = axes.get_xaxis_transform()
            axes.plot(
                chosen,
                np.full(len(chosen), level),
                "|",
                color=color,
                transform=height,
                markersize=9,
            )
        axes.set_title(f"{title}: test F1, {len(SPLITS)} folds")
        axes.set_xlabel("threshold on the Surprise score\n(ticks: chosen on training queries)")
        axes.set_ylabel("F1")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")
    return figure, facts


def leads() -> Drawn:
    """Return the summary: by how much Surprise leads or trails each rival, in every column."""
    table1, table2 = read("paper", "table1"), read("paper", "table2")
    lines = [
        (f"{column['column']}, {'accuracy' if metric == 'accuracy' else 'F1'}", content)
        for column in (*table1["columns"], *table2["columns"])
        for metric, content in column["metrics"].items()
        if metric != "penalized_dcg" and column["paper_column"]
    ]
    markers = dict(zip(RIVALS, "osD^v", strict=True))
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.subplots()
    for line, (_, content) in enumerate(lines):
        chosen = [test for test in content["tests"] if test["surprise"] == SURPRISE[1]]
        # One below the other, so that none hides another.
        heights = len(lines) - line + np.linspace(0.3, -0.3, len(chosen))
        for test, height in zip(chosen, heights, strict=True):
            sure = test["p"] < 0.05
            color = GREY if not sure else BLUE if test["difference"] > 0 else ORANGE
            axes.plot(
                test["difference"],
                height,
                markers[test["rival"]],
                color=color,
                markerfacecolor=color if sure else "none",
                markersize=5,
            )
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(lines), 0, -1), [name for name, _ in lines])
    axes.set_xlabel("Surprise (refit on all) minus the rival")
    for rival, marker in markers.items():
        axes.plot([], [], marker, color=GREY, markerfacecolor="none", label=rival)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure, {"lines": len(lines)}


FIGURES: dict[str, Callable[[], Drawn]] = {
    "paper-leads": leads,
    "paper-figure-1": distances,
    "paper-figure-2": one_query,
    "paper-figure-3": ten_queries,
    "paper-figure-4": thresholds,
}


def draw() -> dict[str, Any]:
    """Write every figure, and return what their captions say of them."""
    facts = {}
    with mpl.rc_context(STYLE):
        for name, make in FIGURES.items():
            figure, facts[name] = make()
            # Without a date, a figure that did not change is the same file.
            figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    return {"figures": facts, **tables.provenance()}
