"""Constants chosen where they are not tested.

The constants of `Consensus` were chosen while looking at the lists of the tables, so part of its
lead may be choice. Here they are chosen anew, and the corpora they are tested on take no part:

1. The corpora are dealt into three folds.
2. For each fold, settings of all constants are drawn from wide ranges. Each setting is tried on
   the corpora of the other two folds; what it knows of other collections is learned without the
   corpus it is tried on and without the fold.
3. The best setting, by the share of the oracle's value that it reaches, corpora counting alike,
   is tested on the corpora of the fold.

The ranges were written down before any result was seen, and the shipped values are not put among
the settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.cache import hash_lists, library, remember
from experiments.command import say
from experiments.compare.consensus.lists import FEW, found, protocol_of, tuned
from experiments.compare.consensus.pretrain import corpus, elsewhere
from experiments.compare.consensus.variants import KEYS, Varied, drawn_lists, halves
from experiments.data import Run
from paretocut import metrics
from paretocut.truncators import Oracle
from paretocut.truncators.consensus.pretrained import Pretrained

__all__ = ["RANGES", "folds", "measure", "settings"]

FOLDS = 3
RANGES: dict[str, tuple[int, dict[str, tuple[Any, ...]]]] = {
    "tuned f1": (
        16,
        {
            "pseudo_queries": (0.0, 2.0, 4.0, 8.0, 16.0, 32.0),
            "draws": (25, 50, 100, 200),
            "without": (
                (),
                ("rank", "raw"),
                ("top",),
                ("z", "z-0.3log"),
                ("minmax+0.05z", "minmax+0.15z"),
                ("minmax-0.02log", "minmax-0.04log", "minmax-0.08log"),
                tuple(key for key in KEYS if key not in ("rank", "minmax", "z")),
            ),
        },
    ),
    "tuned penalized_dcg": (
        8,
        {
            "ridge": (2.5, 5.0, 10.0, 20.0, 40.0, 80.0),
            "caution": (0.0, 0.25, 0.5, 0.75, 1.0),
            "loss": (0.0, 0.25, 0.5, 1.0, 2.0),
            "folds": (3, 5),
        },
    ),
    "untrained f1": (
        40,
        {
            "share": (1 / 6, 1 / 5, 1 / 4, 1 / 3, 2 / 5, 1 / 2, 2 / 3),
            "depth": (25.0, 50.0, 100.0, 200.0, 500.0, 1000.0),
        },
    ),
    "told the number f1": (
        40,
        {
            "depth": (25.0, 50.0, 100.0, 200.0, 500.0, 1000.0),
            "slope": (6.0, 9.0, 12.0, 16.0, 24.0),
            "rank_weight": (0.0, -0.1, -0.25, -0.5, -1.0),
            "number_spread": (0.0, 0.3, 0.6, 0.9, 1.2),
        },
    ),
    "untrained penalized_dcg": (5, {"unsure": (0.05, 0.1, 0.25, 0.4, 0.5)}),
}
"""What is chosen: number of settings drawn, and the values each constant is drawn from."""
FREE = ("untrained f1", "told the number f1")
"""Those that need neither judgements nor other collections."""

Lists = Mapping[Run, pc.RankedLists]
Settings = list[dict[str, Any]]
Array = NDArray[np.float64]


def settings(strategy: str) -> Settings:
    """Return the settings that are tried."""
    count, ranges = RANGES[strategy]
    rng = np.random.default_rng(13)
    drawn = [
        {name: values[rng.integers(len(values))] for name, values in ranges.items()}
        for _ in range(count)
    ]
    if len(ranges) == 1:
        ((name, values),) = ranges.items()
        return [{name: value} for value in values]
    return drawn


def folds(runs: Lists) -> list[list[str]]:
    """Return the corpora, dealt in alphabetical order."""
    names = sorted({corpus(run.family) for run in runs})
    return [names[k::FOLDS] for k in range(FOLDS)]


def chosen(values: Mapping[str, Array], fold: list[str], family_of: Mapping[str, str]) -> int:
    """Return the setting with the highest mean over the corpora outside of a fold."""
    corpora: dict[str, list[Array]] = {}
    for run, own in values.items():
        if family_of[run] in fold:
            raise ValueError(f"chosen: runs must be outside of the fold, got {run!r}")
        corpora.setdefault(family_of[run], []).append(own)
    return int(np.argmax(np.mean([np.mean(own, axis=0) for own in corpora.values()], axis=0)))


def measure(
    runs: Lists, known: Mapping[str, Pretrained], strategies: Sequence[str] = tuple(RANGES)
) -> tuple[dict[str, dict[str, dict[str, Array]]], dict[str, Any]]:
    """Return values of each run by metric, and the settings chosen for each fold."""
    teaching = bool(set(strategies) - set(FREE))
    small = {run: drawn_lists(lists) for run, lists in runs.items()}
    family_of = {run.name: corpus(run.family) for run in runs}
    picked: dict[str, Any] = {}
    values: dict[str, dict[str, dict[str, Array]]] = {run.name: {} for run in runs}
    for fold in folds(runs):
        inside = {run: lists for run, lists in small.items() if corpus(run.family) not in fold}
        teach = elsewhere(inside) if teaching else {}
        best: dict[str, dict[str, Any]] = {}
        for strategy in strategies:
            shares = {
                run.name: _shares(lists, teach.get(corpus(run.family)), strategy, inside, fold)
                for run, lists in inside.items()
            }
            best[strategy] = settings(strategy)[chosen(shares, fold, family_of)]
            say(f"{strategy}, chosen without {', '.join(fold)}")
        picked[", ".join(fold)] = best
        for run, lists in runs.items():
            if corpus(run.family) in fold:
                values[run.name] = _tested(lists, known.get(corpus(run.family)), best)
        say(f"tested on {', '.join(fold)}")
    return values, picked


def _shares(
    lists: pc.RankedLists, own: Pretrained | None, strategy: str, inside: Lists, fold: list[str]
) -> Array:
    """Return the share of the oracle's value that each setting reaches on a run."""
    inputs = {
        "strategy": [strategy, repr(RANGES[strategy]), fold],
        "lists": hash_lists([lists, *inside.values()]),
        "library": library(),
    }
    tried = settings(strategy)
    return remember(
        "consensus nested",
        inputs,
        lambda: np.array([_share(lists, own, strategy, changed) for changed in tried]),
    )


