"""Run every truncator on every judged run, and write ``docs/results.md`` and ``.json``.

What was computed before is read from ``build/compare``, so the command can be stopped and
started again, and a change of a truncator costs only that truncator's part. The neural
truncators come after all others, and after a first version of the page: on a CPU they take
minutes for each of the 20 fits of a run. ``--neural RUN ...`` trains them on these runs only,
``--neural`` alone on none; what is on disk of them is shown.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.compare import cache, report
from experiments.compare.methods import BASELINE, CEILING, METRICS, NEURAL, methods
from experiments.compare.orientation import orientation
from experiments.data import RUNS, Run, load
from paretocut.evaluation import Evaluation, evaluate
from paretocut.types import RankedLists

PROTOCOL: dict[str, Any] = {"metrics": METRICS, "splits": 5, "folds": 2, "seed": 0}


def table(run: Run, lists: RankedLists, *, neural: bool, jobs: int) -> Evaluation:
    """Return the evaluation of all truncators on a run, from disk where it is there.

    Parameters
    ----------
    run, lists
        The run and what it holds.
    neural
        Compute the neural truncators too; otherwise only those on disk take part.
    jobs
        How many processes share the work.
    """
    # The splits follow from the seed alone: truncators evaluated one by one share them.
    ceiling = evaluate([CEILING], lists, **PROTOCOL)
    names, cuts, values = [], [ceiling.k], [ceiling.values]
    for name, truncator in methods(lists).items():
        key = cache.key_of(run, truncator, PROTOCOL)
        stored = cache.read(key)
        if stored is None and (neural or name not in NEURAL):
            start = time.perf_counter()
            done = evaluate({name: truncator}, lists, **PROTOCOL, n_jobs=jobs, progress=True)
            stored = {"k": done.k[:, :1], "values": done.values[:, :1]}
            cache.write(key, **stored)
            sys.stderr.write(f"{run.name}: {name} {time.perf_counter() - start:.1f} s\n")
        if stored is not None:
            names.append(name)
            cuts.insert(-1, stored["k"])
            values.insert(-1, stored["values"])
    return replace(
        ceiling,
        truncators=(*names, CEILING),
        baseline=BASELINE,
        k=np.concatenate(cuts, axis=1),
        values=np.concatenate(values, axis=1),
    )


def main() -> None:
    """Do what the module says."""
    parser = argparse.ArgumentParser(prog="python -m experiments.compare", description=__doc__)
    parser.add_argument("--neural", nargs="*", metavar="RUN", default=[run.name for run in RUNS])
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    options = parser.parse_args()
    lists = {run: load(run) for run in RUNS}
    check = orientation(next(lists[run] for run in RUNS if run.name == "bm25-top150"))
    for chosen in ([], options.neural) if options.neural else ([],):
        tables = {
            run: table(run, lists[run], neural=run.name in chosen, jobs=options.jobs)
            for run in RUNS
        }
        report.write(tables, lists, PROTOCOL, check)


if __name__ == "__main__":
    main()
