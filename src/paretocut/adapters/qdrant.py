"""Qdrant: the answers of ``client.query_points``."""

from __future__ import annotations

from typing import Any, Unpack

from paretocut.adapters._base import CutList, CutOptions, Cutter, cut_scored, read_each
from paretocut.adapters._telling import warn_of_shortfall
from paretocut.errors import InvalidParameterError

__all__ = ["cut_query_points"]

_REMEDY = "search deeper: search_params=models.SearchParams(hnsw_ef=512) or exact=True"


def cut_query_points(
    response: Any,
    *,
    higher_is_better: bool,
    asked: int | None = None,
    **options: Unpack[CutOptions],
) -> Any:
    """Return the response with the points worth keeping; ``response.points.cut`` says why.

    Scores of a fusion (``Fusion.RRF``) are ranks in disguise: cut the answers before it.

    Parameters
    ----------
    response
        A `qdrant_client.models.QueryResponse`; ask for a ``limit`` of 200 or so.
    higher_is_better
        True for cosine and dot product, False for Euclid and Manhattan.
    asked
        How many results the search asked for, if you want to be warned when it got less than
        half of them.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    points = getattr(response, "points", None)
    if points is None or not hasattr(response, "model_copy"):
        raise InvalidParameterError(
            "cut_query_points: response must be what query_points returned, "
            f"got {type(response).__name__}"
        )
    scores = read_each(
        points, lambda point: point.score, who="cut_query_points", what="points with a score"
    )
    warn_of_shortfall(len(points), asked, who="cut_query_points", remedy=_REMEDY)
    decision = cut_scored(
        scores,
        Cutter.of("cut_query_points", options),
        who="cut_query_points",
        higher_is_better=higher_is_better,
    )
    kept = CutList([points[i] for i in decision.kept], decision.cut)
    return response.model_copy(update={"points": kept})
