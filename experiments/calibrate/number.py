"""How many: learn the estimate of the number, and measure it on collections it never saw.

``python -m experiments.calibrate --ship`` learns from every collection and writes
``src/paretocut/data/number.json``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from experiments.compare.consensus.pretrain import Taught, corpus, elsewhere
from experiments.data import ROOT, RUNS, load
from experiments.texts import systems
from paretocut import metrics
from paretocut.background import seen
from paretocut.decisions.options import EXPECT
from paretocut.lists import Ragged, RankedLists
from paretocut.relevance import Scale, beliefs_about, believed_cuts, stated
from paretocut.truncators.consensus import strategies
from paretocut.truncators.consensus.pretrained import Pretrained
from paretocut.truncators.consensus.strategies import upper_third

__all__ = ["Bench", "learn", "leave_one_out", "priors", "ship", "tuned"]

Array = NDArray[np.float64]
_MOST = 300
_TARGETS = np.log(np.geomspace(0.7, 400.0, 28))
_SMOOTH = 0.5
_RIDGE = 0.003
# Spread of the belief and share of the upper part, chosen leave-one-collection-out.
_ONE = {"spread": 1.2, "plain": 0.4}
_MANY = {"spread": 1.0, "plain": 0.3}


class Bench:
    """All lists, their statistics, and the F1 of each list for each number it could be given."""

    def __init__(self) -> None:
        self.systems = systems(_MOST)  # collection, name and lists of each run
        self.names = list(dict.fromkeys(family for family, _, _ in self.systems))
        self.merits: list[Ragged] = [
            Scale.of(lists.merit).apply(lists.merit) for _, _, lists in self.systems
        ]
        self.curves = [metrics.f1.curves(lists) for _, _, lists in self.systems]
        counts = np.array([len(merit) for merit in self.merits])
        # Run and collection of each list; collections count alike, and so do the runs of one.
        self.system = np.repeat(np.arange(len(counts)), counts)
        of = np.array([self.names.index(family) for family, _, _ in self.systems])
        self.collection = of[self.system]
        self.weight = (1 / (counts * np.bincount(of)[of]))[self.system]
        self.relevant = np.concatenate(
            [[part.sum() for part in lists.relevant] for _, _, lists in self.systems]
        )
        gaps = [seen.gaps(merit) for merit in self.merits]
        halves = np.concatenate([seen.halves(merit) for merit in self.merits])
        mean_gap = np.array([part.mean() for part in gaps])[self.system]
        crowds = np.array([strategies.crowd(merit) for merit in self.merits])[self.system]
        self.one = np.stack([np.concatenate(gaps), halves], axis=1)
        self.many = np.stack([mean_gap, crowds, halves], axis=1)
        size = len(self.system)
        # F1 of each list (rows) for each number of a grid (columns).
        self.told = np.stack(
            [self.f1([stated(size, float(np.exp(target)))]) for target in _TARGETS], axis=1
        )

    def f1(self, beliefs: list[Array]) -> Array:
        """Return F1 of each list under beliefs, one array for all lists or one for each run."""
        whole = np.concatenate(beliefs)
        parts, at = [], 0
        for merit, curves in zip(self.merits, self.curves, strict=True):
            cuts = believed_cuts(merit, whole[at : at + len(merit)])
            parts.append(curves.values[curves.offsets[:-1] + cuts])
            at += len(merit)
        return np.concatenate(parts)

    def cut(self, cuts: list[NDArray[np.int64]]) -> Array:
        """Return F1 of each list cut here."""
        pairs = zip(self.curves, cuts, strict=True)
        return np.concatenate([curve.values[curve.offsets[:-1] + k] for curve, k in pairs])

    def by_collection(self, values: Array) -> dict[str, float]:
        """Return the mean of each collection, its runs counting alike."""
        shares = np.bincount(self.collection, self.weight * values)
        return dict(zip(self.names, shares.tolist(), strict=True))

    def per_run(self, values: Array) -> Array:
        """Return the mean of each run, for each of its lists."""
        return np.asarray(np.bincount(self.system, values) / np.bincount(self.system))[self.system]


def fit(bench: Bench, table: Array, own: NDArray[np.bool_]) -> Array:
    """Return level and slopes of the log number that give the lists ``own`` the best F1.

    The squared error of the number is not what counts: 40 for 60 costs nothing, 3 for 1 half of
    the F1. So the F1 that each list would have, told the estimate, is maximised itself.
    """
    weight = bench.weight[own] / bench.weight[own].sum()
    center = weight @ table[own]
    spread = np.sqrt(weight @ (table[own] - center) ** 2)
    design = np.concatenate([np.ones((own.sum(), 1)), (table[own] - center) / spread], axis=1)
    penalty = np.full(design.shape[1], _RIDGE)
    penalty[0] = 0.0
    told = bench.told[own]
    logs = np.log(np.maximum(bench.relevant[own], 0.7))
    start = np.linalg.solve(
        (design * weight[:, None]).T @ design + np.diag(np.sign(penalty)),
        design.T @ (weight * logs),
    )

    def loss(coef: Array) -> tuple[float, Array]:
        free = design @ coef
        mean = np.clip(free, _TARGETS[0], _TARGETS[-1])
        away = (_TARGETS - mean[:, None]) / _SMOOTH
        share = np.exp(-0.5 * away**2)
        total = share.sum(axis=1)
        value = (share * told).sum(axis=1) / total
        rise = share * away / _SMOOTH
        slope = ((rise * told).sum(axis=1) - value * rise.sum(axis=1)) / total * (mean == free)
        gradient = -(design.T @ (weight * slope)) + 2 * penalty * coef
        return float(-(weight @ value) + penalty @ coef**2), gradient

    coef = minimize(loss, start, jac=True, method="L-BFGS-B").x
    slopes = coef[1:] / spread
    return np.concatenate([[coef[0] - slopes @ center], slopes])


def learn(bench: Bench, own: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what ships, learned from the lists ``own``."""
    coef = np.round(fit(bench, bench.many, own), 3).tolist()
    return dict(zip(("level", "gap", "crowd", "half"), coef, strict=True)) | _MANY


