"""``/v1/fuse``: the lists of several retrievers become one, cut or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from paretocut.errors import InvalidParameterError
from paretocut.fusion import fuse
from paretocut.lists import Ragged, RankedLists
from paretocut.web.limits import Limits, Refused
from paretocut.web.lists import check_ids, limited
from paretocut.web.models import chosen
from paretocut.web.openapi import errors, takes
from paretocut.web.schemas import FusedList, FuseRequest, RetrieverList
from paretocut.web.service import Answer, Service

__all__ = ["router"]


def router(service: Service) -> APIRouter:
    """Return the route of ``/v1/fuse``.

    Parameters
    ----------
    service
        What all routes share.
    """
    routes = APIRouter()

    @routes.post(
        "/v1/fuse",
        summary="One list of several retrievers' lists, cut or not",
        response_model=FusedList | list[FusedList],
        responses=errors(),
        openapi_extra=takes(FuseRequest),
    )
    async def fuse_lists(request: Request) -> Response:
        """Fuse the lists of one query or of each query by score, best first."""
        return await service.answer(request, lambda body: _fuse(service, body))

    return routes


def _fuse(service: Service, body: bytes) -> Answer:
    asked = FuseRequest.model_validate_json(body)
    if (asked.retrievers is None) == (asked.queries is None):
        raise Refused(422, "invalid_body", "exactly one of retrievers and queries must be given")
    queries = asked.queries if asked.retrievers is None else [asked.retrievers]
    assert queries is not None
    lists = _by_retriever(queries, service.limits)
    if asked.fusion is not None:
        given = [n for n in ("method", "weights", "depth") if getattr(asked, n) is not None]
        if given:
            raise InvalidParameterError(
                f"fuse: fusion must come without {', '.join(given)}, which it has learned"
            )
        fusion = service.models.fusion(asked.fusion)
        fused = fusion.fuse(_in_order(lists, fusion.names_))
    else:
        weights = None if asked.weights is None else _in_order(asked.weights, lists).values()
        fused = fuse(
            lists,
            method=asked.method or "z",
            weights=None if weights is None else list(weights),
            depth=asked.depth,
        )
    decisions: Sequence[dict[str, Any] | None] = [None] * len(fused)
    if asked.cut is not None:
        decider, truncator = chosen(service.models, asked.cut)
        if truncator._needs_query():
            raise InvalidParameterError(
                f"fuse: model {asked.cut.model} needs the scores of one retriever, got fused ones"
            )
        cuts = truncator.cut_batch(fused, min_k=asked.cut.min_k, max_k=asked.cut.max_k)
        service.telemetry.cuts(decider, cuts.k, cuts.n, cuts.warnings)
        decisions = [cut.to_dict() for cut in cuts]
        fused = fused.truncate(cuts.k)
    rows = [
        {"results": _results(fused, i), "cut": decision} for i, decision in enumerate(decisions)
    ]
    told = {"lists": len(queries), "results": sum(one.scores.values.size for one in lists.values())}
    return Answer(to_json(rows if asked.retrievers is None else rows[0]), told)


def _by_retriever(
    queries: Sequence[Mapping[str, RetrieverList]], limits: Limits
) -> dict[str, RankedLists]:
    """Return the lists of each retriever; it has an empty list for a query that it lacks."""
    limits.check_lists(len(queries), 0)
    names = list(dict.fromkeys(chain.from_iterable(queries)))
    check_ids(chain(names, *(one.ids for query in queries for one in query.values())), limits)
    nothing = RetrieverList(ids=[], scores=[])
    found: dict[str, RankedLists] = {}
    for name in names:
        own = [query.get(name, nothing) for query in queries]
        for one in own:
            if len(one.ids) != len(one.scores):
                raise Refused(
                    422,
                    "invalid_body",
                    f"retriever {name[:60]!r} must have as many ids as scores, "
                    f"{len(one.scores)}, got {len(one.ids)}",
                )
        directions = {query[name].higher_is_better for query in queries if name in query}
        if len(directions) > 1:
            raise Refused(
                422,
                "invalid_body",
                f"retriever {name[:60]!r} must have one higher_is_better for all queries",
            )
        scores = limited([one.scores for one in own], limits)
        ids = Ragged.from_any([one.ids for one in own], dtype=str)
        found[name] = RankedLists(scores, doc_ids=ids, higher_is_better=directions.pop())
    return found


def _in_order(given: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """Return what was given by name, in the order of the retrievers."""
    if set(given) != set(names):
        raise InvalidParameterError(
            f"fuse: retrievers must be {', '.join(names)}, got {', '.join(given)}"
        )
    return {name: given[name] for name in names}


def _results(fused: RankedLists, i: int) -> list[dict[str, Any]]:
    parts = fused.parts
    assert parts is not None
    assert fused.doc_ids is not None
    rows: list[dict[str, Any]] = [
        {"id": name, "score": score, "parts": {}}
        for name, score in zip(fused.doc_ids[i].tolist(), fused.scores[i].tolist(), strict=True)
    ]
    for retriever, scores, ranks in zip(parts.names, parts.scores, parts.ranks, strict=True):
        for row, score, rank in zip(rows, scores[i].tolist(), ranks[i].tolist(), strict=True):
            if rank:
                row["parts"][retriever] = {"score": score, "rank": rank}
    return rows
