"""Every truncator on every judged run, and how far `Consensus` is ahead.

What was computed before is read from ``build/experiments``, so the command can be stopped and
started again, and a change of a truncator costs only that truncator's part. The cuts of the neural
truncators are kept in ``networks.npz``, beside this file: delete it to train them anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cache import hash_files, remember
from experiments.command import Again, say
from experiments.compare.consensus.pretrain import Taught
from experiments.compare.kinds import METRIC, collection, mean_of, weights
from experiments.compare.methods import networks, ours
from experiments.compare.methods.choice import (
    BASELINE,
    CEILING,
    DOMAINS,
    KINDS,
    METRICS,
    NEURAL,
    PROTOCOL,
    methods,
)
from experiments.data import COLLECTION_RUNS, DOMAIN_RUNS, RUNS, Run, judged, load, sha256
from experiments.default.measure import SHARES, keeping
from experiments.results import read, sources, stamp
from paretocut import metrics
from paretocut.decisions.options import EXPECT
from paretocut.evaluation import Evaluation, evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import Consensus, Truncator, make
from paretocut.truncators.consensus.pretrained import Pretrained

__all__ = ["again", "domains", "measure", "renew", "seeds"]

RULES = ("global_k", "max", "minmax", "z", "surprise_all")
DRAWS = 2000
SEEDS = 3
MOST = 300  # queries of a new domain; some have seven times as many
COLUMNS = ("metric", "truncator", "mean", "std", "low", "high", "pvalue", "mean_k", "empty")


def measure(jobs: int = 1) -> dict[str, Any]:
    """Return the numbers of all methods on all runs; networks take part where they were trained."""
    lists = {run: load(run) for run in (*RUNS, *COLLECTION_RUNS)}
    known = ours.elsewhere(lists)
    tables = {run: table(run, own, known[run], jobs) for run, own in lists.items()}
    return {
        "protocol": PROTOCOL | {"baseline": BASELINE, "confidence": 0.95},
        "columns": COLUMNS,
        "runs": [_entry(run, lists[run], own, KINDS) for run, own in tables.items()],
        "gains": gains(tables),
        "shares": {run.name: shares(own) for run, own in lists.items()},
        "words": {run.name: words(own) for run, own in lists.items()},
    }


def shares(lists: RankedLists) -> dict[str, float]:
    """Return mean F1 of the default with other shares of the range."""
    return {
        f"{part:.3f}": float(metrics.f1(lists, keeping(part).predict(lists)).mean())
        for part in SHARES
    }


def words(lists: RankedLists) -> list[float]:
    """Return mean F1 with each word, that nearest to the mean number of relevant results first."""
    number = float(lists.relevant.count(lists.relevant.values).mean())
    order = sorted(EXPECT, key=lambda word: abs(math.log(EXPECT[word] / number)))
    cuts = (Consensus(expect=word).predict(RankedLists(lists.scores)) for word in order)
    return [float(metrics.f1(lists, k).mean()) for k in cuts]


def renew(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the kept numbers, with F1 of the methods that learn nothing from a run measured anew.

    Their p-values are corrected among themselves.
    """
    for entry, run in zip(kept["runs"], (*RUNS, *COLLECTION_RUNS), strict=True):
        rows = [list(row) for row in _unlearned(judged(run)) if row[0] == METRIC]
        new = {row[1] for row in rows}
        old = [row for row in entry["rows"] if row[0] != METRIC or row[1] not in new]
        entry["rows"] = sorted(old + rows, key=lambda row: METRICS.index(row[0]))
        kept.setdefault("shares", {})[run.name] = shares(judged(run))
        kept.setdefault("words", {})[run.name] = words(judged(run))
        say(run.name)
    return kept | {"renewed": {**stamp(), "methods": sorted(new)}}


def _unlearned(lists: RankedLists) -> list[list[Any]]:
    """Return the rows of `Consensus` without judgements, and of the rules that learn nothing."""
    rules = {
        name: rule
        for name, rule in methods(lists).items()
        if name in ("max_80", "z_1", "adaptive_k")
    }
    done = evaluate({BASELINE: make(BASELINE)} | rules, lists, **PROTOCOL)
    found = ours.unjudged(lists, None, done.query)
    every = replace(
        done,
        truncators=(*done.truncators, *found),
        baseline=BASELINE,
        k=np.concatenate([done.k, *(own["k"] for own in found.values())], axis=1),
        values=np.concatenate([done.values, *(own["values"] for own in found.values())], axis=1),
    )
    return [
        [getattr(line, name) for name in COLUMNS]
        for line in every.summary
        if line.truncator != BASELINE
    ]


def again() -> Again:
    """Yield F1 of the cuts without judgements on one run."""
    run = next(run for run in COLLECTION_RUNS if run.name == "time-bm25")
    (entry,) = (one for one in read("compare", "methods")["runs"] if one["run"] == run.name)
    for row in _unlearned(judged(run)):
        if row[0] == METRIC:
            yield f"{run.name}, {row[1]}", mean_of(entry, row[1]), row[2]


