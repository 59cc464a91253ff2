"""Rules on lists of noise, on lists with hits, and on the judged runs.

A simulated list is the 200 best of 100,000 scores drawn from N(0.25, 0.06), of which 0, 5 or 20 are
replaced by hits from N(0.65, 0.03).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import paretocut as pc
from experiments.command import Again
from experiments.data import RUNS, load
from experiments.results import read
from paretocut.truncators import Consensus, FixedK, Surprise, Truncator

__all__ = ["again", "measure"]

DEPTH, INDEX, LISTS, SEED = 200, 100_000, 400, 0
METHODS: dict[str, Truncator] = {
    "`alpha=0.05`": Surprise(alpha=0.05),
    '`alpha=0.05`, `refit="all"`': Surprise(alpha=0.05, refit="all"),
    "`alpha=0.01`": Surprise(alpha=0.01),
    "`evalue=0.05`": Surprise(evalue=0.05),
    '`evalue=0.05`, `refit="all"`': Surprise(evalue=0.05, refit="all"),
    "`evalue=1`": Surprise(evalue=1.0),
    "`fdr=0.05`": Surprise(fdr=0.05),
    "`fdr=0.2`": Surprise(fdr=0.2),
    "first ten": FixedK(10),
    "no rule: untrained `Consensus()`": Consensus(),
}


def simulated(hits: int) -> Any:
    """Return lists of 200 scores with this many hits."""
    rng = np.random.default_rng([SEED, hits])
    lists = []
    for _ in range(LISTS):
        noise = np.partition(rng.normal(0.25, 0.06, INDEX), INDEX - DEPTH + hits)
        lists.append(np.append(rng.normal(0.65, 0.03, hits), noise[INDEX - DEPTH + hits :]))
    return -np.sort(-np.array(lists), axis=1)


def again() -> Again:
    """Yield what the rules keep of noise."""
    noise = simulated(0)
    for name, row in read("rules")["rows"].items():
        yield f"{name}, noise kept", row["noise kept"], float(METHODS[name].predict(noise).mean())


def measure() -> dict[str, Any]:
    """Return what each rule keeps, and its mean F1 on the judged runs."""
    noise, five, twenty = (simulated(hits) for hits in (0, 5, 20))
    runs = [load(run) for run in RUNS]
    rows = {}
    for name, method in METHODS.items():
        kept = method.predict(noise)
        cuts = [method.predict(lists) for lists in runs]
        f1 = [pc.metrics.f1(lists, c).mean() for lists, c in zip(runs, cuts, strict=True)]
        empty = [float((c == 0).mean()) for c in cuts]
        rows[name] = {
            "noise empty": float((kept == 0).mean()),
            "noise kept": float(kept.mean()),
            "5 hits": np.percentile(method.predict(five), [5, 50, 95]).tolist(),
            "20 hits": np.percentile(method.predict(twenty), [5, 50, 95]).tolist(),
            "f1": float(np.mean(f1)),
            "empty": [min(empty), float(np.median(empty)), max(empty)],
        }
    return {"runs": len(runs), "rows": rows}