def _share(
    lists: pc.RankedLists, own: Pretrained | None, strategy: str, changed: Mapping[str, Any]
) -> float:
    """Return the share of the oracle's value that a setting reaches."""
    metric = strategy.split()[-1]
    value, best = metrics.get(metric), Oracle(metric)
    if strategy.startswith("tuned"):
        # One way only: there are many settings.
        train, test = next(halves(lists))
        truncator = Varied(metric, pretrained=own, changed=changed).fit(train)
    else:
        test = lists
        truncator = _free(lists, own, strategy, changed)
    reached = float(value(test, truncator.predict(_bare(test))).mean())
    possible = float(value(test, best.predict(test)).mean())
    return reached / possible if possible > 0 else 0.0


def _free(
    lists: pc.RankedLists, own: Pretrained | None, strategy: str, changed: Mapping[str, Any]
) -> Varied:
    expect = float(found(lists).mean()) if strategy.startswith("told") else None
    return Varied(strategy.split()[-1], expect=expect, pretrained=own, changed=changed)


def _bare(lists: pc.RankedLists) -> pc.RankedLists:
    return pc.RankedLists(lists.scores, higher_is_better=lists.higher_is_better)


def _tested(
    lists: pc.RankedLists, own: Pretrained | None, best: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Array]]:
    """Return the values of the chosen settings: method -> metric -> repeat, query."""
    out: dict[str, dict[str, Array]] = {"nested untrained": {}, "nested told": {}}
    if "tuned f1" in best:
        # The constants of the vote and of the regression are different ones.
        both = {**best["tuned f1"], **best["tuned penalized_dcg"]}
        protocol = protocol_of(lists)
        if len(lists) >= FEW:
            protocol = protocol | {"splits": 2}
        f1, penalized_dcg = tuned(lists, Varied(pretrained=own, changed=both), protocol)
        out["nested"] = {"f1": f1, "penalized_dcg": penalized_dcg}
    for strategy, name in (
        ("untrained f1", "nested untrained"),
        ("untrained penalized_dcg", "nested untrained"),
        ("told the number f1", "nested told"),
    ):
        if strategy not in best:
            continue
        metric = strategy.split()[-1]
        cuts = _free(lists, own, strategy, best[strategy]).predict(_bare(lists))
        out[name][metric] = metrics.get(metric)(lists, cuts)[None]
    return out
