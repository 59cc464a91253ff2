"""Does hybrid search return nothing where there is nothing? Questions asked to the wrong index.

Off-topic questions for one collection are the questions of others. The background is fitted on
those of some collections and tested on those of *others*, so it never saw their kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.texts import documents, encode, queries
from paretocut.fusion import Fusion

__all__ = ["INDEXES", "one"]

INDEXES = ("med", "clinc150", "time", "squad2", "cranfield")
# Whose questions a background is fitted on and tested on; never those of the index itself.
FITTED = ("2wiki", "cisi", "time", "clinc150", "adi")
TESTED = ("hotpotqa500", "nfcorpus", "med", "cranfield", "squad2")
QUESTIONS, DEPTH, ALPHA = 60, 100, 0.05


@cache
def _questions(name: str) -> list[str]:
    rows = [query.text for query in queries(name) if query.answerable]
    chosen = np.random.default_rng(1).permutation(len(rows))[:QUESTIONS]
    return [rows[i] for i in chosen]


def _ranked(scores: NDArray[Any], ids: Sequence[str], names: Sequence[str]) -> pc.RankedLists:
    """Return the best results of each question; what scores 0 was not found."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    best = np.take_along_axis(scores, order, axis=1)
    return pc.RankedLists(
        [row[row != 0].astype(np.float64) for row in best],
        query_ids=names,
        doc_ids=[[ids[i] for i in own[row != 0]] for own, row in zip(order, best, strict=True)],
    )


def search(index: str, asked: str) -> dict[str, pc.RankedLists]:
    """Return what BM25 and MiniLM find in one collection for the questions of another."""
    import bm25s
    import Stemmer

    ids, texts = list(documents(index)), list(documents(index).values())
    questions = _questions(asked)
    names = [f"{asked}-{i}" for i in range(len(questions))]
    words = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    engine.index(bm25s.tokenize(texts, **words), show_progress=False)
    rows = []
    for tokens in bm25s.tokenize(questions, **words, return_ids=False):
        known = [token for token in tokens if token in engine.vocab_dict]
        rows.append(engine.get_scores(known) if known else np.zeros(len(texts)))
    cosine = encode(f"{asked} questions", questions) @ encode(index, texts).T
    return {"BM25": _ranked(np.array(rows), ids, names), "MiniLM": _ranked(cosine, ids, names)}


def _joined(parts: Sequence[Mapping[str, pc.RankedLists]]) -> dict[str, pc.RankedLists]:
    return {name: pc.RankedLists.concat([part[name] for part in parts]) for name in parts[0]}


def one(index: str) -> dict[str, dict[str, float]]:
    """Return the share of off-topic and own questions that get nothing, by method."""
    own = search(index, index)
    fitted, tested = (
        _joined([search(index, other) for other in group if other != index])
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
