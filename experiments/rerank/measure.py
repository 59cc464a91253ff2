"""The list, the re-rankers, the depths that were published and those of our truncators."""

from __future__ import annotations

import csv
import gzip
import re
from ast import literal_eval
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.command import Again
from experiments.data import data_dir
from experiments.results import read
from experiments.rivals.tail_aware import TailAware
from paretocut import metrics, truncators
from paretocut.io import read_qrels

__all__ = ["COST", "Bench", "again", "measure"]

COST = 0.0002
"""What a call costs in units of nDCG: 100 calls more must bring 0.02."""
FIXED = (1, 10, 20, 50, 100, 200, 500, 1000)
FOLDS = 5
DRAWS = 2000
TABLE = "table1_bm25_rankllama"
LIST = "dl-19-passage.original-bm25-1000."

Cuts = NDArray[np.int64]
Array = NDArray[np.float64]

TUNED = ("global_k", "minmax", "surprise", "consensus")
UNTRAINED: dict[str, pc.truncators.Truncator] = {
    "Consensus()": truncators.Consensus(),
    'Consensus(expect="many")': truncators.Consensus(expect="many"),
    "Surprise(alpha=0.05)": truncators.Surprise(alpha=0.05),
    "LargestGap()": truncators.LargestGap(),
    "TailAware()": TailAware(),
}


@dataclass(frozen=True)
class Bench:
    """The published list, judged, with what two re-rankers make of every depth."""

    lists: pc.RankedLists
    bert: pc.RankedLists
    grades: dict[str, list[int]]
    missing: float
    missing_first: float

    @classmethod
    def load(cls) -> Bench:
        """Return the bench; results that the re-ranker's file lacks stand last in its order."""
        folder = data_dir()
        qrels = read_qrels(folder / "dl" / "qrels.dl2019.txt.gz")
        lists = pc.read_trec(folder / "rlt4reranking" / "dl19-bm25.run.gz", qrels, min_grade=2)
        found = pc.read_trec(folder / "dl" / "runs" / "dl2019-bert-rerank.run.gz")
        known = {
            one.query_id: dict(zip(one.doc_ids.tolist(), one.scores.tolist(), strict=True))
            for one in found
        }
        scores, missing = [], []
        assert lists.doc_ids is not None
        for name, documents in zip(lists.query_ids.tolist(), lists.doc_ids, strict=True):
            own = known[name]
            last = min(own.values()) - 1
            scores.append([own.get(document, last) for document in documents.tolist()])
            missing.append([document not in own for document in documents.tolist()])
        bert = pc.RankedLists(scores, query_ids=lists.query_ids, doc_ids=list(lists.doc_ids))
        grades = {
            str(name): own.tolist() for name, own in zip(qrels.query_ids, qrels.grades, strict=True)
        }
        first = float(np.mean([part[:100] for part in missing]))
        return cls(lists, bert, grades, float(np.mean(np.concatenate(missing))), first)

    def metric(self, cost: float) -> metrics.Metric:
        """Return nDCG@10 after re-ranking with BERT, minus the cost of the calls."""
        return metrics.reranked_ndcg(self.bert, cost=cost, grades=self.grades)

    @cached_property
    def values(self) -> dict[str, Array]:
        """nDCG@10 of every query (row) at every depth (column), for each re-ranker."""
        perfect = metrics.reranked_ndcg(grades=self.grades)
        return {
            "bert": np.array(list(self.metric(0.0).curves(self.lists))),
            "perfect": np.array(list(perfect.curves(self.lists))),
        }

    def at(self, k: Cuts, reranker: str = "bert") -> Array:
        """Return nDCG@10 of each query at its depth."""
        return self.values[reranker][np.arange(len(k)), k]


