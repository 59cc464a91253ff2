"""The full tables as a page, and all numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from experiments.compare import networks, summary
from experiments.compare.methods import BASELINE, CEILING, KINDS, METRICS, NEURAL
from experiments.data import ROOT, Run, sha256
from experiments.results import stamp
from paretocut.evaluation import Evaluation, Summary
from paretocut.lists import RankedLists

__all__ = ["write"]

Tables = dict[Run, Evaluation]

LEVEL = 0.05
# One learned number: what a network should do better than.
SIMPLE = "minmax"
# Queries of a run, in the wide gap between 54 and 93.
MANY = 75
TITLES = {"f1": "F1", "dcg": "DCG"}
_BEGIN, _END = "<!-- by `make compare` -->\n", "<!-- end -->\n"


def write(tables: Tables, lists: dict[Run, RankedLists], protocol: dict[str, Any]) -> None:
    """Write ``docs/results.md``, ``results-tables.md``, ``results.json``, and README's table."""
    docs = ROOT / "docs"
    data = _data(tables, lists, protocol)
    (docs / "results.json").write_text(_json(data) + "\n", encoding="utf-8")
    (docs / "results-tables.md").write_text(_tables(tables, lists), encoding="utf-8")
    (docs / "results.md").write_text(summary.page(data), encoding="utf-8")
    summary.draw(data)
    readme = ROOT / "README.md"
    before, begin, rest = readme.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    shown = summary.table(summary.by_kind(data))
    readme.write_text(f"{before}{begin}\n{shown}\n\n{end}{after}", encoding="utf-8")


def _tables(tables: Tables, lists: dict[Run, RankedLists]) -> str:
    words = Path(__file__).with_name("tables.md").read_text(encoding="utf-8")
    protocol = next(iter(tables.values())).protocol
    return words.format(
        runs=len(tables),
        protocol=protocol[0].upper() + protocol[1:],
        baseline=BASELINE,
        ceiling=CEILING,
        overview="\n".join(line for metric in METRICS for line in _overview(tables, metric)),
        counted="\n".join(_counted(tables)),
        networks="\n".join(_trained(tables)),
        tables="\n".join(line for metric in METRICS for line in _by_run(tables, lists, metric)),
    )


def _by_run(tables: Tables, lists: dict[Run, RankedLists], metric: str) -> Iterator[str]:
    yield f"## {TITLES[metric]}, run by run\n"
    for family, group in groupby(tables, key=lambda run: run.family):
        yield f"### {TITLES[metric]}: {family}\n"
        yield from _family(tables, lists, list(group), metric)


def _overview(tables: Tables, metric: str) -> Iterator[str]:
    yield (
        f"{TITLES[metric]}: gain over `{BASELINE}`, its median and mean over the runs, and on how "
        "many runs the difference is significant.\n"
    )
    yield "| truncator | runs | median | mean | better | worse | mean k | empty lists |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    rows = []
    for name in _names(tables):
        lines = [table[metric, name] for table in tables.values() if name in table.truncators]
        gains = [line.gain for line in lines if line.gain is not None]
        middle, mean = float(np.median(gains)), float(np.mean(gains))
        better = sum(_mark(line) == "▲" for line in lines)
        worse = sum(_mark(line) == "▼" for line in lines)
        kept = np.mean([line.mean_k for line in lines])
        empty = np.mean([line.empty for line in lines])
        label = f"{name} (ceiling)" if name == CEILING else name
        tests = ["", ""] if name in (CEILING, BASELINE) else [str(better), str(worse)]
        gain = [f"{middle:+.3f}", f"{mean:+.3f}"]
        cells = [label, str(len(lines)), *gain, *tests, f"{kept:.0f}", f"{empty:.0%}"]
        rows.append((middle, "| " + " | ".join(cells) + " |"))
    yield from (row for _, row in sorted(rows, key=lambda row: -row[0]))
    yield ""


def _counted(tables: Tables) -> Iterator[str]:
    """Yield what the tables say, counted and not claimed."""
    for metric in METRICS:
        winners: dict[str, int] = {}
        for table in tables.values():
            for winner in _best(table, metric):
                winners[winner] = winners.get(winner, 0) + 1
        ranked = sorted(winners.items(), key=lambda item: -item[1])
        listed = ", ".join(f"`{name}` ({count})" for name, count in ranked)
        yield f"- {TITLES[metric]}: highest mean (ties count for all): {listed}."
        clear = sum(
            any(_mark(line) == "▲" for line in table.summary if line.metric == metric)
            for table in tables.values()
        )
        yield (
            f"- {TITLES[metric]}: any truncator significantly better than `{BASELINE}`: "
            f"{clear} of {len(tables)} runs."
        )


