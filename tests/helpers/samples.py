"""Small runs and lists that several tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import paretocut as pc


def write_example_run(folder: Path) -> None:
    """Write a TREC run of three queries with 3, 8 and 0 hits that stand out, and its qrels."""
    generator = np.random.default_rng(7)
    run, qrels = [], []
    for query, hits in (("q1", 3), ("q2", 8), ("q3", 0)):
        noise = np.sort(generator.normal(0.25, 0.06, size=100_000))[-(200 - hits) :]
        scores = np.sort(np.concatenate([noise, generator.normal(0.65, 0.03, size=hits)]))[::-1]
        for rank, score in enumerate(scores, start=1):
            run.append(f"{query} Q0 d{rank:03d} {rank} {score:.6f} example\n")
            qrels.append(f"{query} 0 d{rank:03d} {int(rank <= hits)}\n")
    (folder / "run.txt").write_text("".join(run), encoding="utf-8")
    (folder / "qrels.txt").write_text("".join(qrels), encoding="utf-8")


def planted(
    lists: int = 4, depth: int = 120, *, seed: int = 0, judged: bool = True, sign: float = 1.0
) -> pc.RankedLists:
    """Return lists of noise with a few hits above it, and which they are."""
    rng = np.random.default_rng(seed)
    scores, hits = [], []
    for i in range(lists):
        found = 2 + i % 7
        values = np.concatenate(
            [rng.normal(0.7, 0.05, found), rng.exponential(0.08, depth - found)]
        )
        scores.append(sign * values)
        hits.append(np.arange(depth) < found)
    return pc.RankedLists(
        scores,
        relevance=hits if judged else None,
        query_ids=[f"q{i}" for i in range(lists)],
        doc_ids=[[f"d{i}-{j}" for j in range(depth)] for i in range(lists)],
        num_relevant=[2 + i % 7 + 1 for i in range(lists)] if judged else None,
        higher_is_better=sign > 0,
    )


def write_two_runs(folder: Path) -> dict[str, Any]:
    """Write words.run, near.run (distances) and qrels.txt; return the files and the lists."""
    rng = np.random.default_rng(0)
    relevant = np.arange(60) < 5
    names = [f"d{i}" for i in range(60)]
    queries = [f"q{i}" for i in range(24)]
    files, lists = {}, {}
    for name, up in (("words", True), ("near", False)):
        scores = rng.normal(size=(24, 60)) + 2 * relevant
        one = pc.RankedLists(
            scores if up else 9 - scores,
            doc_ids=[names] * 24,
            query_ids=queries,
            higher_is_better=up,
        ).truncate(40)
        files[name] = folder / f"{name}.run"
        pc.io.write_trec(files[name], one)
        lists[name] = pc.read_trec(files[name], higher_is_better=up)
    qrels = folder / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 {d} 1\n" for q in queries for d in names[:5]))
    return {"files": files, "lists": lists, "qrels": qrels, "folder": folder}
