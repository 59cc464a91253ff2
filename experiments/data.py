"""The judged runs the experiments are made on: where they lie, and how to read them.

The folder is ``$PARETOCUT_DATA``, else ``../shared/data`` beside the project, else
``~/.cache/paretocut/data`` (``$XDG_CACHE_HOME`` is respected). `data_dir` says what to put there
when there is none.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import warnings
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.io import CoverageWarning, Qrels, read_qrels, read_trec
from paretocut.lists import RankedLists

__all__ = [
    "COLLECTION_RUNS",
    "DOMAIN_RUNS",
    "FOLDERS",
    "RUNS",
    "Run",
    "data_dir",
    "json_rows",
    "judged",
    "load",
    "query_texts",
    "sha256",
    "zip_rows",
]

ROOT = Path(__file__).resolve().parent.parent

_WANTED = """
  robust04/qrels.robust04.txt.gz, robust04/topics.robust04.txt.gz, robust04/runs/*.run.gz
      TREC 2004 Robust track: judgements and topics from NIST, runs in TREC format
  dl/qrels.dl{2019,2020}.txt.gz, dl/runs/dl{2019,2020}-{bm25,ance,bert-rerank}.run.gz
      TREC Deep Learning, passages: judgements from NIST, runs in TREC format
  tar/qrels.tar2019-{DTA,Intervention}.txt.gz, tar/runs/tar2019-{DTA,Intervention}.run.gz
      CLEF TAR 2019, from the repository CLEF-TAR/tar
  vaswani/{qrels.txt,query-text.trec,bm25.run,minilm-dense.run}.gz
      the Vaswani collection, from the repository terrier-org/terrier-core, and runs over it
  scifact/{scifact.zip,qrels.txt.gz,bm25.dev300.run.gz,minilm-dense.dev300.run.gz}
      SciFact: the claims as csv in the zip, judgements made of the cited documents, and runs
  {2wiki,hotpotqa500,squad2,clinc150,contractnli,nfcorpus,cranfield,cisi,med,time,adi}/
      {corpus,queries}.jsonl.xz, qrels.txt.gz, {bm25,minilm}.run.gz: text, questions, judgements,
      and two runs of each
  {abt_buy,dblp_acm,banking77oos,locomo_a}/
      the same files: record linkage, intents and the memory of an agent, with unanswerable queries
  tar2017/{qrels.txt,amc.run}.gz
      systematic reviews ranked to the end
  rlt4reranking/{cutoffs.tsv,results.txt,dl19-bm25.run}.gz
      depths of re-ranking published with arXiv 2404.18185, and the list they were chosen for
"""


@dataclass(frozen=True)
class Run:
    """A judged run, by the paths of its files in the data folder."""

    name: str
    family: str  # collection it belongs to
    run: str
    qrels: str
    topics: str | None = None
    min_grade: int = 1  # smallest grade that counts as relevant

    @property
    def files(self) -> list[str]:
        """All files the lists are made of."""
        return [name for name in (self.run, self.qrels, self.topics) if name is not None]


def _robust(name: str, family: str) -> Run:
    return Run(
        name=name,
        family=family,
        run=f"robust04/runs/{name}.run.gz",
        qrels="robust04/qrels.robust04.txt.gz",
        topics="robust04/topics.robust04.txt.gz",
    )


def _runs() -> tuple[Run, ...]:
    runs = [
        _robust(name, "Robust04")
        for name in ("bm25-top150", "colbert-prf-title", "drmm-trec8", "drmm-sigmoid-trec8")
    ]
    submitted = ("oce03noXbmD", "pircRBa1", "uwmtCR0", "THUIRr0301", "UIUC03Rd1", "InexpC2")
    runs += [_robust(f"trec2003-{name}", "Robust04, runs of TREC 2003") for name in submitted]
    for year in ("2019", "2020"):
        runs += [
            Run(
                name=f"dl{year}-{system}",
                family="TREC Deep Learning",
                run=f"dl/runs/dl{year}-{system}.run.gz",
                qrels=f"dl/qrels.dl{year}.txt.gz",
                min_grade=2,
            )
            for system in ("bm25", "ance", "bert-rerank")
        ]
    runs += [
        Run(
            name=f"tar2019-{kind}",
            family="CLEF TAR 2019",
            run=f"tar/runs/tar2019-{kind}.run.gz",
            qrels=f"tar/qrels.tar2019-{kind}.txt.gz",
        )
        for kind in ("DTA", "Intervention")
    ]
    for system in ("bm25", "minilm-dense"):
        runs.append(
            Run(
                name=f"vaswani-{system}",
                family="Vaswani",
                run=f"vaswani/{system}.run.gz",
                qrels="vaswani/qrels.txt.gz",
                topics="vaswani/query-text.trec.gz",
            )
        )
    for system in ("bm25", "minilm-dense"):
        runs.append(
            Run(
                name=f"scifact-{system}",
                family="SciFact",
                run=f"scifact/{system}.dev300.run.gz",
                qrels="scifact/qrels.txt.gz",
                topics="scifact/scifact.zip",
            )
        )
    return tuple(runs)


RUNS = _runs()
"""Every run of the tables. ``robust04/runs/rrf`` is left out: its scores carry rank only."""


FOLDERS = (
    *("2wiki", "hotpotqa500", "squad2", "clinc150", "contractnli", "nfcorpus"),
    *("cranfield", "cisi", "med", "time", "adi"),
)
"""Collections with text, questions, judgements and two runs each."""


def _collection(name: str, system: str, topics: bool = True) -> Run:
    return Run(
        name=f"{name}-{system}",
        family=name,
        run=f"{name}/{system}.run.gz",
        qrels=f"{name}/qrels.txt.gz",
        topics=f"{name}/queries.jsonl.xz" if topics else None,
    )


COLLECTION_RUNS = tuple(
    _collection(name, system) for name in FOLDERS for system in ("bm25", "minilm")
)
"""Their runs; only the queries that have an answer."""

DOMAIN_RUNS = (
    *(
        _collection(name, system)
        for name in ("abt_buy", "dblp_acm", "locomo_a", "banking77oos")
        for system in ("bm25", "minilm")
    ),
    _collection("tar2017", "amc", topics=False),
)
"""Runs of domains that came last: nothing was designed, chosen or learned with them in sight.

``tar2017/waterloo`` is left out: its scores are minus the rank."""


def data_dir() -> Path:
    """Return the folder with the data, or say exactly what to put where."""
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    named = os.environ.get("PARETOCUT_DATA")
    beside = [ROOT.parent / "shared" / "data", cache_home / "paretocut" / "data"]
    places = [Path(named)] if named else beside  # whoever names a folder wants no other
    for place in places:
        if place.is_dir():
            return place
    looked = "\n".join(f"  {place}" for place in places)
    raise FileNotFoundError(
        f"no data folder; looked for\n{looked}\n"
        f"Make one of them, or name another in $PARETOCUT_DATA, with\n{_WANTED}"
    )


def judged(run: Run) -> RankedLists:
    """Return the lists of a run, judged.

    Queries without judgements or without results are left out, as trec_eval does; so are those of
    which the collection says that they have no answer.
    """
    folder = data_dir()
    with warnings.catch_warnings():
        # That the runs cover part of the topics is stated with the tables.
        warnings.simplefilter("ignore", CoverageWarning)
        lists = read_trec(_file(folder, run.run), _qrels(run.qrels), min_grade=run.min_grade)
    if run.topics is None or not run.topics.endswith(".jsonl.xz"):
        return lists
    answerable = {row["id"] for row in json_rows(run.topics) if row.get("answerable", True)}
    return lists[[query in answerable for query in lists.query_ids.tolist()]]


def load(run: Run) -> RankedLists:
    """Return the lists of `judged`, with query embeddings where the query texts are there.

    An embedding is the TF-IDF vector of the query's text among the texts of its collection,
    reduced to 64 dimensions (fewer where there are fewer words) by a singular value
    decomposition and scaled to length 1.
    """
    lists = judged(run)
    if run.topics is None:
        return lists
    position, vectors = _embeddings(run.topics)
    return RankedLists(
        lists.scores,
        lists.relevance,
        query_ids=lists.query_ids,
        doc_ids=lists.doc_ids,
        num_relevant=lists.num_relevant,
        query_embeddings=vectors[[position[name] for name in lists.query_ids.tolist()]],
        min_grade=run.min_grade,
    )


def json_rows(name: str) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file of the data folder, compressed with xz."""
    with lzma.open(_file(data_dir(), name), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def zip_rows(name: str, part: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file in a zip of the data folder."""
    with zipfile.ZipFile(_file(data_dir(), name)) as archive, archive.open(part) as file:
        return list(csv.DictReader(io.TextIOWrapper(file, "utf-8")))


@cache
def sha256(name: str) -> str:
    """Return the SHA-256 of a file of the data folder, in hexadecimal."""
    return hashlib.sha256(_file(data_dir(), name).read_bytes()).hexdigest()


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; the data folder holds\n{_WANTED}")
    return path


@cache
def _qrels(name: str) -> Qrels:
    return read_qrels(_file(data_dir(), name))


@cache
def _embeddings(name: str) -> tuple[dict[str, int], NDArray[np.float64]]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = query_texts(name)
    matrix = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(texts.values())
    vectors = TruncatedSVD(min(64, *matrix.shape), random_state=0).fit_transform(matrix)
    return {query: i for i, query in enumerate(texts)}, normalize(vectors)


def query_texts(name: str) -> dict[str, str]:
    """Return the text of each query of a file: titles and descriptions of topics, or claims."""
    if name.endswith(".jsonl.xz"):
        return {row["id"]: row["text"] for row in json_rows(name)}
    if name.endswith(".zip"):
        return {
            f"{part}-{row['id']}": row["claim"]
            for part in ("train", "validation")
            for row in zip_rows(name, f"claims_{part}.csv")
        }
    with gzip.open(_file(data_dir(), name), "rt", encoding="latin-1") as file:
        topics = file.read().split("<top>")[1:]
    texts = {}
    for topic in topics:
        number = re.search(r"<num>\D*(\d+)", topic)
        assert number is not None
        body = topic[number.end() :].partition("<narr>")[0]
        texts[number[1]] = re.sub(r"<[^>]*>|Description:", " ", body)
    return texts
