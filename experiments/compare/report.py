"""The results as a page for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from experiments.compare import networks
from experiments.compare.methods import BASELINE, CEILING, METRICS, NEURAL
from experiments.compare.orientation import Orientation
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
INTRODUCTION = """\
# Results

Every truncator of the library on {runs} judged runs. `make compare` makes this page and
`docs/results.json` from the runs; nothing here is written by hand but the words.

**Protocol.** {protocol}: every query is tested five times, each time by truncators fitted on the
other half of the queries. Those that learn are fitted for the metric of the table. A number is
the mean over queries (each query being the mean of its five tests), in brackets its 95 %
bootstrap interval over queries. ▲ and ▼ mark truncators that are better or worse than
`{baseline}` in a paired sign-flip test at the 5 % level, corrected (Holm) for the number of
truncators in the column. The best truncator of a column is bold; `{ceiling}` sees the judgements
and is the ceiling.

**Metrics.** F1 with recall over the relevant results *in the list*, as in the literature on
truncation: no cut brings back what the retriever missed. DCG is the one of the Surprise paper:
+1 / log2(i + 1) for a relevant result at rank i and -1 / log2(i + 1) for another, 0 for an empty
list.

**Names** are those of `paretocut.truncators.names()`, see [methods](methods.md), and variants of
them: `surprise` fits the tail to the window it selected, `surprise_all` to everything above it
(the paper's Algorithm 1); both learn a threshold. `surprise_alpha` (p-value at most 0.05),
`surprise_evalue` (E-value at most 0.05) and `minmax_half` (upper half of the score range) learn
nothing. `fixed_k` keeps 10. `conformal` is not made for these metrics: it promises to lose at
most 10 % of the relevant results, on average, whatever that costs in precision. The `_local`
methods need query embeddings: TF-IDF of the query texts here, where there are texts. `consensus`
is not in these tables: what it ships was learned from these runs, so it is measured elsewhere,
without them ([lead](lead.md)).
"""
NOTES = """\
What to keep in mind:

- The runs are not independent: those of a family share queries and judgements. Counts of runs
  are a summary, not a test.
- `tar2019-DTA` has 8 queries, so no difference on it can be significant after the correction: the
  smallest p-value 8 queries can give is 2 / 256. Each truncator learned from 4 lists there.
- Learning from half of the queries is hard on methods with much to learn. With 4 to 150 training
  lists, one number (`global_k`, `minmax`) is about what can be learned well.
- Half of the scores of `drmm-sigmoid-trec8` are above 0.999, with many ties: a test of methods that
  read the shape of the score curve. Which topics the two DRMM rankers were trained on is not
  documented.
- Documents that nobody judged count as not relevant (in CLEF TAR all are judged).
- Methods without a `metric` parameter (all label-free ones) make the same cut in both tables;
  DCG, in which each wrong result costs, punishes those that keep many.
"""


def write(
    tables: Tables, lists: dict[Run, RankedLists], protocol: dict[str, Any], check: Orientation
) -> None:
    """Write ``docs/results.md`` and ``docs/results.json``."""
    docs = ROOT / "docs"
    page = "\n".join(_page(tables, lists, check))
    (docs / "results.md").write_text(page + "\n", encoding="utf-8")
    data = _data(tables, lists, protocol, check)
    (docs / "results.json").write_text(_json(data) + "\n", encoding="utf-8")


def _page(tables: Tables, lists: dict[Run, RankedLists], check: Orientation) -> Iterator[str]:
    protocol = next(iter(tables.values())).protocol
    yield INTRODUCTION.format(
        runs=len(tables),
        protocol=protocol[0].upper() + protocol[1:],
        baseline=BASELINE,
        ceiling=CEILING,
    )
    yield "## In short\n"
    for metric in METRICS:
        yield from _overview(tables, metric)
    yield from _findings(tables)
    for metric in METRICS:
        yield f"## {TITLES[metric]}, run by run\n"
        for family, group in groupby(tables, key=lambda run: run.family):
            runs = list(group)
            yield f"### {TITLES[metric]}: {family}\n"
            yield from _family(tables, lists, runs, metric)
    yield from check.lines()


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


def _findings(tables: Tables) -> Iterator[str]:
    """Yield what the tables say, counted and not claimed, and what they cannot say."""
    yield "Counted over the runs:\n"
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
    yield ""
    yield NOTES
    yield from _trained(tables)


def _trained(tables: Tables) -> Iterator[str]:
    """Yield how the networks were trained, and how they compare with one learned number."""
    shown = [table for table in tables.values() if set(NEURAL) <= set(table.truncators)]
    if not shown:
        return
    yield "### Networks\n"
    yield (
        f"The neural truncators were trained on {len(shown)} of {len(tables)} runs with their "
        "default settings, on the very halves of the queries that the others learned from "
        f"({'; '.join(networks.origins())}). Another device or version of torch trains other "
        "networks, so their cuts are kept, in `experiments/compare/networks.npz`. Mean over the "
        f"runs, difference to `{SIMPLE}`, the same on runs with fewer than {MANY} queries and on "
        f"the others, and on how many runs the mean is higher than that of `{SIMPLE}`:\n"
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
    if line.p_value is None or line.gain is None or line.p_value >= LEVEL:
        return ""
    return "▲" if line.gain > 0 else "▼"


def _data(
    tables: Tables, lists: dict[Run, RankedLists], protocol: dict[str, Any], check: Orientation
) -> dict[str, Any]:
    columns = ["metric", "truncator", "mean", "std", "low", "high", "p_value", "mean_k", "empty"]
    return {
        "protocol": protocol | {"baseline": BASELINE, "confidence": 0.95},
        **stamp(),
        "columns": columns,
        "runs": [
            {
                "run": run.name,
                "family": run.family,
                "queries": len(lists[run]),
                "sha256": {name: sha256(name)[:16] for name in run.files},
                "rows": [[_short(getattr(line, c)) for c in columns] for line in table.summary],
            }
            for run, table in tables.items()
        ],
        "orientation": check.to_dict(),
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
