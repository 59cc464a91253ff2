"""Qdrant: the answers of ``client.query_points``."""

from __future__ import annotations

from typing import Any, Unpack

from paretocut.adapters._base import CutOptions, cut_scored

__all__ = ["cut_query_points"]


def cut_query_points(
    response: Any, *, higher_is_better: bool, **options: Unpack[CutOptions]
) -> Any:
    """Return the response with the points that stand out.

    Scores of a fusion (``Fusion.RRF``) are ranks in disguise: cut the answers before it.

    Parameters
    ----------
    response
        A `qdrant_client.models.QueryResponse`; ask for a ``limit`` of 200 or so.
    higher_is_better
        True for cosine and dot product, False for Euclid and Manhattan.
    **options
        Options of `paretocut.cut`.
    """
    decision = cut_scored(
        [point.score for point in response.points],
        who="cut_query_points",
        higher_is_better=higher_is_better,
        **options,
    )
    return response.model_copy(update={"points": [response.points[i] for i in decision.kept]})
