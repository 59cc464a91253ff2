"""Elasticsearch: the answers of ``client.search``."""

from __future__ import annotations

from typing import Any, TypeVar, Unpack

from paretocut.adapters._base import CutList, CutOptions, Cutter, cut_scored
from paretocut.adapters._telling import warn_of_shortfall
from paretocut.errors import InvalidScoresError

__all__ = ["cut_search"]

Response = TypeVar("Response")

_REMEDY = "a knn search finds at most num_candidates results in a shard: raise it, and k"


def cut_search(
    response: Response, *, asked: int | None = None, **options: Unpack[CutOptions]
) -> Response:
    """Return the response with the hits worth keeping; everything else in it stays.

    ``response["hits"]["hits"].cut`` is the decision with its reason. ``hits.total`` and
    ``hits.max_score`` go on to speak of all documents that matched.

    Parameters
    ----------
    response
        What ``client.search`` returned, asked for with ``size=200`` or so, and sorted by score:
        with another sort order Elasticsearch gives no scores.
    asked
        How many results the search asked for, if you want to be warned when it got less than
        half of them.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).exponential(0.5, size=98)
    >>> scores = [9.5, 9.0, *np.sort(noise)[::-1]]
    >>> hits = [{"_id": str(i), "_score": score} for i, score in enumerate(scores)]
    >>> response = cut_search({"took": 2, "hits": {"hits": hits}}, evalue=0.05)
    >>> [hit["_id"] for hit in response["hits"]["hits"]]
    ['0', '1']
    """
    source: Any = response
    try:
        body: dict[str, Any] = dict(getattr(source, "body", source))
        hits = body["hits"]["hits"]
        scores = [hit["_score"] for hit in hits]
    except (TypeError, KeyError, ValueError) as error:
        raise InvalidScoresError(
            "cut_search: response must be what client.search returned, with hits.hits and a _score "
            f"in each, got {type(source).__name__} ({type(error).__name__}: {error})"
        ) from error
    if None in scores:
        raise InvalidScoresError(
            "cut_search: every hit must have a _score: sort by it, or search with "
            f"track_scores=true; got none at index {scores.index(None)}"
        )
    warn_of_shortfall(len(hits), asked, who="cut_search", remedy=_REMEDY)
    decision = cut_scored(scores, Cutter.of("cut_search", options), who="cut_search")
    kept = CutList([hits[i] for i in decision.kept], decision.cut)
    body["hits"] = {**body["hits"], "hits": kept}
    if hasattr(source, "body"):  # the client's own class, not a dictionary
        body = type(source)(body=body, meta=source.meta)
    result: Any = body
    return result  # type: ignore[no-any-return]
