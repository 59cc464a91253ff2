"""Elasticsearch: the answers of ``client.search``, one of them or several fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack

from paretocut.adapters.deciding import CutList, cut_scored
from paretocut.adapters.hybrid import Fuser, HybridOptions, arms_by_name
from paretocut.adapters.reporting import KEY, warn_of_shortfall
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidScoresError

__all__ = ["cut_search", "fuse_searches"]

Response = TypeVar("Response")

_REMEDY = "a knn search finds at most num_candidates results in a shard: raise it, and k"


def cut_search(
    response: Response,
    *,
    query: str | None = None,
    asked: int | None = None,
    **options: Unpack[DecisionOptions],
) -> Response:
    """Return the response with the hits worth keeping; everything else in it stays.

    ``response["hits"]["hits"].cut`` is the decision with its reason. ``hits.total`` and
    ``hits.max_score`` still describe all documents that matched.

    Parameters
    ----------
    response
        What ``client.search`` returned, asked for with ``size=200`` or so, and sorted by score:
        with another sort order Elasticsearch gives no scores.
    query
        Text that was searched for; only a truncator calibrated for lexical scores needs it.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
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
    hits, scores = _read(response, "cut_search", asked)
    decision = cut_scored(scores, options, who="cut_search", query=query)
    kept = CutList([hits[i] for i in decision.kept], decision.cut)
    result: Response = _written(response, kept)
    return result


def fuse_searches(
    responses: Mapping[str, Response] | Sequence[Response],
    *,
    asked: int | None = None,
    **options: Unpack[HybridOptions],
) -> Response:
    """Return one response for several searches of the same question, fused and cut.

    Send them in one request with ``client.msearch``: its ``responses`` are what this takes. The
    hits come best first with their fused ``_score``; each has under ``paretocut`` the decision,
    and score and rank in every search. Everything else is as in the first response.

    Parameters
    ----------
    responses
        Two or more answers by name, such as ``{"words": ..., "vectors": ...}``, or without names;
        each asked for with ``size=200`` or so.
    asked
        As in `cut_search`.
    **options
        How the answers are fused, as in `paretocut.fuse` (or ``fusion``, a fitted
        `paretocut.Fusion` or the path of a saved one), and who decides, as in `paretocut.cut`.

    Examples
    --------
    >>> words = [{"_index": "i", "_id": name, "_score": s} for name, s in zip("abcd", [9, 8, 2, 1])]
    >>> vectors = [{"_index": "i", "_id": name, "_score": s} for name, s in zip("bac", [8, 7, 2])]
    >>> response = fuse_searches([{"hits": {"hits": words}}, {"hits": {"hits": vectors}}])
    >>> [hit["_id"] for hit in response["hits"]["hits"]]
    ['b', 'a']
    """
    who = "fuse_searches"
    named = arms_by_name(responses, who, "responses")
    fuser = Fuser[Any].of(
        who,
        options,
        lambda hit: f"{hit.get('_index', '')}/{hit['_id']}",
        lambda hit: hit["_score"],
    )
    kept = fuser.answer(
        {name: _read(response, who, asked)[0] for name, response in named.items()},
        lambda hit, score, mark: {**hit, "_score": score, KEY: mark},
    )
    result: Response = _written(next(iter(named.values())), kept)
    return result


def _read(response: Any, who: str, asked: int | None) -> tuple[list[Any], list[Any]]:
    """Return the hits of a response and their scores."""
    try:
        hits = dict(getattr(response, "body", response))["hits"]["hits"]
        scores = [hit["_score"] for hit in hits]
    except (TypeError, KeyError, ValueError) as error:
        raise InvalidScoresError(
            f"{who}: response must be what client.search returned, with hits.hits and a _score "
            f"in each, got {type(response).__name__} ({type(error).__name__}: {error})"
        ) from error
    if None in scores:
        raise InvalidScoresError(
            f"{who}: every hit must have a _score: sort by it, or search with "
            f"track_scores=true; got none at index {scores.index(None)}"
        )
    warn_of_shortfall(len(hits), asked, who=who, remedy=_REMEDY)
    return hits, scores


def _written(response: Any, kept: CutList[Any]) -> Any:
    """Return a response like the one given, a dictionary or the client's class, with other hits."""
    given = getattr(response, "body", response)
    body = {**given, "hits": {**given["hits"], "hits": kept}}
    return body if given is response else type(response)(body=body, meta=response.meta)
