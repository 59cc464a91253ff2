"""The full tables of every method on every run, from the kept numbers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from experiments.compare.methods import networks
from experiments.compare.methods.choice import BASELINE, CEILING, METRICS, NEURAL
from experiments.pages import share, table

__all__ = ["facts"]

LEVEL = 0.05
# One learned number: what a network should do better than.
SIMPLE = "minmax"
# Queries of a run, in the wide gap between 54 and 93.
MANY = 75
TITLES = {"f1": "F1", "penalized_dcg": "DCG"}


@dataclass(frozen=True)
class Line:
    """One method on one run."""

    mean: float
    low: float
    high: float
    pvalue: float | None
    mean_k: float
    empty: float
    gain: float  # over the baseline

    @property
    def mark(self) -> str:
        """Return a sign for a significant difference."""
        if self.pvalue is None or self.pvalue >= LEVEL:
            return ""
        return "▲" if self.gain > 0 else "▼"


Lines = dict[str, Line]


def lines_of(run: Mapping[str, Any], columns: Iterable[str], metric: str) -> Lines:
    """Return what was measured on a run, by method."""
    rows = [dict(zip(columns, row, strict=True)) for row in run["rows"]]
    own = {row["truncator"]: row for row in rows if row["metric"] == metric}
    names = ("mean", "low", "high", "pvalue", "mean_k", "empty")
    return {
        name: Line(*(row[key] for key in names), row["mean"] - own[BASELINE]["mean"])
        for name, row in own.items()
    }


def facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``tables.md`` asks for."""
    runs = content["runs"]
    tables = {
        metric: [lines_of(run, content["columns"], metric) for run in runs] for metric in METRICS
    }
    return {
        "runs": len(runs),
        "baseline": BASELINE,
        "ceiling": CEILING,
        **{f"overview_{metric}": _overview(own) for metric, own in tables.items()},
        "counted": "\n".join(line for m, own in tables.items() for line in _counted(own, m)),
        **_trained(tables, [run["queries"] for run in runs]),
        **{f"{metric}_by_run": _by_run(runs, own, metric) for metric, own in tables.items()},
    }


def _overview(tables: list[Lines]) -> str:
    rows = []
    for name in _names(tables):
        lines = [own[name] for own in tables if name in own]
        gains = [line.gain for line in lines]
        middle, mean = float(np.median(gains)), float(np.mean(gains))
        marks = Counter(line.mark for line in lines)
        tests = ["", ""] if name in (CEILING, BASELINE) else [str(marks["▲"]), str(marks["▼"])]
        kept = f"{np.mean([line.mean_k for line in lines]):.0f}"
        empty = share(float(np.mean([line.empty for line in lines])))
        gain = [f"{middle:+.3f}", f"{mean:+.3f}"]
        rows.append((middle, [_label(name), str(len(lines)), *gain, *tests, kept, empty]))
    head = ["truncator", "runs", "median", "mean", "better", "worse", "mean k", "empty lists"]
    return table(head, (row for _, row in sorted(rows, key=lambda row: -row[0])))


def _counted(tables: list[Lines], metric: str) -> Iterator[str]:
    """Yield what the tables say, counted and not claimed."""
    winners = Counter(name for own in tables for name in _best(own))
    listed = ", ".join(f"`{name}` ({count})" for name, count in winners.most_common())
    yield f"- {TITLES[metric]}: highest mean (ties count for all): {listed}."
    clear = sum(any(line.mark == "▲" for line in own.values()) for own in tables)
    yield (
        f"- {TITLES[metric]}: any truncator significantly better than `{BASELINE}`: {clear} of "
        f"{len(tables)} runs."
    )


def _trained(tables: Mapping[str, list[Lines]], queries: list[int]) -> dict[str, Any]:
    """Return on which runs the networks were trained, and how they compare with one number."""
    at = [i for i, own in enumerate(tables["f1"]) if set(NEURAL) <= own.keys()]
    large = np.array([queries[i] >= MANY for i in at])
    rows = []
    for metric, every in tables.items():
        shown = [every[i] for i in at]
        simple = np.array([own[SIMPLE].mean for own in shown])
        for name in NEURAL:
            means = np.array([own[name].mean for own in shown])
            gain = means - simple
            gains = [f"{part.mean():+.3f}" for part in (gain, gain[~large], gain[large])]
            ahead = str((gain > 1e-9).sum())
            rows.append([TITLES[metric], name, f"{means.mean():.3f}", *gains, ahead])
    head = ["metric", "truncator", "mean", "difference", f"{(~large).sum()} smaller runs"]
    return {
        "trained": len(at),
        "origins": "; ".join(networks.origins()),
        "simple": SIMPLE,
        "many": MANY,
        "networks": table([*head, f"{large.sum()} larger runs", "ahead"], rows, text=2),
    }


def _by_run(runs: list[Any], tables: list[Lines], metric: str) -> str:
    parts = []
    pairs = groupby(zip(runs, tables, strict=True), key=lambda pair: pair[0]["family"])
    for family, group in pairs:
        own, lines = zip(*group, strict=True)
        rows = (
            [_label(name), *(_cell(column, name) for column in lines)] for name in _names(lines)
        )
        head = ["truncator", *map(_heading, own)]
        parts.append(f"### {TITLES[metric]}: {family}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _cell(lines: Lines, name: str) -> str:
    if name not in lines:
        return ""
    line = lines[name]
    mean = f"{line.mean:.3f}"
    if name in _best(lines):
        mean = f"**{mean}**"
    return f"{mean} ({line.low:.3f} to {line.high:.3f}) {line.mark}".strip()


def _heading(run: Mapping[str, Any]) -> str:
    depth = " to ".join(map(str, sorted(set(run["depth"]))))
    return f"{run['run']}: {run['queries']} queries, {depth} results"


def _label(name: str) -> str:
    return f"{name} (ceiling)" if name == CEILING else name


def _names(tables: Iterable[Lines]) -> list[str]:
    """Return the names of all truncators, in order, the ceiling last."""
    names = [name for own in tables for name in own if name != CEILING]
    return [*dict.fromkeys(names), CEILING]


def _best(lines: Lines) -> list[str]:
    """Return the truncators with the highest mean; on some runs many keep nothing, and tie."""
    means = {name: line.mean for name, line in lines.items() if name != CEILING}
    return [name for name, mean in means.items() if mean >= max(means.values()) - 1e-9]
