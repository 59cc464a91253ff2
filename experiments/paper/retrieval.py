"""Nearest-neighbour lists from encoded queries and an encoded index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import paretocut as pc

DEPTH = 200
BLOCK = 64
"""Queries searched at once, so that memory stays small."""

Similarity = Literal["euclidean", "cosine", "dot"]
Training = Literal["all", "indexed", "half matched"]
"""Whose queries teach: all training items, as in the paper, or only those in the index. The last
is for Same Document alone."""


@dataclass(frozen=True)
class Task:
    """One draw of an experiment: lists to learn from, lists to test on, and what made them."""

    name: str
    seed: int
    train: pc.RankedLists  # judged; ``doc_ids`` are positions in ``vectors``
    test: pc.RankedLists
    vectors: NDArray[np.float32] | None = None  # embeddings of the index
    facts: dict[str, Any] = field(default_factory=dict)  # counts and choices worth reporting

    def encoded(self, lists: pc.RankedLists) -> pc.RankedLists:
        """Return the lists with the embedding of every result, for methods that read those."""
        assert self.vectors is not None
        assert lists.doc_ids is not None
        return pc.RankedLists(
            lists.scores,
            lists.relevance,
            lists.query_ids,
            lists.doc_ids,
            lists.num_relevant,
            lists.query_embeddings,
            self.vectors[lists.doc_ids.values.astype(np.int64)],
        )


def search(
    queries: NDArray[np.float32],
    index: NDArray[np.float32],
    similarity: Similarity,
    depth: int = DEPTH,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores (higher is closer) and positions of the nearest ``depth`` of the index.

    The search is exact and in double precision; equal scores come in the order of the index.
    """
    if similarity == "cosine":
        queries, index = unit(queries), unit(index)
    left, right = queries.astype(np.float64), index.astype(np.float64)
    depth = min(depth, len(right))
    squares = np.square(right).sum(axis=1) if similarity == "euclidean" else np.zeros(len(right))
    scores = np.empty((len(left), depth))
    found = np.empty((len(left), depth), dtype=np.int64)
    for start in range(0, len(left), BLOCK):
        part = left[start : start + BLOCK]
        far = squares - (2 if similarity == "euclidean" else 1) * (part @ right.T)
        near = np.sort(np.argpartition(far, depth - 1, axis=1)[:, :depth], axis=1)
        if similarity == "euclidean":
            # Differences, not the expanded square: that loses the digits of small distances.
            close = -np.sqrt(np.square(right[near] - part[:, None]).sum(axis=2))
        else:
            close = np.einsum("ijk,ik->ij", right[near], part)
        order = np.argsort(-close, axis=1, kind="stable")
        scores[start : start + BLOCK] = np.take_along_axis(close, order, axis=1)
        found[start : start + BLOCK] = np.take_along_axis(near, order, axis=1)
    return scores, found


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows scaled to length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def ranked_lists(
    queries: NDArray[np.float32],
    labels: NDArray[np.int64],
    index: NDArray[np.float32],
    index_labels: NDArray[np.int64],
    similarity: Similarity,
    *,
    own: NDArray[np.int64] | None = None,
    names: Any = None,
    query_embeddings: NDArray[np.float32] | None = None,
) -> pc.RankedLists:
    """Return each query's 200 nearest of the index, judged by equal labels."""
    depth = min(DEPTH, len(index) - (own is not None))
    scores, found = search(queries, index, similarity, depth + (own is not None))
    counts = np.bincount(index_labels, minlength=labels.max() + 1)[labels]
    if own is not None:
        others = found != own[:, None]
        # Where the query is not in the index, or not even among its nearest, the last one goes.
        others[others.all(axis=1), -1] = False
        scores, found = (part[others].reshape(len(labels), depth) for part in (scores, found))
        counts = counts - (own >= 0)
    return pc.RankedLists(
        scores,
        index_labels[found] == labels[:, None],
        names,
        doc_ids=found,
        num_relevant=counts,
        query_embeddings=queries if query_embeddings is None else query_embeddings,
    )
