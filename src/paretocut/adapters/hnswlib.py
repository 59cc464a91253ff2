"""hnswlib: the answers of ``index.knn_query``."""

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import NDArray

from paretocut.adapters._base import CutOptions, kept_of_each

__all__ = ["cut_knn_query"]


def cut_knn_query(
    labels: NDArray[Any], distances: NDArray[Any], **options: Unpack[CutOptions]
) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Return labels and distances of the results that stand out, one array per query each.

    Lists of arrays, because the arrays differ in length and hnswlib has no label for "missing".

    Parameters
    ----------
    labels, distances
        What ``index.knn_query(data, k)`` returned; ask for 200 or so. All of hnswlib's spaces
        give distances.
    **options
        Options of `paretocut.cut`.
    """
    kept = kept_of_each(distances, who="cut_knn_query", higher_is_better=False, **options)
    return (
        [row[one] for row, one in zip(labels, kept, strict=True)],
        [row[one] for row, one in zip(distances, kept, strict=True)],
    )
