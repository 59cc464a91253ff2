"""The page ``docs/results.md`` and its figure: one number per method and kind of search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.compare.methods import CEILING, KINDS
from experiments.data import ROOT, RUNS, Run
from paretocut.evaluation import Evaluation

__all__ = ["draw", "gains", "page"]

METRIC = "f1"
RULES = ("global_k", "max", "minmax", "z", "surprise_all")
DRAWS = 2000
ORDER = tuple(dict.fromkeys(KINDS.values()))
ROWS = {
    "learned from half of the queries": {
        "consensus": "`Consensus`",
        "minmax": "threshold on min-max scores",
        "max": "threshold on score / best score",
        "z": "threshold on z-scores",
        "global_k": "best fixed k",
        "isotonic_max": "isotonic regression",
        "surprise_all": "threshold on Surprise",
    },
    "told the mean number of relevant results": {"consensus_told": "`Consensus(expect=number)`"},
    "told nothing": {
        "consensus_untrained": "`Consensus()`, the default",
        "minmax_half": "upper half of the range",
        "autocut": "autocut",
        "tail_aware": "Tail-Aware Adaptive-k",
        "cluster_gap": "CAR (cluster gap)",
        "largest_gap": "largest gap (Adaptive-k)",
        "knee": "knee",
        "surprise_alpha": "`alpha=0.05`, the paper's rule",
        "fixed_k": "first ten",
    },
    "ceiling": {CEILING: "oracle"},
}
FIGURE = {
    "consensus": ("Consensus, learned", "#0072b2", "o"),
    "minmax": ("min-max, learned", "#56b4e9", "s"),
    "consensus_told": ("Consensus, told a number", "#009e73", "D"),
    "consensus_untrained": ("Consensus, told nothing", "#e69f00", "^"),
    "surprise_alpha": ("alpha=0.05, told nothing", "#999999", "v"),
}


def collection(family: str) -> str:
    """Return what a family of runs searches in: all runs of Robust04 share their queries."""
    return family.partition(",")[0]


def weights(runs: Iterable[tuple[str, str]]) -> NDArray[np.float64]:
    """Return the weight of each run in a mean over kinds, collections and runs, in this order.

    Parameters
    ----------
    runs
        Kind and collection of each run.
    """
    pairs = list(runs)
    kinds = {kind for kind, _ in pairs}
    share = []
    for kind, own in pairs:
        collections = {c for k, c in pairs if k == kind}
        share.append(1 / len(kinds) / len(collections) / pairs.count((kind, own)))
    return np.array(share)


def gains(tables: Mapping[Run, Evaluation]) -> dict[str, Any]:
    """Return how far `Consensus` is ahead, with intervals over queries.

    Queries of a collection are drawn together for all its runs, since runs share them.
    """
    new = [run for run in tables if run not in RUNS]
    return {
        "minmax": _gain(tables, "minmax"),
        "hindsight": _gain(tables, None),
        "minmax, other collections": _gain({run: tables[run] for run in new}, "minmax"),
    }


def _gain(tables: Mapping[Run, Evaluation], rival: str | None) -> dict[str, Any]:
    """Return the relative gain over one rule, or over the best of each run with hindsight."""
    ours, theirs = [], []
    for table in tables.values():
        ours.append(_by_query(table, "consensus"))
        rules = [_by_query(table, name) for name in ([rival] if rival else RULES)]
        theirs.append(max(rules, key=lambda values: float(values.mean())))
    share = weights((KINDS[run.family], collection(run.family)) for run in tables)
    rng = np.random.default_rng(0)
    drawn = np.empty((DRAWS, 2, len(share)))
    names = [np.array(table.query_ids) for table in tables.values()]
    for own in dict.fromkeys(collection(run.family) for run in tables):
        members = [i for i, run in enumerate(tables) if collection(run.family) == own]
        ids, place = np.unique(np.concatenate([names[i] for i in members]), return_inverse=True)
        places = np.split(place, np.cumsum([len(names[i]) for i in members])[:-1])
        for draw in range(DRAWS):
            times = np.bincount(rng.integers(len(ids), size=len(ids)), minlength=len(ids))
            for i, at in zip(members, places, strict=True):
                total = max(float(times[at].sum()), 1.0)
                drawn[draw, :, i] = [times[at] @ ours[i] / total, times[at] @ theirs[i] / total]
    ratio = (drawn[:, 0] @ share) / (drawn[:, 1] @ share) - 1
    means = np.array(
        [[mine.mean(), other.mean()] for mine, other in zip(ours, theirs, strict=True)]
    )
    return {
        "value": float(share @ means[:, 1]),
        "gain": float(share @ means[:, 0] / (share @ means[:, 1]) - 1),
        "low": float(np.percentile(ratio, 2.5)),
        "high": float(np.percentile(ratio, 97.5)),
        "median": float(np.median(means[:, 0] / means[:, 1] - 1)),
        "ahead": int((means[:, 0] > means[:, 1]).sum()),
        "runs": len(share),
    }


def _by_query(table: Evaluation, name: str) -> NDArray[np.float64]:
    values = table.values[table.metrics.index(METRIC), table.truncators.index(name)]
    return np.bincount(table.query, weights=values) / np.bincount(table.query)


def by_kind(data: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the mean of each method by kind, and over all kinds; where it ran everywhere.

    Parameters
    ----------
    data
        What ``docs/results.json`` holds.
    """
    runs = data["runs"]
    share = weights((run["kind"], collection(run["family"])) for run in runs)
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(row[1] for run in runs for row in run["rows"]):
        means = np.array([_mean(run, name) for run in runs])
        if np.isnan(means).any():
            continue
        kinds = {}
        for kind in ORDER:
            here = np.array([run["kind"] == kind for run in runs])
            kinds[kind] = float(share[here] @ means[here] / share[here].sum())
        found[name] = kinds | {"all": float(share @ means)}
    return found


