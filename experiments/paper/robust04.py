"""Robust04: real runs in place of the paper's, which were never published; 80/20 splits."""

from __future__ import annotations

from experiments.data import RUNS, load
from experiments.paper.retrieval import Task

COLUMNS = {
    "bm25-top150": "BM25",
    "trec2003-oce03noXbmD": "BM25",
    "drmm-trec8": "DRMM",
    "drmm-sigmoid-trec8": "DRMM",
    "colbert-prf-title": "",
}
"""The runs of our Table 2, and the column of the paper's that each stands in for."""


def make_task(name: str, seed: int) -> Task:
    """Return one random division of the run's queries, 80 % to learn from and 20 % to test."""
    (run,) = (run for run in RUNS if run.name == name)
    lists = load(run)
    train, test = lists.split(0.8, seed=seed)
    return Task(
        name,
        seed,
        train,
        test,
        None,
        {
            "queries": len(lists),
            "depth": f"{lists.scores.lengths.min()} to {lists.scores.lengths.max()}",
            "relevant per query": float(lists.num_relevant.mean()),
            "relevant retrieved per query": float(lists.relevant.values.sum() / len(lists)),
        },
    )
