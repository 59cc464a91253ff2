"""Time of fusing two runs, and ranx's on the same lists.

    python benchmarks/bench_fusion.py [--queries 1000] [--rounds 15] [--json benchmarks/fusion.json]

Two runs of 1,000 queries with 1,000 results each, document ids of ten characters, a third of the
documents in both. Ours is `pc.fuse` on one thread: normalise, join by document id, sort, keep the
parts. ranx is timed after a first call that compiles, once with its lists already in its own `Run`
objects (normalise, fuse and sort) and once from columns, as ours. All times are processor time,
ranx's that of all its threads, and the best round counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import paretocut as pc

DEPTH = 1000
BAR = 0.1  # seconds, for 2 x 1,000 lists of 1,000
METHODS = {"rrf": (None, "rrf"), "minmax": ("min-max", "sum"), "z": ("zmuv", "sum")}


def runs(queries: int) -> list[pc.RankedLists]:
    """Return two runs over the same 3,000 documents."""
    rng = np.random.default_rng(0)
    names = np.array([f"doc{i:07d}" for i in range(3 * DEPTH)])
    offsets = np.arange(queries + 1) * DEPTH
    made = []
    for _ in range(2):
        chosen = np.concatenate([rng.permutation(3 * DEPTH)[:DEPTH] for _ in range(queries)])
        scores = -np.sort(-rng.normal(size=(queries, DEPTH)), axis=1)
        made.append(pc.RankedLists((scores.reshape(-1), offsets), doc_ids=(names[chosen], offsets)))
    return made


def best(function: Callable[[], Any], rounds: int, clock: Callable[[], float]) -> float:
    """Return the shortest time of several calls."""
    times = []
    for _ in range(rounds):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def to_ranx(lists: pc.RankedLists) -> Any:
    """Return a run as ranx has it."""
    import ranx

    return ranx.Run(
        {
            one.query_id: dict(zip(one.doc_ids.tolist(), one.scores.tolist(), strict=True))
            for one in lists
        }
    )


def measure(queries: int, rounds: int) -> dict[str, Any]:
    """Return seconds by method, ours and ranx's."""
    import ranx

    lists = runs(queries)
    found: dict[str, Any] = {}
    theirs = [to_ranx(one) for one in lists]
    for method, (norm, name) in METHODS.items():

        def fused(method: str = method) -> Any:
            return pc.fuse(lists, method=method)

        def in_ranx(own: Any, norm: Any = norm, name: str = name) -> Any:
            return ranx.fuse(own, norm=norm, method=name)

        in_ranx(theirs)  # compiles
        found[method] = {
            "ours": best(fused, rounds, time.thread_time),
            "ranx": best(lambda run=in_ranx: run(theirs), 2, time.process_time),
            "ranx, from columns": best(
                lambda run=in_ranx: run([to_ranx(one) for one in lists]), 1, time.process_time
            ),
        }
    fusion = pc.fusion.Fusion().fit(lists)
    found["Fusion"] = {"ours": best(lambda: fusion.fuse(lists), rounds, time.thread_time)}
    return found


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numba
        found = measure(args.queries, args.rounds)
    for method, own in found.items():
        met = "met" if own["ours"] <= BAR * args.queries / 1000 else "MISSED"
        line = f"{method:8s} {1e3 * own['ours']:7.1f} ms ({met})"
        if "ranx" in own:
            line += (
                f"   ranx takes {own['ranx'] / own['ours']:.0f} x, from columns "
                f"{own['ranx, from columns'] / own['ours']:.0f} x"
            )
        print(line)
    if args.json:
        machine = {"processor": platform.machine(), "cores": os.cpu_count(), "load": load}
        content = {"queries": args.queries, "depth": DEPTH, "machine": machine, "seconds": found}
        args.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