def published(bench: Bench) -> dict[str, tuple[Cuts, float]]:
    """Return the depth of each query and the published nDCG@10, by method."""
    folder = data_dir() / "rlt4reranking"
    depths: dict[str, dict[str, int]] = {}
    with gzip.open(folder / "cutoffs.tsv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["table"] == TABLE and row["list_and_method"].startswith(LIST):
                name = _short(row["list_and_method"])
                depths.setdefault(name, {})[row["qid"]] = int(row["k"])
    reported = {}
    with gzip.open(folder / "results.txt.gz", "rt", encoding="utf-8") as file:
        within = False
        for line in file:
            if line.startswith("##"):
                within = line.startswith(f"## {TABLE}/") and LIST in line
            elif within and line.startswith(LIST):
                name, _, rest = line.partition(": ")
                key = _short(name.strip().removesuffix(".rankllama-1000-ndcg@10"))
                reported[key] = float(literal_eval(rest.strip())["ndcg@10"])
    queries = bench.lists.query_ids.tolist()
    return {
        name: (np.array([own[query] for query in queries]), reported[name])
        for name, own in depths.items()
    }


def _short(name: str) -> str:
    """Return "attncut beta1" for the long name of a published file."""
    method = name.removeprefix(LIST)
    kind = re.match(r"[a-z]+(-\d+)?", method)
    assert kind is not None
    setting = re.search(r"(beta\d|alpha0\.\d)(?:-100)?$", method)
    return kind[0] + (f" {setting[1]}" if setting else "")


def tuned(bench: Bench, name: str, cost: float) -> Cuts:
    """Return the depth of each query, learned from the queries of the other folds."""
    depths = np.zeros(len(bench.lists), dtype=np.int64)
    position = {query: i for i, query in enumerate(bench.lists.query_ids.tolist())}
    for train, test in bench.lists.folds(FOLDS, seed=0):
        made = truncators.make(name, metric=bench.metric(cost)).fit(train)
        depths[[position[query] for query in test.query_ids.tolist()]] = made.predict(test)
    return depths


def again() -> Again:
    """Yield nDCG@10 of fixed depths."""
    bench, kept = Bench.load(), read("rerank")["rows"]
    for k in FIXED:
        depth = np.full(len(bench.lists), k, dtype=np.int64)
        yield f"fixed {k}", kept[f"fixed {k}"]["bert"], float(bench.at(depth).mean())


def measure() -> dict[str, Any]:
    """Return mean depth and nDCG@10 of every method, with its gain over one depth for all."""
    bench = Bench.load()
    theirs = published(bench)
    cuts: dict[str, Cuts] = {
        f"fixed {k}": np.full(len(bench.lists), k, dtype=np.int64) for k in FIXED
    }
    cuts |= {
        f"published {name}": k for name, (k, _) in theirs.items() if not name.startswith("fixed")
    }
    for name in TUNED:
        cuts[f"{name}, tuned"] = tuned(bench, name, COST)
    for name, made in UNTRAINED.items():
        cuts[name] = made.predict(bench.lists)
    # The best depth of each query, the smallest one on a tie.
    cuts["oracle"] = bench.values["bert"].argmax(axis=1)
    cuts["oracle with cost"] = truncators.Oracle(bench.metric(COST)).predict(bench.lists)
    rows = {}
    for name, k in cuts.items():
        row: dict[str, Any] = {
            "calls": float(k.mean()),
            "bert": float(bench.at(k).mean()),
            "perfect": float(bench.at(k, "perfect").mean()),
        }
        if not name.startswith("fixed"):
            row["gain"] = gain(bench, k)
        rows[name] = row
    for name, (_, value) in theirs.items():
        if name.startswith("fixed"):
            key = name.replace("-", " ")
            rows.setdefault(key, {"calls": float(name.partition("-")[2])})["rankllama"] = value
        else:
            rows[f"published {name}"]["rankllama"] = value
    return {
        "queries": len(bench.lists),
        "cost": COST,
        "folds": FOLDS,
        "missing": bench.missing,
        "missing_first": bench.missing_first,
        "curve": {
            reranker: values.mean(axis=0)[_GRID].tolist()
            for reranker, values in bench.values.items()
        },
        "grid": _GRID.tolist(),
        "rows": rows,
    }


_GRID = np.unique(np.concatenate([np.arange(11), np.geomspace(10, 1000, 60).round()]).astype(int))


def gain(bench: Bench, k: Cuts) -> list[float]:
    """Return nDCG@10 over one depth for all with as many calls, and its 95 % interval."""
    own, curves = bench.at(k), bench.values["bert"]
    grid = np.arange(curves.shape[1])
    rng = np.random.default_rng(0)
    counts = rng.multinomial(k.size, np.full(k.size, 1 / k.size), size=DRAWS) / k.size
    whole = np.full((1, k.size), 1 / k.size)
    result = []
    for weights in (whole, counts):
        same = [np.interp(w @ k, grid, w @ curves) for w in weights]
        result.append(weights @ own - np.array(same))
    low, high = np.quantile(result[1], [0.025, 0.975])
    return [float(result[0][0]), float(low), float(high)]