def leave_one_out(bench: Bench) -> dict[str, Array]:
    """Return F1 of each list by what is known; what is learned never saw the collection."""
    size = len(bench.system)
    one, many = np.empty((size, 6)), np.empty((size, 6))
    for k in range(len(bench.names)):
        known = learn(bench, bench.collection != k)
        coef = fit(bench, bench.one, bench.collection != k)
        for i in np.unique(bench.system[bench.collection == k]):
            merit, own = bench.merits[i], bench.system == i
            alone = coef[0] + bench.one[own] @ coef[1:]
            one[own] = beliefs_about(merit, alone, **_ONE)
            many[own] = strategies.estimated(merit, strategies.typical(merit, known), known)
    mean = bench.per_run(bench.relevant.astype(np.float64))
    words = np.array(list(EXPECT))
    logs = np.log(np.array(list(EXPECT.values())))
    nearest = words[np.argmin(np.abs(np.log(mean)[:, None] - logs), axis=1)]
    return {
        "default": bench.cut([upper_third(x, Scale.of(x.merit))[0] for _, _, x in bench.systems]),
        "one": bench.f1([one]),
        "many": bench.f1([many]),
        "word": bench.f1([np.concatenate([stated(1, str(word)) for word in nearest])]),
        "number": bench.f1([np.concatenate([stated(1, float(m)) for m in mean])]),
    }


def priors(bench: Bench) -> list[Pretrained | None]:
    """Return what other collections taught, for each run; None for what ships, which knows none."""
    known = elsewhere({run: load(run) for run in RUNS})
    of_runs: list[Pretrained | None] = [known[corpus(run.family)] for run in RUNS]
    return of_runs + [None] * (len(bench.systems) - len(RUNS))


def tuned(lists: RankedLists, prior: Pretrained | None, folds: int = 5, seed: int = 0) -> Array:
    """Return F1 of each list, cut by `Consensus` fitted on the judgements of the other folds."""
    fold = np.random.default_rng(seed).permutation(len(lists)) % min(folds, len(lists))
    values = np.empty(len(lists))
    for k in np.unique(fold):
        inside = np.flatnonzero(fold == k)
        fitted = Taught(pretrained=prior).fit(lists[np.flatnonzero(fold != k).tolist()])
        own = lists[inside.tolist()]
        values[inside] = metrics.f1(own, fitted.predict(own))
    return values


def ship() -> None:
    """Learn from every collection, and write what ships."""
    bench = Bench()
    content = learn(bench, np.ones(len(bench.system), dtype=bool))
    path = ROOT / "src" / "paretocut" / "data" / "number.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
