"""Elasticsearch: the answers of ``client.search``."""

from __future__ import annotations

from typing import Any, TypeVar, Unpack

from paretocut.adapters._base import CutOptions, cut_scored
from paretocut.errors import InvalidScoresError

__all__ = ["cut_search"]

Response = TypeVar("Response")


def cut_search(response: Response, **options: Unpack[CutOptions]) -> Response:
    """Return the response with the hits that stand out; everything else in it stays.

    ``hits.total`` and ``hits.max_score`` go on to speak of all documents that matched.

    Parameters
    ----------
    response
        What ``client.search`` returned, asked for with ``size=200`` or so, and sorted by score:
        with another sort order Elasticsearch gives no scores.
    **options
        Options of `paretocut.cut`.

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
    body: dict[str, Any] = dict(getattr(source, "body", source))
    hits = body["hits"]["hits"]
    scores = [hit["_score"] for hit in hits]
    if None in scores:
        raise InvalidScoresError(
            "cut_search: every hit must have a _score: sort by it, or search with "
            f"track_scores=true; got none at index {scores.index(None)}"
        )
    decision = cut_scored(scores, who="cut_search", **options)
    body["hits"] = {**body["hits"], "hits": [hits[i] for i in decision.kept]}
    if hasattr(source, "body"):  # the client's own class, not a dictionary
        body = type(source)(body=body, meta=source.meta)
    result: Any = body
    return result  # type: ignore[no-any-return]
