"""FAISS: the answers of ``index.search``."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from paretocut.adapters.deciding import CutTuple, cut_each
from paretocut.adapters.stores import two_matrices
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidScoresError

__all__ = ["cut_search"]

_REMEDY = "search deeper: index.hnsw.efSearch (HNSW) or index.nprobe (IVF)"


def cut_search(
    distances: NDArray[Any],
    labels: NDArray[Any],
    *,
    higher_is_better: bool,
    **options: Unpack[DecisionOptions],
) -> CutTuple:
    """Return distances and labels of the results worth keeping, padded as FAISS pads.

    Both arrays keep their shape; what is cut becomes a missing result: label -1 and the largest
    float32, negative where higher is better. The pair has the decisions in ``cuts``.

    Parameters
    ----------
    distances, labels
        What ``index.search(x, k)`` returned; ask for about 200.
    higher_is_better
        True for inner products (``index.metric_type == faiss.METRIC_INNER_PRODUCT``), False for
        L2 and the other distances.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.

    Examples
    --------
    >>> noise = 1.5 - np.random.default_rng(0).exponential(0.05, size=98)
    >>> D = np.array([[0.10, 0.12, *np.sort(noise)]])
    >>> I = np.arange(100)[None, :]
    >>> D, I = cut_search(D, I, higher_is_better=False, evalue=0.05)
    >>> I[0, :4].tolist()
    [0, 1, -1, -1]
    """
    distances, labels = two_matrices("cut_search", distances=distances, labels=labels)
    if distances.dtype.kind not in "fiu" or labels.dtype.kind not in "iu":
        raise InvalidScoresError(
            "cut_search: distances must be numbers and labels integers, in this order, got "
            f"{distances.dtype} and {labels.dtype}"
        )
    worst = np.finfo(np.float32).max
    new_distances = np.full_like(distances, -worst if higher_is_better else worst)
    new_labels = np.full_like(labels, -1)
    there = np.where(labels == -1, np.nan, distances.astype(np.float64))
    decisions, cuts = cut_each(
        there,
        options,
        who="cut_search",
        higher_is_better=higher_is_better,
        asked=labels.shape[1] or None,
        remedy=_REMEDY,
    )
    for row, decision in enumerate(decisions):
        kept = decision.kept
        new_distances[row, : len(kept)] = distances[row, kept]
        new_labels[row, : len(kept)] = labels[row, kept]
    return CutTuple((new_distances, new_labels), cuts)