def _trained(tables: Tables) -> Iterator[str]:
    """Yield on which runs the networks were trained, and how they compare with one number."""
    shown = [table for table in tables.values() if set(NEURAL) <= set(table.truncators)]
    if not shown:
        return
    yield (
        f"They were trained on {len(shown)} of {len(tables)} runs "
        f"({'; '.join(networks.origins())}). Mean over these runs, difference to `{SIMPLE}`, the "
        f"same on runs with fewer than {MANY} queries and on the others, and on how many runs the "
        f"mean is above that of `{SIMPLE}`:\n"
    )
    large = np.array([len(table.query_ids) >= MANY for table in shown])
    yield (
        f"| metric | truncator | mean | difference | {(~large).sum()} smaller runs | "
        f"{large.sum()} larger runs | ahead |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|"
    for metric in METRICS:
        simple = np.array([table[metric, SIMPLE].mean for table in shown])
        for name in NEURAL:
            means = np.array([table[metric, name].mean for table in shown])
            gain = means - simple
            gains = [f"{part.mean():+.3f}" for part in (gain, gain[~large], gain[large])]
            cells = [TITLES[metric], name, f"{means.mean():.3f}", *gains, f"{(gain > 1e-9).sum()}"]
            yield "| " + " | ".join(cells) + " |"
    yield ""


def _family(
    tables: Tables, lists: dict[Run, RankedLists], runs: list[Run], metric: str
) -> Iterator[str]:
    yield "| truncator | " + " | ".join(_heading(run, lists[run]) for run in runs) + " |"
    yield "|---|" + "---:|" * len(runs)
    for name in _names({run: tables[run] for run in runs}):
        cells = [f"{name} (ceiling)" if name == CEILING else name]
        for run in runs:
            table = tables[run]
            if name not in table.truncators:
                cells.append("")
                continue
            line = table[metric, name]
            mean = f"{line.mean:.3f}"
            if name in _best(table, metric):
                mean = f"**{mean}**"
            cells.append(f"{mean} ({line.low:.3f} to {line.high:.3f}) {_mark(line)}".strip())
        yield "| " + " | ".join(cells) + " |"
    yield ""


def _heading(run: Run, lists: RankedLists) -> str:
    depth = sorted({int(lists.scores.lengths.min()), int(lists.scores.lengths.max())})
    return f"{run.name}: {len(lists)} queries, {' to '.join(map(str, depth))} results"


def _names(tables: Tables) -> list[str]:
    """Return the names of all truncators, in order, the ceiling last."""
    names = [name for table in tables.values() for name in table.truncators if name != CEILING]
    return [*dict.fromkeys(names), CEILING]


def _best(table: Evaluation, metric: str) -> list[str]:
    """Return the truncators with the highest mean; on some runs many keep nothing, and tie."""
    means = {name: table[metric, name].mean for name in table.truncators if name != CEILING}
    return [name for name, mean in means.items() if mean >= max(means.values()) - 1e-9]


def _mark(line: Summary) -> str:
    if line.pvalue is None or line.gain is None or line.pvalue >= LEVEL:
        return ""
    return "▲" if line.gain > 0 else "▼"


def _data(
    tables: Tables, lists: dict[Run, RankedLists], protocol: dict[str, Any]
) -> dict[str, Any]:
    columns = ["metric", "truncator", "mean", "std", "low", "high", "pvalue", "mean_k", "empty"]
    return {
        "protocol": protocol | {"baseline": BASELINE, "confidence": 0.95},
        **stamp(),
        "columns": columns,
        "runs": [
            {
                "run": run.name,
                "family": run.family,
                "kind": KINDS[run.family],
                "queries": len(lists[run]),
                "sha256": {name: sha256(name)[:16] for name in run.files},
                "rows": [[_short(getattr(line, c)) for c in columns] for line in table.summary],
            }
            for run, table in tables.items()
        ],
        "gains": summary.gains(tables),
    }


def _short(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def _json(data: dict[str, Any]) -> str:
    """Return JSON with one row of numbers per line: small, and readable as a difference."""
    rows: list[str] = []

    def hold(row: list[Any]) -> str:
        rows.append(json.dumps(row, allow_nan=False))
        return f"@{len(rows) - 1}@"

    held = data | {
        "runs": [run | {"rows": [hold(row) for row in run["rows"]]} for run in data["runs"]]
    }
    text = json.dumps(held, indent=1, allow_nan=False)
    for i, row in enumerate(rows):
        text = text.replace(f'"@{i}@"', row, 1)
    return text
