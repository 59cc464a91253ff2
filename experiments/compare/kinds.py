"""Mean F1 of each method by kind of search: the table of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import pages
from experiments.compare.methods.choice import CEILING, KINDS

__all__ = ["METRIC", "ORDER", "by_kind", "collection", "draw", "mean_of", "table", "weights"]

METRIC = "f1"
ORDER = tuple(dict.fromkeys(KINDS.values()))
TUNED = {
    "consensus": "`Consensus`",
    "minmax": "threshold on min-max scores",
    "max": "threshold on score / best score",
    "raw": "threshold on the score: Elasticsearch, Vespa, Vertex",
    "z": "threshold on z-scores",
    "global_k": "best fixed k",
    "isotonic_max": "isotonic regression on score / best score",
    "surprise_all": 'threshold on Surprise, `refit="all"`',
}
ROWS = {
    "learned from half of the queries": TUNED,
    "the mean number of relevant results is known": {
        "consensus_told": "`Consensus(expect=number)`",
    },
    "nothing is known": {
        "consensus_untrained": "`Consensus()`, the default",
        "minmax_half": "upper half of the range",
        "largest_gap": "largest gap: Adaptive-k; Marqo",
        "adaptive_k": "Adaptive-k with its official options",
        "autocut": "autocut: Weaviate",
        "max_80": "0.8 of the best score: Marqo",
        "z_1": "mean + 1 deviation: Marqo",
        "cluster_gap": "CAR, the clustering is our choice",
        "tail_aware": "Tail-Aware Adaptive-k, rebuilt from its abstract",
        "knee": "knee",
        "surprise_alpha": "`alpha=0.05`, on the paper's score",
        "fixed_k": "first ten",
    },
    "ceiling": {CEILING: "oracle"},
}
FIGURE = {
    "consensus": ("Consensus, learned", "#0072b2", "o"),
    "minmax": ("min-max, learned", "#56b4e9", "s"),
    "consensus_told": ("Consensus, number known", "#009e73", "D"),
    "consensus_untrained": ("Consensus, nothing known", "#e69f00", "^"),
    "surprise_alpha": ("alpha=0.05, nothing known", "#999999", "v"),
}


def collection(family: str) -> str:
    """Return what a family of runs searches in: all runs of Robust04 share their queries."""
    return family.partition(",")[0]


def weights(runs: Iterable[tuple[str, str]]) -> NDArray[np.float64]:
    """Return the weight of each run, given its kind and collection.

    Kinds count alike, then the collections of a kind, then the runs of a collection.
    """
    pairs = list(runs)
    kinds = {kind for kind, _ in pairs}
    share = []
    for kind, own in pairs:
        collections = {c for k, c in pairs if k == kind}
        share.append(1 / len(kinds) / len(collections) / pairs.count((kind, own)))
    return np.array(share)


def by_kind(content: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the mean of each method that ran everywhere, by kind and over all kinds."""
    runs = content["runs"]
    share = weights((run["kind"], collection(run["family"])) for run in runs)
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(row[1] for run in runs for row in run["rows"]):
        means = np.array([mean_of(run, name) for run in runs])
        if np.isnan(means).any():
            continue
        kinds = {}
        for kind in ORDER:
            here = np.array([run["kind"] == kind for run in runs])
            kinds[kind] = float(share[here] @ means[here] / share[here].sum())
        found[name] = kinds | {"all": float(share @ means)}
    return found


def mean_of(run: Mapping[str, Any], name: str) -> float:
    """Return the mean F1 of a method on a run, NaN if it did not take part."""
    for metric, method, mean, *_ in run["rows"]:
        if (metric, method) == (METRIC, name):
            return float(mean)
    return float("nan")


def table(means: Mapping[str, Mapping[str, float]]) -> str:
    """Return one row per method and one column per kind."""
    rows = []
    for group, methods in ROWS.items():
        rows.append([f"*{group}*", *[""] * (len(ORDER) + 1)])
        for name, title in methods.items():
            rows.append([title, *(f"{means[name][kind]:.3f}" for kind in (*ORDER, "all"))])
    return pages.table(["method", *ORDER, "all"], rows)


def draw(means: Mapping[str, Mapping[str, float]]) -> None:
    """Draw the share of the oracle's F1 that each way of cutting reaches, by kind of search."""
    columns = (*ORDER, "all")
    with pages.picture("compare-kinds", (8, 3.6)) as axes:
        for name, (label, colour, marker) in FIGURE.items():
            share = [100 * means[name][kind] / means[CEILING][kind] for kind in columns]
            axes.plot(range(len(columns)), share, marker, color=colour, label=label)
        axes.axvline(len(ORDER) - 0.5, color="#cccccc", linewidth=1)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_ylim(0, 100)
        axes.set_ylabel("F1, % of the oracle")
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.12))
