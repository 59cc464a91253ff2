"""Weights of retrievers: guessed from unjudged lists, learned from few judged queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.fuse.methods import average_precision, ndcg
from experiments.fuse.pairs import Judged
from paretocut.fusion import Fusion

__all__ = ["calibration", "guessed", "learned"]

RATIOS = np.linspace(-1.5, 1.5, 13)
FACTORS = np.linspace(-2.0, 2.0, 17)
SIZES, REPEATS = (10, 20, 50, 100), 4
EQUAL = len(RATIOS) // 2
BINS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)

Array = NDArray[np.float64]


def _values(lists: pc.RankedLists, ideal: Array) -> Array:
    return np.stack([ndcg(lists, ideal), average_precision(lists)])


def _signs(pair: Judged) -> dict[str, float]:
    """Return log ratios, second retriever to first, of what may tell how good each is."""
    fusion = Fusion().fit(pair.unjudged())
    fused = fusion.fuse(pair.unjudged())
    assert fused.parts is not None
    tops, bests, agreements = [], [], []
    for i in (0, 1):
        own = [np.sort(x[~np.isnan(x)])[::-1] for x in fused.parts.scores[i]]
        unit = fusion.scale_[i]
        tops.append(np.mean([(x[:10].mean() - x.mean()) / unit for x in own if x.size]))
        best = np.array([(x[0] - x.mean()) / unit for x in own if x.size])
        bests.append(best.mean() / best.std())
        # How far up this retriever has what the other puts first.
        ranks = [
            1 / mine[(other > 0) & (other <= 10) & (mine > 0)]
            for mine, other in zip(fused.parts.ranks[i], fused.parts.ranks[1 - i], strict=True)
        ]
        agreements.append(np.mean([r.sum() for r in ranks]) + 1e-9)
    return {
        "how far the best results stand out": float(np.log(tops[1] / tops[0])),
        "how steadily they do": float(np.log(bests[1] / bests[0])),
        "agreement with the other retriever": float(np.log(agreements[1] / agreements[0])),
    }


def guessed(pairs: Mapping[str, Judged]) -> dict[str, Any]:
    """Return the change in nDCG@10 and MAP by guessed weights, against equal ones.

    The weight ratio is a factor times a sign of quality; the factor is the best one on all other
    pairs.
    """
    curves, signs = {}, {}
    for name, pair in pairs.items():
        rows = []
        for ratio in RATIOS:
            fusion = Fusion(weights=np.exp([-ratio / 2, ratio / 2])).fit(pair.unjudged())
            rows.append(_values(fusion.fuse(pair.runs), pair.ideal).mean(axis=1))
        curves[name], signs[name] = np.array(rows), _signs(pair)

    def at(name: str, ratio: float) -> Array:
        return np.array([np.interp(ratio, RATIOS, curves[name][:, k]) for k in (0, 1)])

    changes = {}
    for sign in next(iter(signs.values())):
        found = []
        for name in pairs:
            others = [other for other in pairs if other != name]
            means = [
                np.mean([at(o, factor * signs[o][sign])[0] for o in others]) for factor in FACTORS
            ]
            factor = FACTORS[int(np.argmax(means))]
            found.append(at(name, factor * signs[name][sign]) - curves[name][EQUAL])
        changes[sign] = np.mean(found, axis=0).tolist()
    best = np.mean([curve.max(axis=0) - curve[EQUAL] for curve in curves.values()], axis=0)
    return {"guessed": changes, "best with hindsight": best.tolist()}


def learned(pairs: Mapping[str, Judged]) -> dict[str, Any]:
    """Return the change by weights learned from few judged queries, against equal ones."""
    out: dict[str, Any] = {}
    for size in SIZES:
        means, worst = [], []
        for name, pair in pairs.items():
            if len(pair) < size + 20:
                continue
            rng = np.random.default_rng(size)
            total, tests = np.zeros((2, len(pair))), np.zeros(len(pair))
            for _ in range(REPEATS):
                order = rng.permutation(len(pair))
                train, test = pair.take(order[:size]), pair.take(order[size:])
                ours = Fusion().fit(train.runs).fuse(test.runs)
                equal = Fusion().fit(train.unjudged()).fuse(test.runs)
                total[:, order[size:]] += _values(ours, test.ideal) - _values(equal, test.ideal)
                tests[order[size:]] += 1
            change = (total / np.maximum(tests, 1))[:, tests > 0]
            error = change.std(axis=1) / np.sqrt(change.shape[1])
            means.append(change.mean(axis=1))
            worst.append((name, change.mean(axis=1), change.mean(axis=1) + 1.96 * error))
        if not worst:
            continue
        lowest = min(worst, key=lambda item: item[1][1])
        out[str(size)] = {
            "pairs": len(means),
            "ndcg": float(np.mean(means, axis=0)[0]),
            "map": float(np.mean(means, axis=0)[1]),
            "lowest": [lowest[0], float(lowest[1][1])],
            "clearly worse": [name for name, _, high in worst if (high < 0).any()],
        }
    return out


def calibration(pairs: Mapping[str, Judged]) -> dict[str, Any]:
    """Return how far probabilities are from shares, on queries that taught nothing."""
    errors, rows = [], []
    for pair in pairs.values():
        order = np.random.default_rng(0).permutation(len(pair))
        for test, train in ((order[::2], order[1::2]), (order[1::2], order[::2])):
            fusion = Fusion().fit(pair.take(train).runs)
            fused = fusion.fuse(pair.take(test).runs).truncate(50)
            p, relevant = fusion.probability(fused).values, fused.relevant.values
            bin_of = np.digitize(p, BINS[1:-1])
            count = np.bincount(bin_of, minlength=len(BINS) - 1)
            sums = np.bincount(bin_of, p, minlength=len(BINS) - 1)
            hits = np.bincount(bin_of, relevant, minlength=len(BINS) - 1)
            errors.append(float(np.abs(sums - hits).sum() / count.sum()))
            rows.append(np.stack([count, sums, hits]))
    count, sums, hits = np.sum(rows, axis=0)
    return {
        "error, mean": float(np.mean(errors)),
        "error, largest": float(np.max(errors)),
        "bins": [
            {
                "from": BINS[i],
                "to": BINS[i + 1],
                "results": int(count[i]),
                "predicted": float(sums[i] / max(count[i], 1)),
                "actual": float(hits[i] / max(count[i], 1)),
            }
            for i in range(len(count))
        ],
    }
