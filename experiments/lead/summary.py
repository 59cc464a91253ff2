"""What the page on the lead says in numbers: means, differences with intervals, variants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import paretocut as pc
from experiments.compare.methods import CEILING, NEURAL
from experiments.data import Run
from experiments.lead.runs import METRICS, SIMPLE, Values, nested

DRAWS = 2000
JUDGED, OTHER = "judged runs", "other kinds"

Lists = Mapping[Run, pc.RankedLists]


def summary(values: Mapping[str, Values], lists: Lists) -> dict[str, Any]:
    """Return means over queries and runs, and differences with bootstrap intervals."""
    out: dict[str, Any] = {"runs": {}}
    for run, part in lists.items():
        rows = values[run.name]
        out["runs"][run.name] = {"family": run.family, "queries": len(part)} | {
            metric: {name: float(own[metric].mean()) for name, own in rows.items() if metric in own}
            for metric in METRICS
        }
    single = {}
    for metric in METRICS:
        overall = _mean(out["runs"][run.name][metric] for run in groups(lists)[JUDGED])
        single[metric] = max(SIMPLE, key=overall.__getitem__)
    out["best rule"] = single
    for group, members in groups(lists).items():
        out[group] = _group(out["runs"], values, {run: lists[run] for run in members}, single)
    out["all"] = {
        metric: _interval(values, lists, list(lists), metric, "consensus", single[metric])
        for metric in METRICS
    }
    return out


def untrained(values: Mapping[str, Values], lists: Lists) -> dict[str, Any]:
    """Return the gain in F1 of what sees no judgement over tuned min-max, with intervals."""
    out: dict[str, Any] = {}
    for group, members in groups(lists).items():
        families: dict[str, list[Run]] = {}
        for run in members:
            families.setdefault(run.family, []).append(run)
        out[group] = {
            name: {
                family: _interval(values, lists, own, "f1", name, "minmax")
                for family, own in {**families, "all": members}.items()
            }
            for name in ("zero-shot", "prior, lists")
        }
    return out


def groups(lists: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the judged runs, and the lists of other kinds."""
    return {
        JUDGED: [run for run in lists if run.run],
        OTHER: [run for run in lists if not run.run],
    }


def _group(
    runs: Mapping[str, Any], values: Mapping[str, Values], lists: Lists, single: Mapping[str, str]
) -> dict[str, Any]:
    families: dict[str, list[Run]] = {}
    for run in lists:
        families.setdefault(run.family, []).append(run)
    out: dict[str, Any] = {"families": {}, "overall": {}, "difference": {}}
    for metric in METRICS:
        means = {run.name: runs[run.name][metric] for run in lists}
        out["overall"][metric] = _mean(means.values())
        rows = {}
        for family, members in families.items():
            own = _mean(means[run.name] for run in members)
            out["families"].setdefault(family, {"runs": len(members)})[metric] = own
            best = max((name for name in (*SIMPLE, *NEURAL) if name in own), key=own.__getitem__)
            rows[family] = {
                "gain": _interval(values, lists, members, metric, "consensus", single[metric]),
                "best": best,
                "against it": _interval(values, lists, members, metric, "consensus", best),
            }
        everything = _interval(values, lists, list(lists), metric, "consensus", single[metric])
        out["difference"][metric] = {"families": rows, "all": everything}
    return out


def bounds(told: Mapping[str, Values], values: Mapping[str, Values]) -> dict[str, Any]:
    """Return mean F1 over the runs that share their queries, told more and more."""
    kept = {name: values[name] | own for name, own in told.items()}
    shown = ("minmax", "consensus", *next(iter(told.values())), CEILING)
    return {
        "runs": len(kept),
        "f1": {
            name: float(np.mean([own[name]["f1"].mean() for own in kept.values()]))
            for name in shown
        },
    }


def variants(
    votes: Mapping[str, Mapping[str, float]],
    regressions: Mapping[str, Mapping[str, float]],
    lists: Lists,
) -> dict[str, Any]:
    """Return the mean of each variant over the two groups of lists."""
    chosen = nested(votes, lists)
    row_name = "weight of other collections chosen on other corpora"
    tables = {"f1": dict(votes) | {row_name: chosen["f1"]}, "dcg": regressions}
    return {
        "weights": chosen["weights"],
        "variants": {
            metric: {
                name: {
                    group: float(np.mean([own[run.name] for run in members]))
                    for group, members in groups(lists).items()
                }
                for name, own in table.items()
            }
            for metric, table in tables.items()
        },
    }


def _mean(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    table = list(rows)
    shared = [name for name in table[0] if all(name in own for own in table)]
    return {name: float(np.mean([own[name] for own in table])) for name in shared}


def _interval(
    values: Mapping[str, Values],
    lists: Lists,
    members: list[Run],
    metric: str,
    ours: str,
    rule: str,
) -> list[float]:
    """Return the gain over a rule and its 95 % interval, queries resampled across runs.

    The gain is relative for F1, a difference for DCG, whose values may be 0; the mean over runs.
    """
    names = np.unique(np.concatenate([_queries(run, lists[run]) for run in members]))
    rng = np.random.default_rng(0)
    weight = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS).astype(
        float
    )
    weight = np.vstack([np.ones(len(names)), weight])
    gains = []
    for run in members:
        own = weight[:, np.searchsorted(names, _queries(run, lists[run]))]
        total = np.maximum(own.sum(axis=1), 1e-9)
        a = own @ values[run.name][ours][metric] / total
        b = own @ values[run.name][rule][metric] / total
        gains.append(a / np.maximum(b, 1e-9) - 1 if metric == "f1" else a - b)
    mean = np.mean(gains, axis=0)
    return [float(mean[0]), *map(float, np.percentile(mean[1:], [2.5, 97.5]))]


def _queries(run: Run, lists: pc.RankedLists) -> Any:
    return np.char.add(run.qrels + ":", lists.query_ids.astype(str))
