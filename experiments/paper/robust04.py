"""Robust04: real runs in place of the paper's, which were never published; five folds, twice."""

from __future__ import annotations

import numpy as np

from experiments.data import RUNS, Run, load
from experiments.paper.retrieval import Task

COLUMNS = {
    "bm25-top150": "BM25",
    "trec2003-oce03noXbmD": "BM25",
    "drmm-trec8": "DRMM",
    "drmm-sigmoid-trec8": "DRMM",
    "colbert-prf-title": "",
}
"""The runs of our Table 2, and the column of the paper's that each stands in for."""
FOLDS = 5
"""80 % to learn from and 20 % to test, as in the paper, and every query is tested as often."""


def run_of(name: str) -> Run:
    """Return the run of this name."""
    (run,) = (run for run in RUNS if run.name == name)
    return run


def make_task(name: str, seed: int) -> Task:
    """Return one fold of the run's queries: seeds 0 to 4 are one division, 5 to 9 another."""
    lists = load(run_of(name))
    division, fold = divmod(seed, FOLDS)
    order = np.random.default_rng(division).permutation(len(lists))
    test = np.sort(order[fold::FOLDS])
    train = np.setdiff1d(order, test)
    return Task(
        name,
        seed,
        lists[train],
        lists[test],
        None,
        {
            "queries": len(lists),
            "depth": f"{lists.scores.lengths.min()} to {lists.scores.lengths.max()}",
            "relevant per query": float(lists.num_relevant.mean()),
            "relevant retrieved per query": float(lists.relevant.values.sum() / len(lists)),
        },
    )
