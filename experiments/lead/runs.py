"""Consensus, networks and simple rules on all lists: tuned, told a prior, and untrained.

Nothing of a test collection is ever seen: what `Consensus` knows of other collections is learned
anew without the corpus it is tested on. Tuned methods are fitted on one half of the queries and
tested on the other, five times both ways; twenty times where queries are few and halves differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.compare import cache, networks
from experiments.compare.methods import CEILING, NEURAL, PROTOCOL
from experiments.data import RUNS, Run, load
from experiments.lead.collections import fresh, made
from experiments.lead.pretrain import corpus, learned
from paretocut import metrics
from paretocut.truncators import Consensus, GlobalK, Oracle, ScoreThreshold, Surprise, Truncator
from paretocut.truncators.consensus import regression
from paretocut.truncators.consensus.constants import CONSTANTS
from paretocut.truncators.consensus.features import DESIGN, Scale
from paretocut.truncators.consensus.pretrain import Pretrained, values_elsewhere
from paretocut.truncators.consensus.untrained import cuts_at, levels_for
from paretocut.truncators.consensus.vote import all_rules, drawn, unit
from paretocut.truncators.threshold import normalize_scores

METRICS = ("f1", "dcg")
SIMPLE: dict[str, Truncator] = {
    "global_k": GlobalK(),
    "raw": ScoreThreshold("raw"),
    "max": ScoreThreshold("max"),
    "minmax": ScoreThreshold("minmax"),
    "z": ScoreThreshold("z"),
    "surprise": Surprise(),
    "surprise_all": Surprise(refit="all"),
}
SIZES = (10, 20, 50, 100, 200)
REPEATS = 5
FEW, OFTEN = 60, 20
WEIGHTS = (0.0, 3.0, 6.0, 12.0, 25.0)

Lists = Mapping[Run, pc.RankedLists]
Values = dict[str, dict[str, NDArray[np.float64]]]


def all_lists() -> dict[Run, pc.RankedLists]:
    """Return the judged runs, then the other kinds of lists."""
    return {run: load(run) for run in RUNS} | made()


def elsewhere(runs: Lists) -> dict[str, Any]:
    """Return what all other collections teach, for each corpus."""
    pairs = [(run.family, lists) for run, lists in runs.items()]
    return {name: learned(pairs, without=name) for name in {corpus(f) for f, _ in pairs}}


def tuned(run: Run, lists: pc.RankedLists, truncator: Truncator) -> dict[str, NDArray[np.float64]]:
    """Return the values of each query by metric, cross-validated; from disk where they are.

    Parameters
    ----------
    run, lists
        The run and what it holds.
    truncator
        What is evaluated.
    """
    protocol = PROTOCOL | {"splits": OFTEN} if len(lists) < FEW else PROTOCOL
    shown = truncator
    if isinstance(truncator, Consensus):
        # The key is made of the repr, which would otherwise hold all that was learned elsewhere.
        assert isinstance(truncator.pretrained, Pretrained)
        content = json.dumps(truncator.pretrained.to_dict(), sort_keys=True).encode()
        shown = Consensus(pretrained=hashlib.sha256(content).hexdigest())
    # Lists made here have no file to be known by.
    key = cache.key_of(run, shown, protocol) if run.run else None
    stored = cache.read(key) if key else None
    if stored is None:
        done = pc.evaluate({"one": truncator}, lists, **protocol)
        stored = {"k": done.k[:, :1], "values": done.values[:, :1]}
        if key:
            cache.write(key, **stored)
    return _by_query(stored["values"], lists, protocol)


def _by_query(
    values: NDArray[Any], lists: pc.RankedLists, protocol: dict[str, Any]
) -> dict[str, NDArray[np.float64]]:
    query = pc.evaluate([CEILING], lists, **protocol).query
    tests = np.bincount(query)
    return {
        name: np.bincount(query, weights=values[i, 0]) / tests for i, name in enumerate(METRICS)
    }


def untrained(lists: pc.RankedLists, learned_elsewhere: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield name, metric and values of the methods that see no judgement of the run."""
    bare = pc.RankedLists(lists.scores, higher_is_better=lists.higher_is_better)
    retrieved = float(_found(lists).mean())
    told = {"pretrained": learned_elsewhere, "expect": retrieved}
    for metric in METRICS:
        value = metrics.get(metric)
        zero = Consensus(metric, pretrained=learned_elsewhere)
        yield "zero-shot", metric, value(lists, zero.predict(bare))
        if metric == "f1":
            yield "prior", metric, value(lists, Consensus(**told).predict(bare))
            for factor in (0.5, 1, 2):
                near = Consensus(**told | {"expect": factor * retrieved}).fit(bare)
                name = "prior, lists" + ("" if factor == 1 else f", times {factor}")
                yield name, metric, value(lists, near.predict(bare))
        for name, rule in {
            "fixed_10": pc.truncators.FixedK(10),
            "minmax_half": ScoreThreshold("minmax", 0.5),
            "surprise_alpha": Surprise(alpha=0.05),
        }.items():
            yield name, metric, value(lists, rule.predict(bare))


