"""Two runs of the same queries side by side: which queries win, and which lose."""

from __future__ import annotations

from typing import Any

import numpy as np

from paretocut import metrics
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray
from paretocut.metrics.significance import bootstrap_interval, sign_flip_test
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.measuring import known_share
from paretocut.web.explorer.views import metric_label

_ALL = {"f1": "f1/collection"}  # no run gains from relevant documents that it did not find


def compared_view(run: Exploration, other: Exploration, key: str) -> dict[str, Any]:
    """Return what a method reaches on each query of both runs, and what the difference shows."""
    method = run.method(key)
    if key not in other.methods or method.kind == "learned":
        raise InvalidParameterError(
            f"compare: method must be one that cuts both runs alike, got {method.label}"
        )
    name = _ALL.get(run.metric, run.metric)
    whole = [one.lists.query_ids[known_share(one.lists) == 1].tolist() for one in (run, other)]
    common = [query for query in whole[0] if query in {*whole[1]}]
    if not common:
        raise InvalidParameterError(
            "compare: the runs must have fully judged queries in common, got none"
        )
    (a, first), (b, second) = (_on(one, key, name, common) for one in (run, other))
    return {
        "names": [run.name, other.name],
        "method": method.label,
        "metric": metric_label(name),
        "verdict": _verdict(a, b, metric_label(name), method.label),
        "queries": common,
        "text": [run.query_texts.get(query, "")[:300] for query in common],
        "values": [a.round(4).tolist(), b.round(4).tolist()],
        "k": [first.tolist(), second.tolist()],
    }


def _on(run: Exploration, key: str, metric: str, queries: list[str]) -> tuple[FloatArray, IntArray]:
    """Return the values and the cuts of a method on these queries."""
    place = {query: i for i, query in enumerate(run.lists.query_ids.tolist())}
    at = [place[query] for query in queries]
    k = run.cuts(key).k[at]
    return metrics.get(metric)(run.lists[at], k), k


def _verdict(a: FloatArray, b: FloatArray, unit: str, method: str) -> str:
    """Return how often each run wins, and whether the queries can tell which is better."""
    gain = a - b
    wins, losses = int(np.sum(gain > 5e-4)), int(np.sum(gain < -5e-4))
    few = "query" if wins == 1 else "queries"
    ties = gain.size - wins - losses
    (low,), (high,) = bootstrap_interval(gain[:, None])
    pvalue = float(sign_flip_test(gain[:, None])[0])
    shown = "< 0.001" if pvalue < 0.001 else f"= {pvalue:.3f}"
    told = f"(95 % interval {low:+.3f} to {high:+.3f}, p {shown})"
    unsure = "" if pvalue < 0.05 else f": {gain.size:,} queries are too few to tell them apart"
    return (
        f"Cut by {method}, the first run has a mean {unit} of {a.mean():.3f}, the second "
        f"{b.mean():.3f}. The first wins on {wins:,} {few} and loses on {losses:,}; {ties:,} are "
        f"equal. The mean difference is {gain.mean():+.3f} {told}{unsure}."
    )
