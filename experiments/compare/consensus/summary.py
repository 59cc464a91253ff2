"""What the page on the lead says in numbers: means, and gains with intervals.

A gain is ours over the rival's, less 1, for F1; for DCG, which may be 0 or less, the difference as
a share of the oracle's DCG. It is worked out for each list (the queries of one system); a set or a
family of lists has the mean and the median of its gains. Intervals are 95 % bootstrap intervals:
queries are resampled, the same ones for all systems that were asked them, and so are the random
divisions into training and test queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.compare.consensus.lists import METRICS, SIMPLE, UNTRAINED
from experiments.compare.methods.choice import CEILING, NEURAL
from experiments.data import Run

__all__ = ["MARGIN", "against", "gains", "renew", "summary", "verdict"]

DRAWS = 2000
MARGIN = 0.01
"""Not worse than a rival means: the whole interval of the gain lies above minus this."""

Lists = Mapping[Run, pc.RankedLists]
Array = NDArray[np.float64]
Table = Mapping[str, Mapping[str, Mapping[str, Array]]]


def summary(values: Table, groups: Mapping[str, Lists]) -> dict[str, Any]:
    """Return means of every method, and gains of every kind of `Consensus`, for every set."""
    every = {run: lists for members in groups.values() for run, lists in members.items()}
    out: dict[str, Any] = {"runs": _means(values, every), "sets": {}}
    for name, members in {**groups, "all": every}.items():
        out["sets"][name] = _set(values, out["runs"], members)
    return out


def _means(values: Table, lists: Lists) -> dict[str, Any]:
    return {
        run.name: {"family": run.family, "queries": len(part)}
        | {
            metric: {
                name: float(own[metric].mean())
                for name, own in values[run.name].items()
                if metric in own
            }
            for metric in METRICS
        }
        for run, part in lists.items()
    }


def _set(values: Table, means: Mapping[str, Any], lists: Lists) -> dict[str, Any]:
    families: dict[str, list[Run]] = {}
    for run in lists:
        families.setdefault(run.family, []).append(run)
    out: dict[str, Any] = {"lists": len(lists), "families": {}}
    for metric in METRICS:
        own = [means[run.name][metric] for run in lists]
        mean = _mean(own)
        fixed = max(SIMPLE, key=mean.__getitem__)
        best = {run.name: _best(means[run.name][metric]) for run in lists}
        out[metric] = {
            "mean": mean,
            "median": _mean(own, np.median),
            "best rule": fixed,
            "ahead": sum(row["consensus"] > max(row[rule] for rule in SIMPLE) for row in own),
            "over the best rule": gains(values, lists, metric, "consensus", lambda _, r=fixed: r),
            "over the best of each list": gains(
                values, lists, metric, "consensus", lambda run, b=best: b[run.name]
            ),
        }
        out[metric] |= _free(values, lists, metric, (*FREE, "nested"), fixed)
        for family, members in families.items():
            row = _mean(means[run.name][metric] for run in members)
            rival = _best(row)
            part = {run: lists[run] for run in members}
            gain = gains(values, part, metric, "consensus", lambda _, r=rival: r)
            own_family = out["families"].setdefault(family, {"lists": len(members)})
            own_family[metric] = {
                "mean": row,
                "best": rival,
                "over it": gain,
                "verdict": verdict(gain["mean"]),
            }
    return out


def renew(kept: dict[str, Any], values: Table, groups: Mapping[str, Lists]) -> None:
    """Put new values of F1 without judgements in the place of the kept ones, and their gains."""
    every = {run: lists for members in groups.values() for run, lists in members.items()}
    for run in every:
        kept["runs"][run.name]["f1"] |= {
            name: float(own["f1"].mean()) for name, own in values[run.name].items() if "f1" in own
        }
    for name, members in {**groups, "all": every}.items():
        own = [kept["runs"][run.name]["f1"] for run in members]
        f1 = kept["sets"][name]["f1"]
        f1 |= {"mean": _mean(own), "median": _mean(own, np.median)}
        f1 |= _free(values, members, "f1", FREE, f1["best rule"])


FREE = ("untrained", "told the number", "told a word", "nested untrained", "nested told")
"""Kinds of `Consensus` that learn nothing from judgements."""


def _free(
    values: Table, lists: Lists, metric: str, names: Iterable[str], fixed: str
) -> dict[str, Any]:
    """Return the gains of kinds of `Consensus` over the best rule, where they were measured."""
    out: dict[str, Any] = {
        ours: gains(values, lists, metric, ours, lambda _: fixed)
        for ours in names
        if all(metric in values[run.name].get(ours, {}) for run in lists)
    }
    if metric == "f1":
        out["untrained, over untrained rules"] = {
            rule: gains(values, lists, metric, "untrained", lambda _, r=rule: r)
            for rule in UNTRAINED
        }
    return out


def verdict(gain: Iterable[float]) -> str:
    """Return in a word what an interval says: ahead, not worse, worse or open."""
    _, low, high = gain
    if low > 0:
        return "ahead"
    if low > -MARGIN:
        return "not worse"
    return "worse" if high < -MARGIN else "open"


def _best(row: Mapping[str, float]) -> str:
    """Return the rule or network with the highest mean, with hindsight."""
    return max((name for name in (*SIMPLE, *NEURAL) if name in row), key=row.__getitem__)


def _mean(
    rows: Iterable[Mapping[str, float]], middle: Callable[[Any], Any] = np.mean
) -> dict[str, float]:
    table = list(rows)
    shared = [name for name in table[0] if all(name in own for own in table)]
    return {name: float(middle([own[name] for own in table])) for name in shared}


def gains(
    values: Table, lists: Lists, metric: str, ours: str, rival: Callable[[Run], str]
) -> dict[str, list[float]]:
    """Return mean and median of the gains over lists, each with its interval."""
    table = np.stack(
        [
            against(values[run.name], metric, ours, rival(run), *weights)
            for run, weights in zip(lists, _weights(lists), strict=True)
        ]
    )
    out = {}
    for name, middle in (("mean", np.mean), ("median", np.median)):
        whole = middle(table, axis=0)
        out[name] = [float(whole[0]), *map(float, np.percentile(whole[1:], [2.5, 97.5]))]
    return out


def against(
    rows: Mapping[str, Mapping[str, Array]],
    metric: str,
    ours: str,
    rival: str,
    queries: Array,
    seed: list[int],
) -> Array:
    """Return the gain on one list in each draw; the first is the gain itself."""
    a, b = rows[ours][metric], rows[rival][metric]
    if 1 < len(a) != len(b) > 1:
        # Divisions are made in one order, so the first ones are the same.
        a, b = a[: len(b)], b[: len(a)]
    total = queries.sum(axis=1)

    def mean(own: Array) -> Array:
        rng = np.random.default_rng([*seed, len(own)])
        repeats = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=len(queries))
        repeats[0] = 1
        return np.asarray(((repeats / len(own)) @ own * queries).sum(axis=1) / total)

    if metric == "f1":
        return np.asarray(mean(a) / np.maximum(mean(b), 1e-9) - 1)
    return np.asarray((mean(a) - mean(b)) / max(float(rows[CEILING][metric].mean()), 1e-9))


def _weights(lists: Lists) -> Iterator[tuple[Array, list[int]]]:
    """Yield how often each query of each list counts in each draw, and a seed for divisions.

    Lists with the same judgements share their queries, and lists of one length their divisions.
    """
    drawn: dict[str, tuple[NDArray[Any], Array]] = {}
    for run in lists:
        if run.qrels in drawn:
            continue
        own = [part.query_ids for other, part in lists.items() if other.qrels == run.qrels]
        names = np.unique(np.concatenate([ids.astype(str) for ids in own]))
        rng = np.random.default_rng([0, len(drawn)])
        counts = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS + 1)
        counts[0] = 1
        drawn[run.qrels] = names, counts.astype(np.float64)
    order = list(drawn)
    for run, part in lists.items():
        names, counts = drawn[run.qrels]
        own = counts[:, np.searchsorted(names, part.query_ids.astype(str))]
        # A draw may hold none of the queries of a small list.
        own[own.sum(axis=1) == 0] = 1.0
        yield own, [1, order.index(run.qrels)]
