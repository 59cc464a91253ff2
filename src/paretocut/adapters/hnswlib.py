"""hnswlib: the answers of ``index.knn_query``."""

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import NDArray

from paretocut.adapters.deciding import CutTuple, cut_each
from paretocut.adapters.stores import two_matrices
from paretocut.decisions.options import DecisionOptions

__all__ = ["cut_knn_query"]


def cut_knn_query(
    labels: NDArray[Any], distances: NDArray[Any], **options: Unpack[DecisionOptions]
) -> CutTuple:
    """Return labels and distances of the results worth keeping, one array per query each.

    Lists of arrays, because the arrays differ in length and hnswlib has no label for "missing".
    The pair has the decisions in ``cuts``.

    Parameters
    ----------
    labels, distances
        What ``index.knn_query(data, k)`` returned; ask for 200 or so, after ``index.set_ef(400)``,
        with which the graph misses fewer of them. All of its spaces give distances.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    labels, distances = two_matrices("cut_knn_query", labels=labels, distances=distances)
    decisions, cuts = cut_each(distances, options, who="cut_knn_query", higher_is_better=False)
    arrays = [
        [row[one.kept] for row, one in zip(column, decisions, strict=True)]
        for column in (labels, distances)
    ]
    return CutTuple(arrays, cuts)
