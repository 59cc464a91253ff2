"""What each rule keeps: of simulated lists with 0, 5 and 20 hits, and of the judged runs.

    python -m experiments.rules

prints the table of docs/rules.md (about ten seconds). Lists are the 200 best of 100,000 scores
drawn from N(0.25, 0.06), of which 0, 5 or 20 are replaced by hits from N(0.65, 0.03); the judged
runs are those of `experiments.data`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import paretocut as pc
from experiments.data import RUNS, load
from paretocut.truncators import Consensus, FixedK, Surprise, Truncator

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


def main() -> None:
    """Print the table."""
    noise, five, twenty = (simulated(hits) for hits in (0, 5, 20))
    runs = [load(run) for run in RUNS]
    out = sys.stdout.write
    out("| rule | noise: nothing kept | noise: mean kept | 5 hits: kept | 20 hits: kept | ")
    out(f"{len(runs)} runs: mean F1 | {len(runs)} runs: nothing kept |\n")
    out("|---|---:|---:|---:|---:|---:|---:|\n")
    for name, method in METHODS.items():
        k = method.predict(noise)
        spread = [
            "{1:.0f} ({0:.0f} to {2:.0f})".format(
                *np.percentile(method.predict(lists), [5, 50, 95])
            )
            for lists in (five, twenty)
        ]
        cuts = [method.predict(lists) for lists in runs]
        f1 = np.mean([pc.metrics.f1(lists, c).mean() for lists, c in zip(runs, cuts, strict=True)])
        empty = [float((c == 0).mean()) for c in cuts]
        out(
            f"| {name} | {(k == 0).mean():.0%} | {k.mean():.1f} | {spread[0]} | {spread[1]} | "
            f"{f1:.3f} | {np.median(empty):.0%} ({min(empty):.0%} to {max(empty):.0%}) |\n"
        )


if __name__ == "__main__":
    main()
