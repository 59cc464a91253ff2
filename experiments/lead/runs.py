"""Consensus and simple rules on every judged run: tuned, told a prior, and untrained.

Nothing of a test collection is ever seen: what `Consensus` knows of other collections is learned
anew without the one it is tested on. Tuned methods are fitted on one half of the queries and
tested on the other, five times both ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.compare import cache
from experiments.compare.__main__ import PROTOCOL
from experiments.compare.methods import CEILING
from experiments.data import RUNS, Run
from experiments.lead.pretrain import collection, learned
from paretocut import metrics
from paretocut.truncators import Consensus, GlobalK, Oracle, ScoreThreshold, Surprise, Truncator
from paretocut.truncators import consensus as parts
from paretocut.truncators.expected import best_expected

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

Values = dict[str, dict[str, NDArray[np.float64]]]


def elsewhere(runs: Mapping[Run, pc.RankedLists]) -> dict[str, Any]:
    """Return what all other collections teach, for each collection."""
    pairs = [(run.family, lists) for run, lists in runs.items()]
    return {name: learned(pairs, without=name) for name in {collection(f) for f, _ in pairs}}


def tuned(
    run: Run, truncator: Truncator, lists: pc.RankedLists, query: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the values of each query by metric, cross-validated; from disk where they are.

    Parameters
    ----------
    run, truncator, lists
        What is evaluated.
    query
        Which query each test list of the protocol belongs to.
    """
    shown = truncator
    if isinstance(truncator, Consensus):
        # The key is made of the repr, which would otherwise hold all that was learned elsewhere.
        shown = Consensus(pretrained={"without": collection(run.family)})
    key = cache.key_of(run, shown, PROTOCOL)
    stored = cache.read(key)
    if stored is None:
        done = pc.evaluate({"one": truncator}, lists, **PROTOCOL)
        stored = {"k": done.k[:, :1], "values": done.values[:, :1]}
        cache.write(key, **stored)
    tests = np.bincount(query)
    return {
        name: np.bincount(query, weights=stored["values"][i, 0]) / tests
        for i, name in enumerate(METRICS)
    }


