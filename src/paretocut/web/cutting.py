"""``/v1/cut``: how many results to keep, of one list or of many, as JSON or as Arrow."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from paretocut.web.arrow import ARROW, read_lists, write_decisions
from paretocut.web.decide import decide, from_json
from paretocut.web.limits import Refused
from paretocut.web.openapi import errors, takes
from paretocut.web.schemas import CutOptions, CutRequest, Decision
from paretocut.web.service import Answer, Service

__all__ = ["router"]

_BINARY = {"schema": {"type": "string", "format": "binary"}}


def router(service: Service) -> APIRouter:
    """Return the route of ``/v1/cut``.

    Parameters
    ----------
    service
        What all routes share.
    """
    routes = APIRouter()

    @routes.post(
        "/v1/cut",
        summary="How many results to keep, and why",
        response_model=Decision | list[Decision],
        responses=errors() | {200: {"content": {ARROW: _BINARY}}},
        openapi_extra=takes(CutRequest, media_type=ARROW, parameters=CutOptions),
    )
    async def cut(request: Request) -> Response:
        """Say how many results to keep, of one list or of each list.

        The answer has the type of the body: JSON, or an Arrow stream. An Arrow stream brings a
        column of lists, `scores`, and if the model needs it one of texts, `query`; its options
        are in the address.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != ARROW:
            if request.query_params:
                raise Refused(
                    422, "invalid_body", "the options of a JSON body belong into the body"
                )
            return await service.answer(request, lambda body: from_json(service, body))
        asked = CutOptions.model_validate(dict(request.query_params), strict=False)
        return await service.answer(request, lambda body: _from_arrow(service, body, asked))

    return routes


def _from_arrow(service: Service, body: bytes, asked: CutOptions) -> Answer:
    lists, queries = read_lists(body, service.limits)
    decided = decide(service, lists, asked, queries)
    return Answer(write_decisions(decided), decided.told, ARROW)