def _mean(run: Mapping[str, Any], name: str) -> float:
    for metric, method, mean, *_ in run["rows"]:
        if (metric, method) == (METRIC, name):
            return float(mean)
    return float("nan")


def table(means: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of the page: one row per method, one column per kind."""
    lines = ["| method | " + " | ".join(ORDER) + " | all |", "|---|" + "---:|" * (len(ORDER) + 1)]
    for group, methods in ROWS.items():
        lines.append(f"| *{group}* |" + " |" * (len(ORDER) + 1))
        for name, title in methods.items():
            if name in means:
                cells = [f"{means[name][kind]:.3f}" for kind in (*ORDER, "all")]
                lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(data: Mapping[str, Any]) -> str:
    """Return the page: the words of ``page.md`` with the numbers filled in."""
    words = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    means = by_kind(data)
    first = [run for run in data["runs"] if run["run"] in {known.name for known in RUNS}]
    minmax, hindsight = data["gains"]["minmax"], data["gains"]["hindsight"]
    rules = [name for name in ROWS["learned from half of the queries"] if name != "consensus"]
    best = max(rules, key=lambda name: means[name]["all"])
    wins = sum(means["consensus"][k] >= max(means[r][k] for r in rules) for k in ORDER)
    counts = {kind: sum(run["kind"] == kind for run in data["runs"]) for kind in ORDER}
    return words.format(
        answer_tuned=(
            "`Consensus` has the best mean, and the margin over the best single rule is small."
            if means["consensus"]["all"] > means[best]["all"]
            else f"A single rule, `{best}`, has the best mean."
        )
        + f" It is first on {wins} of {len(ORDER)} kinds.",
        table=table(means),
        runs=len(data["runs"]),
        commit=data["commit"],
        gain_minmax=_interval(minmax),
        median_minmax=_percent(minmax["median"]),
        ahead_minmax=minmax["ahead"],
        hindsight=f"{hindsight['value']:.3f}",
        gain_hindsight=_interval(hindsight),
        gain_new=_interval(data["gains"]["minmax, other collections"]),
        kinds=", ".join(f"{kind} {count} runs" for kind, count in counts.items()),
        **{
            key: f"{means[name]['all']:.3f}"
            for key, name in {
                "consensus": "consensus",
                "minmax": "minmax",
                "told": "consensus_told",
                "untrained": "consensus_untrained",
                "half": "minmax_half",
                "ten": "fixed_k",
                "alpha": "surprise_alpha",
                "gap": "largest_gap",
            }.items()
        },
        **{
            key: f"{np.mean([_mean(run, name) for run in first]):.3f}"
            for key, name in {
                "choppy": "choppy",
                "consensus_old": "consensus",
                "minmax_old": "minmax",
            }.items()
        },
    )


def _percent(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _interval(gain: Mapping[str, float]) -> str:
    return f"{_percent(gain['gain'])} ({_percent(gain['low'])} to {_percent(gain['high'])})"


def draw(data: Mapping[str, Any]) -> None:
    """Draw the share of the oracle's F1 that each way of cutting reaches, by kind of search."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "paretocut"
    from matplotlib import pyplot

    means = by_kind(data)
    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    columns = (*ORDER, "all")
    for name, (label, colour, marker) in FIGURE.items():
        share = [100 * means[name][kind] / means[CEILING][kind] for kind in columns]
        axes.plot(range(len(columns)), share, marker, color=colour, label=label)
    axes.axvline(len(ORDER) - 0.5, color="#cccccc", linewidth=1)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_ylim(0, 100)
    axes.set_ylabel("F1, % of the oracle")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    figure.savefig(ROOT / "docs/images/results-kinds.svg", metadata={"Date": None})
    pyplot.close(figure)