def table(runs: Lists, known: Mapping[str, Any]) -> dict[str, Values]:
    """Return the values per query: run -> method -> metric."""
    out: dict[str, Values] = {}
    for run, lists in runs.items():
        own = known[corpus(run.family)]
        rules = SIMPLE | {"consensus": Consensus(pretrained=own)}
        rows: Values = {name: tuned(run, lists, rule) for name, rule in rules.items()}
        for name in NEURAL:
            stored = networks.stored(run, lists, name) if run.run else None
            if stored is not None:
                rows[name] = _by_query(stored["values"], lists, PROTOCOL)
        for name, metric, values in untrained(lists, own):
            rows.setdefault(name, {})[metric] = values
        rows[CEILING] = {m: metrics.get(m)(lists, Oracle(m).predict(lists)) for m in METRICS}
        out[run.name] = rows
    return out


def check(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return F1 and DCG on lists that played no part in any choice: run -> metric -> method."""
    rules: dict[str, Truncator] = {
        name: SIMPLE[name] for name in ("global_k", "raw", "max", "minmax", "z")
    }
    out = {}
    for run, lists in fresh().items():
        own = known[corpus(run.family)]
        rows = {name: tuned(run, lists, rule) for name, rule in rules.items()}
        rows["consensus"] = tuned(run, lists, Consensus(pretrained=own))
        means = {
            metric: {name: float(row[metric].mean()) for name, row in rows.items()}
            for metric in METRICS
        }
        for name, metric, values in untrained(lists, own):
            if name == "prior, lists":
                means[metric][name] = float(values.mean())
        out[run.name] = {"queries": len(lists), **means}
    return out


def bounds(runs: Lists) -> dict[str, Values]:
    """Return the F1 of cuts that are told something of the very queries they are tested on.

    How many results of each list are relevant; how many are in the lists of the other systems
    for the same query; and the min-max threshold that is best for those. Of judged runs that
    share their queries with another.
    """
    out: dict[str, Values] = {}
    for run, lists in runs.items():
        if not run.run:
            continue
        others = [item for other, item in runs.items() if other.qrels == run.qrels and other != run]
        counts, thresholds = _told(lists, others)
        if np.isnan(counts).any():
            continue
        cuts = {
            "number of relevant results in the list": _at_counts(lists, _found(lists)),
            "their mean number in other systems' lists": _at_counts(lists, counts),
            "other systems' best min-max threshold": _counts(
                _minmax(lists, Scale.of(lists.merit)), _GRID
            )[np.arange(len(lists)), thresholds],
        }
        out[run.name] = {name: {"f1": metrics.f1(lists, k)} for name, k in cuts.items()}
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
        sums[rows] += _found(part)
        systems[rows] += 1
    with np.errstate(invalid="ignore"):
        return sums / systems, f1.argmax(axis=1)


def _found(lists: pc.RankedLists) -> NDArray[np.float64]:
    return np.array([part.sum() for part in lists.relevant], dtype=np.float64)


def _at_counts(lists: pc.RankedLists, counts: Any) -> Any:
    """Return the cuts when this many relevant results are expected in each list."""
    merit = Scale.of(lists.merit).apply(lists.merit)
    levels = levels_for(merit, np.maximum(counts, 0.1)[:, None])
    return cuts_at(merit, levels, np.ones(levels.shape))


def _minmax(lists: pc.RankedLists, scale: Scale) -> pc.Ragged:
    return normalize_scores(scale.apply(lists.merit), "minmax")


def _counts(key: pc.Ragged, thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many results of each list (rows) reach each threshold (columns)."""
    counts = [np.searchsorted(-values, -thresholds, side="right") for values in key]
    return np.array(counts, dtype=np.int64).reshape(len(key), thresholds.size)


def curves(runs: Lists, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean F1 by number of judged queries, over the runs that have enough of them."""
    out: dict[str, Any] = {}
    for size in SIZES:
        rows: dict[str, list[float]] = {}
        for run, lists in runs.items():
            if len(lists) < size + 20:
                continue
            rules: dict[str, Truncator] = {
                "global_k": GlobalK(),
                "minmax": ScoreThreshold("minmax"),
                "z": ScoreThreshold("z"),
                "consensus": Consensus(pretrained=known[corpus(run.family)]),
            }
            rng = np.random.default_rng(size)
            found: dict[str, list[float]] = {name: [] for name in rules}
            for _ in range(REPEATS):
                order = rng.permutation(len(lists))
                train, test = lists[order[:size]], lists[order[size : size + 100]]
                for name, rule in rules.items():
                    cuts = rule.fit(train).predict(test)
                    found[name].append(float(metrics.f1(test, cuts).mean()))
            for name, values in found.items():
                rows.setdefault(name, []).append(float(np.mean(values)))
        ours = np.array(rows["consensus"])
        best = np.max([rows[name] for name in rows if name != "consensus"], axis=0)
        out[str(size)] = {
            "runs": len(ours),
            **{name: float(np.mean(values)) for name, values in rows.items()},
            "gain over minmax": float(np.mean(ours / np.array(rows["minmax"])) - 1),
            "gain over the best of three": float(np.mean(ours / best) - 1),
        }
    return out


def votes(runs: Lists, known: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the F1 of variants of the tuned vote: variant -> run -> mean over queries."""
    found: dict[str, dict[str, float]] = {}
    for run, lists in runs.items():
        scale = Scale.of(lists.merit)
        for name, value in _variants(lists, scale, known[corpus(run.family)]):
            found.setdefault(name, {})[run.name] = value
        if scale.logit:
            plain = dict(_variants(lists, Scale(False), known[corpus(run.family)]))[FULL]
            found.setdefault("saturated scores not as logits", {})[run.name] = plain
    full = found[FULL]
    return {name: full | values for name, values in found.items()}


FULL = "as it is"
_TAILS = np.concatenate([[np.inf], np.linspace(20, 0.1, 100)])


def _variants(lists: pc.RankedLists, scale: Scale, own: Any) -> Iterator[tuple[str, float]]:
    cuts = np.concatenate(
        [
            all_rules().counts(scale.apply(lists.merit), scale),
            _counts(pc.fit_batch(lists).surprise, _TAILS),
        ],
        axis=1,
    )
    keys = np.array([name for name, *_ in all_rules().names()] + ["surprise"] * _TAILS.size)
    usual = keys != "surprise"
    curves_ = metrics.f1.curves(lists)
    start = curves_.offsets[:-1]
    values = curves_.values[start[:, None] + cuts]
    found: dict[str, list[float]] = {}
    for train, test in _splits(len(values)):
        rng = np.random.default_rng(0)
        here = len(train) * drawn(values[train], rng)
        other = values_elsewhere(own, "f1", rng)
        other = np.concatenate([other, np.zeros((_TAILS.size, other.shape[1]))])
        other *= unit(curves_.take(train))
        both = here + CONSTANTS.pseudo_queries * other
        variants = {
            FULL: (both, usual),
            "min-max alone": (both, keys == "minmax"),
            "min-max and rank": (both, np.char.startswith(keys, "minmax-") | (keys == "minmax")),
            "without the first five as measure": (both, usual & (keys != "top")),
            "without z": (both, usual & (np.char.find(keys, "z") < 0)),
            "without a fixed number": (both, usual & (keys != "rank")),
            "with surprise, without other collections": (here, keys != ""),
            "one rule, the best, no vote": (values[train].mean(axis=0)[:, None], usual),
        }
        variants |= {
            f"other collections worth {weight:g} queries": (here + weight * other, usual)
            for weight in WEIGHTS
            if weight != CONSTANTS.pseudo_queries
        }
        for name, (totals, chosen) in variants.items():
            best = np.argmax(np.where(chosen[:, None], totals, -np.inf), axis=0)
            k = np.sort(cuts[test][:, best], axis=1)[:, (best.size - 1) // 2]
            found.setdefault(name, []).append(float(curves_.values[start[test] + k].mean()))
    yield from ((name, float(np.mean(numbers))) for name, numbers in found.items())


def nested(found: Mapping[str, Mapping[str, float]], runs: Lists) -> dict[str, Any]:
    """Return what comes of a weight of other collections that is chosen on other corpora.

    Parameters
    ----------
    found
        What `votes` returned.
    runs
        The lists.
    """
    rows = {
        w: FULL if w == CONSTANTS.pseudo_queries else f"other collections worth {w:g} queries"
        for w in WEIGHTS
    }
    # Relative to the vote without other collections, so that all runs count alike.
    base = found[rows[0.0]]
    chosen = {}
    for name in sorted({corpus(run.family) for run in runs}):
        others = [run.name for run in runs if corpus(run.family) != name]
        gains = {w: np.mean([found[row][o] / base[o] for o in others]) for w, row in rows.items()}
        chosen[name] = max(WEIGHTS, key=gains.__getitem__)
    return {
        "weights": chosen,
        "f1": {run.name: found[rows[chosen[corpus(run.family)]]][run.name] for run in runs},
    }


def _splits(n: int, repeats: int = 5) -> Iterator[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        order = rng.permutation(n)
        yield order[: n // 2], order[n // 2 :]
        yield order[n // 2 :], order[: n // 2]


def probabilities(runs: Lists, known: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the DCG of variants of the regression: variant -> run -> mean over queries."""
    found: dict[str, dict[str, float]] = {}
    for run, lists in runs.items():
        for name, (constants, pretrained) in _regressions(known[corpus(run.family)]).items():
            values = []
            with patch.object(regression, "CONSTANTS", replace(CONSTANTS, **constants)):
                for train, test in _splits(len(lists), 1):
                    model = Consensus("dcg", pretrained=pretrained).fit(lists[train])
                    values.append(metrics.dcg(lists[test], model.predict(lists[test])).mean())
            found.setdefault(name, {})[run.name] = float(np.mean(values))
    return found


def _regressions(own: Pretrained) -> dict[str, tuple[dict[str, Any], Pretrained]]:
    def without(*names: str) -> Pretrained:
        spread = [np.inf if n in names else s for n, s in zip(DESIGN, own.spread, strict=True)]
        return replace(own, spread=spread)

    flat = replace(own, coef=[0.0] * len(DESIGN))
    return {
        FULL: ({}, own),
        "no caution": ({"caution": 0.0}, own),
        "a whole standard error of caution": ({"caution": 1.0}, own),
        "without other collections": ({"ridge": 1.0}, flat),
        "other collections count three times as much": ({"ridge": 60.0}, own),
        "without raw scores": ({}, without("raw", "best_raw")),
        "without the step to the next result": ({}, without("gap")),
        "without the level of ranks 21 to 120": ({}, without("over_level")),
        "min-max and rank only": ({}, without(*set(DESIGN) - {"one", "minmax", "log_rank"})),
    }


def calibration(runs: Lists, known: Mapping[str, Any]) -> Any:
    """Return predicted and actual shares of relevant results, on queries not fitted on."""
    edges = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0])
    sums = np.zeros((3, edges.size - 1))
    errors = []
    for run, lists in runs.items():
        model = Consensus("dcg", pretrained=known[corpus(run.family)])
        own = np.zeros_like(sums)
        for train, test in _splits(len(lists), 1):
            p = model.fit(lists[train]).predict_proba(lists[test]).values
            place = np.clip(np.digitize(p, edges) - 1, 0, edges.size - 2)
            for row, weights in enumerate((np.ones_like(p), p, lists[test].relevant.values)):
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
