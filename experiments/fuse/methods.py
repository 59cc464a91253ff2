"""Ranking and cuts of single runs and fusions, query by query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.default.measure import SHARES, keeping
from experiments.fuse.pairs import Judged, Pair
from paretocut import metrics
from paretocut.fusion import Fusion
from paretocut.truncators import Consensus, Oracle

__all__ = ["LEARNED", "METRICS", "SINGLE", "UNJUDGED", "ndcg", "two_fold", "values_of"]

Values = dict[str, NDArray[np.float64]]
F1 = metrics.get("f1/collection")
METRICS = ("ndcg", "map", "untrained", "told", "tuned", "oracle")
METHODS = ("rrf", "isr", "combmnz", "minmax", "z", "surprise", "probability")
# Whose cuts are tuned too; the others are close to one of these.
TUNED = ("rrf", "minmax", "z", "surprise", "probability", "Fusion")
SPLITS = 3
UNJUDGED, LEARNED = "Fusion", "Fusion, judged"
SINGLE = ("first", "second")
BETTER = "better single run"


def ndcg(lists: pc.RankedLists, ideal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return nDCG@10 of each list, gains being grades, as trec_eval has it."""
    assert lists.relevance is not None
    discount = 1 / np.log2(np.arange(2, 12))
    top = np.zeros((len(lists), 10))
    for row, grades in zip(top, lists.relevance, strict=True):
        row[: len(grades)] = np.maximum(grades[:10], 0)
    best = ideal @ discount
    return np.divide(top @ discount, best, out=np.zeros(len(lists)), where=best > 0)


def average_precision(lists: pc.RankedLists) -> NDArray[np.float64]:
    """Return the average precision of each list, over all relevant documents there are."""
    values = np.zeros(len(lists))
    for i, (relevant, number) in enumerate(zip(lists.relevant, lists.num_relevant, strict=True)):
        hits = np.flatnonzero(relevant)
        values[i] = np.sum(np.arange(1, hits.size + 1) / (hits + 1)) / number
    return values


def untrained(lists: pc.RankedLists, ideal: NDArray[np.float64]) -> Values:
    """Return what needs no judgement to be made: ranking, and cuts of untrained `Consensus`."""
    bare = pc.RankedLists(lists.scores)
    mean = float(lists.num_relevant.mean())
    return {
        "ndcg": ndcg(lists, ideal),
        "map": average_precision(lists),
        "untrained": F1(lists, Consensus().predict(bare)),
        "told": F1(lists, Consensus(expect=mean).fit(bare).predict(bare)),
        "oracle": F1(lists, Oracle(F1).predict(lists)),
    }