def untrained(lists: pc.RankedLists, learned_elsewhere: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield name, metric and values of the methods that see no judgement of the run."""
    bare = pc.RankedLists(lists.scores)
    retrieved = float(np.mean([part.sum() for part in lists.relevant]))
    told = {"pretrained": learned_elsewhere, "prior": retrieved}
    for metric in METRICS:
        value = metrics.get(metric)
        zero = Consensus(metric, pretrained=learned_elsewhere)
        yield "zero-shot", metric, value(lists, zero.predict(bare))
        if metric == "f1":
            yield "prior", metric, value(lists, Consensus(**told).predict(bare))
            for factor in (0.5, 1, 2):
                near = Consensus(**told | {"prior": factor * retrieved}).fit(bare)
                name = "prior, lists" + ("" if factor == 1 else f", times {factor}")
                yield name, metric, value(lists, near.predict(bare))
            yield "number told per query", metric, value(lists, _number_told(lists))
        for name, rule in {
            "fixed_10": pc.truncators.FixedK(10),
            "minmax_half": ScoreThreshold("minmax", 0.5),
            "surprise_alpha": Surprise(alpha=0.05),
        }.items():
            yield name, metric, value(lists, rule.predict(bare))


def _number_told(lists: pc.RankedLists) -> Any:
    """Return the cuts when the number of relevant results of every single list is known."""
    model = Consensus(prior=1.0).fit(pc.RankedLists(lists.scores))
    logits = model._within(lists, model._columns(lists))
    counts = np.array([part.sum() for part in lists.relevant], dtype=np.float64)
    levels = parts._level(logits, np.maximum(counts, 0.1))
    odds = parts._at_level(logits, levels)
    return best_expected(odds.with_values(parts._sigmoid(odds.values)), "f1")


def table(runs: Mapping[Run, pc.RankedLists], known: Mapping[str, Any]) -> dict[str, Values]:
    """Return the values per query: run -> method -> metric."""
    out: dict[str, Values] = {}
    for run, lists in runs.items():
        own = known[collection(run.family)]
        query = pc.evaluate([CEILING], lists, **PROTOCOL).query
        rules = SIMPLE | {"consensus": Consensus(pretrained=own)}
        rows: Values = {name: tuned(run, rule, lists, query) for name, rule in rules.items()}
        for name, metric, values in untrained(lists, own):
            rows.setdefault(name, {})[metric] = values
        rows[CEILING] = {m: metrics.get(m)(lists, Oracle(m).predict(lists)) for m in METRICS}
        out[run.name] = rows
    return out


def curves(runs: Mapping[Run, pc.RankedLists], known: Mapping[str, Any]) -> dict[str, Any]:
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
                "consensus": Consensus(pretrained=known[collection(run.family)]),
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
        ours, best = np.array(rows["consensus"]), np.array(rows["minmax"])
        out[str(size)] = {
            "runs": len(ours),
            **{name: float(np.mean(values)) for name, values in rows.items()},
            "gain over minmax": float(np.mean(ours / best) - 1),
            "runs more than 2 % below": int(np.sum(ours < 0.98 * best)),
        }
    return out


def ablation(runs: Mapping[Run, pc.RankedLists], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return mean F1 and DCG over the runs of variants of the tuned vote."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for run, lists in runs.items():
        own = known[collection(run.family)]
        saturated, *_ = parts._scale_of(lists)
        for logit in (True, False) if saturated else (False,):
            cuts = _cuts(lists, logit)
            for metric in METRICS:
                curves_ = metrics.get(metric).curves(lists)
                for name, value in _variants(cuts, curves_, own, metric):
                    label = name if logit == saturated else f"{name}, no logits"
                    found.setdefault(label, {}).setdefault(metric, {})[run.name] = value
    full = found[_FULL]
    kept = [name for name in found if not name.endswith("no logits")]
    # Without logits only the runs with saturated scores change.
    return {
        name: {m: float(np.mean(list((full[m] | found[name][m]).values()))) for m in METRICS}
        for name in (*kept, f"{_FULL}, no logits")
    }


_FULL = "all rules, vote of 100 draws"
_NAMES = np.array([*parts._KEYS, "surprise", "surprise_all"])


def _keys() -> Any:
    sizes = [parts._grid(name).size for name in parts._KEYS]
    return np.repeat(_NAMES, [*sizes, _TAILS.size, _TAILS.size])


_TAILS = np.concatenate([[np.inf], np.linspace(20, 0.1, 100)])


def _cuts(lists: pc.RankedLists, logit: bool) -> Any:
    """Return the cuts of every rule, then those of thresholds on both readings of surprise."""
    columns = parts._Columns(lists, logit, *_moments(lists, logit))
    tables = [parts._counts(columns.key(name), parts._grid(name)) for name in parts._KEYS]
    readings: tuple[Literal["window", "all"], ...] = ("window", "all")
    for refit in readings:
        tables.append(parts._counts(pc.fit_batch(lists, refit=refit).surprise, _TAILS))
    return np.concatenate(tables, axis=1)


def _moments(lists: pc.RankedLists, logit: bool) -> tuple[float, float]:
    values = parts._rescaled(lists.scores, logit).values
    return float(values.mean()), float(values.std()) or 1.0


def _variants(cuts: Any, curves_: pc.Ragged, own: Any, metric: str) -> Iterator[tuple[str, float]]:
    keys = _keys()
    surprise = np.char.startswith(keys, "surprise")
    plain = np.char.startswith(keys, "minmax-") | (keys == "minmax")
    start = curves_.offsets[:-1]
    values = curves_.values[start[:, None] + cuts]
    table = own["values"][metric]
    rows = np.pad([table[name] for name in sorted(table)], ((0, 0), (0, int(surprise.sum()))))
    share = parts._PSEUDO_QUERIES[metric]
    found: dict[str, list[float]] = {}
    for train, test in _splits(len(values)):
        rng = np.random.default_rng(0)
        drawn = len(train) * parts._drawn(values[train], rng)
        pseudo = parts._unit(curves_.take(train)) * parts._drawn(rows, rng)
        both = drawn + share * pseudo
        variants = {
            _FULL: (both, ~surprise),
            "min-max and rank only": (both, plain),
            "min-max alone": (both, keys == "minmax"),
            "without z": (both, ~surprise & (np.char.find(keys, "z") < 0)),
            "without raw scores": (both, ~surprise & (np.char.find(keys, "raw") < 0)),
            "other collections worth 20 queries": (drawn + 20 * pseudo, ~surprise),
            "without other collections": (drawn, ~surprise),
            "without other collections, with both surprises": (drawn, keys != ""),
            "the one best rule, no vote": (values[train].mean(axis=0)[:, None], ~surprise),
        }
        for name, (totals, chosen) in variants.items():
            votes = np.bincount(
                np.argmax(np.where(chosen[:, None], totals, -np.inf), axis=0), minlength=len(keys)
            )
            k = _median(cuts[test][:, votes > 0], votes[votes > 0])
            found.setdefault(name, []).append(float(curves_.values[start[test] + k].mean()))
    yield from ((name, float(np.mean(numbers))) for name, numbers in found.items())


def _median(cuts: Any, votes: Any) -> Any:
    order = np.argsort(cuts, axis=1)
    reached = np.cumsum(votes[order], axis=1)
    rows = np.arange(len(cuts))
    return cuts[rows, order[rows, np.argmax(2 * reached >= reached[:, -1:], axis=1)]]


def _splits(n: int, repeats: int = 5) -> Iterator[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        order = rng.permutation(n)
        yield order[: n // 2], order[n // 2 :]
        yield order[n // 2 :], order[: n // 2]


def probability_cuts(runs: Mapping[Run, pc.RankedLists], known: Mapping[str, Any]) -> Any:
    """Return mean F1 and DCG of the cut with the highest expectation under the regression."""
    sums: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for run, lists in runs.items():
        model = Consensus(pretrained=known[collection(run.family)])
        found: dict[str, list[float]] = {metric: [] for metric in METRICS}
        for train, test in _splits(len(lists), 1):
            p = model.fit(lists[train]).predict_proba(lists[test])
            for metric in METRICS:
                value = metrics.get(metric)(lists[test], best_expected(p, metric))
                found[metric].append(float(value.mean()))
        for metric in METRICS:
            sums[metric].append(float(np.mean(found[metric])))
    return {metric: float(np.mean(values)) for metric, values in sums.items()}


def calibration(runs: Mapping[Run, pc.RankedLists], known: Mapping[str, Any]) -> Any:
    """Return predicted and actual shares of relevant results, on queries not fitted on."""
    edges = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0])
    sums = np.zeros((3, edges.size - 1))
    errors = []
    for run, lists in runs.items():
        model = Consensus(pretrained=known[collection(run.family)])
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


def all_runs() -> dict[Run, pc.RankedLists]:
    """Return every judged run and its lists."""
    from experiments.data import load

    return {run: load(run) for run in RUNS}
