"""Consensus, networks and simple rules on all lists: tuned, told the number, and untrained.

Nothing of a test collection is ever seen: what `Consensus` knows of other collections is learned
anew without the corpus it is tested on. Tuned methods are fitted on one half of the queries and
tested on the other, five times both ways; twenty times where queries are few and halves differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.cache import hash_lists, library, remember
from experiments.compare.consensus.homemade import fresh
from experiments.compare.consensus.pretrain import Taught, all_lists, corpus
from experiments.compare.methods import networks
from experiments.compare.methods.choice import CEILING, METRICS, NEURAL, PROTOCOL
from experiments.data import Run
from experiments.texts import systems
from paretocut import metrics
from paretocut.decisions.options import EXPECT
from paretocut.truncators import (
    Consensus,
    FixedK,
    GlobalK,
    Oracle,
    ScoreThreshold,
    Surprise,
    Truncator,
)
from paretocut.truncators.consensus.pretrained import Pretrained, shipped

SIMPLE: dict[str, Truncator] = {
    "global_k": GlobalK(),
    "raw": ScoreThreshold("raw"),
    "max": ScoreThreshold("max"),
    "minmax": ScoreThreshold("minmax"),
    "z": ScoreThreshold("z"),
    "surprise": Surprise(),
    "surprise_all": Surprise(refit="all"),
}
UNTRAINED: dict[str, Truncator] = {
    "fixed_10": FixedK(10),
    "surprise_alpha": Surprise(alpha=0.05),
    "minmax_half": ScoreThreshold("minmax", 0.5),
}
JUDGED, MADE, LATER, NEW = "judged runs", "home-made", "home-made, later", "new collections"
SETS = (JUDGED, MADE, LATER, NEW)
SIZES = (10, 20, 50, 100)
REPEATS = 3
FEW, OFTEN = 60, 20
MOST_NEW = 300  # queries of a new collection; some have five times as many

Array = NDArray[np.float64]
Lists = Mapping[Run, pc.RankedLists]
# Method -> metric -> value of each repeat (rows) and query (columns).
Values = dict[str, dict[str, Array]]


def sets() -> dict[str, dict[Run, pc.RankedLists]]:
    """Return all lists: those that `Consensus` was made with in two sets, then two others."""
    known = all_lists()
    names = {run.name for run in known}
    return {
        JUDGED: {run: lists for run, lists in known.items() if run.run},
        MADE: {run: lists for run, lists in known.items() if not run.run},
        LATER: fresh(),
        NEW: {
            Run(name, family, "", family): lists
            for family, name, lists in systems(MOST_NEW)
            if name not in names
        },
    }


def taught(run: Run, known: Mapping[str, Pretrained]) -> Pretrained:
    """Return what may be known where a run is tested: what is shipped, for a new collection."""
    return known.get(corpus(run.family), shipped())


def protocol_of(lists: pc.RankedLists) -> dict[str, Any]:
    """Return how the lists are divided: more often where they are few."""
    return PROTOCOL | {"splits": OFTEN} if len(lists) < FEW else PROTOCOL


def tuned(lists: pc.RankedLists, truncator: Truncator, protocol: dict[str, Any]) -> Array:
    """Return the values of each metric, repeat and query, cross-validated; from disk if there."""
    inputs = {
        "class": type(truncator).__name__,
        "parameters": {name: _plain(value) for name, value in truncator.get_params().items()},
        "protocol": protocol,
        "lists": hash_lists([lists]),
        "library": library(),
    }

    def make() -> Array:
        done = pc.evaluate({"one": truncator}, lists, **protocol)
        return by_repeat(done.values[:, 0], lists, protocol)

    return remember("consensus tuned", inputs, make)


def _plain(value: Any) -> Any:
    """Return a parameter as plain data: all that was learned elsewhere, not its short name."""
    return asdict(value) if isinstance(value, Pretrained) else repr(value)


def by_repeat(values: NDArray[Any], lists: pc.RankedLists, protocol: dict[str, Any]) -> Array:
    """Return values of `evaluate` as metric, repeat, query; a repeat tests each query once."""
    plain = protocol | {"metrics": ("f1",)}
    order = pc.evaluate([FixedK(1)], lists, **plain)
    repeat = order.split // protocol["folds"]
    out = np.full((len(values), protocol["splits"], len(lists)), np.nan)
    out[:, repeat, order.query] = values
    return out


def table(groups: Mapping[str, Lists], known: Mapping[str, Pretrained]) -> dict[str, Values]:
    """Return the values: run -> method -> metric -> repeat, query."""
    out: dict[str, Values] = {}
    for members in groups.values():
        for run, lists in members.items():
            own, protocol = taught(run, known), protocol_of(lists)
            rules = SIMPLE | {"consensus": Taught(pretrained=own)}
            rows: Values = {
                name: dict(zip(METRICS, tuned(lists, rule, protocol), strict=True))
                for name, rule in rules.items()
            }
            for name in NEURAL:
                stored = networks.stored(run, lists, name) if run.run else None
                if stored is not None:
                    values = by_repeat(stored["values"][:, 0], lists, PROTOCOL)
                    rows[name] = dict(zip(METRICS, values, strict=True))
            for name, metric, values in untrained(lists, own):
                rows.setdefault(name, {})[metric] = values[None]
            rows[CEILING] = {
                m: metrics.get(m)(lists, Oracle(m).predict(lists))[None] for m in METRICS
            }
            out[run.name] = rows
    return out


def found(lists: pc.RankedLists) -> Array:
    """Return the number of relevant results in each list."""
    return np.array([part.sum() for part in lists.relevant], dtype=np.float64)


def untrained(lists: pc.RankedLists, own: Pretrained) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """Yield name, metric and values of the methods that see no judgement of the run."""
    bare = pc.RankedLists(lists.scores, higher_is_better=lists.higher_is_better)
    mean = float(found(lists).mean())
    word = min(EXPECT, key=lambda name: abs(np.log(EXPECT[name] / max(mean, 1e-9))))
    for metric in METRICS:
        value = metrics.get(metric)
        for name, rule in UNTRAINED.items():
            yield name, metric, value(lists, rule.predict(bare))
        free = Taught(metric, pretrained=own)
        yield "untrained", metric, value(lists, free.predict(bare))
    for name, expect in {
        "told a word": word,
        "told the number": mean,
        "told half of it": 0.5 * mean,
        "told twice of it": 2 * mean,
    }.items():
        yield name, "f1", metrics.f1(lists, Consensus(expect=expect).predict(bare))  # type: ignore[arg-type]


def curves(groups: Mapping[str, Lists], known: Mapping[str, Pretrained]) -> dict[str, Any]:
    """Return mean F1 by number of judged queries, over the runs that have enough of them."""
    rivals: dict[str, Truncator] = {name: SIMPLE[name] for name in ("global_k", "minmax", "z")}
    out: dict[str, Any] = {}
    for size in SIZES:
        rows: dict[str, list[float]] = {}
        for run, lists in (pair for members in groups.values() for pair in members.items()):
            if len(lists) < size + 20:
                continue
            rules = rivals | {"consensus": Taught(pretrained=taught(run, known))}
            rng = np.random.default_rng(size)
            cells: dict[str, list[float]] = {name: [] for name in rules}
            for _ in range(REPEATS):
                order = rng.permutation(len(lists))
                train, test = lists[order[:size]], lists[order[size : size + 100]]
                for name, rule in rules.items():
                    cuts = rule.clone().fit(train).predict(test)
                    cells[name].append(float(metrics.f1(test, cuts).mean()))
            for name, values in cells.items():
                rows.setdefault(name, []).append(float(np.mean(values)))
        ours = np.array(rows["consensus"])
        best = np.max([rows[name] for name in rivals], axis=0)
        out[str(size)] = {
            "runs": len(ours),
            **{name: float(np.mean(values)) for name, values in rows.items()},
            "over minmax": _middle(ours / np.array(rows["minmax"]) - 1),
            "over the best of three": _middle(ours / best - 1),
        }
    return out


def _middle(gains: Array) -> dict[str, float]:
    return {"mean": float(gains.mean()), "median": float(np.median(gains))}