def halves(n: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield training and test queries: random halves, both ways."""
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(n)
        first, second = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
        yield first, second
        yield second, first


def tuned(lists: pc.RankedLists) -> NDArray[np.float64]:
    """Return the F1 of each query, cut by `Consensus` fitted on other halves of the queries."""
    total = np.zeros(len(lists))
    for train, test in halves(len(lists)):
        total[test] += F1(lists[test], Consensus(F1).fit(lists[train]).predict(lists[test]))
    return total / SPLITS


def two_fold(pair: Judged, make: Callable[[dict[str, pc.RankedLists]], Fusion]) -> pc.RankedLists:
    """Return the pair fused, each half of the queries by what the other half taught."""
    order = np.random.default_rng(0).permutation(len(pair))
    parts, at = [], []
    for test, train in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        fusion = make(pair.take(train).unjudged())
        parts.append(fusion.fuse(pair.take(test).runs))
        at.append(test)
    return pc.RankedLists.concat(parts)[np.argsort(np.concatenate(at))]


def learned(pair: Judged, tune: bool = True) -> tuple[Values, list[list[float]]]:
    """Return the values of a fusion fitted on judged halves, and the weights it found."""
    names = [name for name in METRICS if tune or name != "tuned"]
    total = {name: np.zeros(len(pair)) for name in names}
    weights = []
    for train, test in halves(len(pair)):
        fusion = Fusion().fit(pair.take(train).runs)
        weights.append(fusion.weights_.tolist())
        fused = fusion.fuse(pair.take(test).runs)
        own = untrained(fused, pair.ideal[test])
        if tune:
            model = Consensus(F1).fit(fusion.fuse(pair.take(train).runs))
            own["tuned"] = F1(fused, model.predict(fused))
        for name in names:
            total[name][test] += own[name]
    return {name: values / SPLITS for name, values in total.items()}, weights


def fusions(pair: Pair, lists: Judged) -> Iterator[tuple[str, pc.RankedLists]]:
    """Yield every fusion that needs no judgement, by name."""
    for method in METHODS:
        yield method, pc.fuse(lists.runs, method=method)
    yield UNJUDGED, two_fold(lists, lambda sample: Fusion().fit(sample))
    base = pc.fuse(lists.runs)
    yield "DBSF", rescored(base, _dbsf)
    if pair.cosine:
        yield "bayesian-bm25, balanced", rescored(base, _balanced)
        yield "bayesian-bm25, log-odds", rescored(base, _conjunction)


def values_of(pair: Pair, lists: Judged) -> dict[str, Any]:
    """Return the values of each method, query by query, and the weights that were learned."""
    values: dict[str, Values] = {}
    for name, run in zip(SINGLE, lists.runs.values(), strict=True):
        values[name] = untrained(run, lists.ideal) | {"tuned": tuned(run)}
    for name, fused in fusions(pair, lists):
        values[name] = untrained(fused, lists.ideal)
        if name in TUNED:
            values[name]["tuned"] = tuned(fused)
    values[LEARNED], weights = learned(lists)
    return {"values": values, "weights": weights}


def without_tuning(pair: Pair, lists: Judged) -> dict[str, Values]:
    """Return the values of each method, query by query, but for cuts that are tuned."""
    singles = [untrained(run, lists.ideal) for run in lists.runs.values()]
    values = {BETTER: max(singles, key=lambda own: own["ndcg"].mean())}
    values |= {name: untrained(fused, lists.ideal) for name, fused in fusions(pair, lists)}
    return values | {LEARNED: learned(lists, tune=False)[0]}


def by_share(lists: Judged, better: pc.RankedLists) -> dict[str, dict[str, float]]:
    """Return mean F1 by the share of the range that an untrained cut keeps."""
    runs = {
        BETTER: better,
        **{name: pc.fuse(lists.runs, method=name) for name in ("minmax", "z")},
        UNJUDGED: two_fold(lists, lambda sample: Fusion().fit(sample)),
    }
    return {
        name: {
            f"{part:.3f}": float(F1(run, keeping(part).predict(pc.RankedLists(run.scores))).mean())
            for part in SHARES
        }
        for name, run in runs.items()
    }


# --- other people's fusions, on the parts that ours keeps ---


def rescored(
    fused: pc.RankedLists, score: Callable[[list[NDArray[np.float64]]], NDArray[np.float64]]
) -> pc.RankedLists:
    """Return the fused lists under another score of the parts."""
    assert fused.parts is not None
    columns = zip(*fused.parts.scores, strict=True)
    return pc.RankedLists(
        [score(list(parts)) if parts[0].size else parts[0] for parts in columns],
        fused.relevance,
        query_ids=fused.query_ids,
        doc_ids=fused.doc_ids,
        num_relevant=fused.num_relevant,
        min_grade=fused.min_grade,
    )


def _dbsf(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return Qdrant's distribution-based fusion: 0 to 1 over mean +- 3 sd, 0 where missing."""
    total = np.zeros(parts[0].size)
    for scores in parts:
        known = ~np.isnan(scores)
        if known.any():
            mean, sd = scores[known].mean(), scores[known].std(ddof=1) if known.sum() > 1 else 0.0
            unit = (scores[known] - (mean - 3 * sd)) / (6 * sd) if sd > 0 else 0.5
            total[known] += np.clip(unit, 0, 1)
    return total


def _lowest(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    known = ~np.isnan(scores)
    return np.where(known, scores, scores[known].min() if known.any() else 0.0)


def _probability(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the package's likelihood of BM25 scores, with its own estimates of both numbers."""
    from bayesian_bm25 import BayesianProbabilityTransform

    known = scores[~np.isnan(scores)]
    spread = known.std() if known.size else 0.0
    transform = BayesianProbabilityTransform(
        alpha=1 / spread if spread > 0 else 1.0, beta=float(np.median(known)) if known.size else 0.0
    )
    return np.asarray(transform.likelihood(_lowest(scores)))


def _balanced(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    from bayesian_bm25 import balanced_log_odds_fusion

    return np.asarray(balanced_log_odds_fusion(_probability(parts[0]), _lowest(parts[1])))


def _conjunction(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    from bayesian_bm25 import cosine_to_probability, log_odds_conjunction

    both = np.stack([_probability(parts[0]), cosine_to_probability(_lowest(parts[1]))], axis=-1)
    # Log-odds, which are sorted alike and do not saturate.
    p = np.asarray(log_odds_conjunction(both))
    return np.asarray(np.log(p) - np.log1p(-p))
