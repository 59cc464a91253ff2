"""The fourteen frozen collections, and shared ones to rehearse on with the same code.

Nothing here reads a frozen run before `experiments.frozen` is told to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from experiments.data import Run, json_rows, judged
from paretocut.lists import RankedLists

__all__ = ["FROZEN", "REHEARSAL", "Collection", "Query"]

MOST = 300  # queries of one run; more of one collection say little more
BM25, DENSE, NEURAL, OTHER = "BM25", "MiniLM", "neural", "other lexical"


@dataclass(frozen=True)
class Query:
    """A question to a collection."""

    id: str
    text: str
    answerable: bool


@dataclass(frozen=True)
class Collection:
    """Judged runs of one collection, by the names of their files, each with its kind of ranker."""

    name: str
    folder: str
    runs: tuple[tuple[str, str], ...] = (("bm25", BM25), ("minilm", DENSE))
    blind: bool = False
    first_hit: bool = False  # linkage, tools, intents: is the first result right?
    text: bool = True  # has corpus and queries, so that a gate can be calibrated

    def run(self, file: str) -> Run:
        """Return one of its runs, as the other experiments read them."""
        # One run of TREC-COVID comes with judgements of its own.
        qrels = "qrels.beir-complete.txt.gz" if file.startswith("beir-") else "qrels.txt.gz"
        return Run(
            name=f"{self.name}-{file}",
            family=self.name,
            run=f"{self.folder}/{file}.run.gz",
            qrels=f"{self.folder}/{qrels}",
            topics=f"{self.folder}/queries.jsonl.xz" if self.text else None,
        )

    def lists(self, file: str) -> RankedLists:
        """Return judged lists of queries with a relevant document, at most `MOST` at random."""
        lists = judged(self.run(file))
        lists = lists[np.flatnonzero(lists.num_relevant > 0)]
        order = np.random.default_rng(0).permutation(len(lists))[:MOST]
        return lists[np.sort(order)]

    @cache  # noqa: B019 - collections live as long as the command
    def documents(self) -> list[str]:
        """Return the texts, with their titles in front."""
        rows = json_rows(f"{self.folder}/corpus.jsonl.xz")
        return [f"{row['title']}. {row['text']}" if row["title"] else row["text"] for row in rows]

    def queries(self) -> list[Query]:
        """Return all queries."""
        rows = json_rows(f"{self.folder}/queries.jsonl.xz")
        return [Query(row["id"], row["text"], row.get("answerable", True)) for row in rows]


_COVID = (
    *(("BRPHJ_BM25", BM25), ("beir-bm25-flat", BM25), ("poznan_baseline", OTHER)),
    *(("r5.qqabs", OTHER), ("r5.d2q.qqabs", OTHER), ("sab20.5.1.meta.docs", OTHER)),
    *(("uogTrDPH_QE_SB_CB", OTHER), ("CSIROmedNIR", NEURAL)),
    *(("covidex.r5.2s.lr", NEURAL), ("mpiid5_run1", NEURAL)),
)
_CAST = (
    *(("org_manual_bm25", BM25), ("org_convdr_bert", NEURAL), ("org_manual_ance_bert", NEURAL)),
)


def _frozen(name: str, **how: object) -> Collection:
    return Collection(name, f"frozen/{name}", **how)  # type: ignore[arg-type]


FROZEN = (
    _frozen("treccovid5", runs=_COVID, text=False),
    _frozen("cast21", runs=_CAST, text=False),
    _frozen("fiqa"),
    _frozen("musique300"),
    _frozen("techqa_answers", first_hit=True),
    _frozen("bfcl", first_hit=True),
    _frozen("walmart_amazon", first_hit=True),
    _frozen("imdb_tmdb", first_hit=True, blind=True),
    _frozen("hint3_curekart", first_hit=True),
    _frozen("hint3_sofmattress", first_hit=True),
    _frozen("cystic", blind=True),
    _frozen("metatool", first_hit=True, blind=True),
    _frozen("hwu64", first_hit=True, blind=True),
    _frozen("askubuntu", runs=(("bm25", BM25),), text=False),
)
REHEARSAL = (
    Collection("abt_buy", "abt_buy", first_hit=True, blind=True),
    Collection("med", "med"),
    Collection("adi", "adi", blind=True),
    Collection("tar2017", "tar2017", runs=(("amc", OTHER),), text=False),
)
"""Shared collections, on which much was chosen: only to see that the code runs."""
