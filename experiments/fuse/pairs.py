"""Pairs of runs over the same queries, judged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.data import FOLDERS, data_dir
from paretocut.io import CoverageWarning, Qrels, read_qrels

# More queries of one collection say little more, and take their time.
MOST = 300

__all__ = ["NEW", "PAIRS", "Judged", "Pair", "load"]


@dataclass(frozen=True)
class Pair:
    """Two runs by their files in the data folder, and their judgements."""

    name: str
    runs: dict[str, str]  # files by name of the system
    qrels: str
    min_grade: int = 1  # smallest grade that counts as relevant

    @property
    def cosine(self) -> bool:
        """Whether it is BM25 with cosine similarities, which some rivals need."""
        return list(self.runs) == ["BM25", "MiniLM"]


def _deep(year: int, first: str, second: str) -> Pair:
    files = {"BM25": "bm25", "ANCE": "ance", "BERT": "bert-rerank"}
    return Pair(
        f"DL {year}, {first} and {second}",
        {name: f"dl/runs/dl{year}-{files[name]}.run.gz" for name in (first, second)},
        f"dl/qrels.dl{year}.txt.gz",
        2,
    )


def _robust(runs: dict[str, str]) -> Pair:
    return Pair(
        f"Robust04, {' and '.join(runs)}",
        {name: f"robust04/runs/{file}.run.gz" for name, file in runs.items()},
        "robust04/qrels.robust04.txt.gz",
    )


def _trec(first: str, second: str) -> Pair:
    return _robust({name: f"trec2003-{name}" for name in (first, second)})


NEW = [
    Pair(
        f"{name}, BM25 and MiniLM",
        {"BM25": f"{name}/bm25.run.gz", "MiniLM": f"{name}/minilm.run.gz"},
        f"{name}/qrels.txt.gz",
    )
    for name in FOLDERS
]
"""Collections that no choice of `Consensus` was made on."""

OLD = [
    _deep(2019, "BM25", "ANCE"),
    _deep(2020, "BM25", "ANCE"),
    _deep(2019, "BERT", "ANCE"),
    Pair(
        "Vaswani, BM25 and MiniLM",
        {"BM25": "vaswani/bm25.run.gz", "MiniLM": "vaswani/minilm-dense.run.gz"},
        "vaswani/qrels.txt.gz",
    ),
    Pair(
        "SciFact, BM25 and MiniLM",
        {"BM25": "scifact/bm25.dev300.run.gz", "MiniLM": "scifact/minilm-dense.dev300.run.gz"},
        "scifact/qrels.txt.gz",
    ),
    _robust({"BM25": "bm25-top150", "ColBERT": "colbert-prf-title"}),
    _trec("pircRBa1", "uwmtCR0"),
    _trec("THUIRr0301", "UIUC03Rd1"),
]
PAIRS = [*OLD, *NEW]


@dataclass(frozen=True)
class Judged:
    """The lists of a pair: judged queries that have a relevant document."""

    runs: dict[str, pc.RankedLists]  # by system; a query without results has an empty list
    ideal: NDArray[np.float64]  # the best ten grades of each query, for nDCG

    def take(self, queries: NDArray[np.int64]) -> Judged:
        """Return some of the queries."""
        return Judged(
            {name: lists[queries] for name, lists in self.runs.items()}, self.ideal[queries]
        )

    def unjudged(self) -> dict[str, pc.RankedLists]:
        """Return the lists without their judgements."""
        return {
            name: pc.RankedLists(lists.scores, query_ids=lists.query_ids, doc_ids=lists.doc_ids)
            for name, lists in self.runs.items()
        }

    def __len__(self) -> int:
        return len(self.ideal)


def load(pair: Pair) -> Judged:
    """Return the lists of both systems for the same queries, in the same order.

    Of more than `MOST` queries a random choice is taken.
    """
    folder = data_dir()
    qrels = read_qrels(folder / pair.qrels)
    with warnings.catch_warnings():
        # A system that finds nothing for a query has no line for it: an empty list here.
        warnings.simplefilter("ignore", CoverageWarning)
        read = {
            name: pc.read_trec(folder / file, qrels, min_grade=pair.min_grade, missing="empty")
            for name, file in pair.runs.items()
        }
    found = set.union(
        *({q for q, n in zip(x.query_ids.tolist(), x.scores.lengths, strict=True) if n}
          for x in read.values())
    )  # fmt: skip
    wanted = [
        name
        for name, number in zip(
            qrels.query_ids.tolist(), qrels.num_relevant(min_grade=pair.min_grade), strict=True
        )
        if number and name in found
    ]
    if len(wanted) > MOST:
        chosen = np.random.default_rng(0).permutation(len(wanted))[:MOST]
        wanted = [wanted[i] for i in np.sort(chosen)]
    runs = {}
    for name, lists in read.items():
        place = {query: i for i, query in enumerate(lists.query_ids.tolist())}
        runs[name] = lists[[place[query] for query in wanted]]
    return Judged(runs, _ideal(qrels, wanted))


def _ideal(qrels: Qrels, queries: list[str]) -> NDArray[np.float64]:
    place = {name: i for i, name in enumerate(qrels.query_ids.tolist())}
    table = np.zeros((len(queries), 10))
    for row, name in zip(table, queries, strict=True):
        best = np.sort(qrels.grades[place[name]])[::-1][:10]
        row[: len(best)] = np.maximum(best, 0)
    return table