def seeds() -> list[dict[str, Any]]:
    """Return on how many runs `Consensus` is ahead of min-max, by the seed of the halves."""
    every = {run: judged(run) for run in (*RUNS, *COLLECTION_RUNS)}
    known = ours.elsewhere(every)
    small = {run: own for run, own in every.items() if len(own) <= MOST}
    out = []
    for seed in range(SEEDS):
        protocol = PROTOCOL | {"metrics": (METRIC,), "seed": seed}
        gains = []
        for run, lists in small.items():
            pair = {"ours": Taught(pretrained=known[run]), "rival": make("minmax")}
            mine, other = evaluate(pair, lists, **protocol).values[0, :2].mean(axis=1)
            gains.append(mine / other - 1)
        ahead = sum(one > 0 for one in gains)
        out.append({"seed": seed, "runs": len(gains), "ahead": ahead, "gain": np.mean(gains)})
        say(f"seed {seed}")
    return out


def domains(jobs: int = 1) -> dict[str, Any]:
    """Return the numbers of all methods on the runs of new domains, of at most `MOST` queries."""
    lists = {run: drawn(load(run)) for run in DOMAIN_RUNS}
    tables = {run: table(run, own, None, jobs) for run, own in lists.items()}
    return {
        "protocol": PROTOCOL | {"baseline": BASELINE, "confidence": 0.95},
        "columns": COLUMNS,
        "most": MOST,
        "runs": [_entry(run, lists[run], own, DOMAINS) for run, own in tables.items()],
    }


def drawn(lists: RankedLists) -> RankedLists:
    """Return at most `MOST` lists, drawn at random."""
    return lists[np.sort(np.random.default_rng(0).permutation(len(lists))[:MOST])]


def _entry(
    run: Run, lists: RankedLists, own: Evaluation, kinds: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "run": run.name,
        "family": run.family,
        "kind": kinds[run.family],
        "queries": len(lists),
        "depth": [int(f(lists.scores.lengths)) for f in (np.min, np.max)],
        "sha256": {name: sha256(name)[:16] for name in run.files},
        "rows": [[getattr(line, name) for name in COLUMNS] for line in own.summary],
    }


def table(run: Run, lists: RankedLists, known: Pretrained | None, jobs: int) -> Evaluation:
    """Return the evaluation of all truncators on a run, from disk if there."""
    # The splits follow from the seed alone: truncators evaluated one by one share them.
    ceiling = evaluate([CEILING], lists, **PROTOCOL)
    consensus = evaluated(run, lists, "consensus", Taught(pretrained=known), jobs, known)
    found: dict[str, Any] = {"consensus": consensus, **ours.unjudged(lists, known, ceiling.query)}
    for name, truncator in methods(lists).items():
        if name in NEURAL:
            found[name] = networks.stored(run, lists, name)
        else:
            found[name] = evaluated(run, lists, name, truncator, jobs)
    found = {name: stored for name, stored in found.items() if stored is not None}
    found[CEILING] = {"k": ceiling.k, "values": ceiling.values}
    say(run.name)
    return replace(
        ceiling,
        truncators=tuple(found),
        baseline=BASELINE,
        k=np.concatenate([stored["k"] for stored in found.values()], axis=1),
        values=np.concatenate([stored["values"] for stored in found.values()], axis=1),
    )


def evaluated(
    run: Run,
    lists: RankedLists,
    name: str,
    truncator: Truncator,
    jobs: int,
    known: Pretrained | None = None,
) -> dict[str, NDArray[Any]]:
    """Return cuts and values of one truncator on a run, from disk if there."""
    inputs = {
        "data": {file: sha256(file) for file in run.files},
        "min_grade": run.min_grade,
        "protocol": PROTOCOL,
        "truncator": repr(truncator),
        "known": known and asdict(known),
        "code": hash_files(sources(truncator)),
    }

    def make() -> dict[str, NDArray[Any]]:
        done = evaluate({name: truncator}, lists, **PROTOCOL, n_jobs=jobs, progress=True)
        return {"k": done.k[:, :1], "values": done.values[:, :1]}

    return remember(f"compare {name}", inputs, make)


def gains(tables: Mapping[Run, Evaluation]) -> dict[str, Any]:
    """Return how far `Consensus` is ahead, with intervals over queries.

    Queries of a collection are drawn together for all its runs, since runs share them.
    """
    new = [run for run in tables if run not in RUNS]
    return {
        "minmax": _gain(tables, ("minmax",)),
        "hindsight": _gain(tables, RULES),
        "minmax, other collections": _gain({run: tables[run] for run in new}, ("minmax",)),
    }


def _gain(tables: Mapping[Run, Evaluation], rivals: tuple[str, ...]) -> dict[str, Any]:
    """Return the relative gain over the best of some rules in each run, with hindsight."""
    ours, theirs = [], []
    for own in tables.values():
        ours.append(_by_query(own, "consensus"))
        rules = [_by_query(own, name) for name in rivals]
        theirs.append(max(rules, key=lambda values: float(values.mean())))
    share = weights((KINDS[run.family], collection(run.family)) for run in tables)
    rng = np.random.default_rng(0)
    drawn = np.empty((DRAWS, 2, len(share)))
    names = [np.array(own.query_ids) for own in tables.values()]
    for one in dict.fromkeys(collection(run.family) for run in tables):
        members = [i for i, run in enumerate(tables) if collection(run.family) == one]
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


def _by_query(own: Evaluation, name: str) -> NDArray[np.float64]:
    values = own.values[own.metrics.index(METRIC), own.truncators.index(name)]
    return np.bincount(own.query, weights=values) / np.bincount(own.query)
