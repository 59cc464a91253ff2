"""Texts, queries and judged runs of every shared collection."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
from dataclasses import dataclass
from functools import cache

import numpy as np

from experiments.data import (
    COLLECTION_RUNS,
    FOLDERS,
    RUNS,
    data_dir,
    json_rows,
    judged,
    load,
    query_texts,
)
from paretocut.lists import RankedLists

__all__ = ["TEXTS", "Query", "documents", "queries", "systems"]

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
    """A question to a collection.

    Attributes
    ----------
    id, text
        Its name and words.
    answerable
        Whether the collection holds an answer.
    document
        The document that is searched, where search is within one.
    """

    id: str
    text: str
    answerable: bool = True
    document: str | None = None


@cache
def documents(name: str) -> dict[str, str]:
    """Return the text of each document of a collection, with its title in front.

    Parameters
    ----------
    name
        One of `TEXTS`.
    """
    folder = data_dir() / name
    if name == "vaswani":
        with gzip.open(folder / "doc-text.trec.gz", "rt", encoding="latin-1") as file:
            raw = file.read()
        found = re.finditer(r"<DOCNO>(.*?)</DOCNO>(.*?)</DOC>", raw, re.S)
        return {match[1].strip(): " ".join(match[2].split()) for match in found}
    if name == "scifact":
        with (
            zipfile.ZipFile(folder / "scifact.zip") as archive,
            archive.open("corpus_train.csv") as file,
        ):
            rows = csv.DictReader(io.TextIOWrapper(file, "utf-8"))
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
    """Return the queries of a collection; of SciFact those that the runs answer.

    Parameters
    ----------
    name
        One of `TEXTS`.
    """
    folder = data_dir() / name
    if name in FOLDERS:
        return [
            Query(row["id"], row["text"], row.get("answerable", True), row.get("document"))
            for row in json_rows(f"{name}/queries.jsonl.xz")
        ]
    if name == "vaswani":
        texts = query_texts("vaswani/query-text.trec.gz")
    else:
        with gzip.open(folder / "bm25.dev300.run.gz", "rt", encoding="utf-8") as file:
            run = {line.split(maxsplit=1)[0] for line in file}
        texts = {
            key: text for key, text in query_texts("scifact/scifact.zip").items() if key in run
        }
    return [Query(key, " ".join(text.split())) for key, text in texts.items()]


def systems(most: int | None = None) -> list[tuple[str, str, RankedLists]]:
    """Return collection, name and judged lists of every run; only answerable queries.

    Parameters
    ----------
    most
        Draw so many queries from runs with more; None takes all.
    """
    found = [(_FAMILIES[run.family], run.name, load(run)) for run in RUNS]
    found += [(run.family, run.name, judged(run)) for run in COLLECTION_RUNS]
    if most is None:
        return found
    return [(family, name, _drawn(lists, most)) for family, name, lists in found]


def _drawn(lists: RankedLists, most: int) -> RankedLists:
    if len(lists) <= most:
        return lists
    chosen = np.random.default_rng(0).choice(len(lists), most, replace=False)
    return lists[np.sort(chosen).tolist()]
