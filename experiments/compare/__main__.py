"""Run every truncator on every judged run, and write ``docs/results*.md`` and ``.json``.

What was computed before is read from ``build/compare``, so the command can be stopped and
started again, and a change of a truncator costs only that truncator's part. The cuts of the
neural truncators are kept in ``experiments/compare/networks.npz``: delete it to train them anew,
after all others and after a first version of the page. Where they are missing, ``--neural RUN
...`` trains them on these runs only, ``--neural`` alone on none. A CPU takes up to some minutes
for each of the 20 fits of a network on a run; a GPU (``--device cuda``) is shared by as many
processes as ``--jobs`` says, best with ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.compare import cache, networks, ours, report
from experiments.compare.methods import BASELINE, CEILING, NEURAL, PROTOCOL, methods
from experiments.data import COLLECTION_RUNS, RUNS, Run, load
from paretocut.evaluation import Evaluation, evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import Truncator

__all__ = ["PROTOCOL", "main", "table"]


def table(run: Run, lists: RankedLists, known: Any, *, jobs: int) -> Evaluation:
    """Return the evaluation of all truncators on a run, from disk where it is there.

    Parameters
    ----------
    run, lists
        The run and what it holds. The neural truncators take part where they were trained.
    known
        What `Consensus` may know of other collections.
    jobs
        How many processes share the work.
    """
    # The splits follow from the seed alone: truncators evaluated one by one share them.
    ceiling = evaluate([CEILING], lists, **PROTOCOL)
    found: dict[str, Any] = ours.rows(run, lists, known, ceiling.query)
    for name, truncator in methods(lists).items():
        if name in NEURAL:
            found[name] = networks.stored(run, lists, name)
        else:
            found[name] = _computed(run, lists, name, truncator, jobs)
    found = {name: stored for name, stored in found.items() if stored is not None}
    found[CEILING] = {"k": ceiling.k, "values": ceiling.values}
    return replace(
        ceiling,
        truncators=tuple(found),
        baseline=BASELINE,
        k=np.concatenate([stored["k"] for stored in found.values()], axis=1),
        values=np.concatenate([stored["values"] for stored in found.values()], axis=1),
    )


def _computed(
    run: Run, lists: RankedLists, name: str, truncator: Truncator, jobs: int
) -> dict[str, NDArray[Any]]:
    key = cache.key_of(run, truncator, PROTOCOL)
    stored = cache.read(key)
    if stored is None:
        start = time.perf_counter()
        done = evaluate({name: truncator}, lists, **PROTOCOL, n_jobs=jobs, progress=True)
        stored = {"k": done.k[:, :1], "values": done.values[:, :1]}
        cache.write(key, **stored)
        sys.stderr.write(f"{run.name}: {name} {time.perf_counter() - start:.1f} s\n")
    return stored


def main() -> None:
    """Do what the module says."""
    parser = argparse.ArgumentParser(prog="python -m experiments.compare", description=__doc__)
    parser.add_argument("--neural", nargs="*", metavar="RUN", default=[run.name for run in RUNS])
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--device", default="cpu", help="where networks are trained (default: cpu)")
    options = parser.parse_args()
    lists = {run: load(run) for run in (*RUNS, *COLLECTION_RUNS)}
    known = ours.elsewhere(lists)

    def write() -> None:
        tables = {run: table(run, own, known[run], jobs=options.jobs) for run, own in lists.items()}
        report.write(tables, lists, PROTOCOL)

    write()
    chosen = [run for run in RUNS if run.name in options.neural]
    if networks.train(chosen, device=options.device, jobs=options.jobs):
        write()


if __name__ == "__main__":
    main()
