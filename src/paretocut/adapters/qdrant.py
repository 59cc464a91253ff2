"""Qdrant: the answers of ``client.query_points``, one of them or several fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from paretocut.adapters.deciding import FETCH_K, CutList, cut_scored, read_each
from paretocut.adapters.hybrid import Fuser, HybridOptions, arms_by_name
from paretocut.adapters.reporting import warn_of_shortfall, with_mark
from paretocut.adapters.stores import SAMPLE, Embed, calibrate_store
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Calibrated

__all__ = ["calibrate", "cut_query_points", "fuse_query_points"]

_REMEDY = "search deeper: search_params=models.SearchParams(hnsw_ef=512) or exact=True"


def cut_query_points(
    response: Any,
    *,
    higher_is_better: bool,
    asked: int | None = None,
    **options: Unpack[DecisionOptions],
) -> Any:
    """Return the response with the points worth keeping; ``response.points.cut`` says why.

    Scores of a fusion (``Fusion.RRF``) only encode ranks; `fuse_query_points` keeps the scores.

    Parameters
    ----------
    response
        A `qdrant_client.models.QueryResponse`; ask for a ``limit`` of 200 or so.
    higher_is_better
        True for cosine and dot product, False for Euclid and Manhattan.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    who = "cut_query_points"
    points, scores = _points(response, who, asked)
    decision = cut_scored(scores, options, who=who, higher_is_better=higher_is_better)
    kept = CutList([points[i] for i in decision.kept], decision.cut)
    return response.model_copy(update={"points": kept})


def fuse_query_points(
    responses: Mapping[str, Any] | Sequence[Any],
    *,
    higher_is_better: Mapping[str, bool] | bool = True,
    asked: int | None = None,
    **options: Unpack[HybridOptions],
) -> Any:
    """Return one response for several queries of the same question, fused and cut.

    Ask for the arms of a hybrid search as queries of their own, in one request with
    ``client.query_batch_points``, instead of as ``prefetch`` of a fusion. The points come best
    first with their fused score; if they have a payload, it holds the decision under
    ``paretocut``, with score and rank in each arm.

    Parameters
    ----------
    responses
        Two or more answers by name, such as ``{"dense": ..., "sparse": ...}``, or without names;
        ask for a ``limit`` of 200 or so.
    higher_is_better
        True for cosine, dot product and sparse vectors, False for Euclid and Manhattan; for all
        arms, or by name.
    asked
        As in `cut_query_points`.
    **options
        How the answers are fused, as in `paretocut.fuse` (or ``fusion``, a fitted
        `paretocut.Fusion` or the path of a saved one), and who decides, as in `paretocut.cut`.
    """
    who = "fuse_query_points"
    named = arms_by_name(responses, who, "responses")
    found = {name: _points(response, who, asked)[0] for name, response in named.items()}
    up = higher_is_better
    directions = up if isinstance(up, Mapping) else dict.fromkeys(found, up)
    fuser = Fuser[Any].of(
        who, options, lambda point: str(point.id), lambda point: point.score, directions
    )
    kept = fuser.answer(found, _marked)
    return next(iter(named.values())).model_copy(update={"points": kept})


def calibrate(
    client: Any,
    collection_name: str,
    embed: Embed,
    *,
    text: str,
    higher_is_better: bool,
    using: str | None = None,
    fetch_k: int = FETCH_K,
    **options: Any,
) -> Calibrated:
    """Return a truncator that knows the collection, learned without judgements.

    Nonsense is made from words of its points' texts; see `paretocut.calibrate`.

    Parameters
    ----------
    client, collection_name
        A `qdrant_client.QdrantClient` and the name of one of its collections.
    embed
        Takes texts and returns a vector for each, made like those of the collection.
    text
        Where in the payload the text of a point is.
    higher_is_better
        As in `cut_query_points`.
    using
        Name of the vector, if points have several.
    fetch_k
        Number of results of each search; ask for as many later.
    **options
        As for `paretocut.calibrate`, such as ``queries`` and ``n``.
    """

    def search(vectors: list[list[float]]) -> Any:
        for vector in vectors:
            yield client.query_points(
                collection_name, query=vector, using=using, limit=fetch_k, with_payload=False
            ).points

    points, _ = client.scroll(collection_name, limit=SAMPLE, with_payload=[text])
    texts = [(point.payload or {}).get(text) for point in points]
    return calibrate_store(texts, embed, search, higher_is_better=higher_is_better, **options)


def _marked(point: Any, score: float, mark: dict[str, Any]) -> Any:
    payload = None if point.payload is None else with_mark(point.payload, mark)
    return point.model_copy(update={"score": score, "payload": payload})


def _points(response: Any, who: str, asked: int | None) -> tuple[Any, list[Any]]:
    """Return the points of a response and their scores."""
    points = getattr(response, "points", None)
    if points is None or not hasattr(response, "model_copy"):
        raise InvalidParameterError(
            f"{who}: response must be what query_points returned, got {type(response).__name__}"
        )
    scores = read_each(points, lambda point: point.score, who=who, what="points with a score")
    warn_of_shortfall(len(points), asked, who=who, remedy=_REMEDY)
    return points, scores
