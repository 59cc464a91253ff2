"""Is the information in the scores at all? Cuts that are told something no score says.

And whether the probabilities that `Consensus` gives are right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.compare.consensus.lists import found
from experiments.compare.consensus.pretrain import Taught, corpus
from experiments.compare.consensus.variants import drawn_lists, halves
from experiments.compare.methods.choice import CEILING
from experiments.data import Run
from paretocut import metrics
from paretocut.relevance import CONSTANTS, Scale, levels_for, sigmoid, upper_part
from paretocut.truncators.consensus.pretrained import Pretrained
from paretocut.truncators.threshold import normalize_scores

__all__ = ["bounds", "calibration"]

Lists = Mapping[Run, pc.RankedLists]
Table = Mapping[str, Mapping[str, Mapping[str, NDArray[np.float64]]]]


def bounds(runs: Lists, values: Table) -> dict[str, Any]:
    """Return mean F1 over the runs that share their queries, told more and more."""
    cuts = told(runs)
    shown = ("minmax", "consensus", *next(iter(cuts.values())), CEILING)
    means = [
        {name: float(own["f1"].mean()) for name, own in values[run].items() if "f1" in own}
        | {name: float(value.mean()) for name, value in rows.items()}
        for run, rows in cuts.items()
    ]
    return {
        "runs": len(means),
        "f1": {name: float(np.mean([own[name] for own in means])) for name in shown},
    }


def told(runs: Lists) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return the F1 of cuts that are told something of the very queries they are tested on.

    How many results of each list are relevant; how many are in the lists of the other systems
    for the same query; and the min-max threshold that is best for those. Of judged runs that
    share their queries with another.
    """
    out = {}
    for run, lists in runs.items():
        others = [item for other, item in runs.items() if other.qrels == run.qrels and other != run]
        counts, thresholds = _told(lists, others)
        if np.isnan(counts).any():
            continue
        cuts = {
            "number of relevant results in the list": _at_counts(lists, found(lists)),
            "their mean number in other systems' lists": _at_counts(lists, counts),
            "other systems' best min-max threshold": _counts(
                _minmax(lists, Scale.of(lists.merit)), _GRID
            )[np.arange(len(lists)), thresholds],
        }
        out[run.name] = {name: metrics.f1(lists, k) for name, k in cuts.items()}
    return out


_GRID = np.linspace(1.0, 0.0, 201)


def _told(lists: pc.RankedLists, others: Sequence[pc.RankedLists]) -> tuple[Any, Any]:
    """Return mean count and best threshold of the other systems, query by query."""
    place = {name: i for i, name in enumerate(lists.query_ids.tolist())}
    sums, f1, systems = (
        np.zeros(len(lists)),
        np.zeros((len(lists), _GRID.size)),
        np.zeros(len(lists)),
    )
    for other in others:
        shared = [i for i, name in enumerate(other.query_ids.tolist()) if name in place]
        rows = [place[name] for name in other.query_ids[shared].tolist()]
        part = other[shared]
        curves_ = metrics.f1.curves(part)
        key = _minmax(part, Scale.of(other.merit))
        f1[rows] += curves_.values[curves_.offsets[:-1, None] + _counts(key, _GRID)]
        sums[rows] += found(part)
        systems[rows] += 1
    with np.errstate(invalid="ignore"):
        return sums / systems, f1.argmax(axis=1)


def _at_counts(lists: pc.RankedLists, counts: Any) -> Any:
    """Return the cuts when this many relevant results are expected in each list."""
    merit = Scale.of(lists.merit).apply(lists.merit)
    levels = levels_for(merit, np.maximum(counts, 0.1)[:, None])
    merit, _ = merit.within_range()
    lows = upper_part(merit, CONSTANTS.share)[1]
    return np.array([_best_f1(*one) for one in zip(merit, lows, levels[:, 0], strict=True)])


def _best_f1(scores: NDArray[np.float64], low: float, level: float) -> int:
    """Return the cut with the highest expected F1 at this level of the log-odds."""
    if not scores.size:
        return 0
    within = (scores - low) / (scores[0] - low) if scores[0] > low else np.ones(scores.size)
    rank = np.arange(1.0, scores.size + 1)
    p = sigmoid(CONSTANTS.slope * within + CONSTANTS.rank_weight * np.log(rank) + level)
    return 1 + int(np.argmax(np.cumsum(p) / (rank + p.sum())))


def _minmax(lists: pc.RankedLists, scale: Scale) -> pc.lists.Ragged:
    return normalize_scores(scale.apply(lists.merit), "minmax")


def _counts(key: pc.lists.Ragged, thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many results of each list (rows) reach each threshold (columns)."""
    counts = [np.searchsorted(-values, -thresholds, side="right") for values in key]
    return np.array(counts, dtype=np.int64).reshape(len(key), thresholds.size)


def calibration(runs: Lists, known: Mapping[str, Pretrained]) -> dict[str, Any]:
    """Return predicted and actual shares of relevant results, on queries not fitted on."""
    edges = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0])
    sums = np.zeros((3, edges.size - 1))
    errors = []
    for run, lists in runs.items():
        model = Taught("penalized_dcg", pretrained=known[corpus(run.family)])
        own = np.zeros_like(sums)
        for train, test in halves(drawn_lists(lists)):
            p = model.fit(train).predict_proba(test).values
            place = np.clip(np.digitize(p, edges) - 1, 0, edges.size - 2)
            for row, weights in enumerate((np.ones_like(p), p, test.relevant.values)):
                own[row] += np.bincount(place, weights, minlength=edges.size - 1)
        errors.append(float(np.abs(own[1] - own[2]).sum() / own[0].sum()))
        sums += own
    bins = [
        {
            "from": low,
            "to": high,
            "results": int(count),
            "predicted": p / count,
            "actual": y / count,
        }
        for low, high, count, p, y in zip(edges[:-1], edges[1:], *sums, strict=True)
    ]
    return {"error, mean": float(np.mean(errors)), "error, largest": max(errors), "bins": bins}
