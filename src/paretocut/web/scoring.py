"""``/v1/score``: surprise, p-value and E-value of each result, and the tail they come from."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from paretocut.tail import fit_tails
from paretocut.web.lists import limited, one_or_many
from paretocut.web.openapi import errors, takes
from paretocut.web.schemas import ScoredList, ScoreRequest
from paretocut.web.service import Answer, Service

__all__ = ["router"]

_OF_A_TAIL = ("shape", "scale", "threshold", "lower", "upper", "cvm", "gof_pvalue", "transform")


def router(service: Service) -> APIRouter:
    """Return the route of ``/v1/score``.

    Parameters
    ----------
    service
        What all routes share.
    """
    routes = APIRouter()

    @routes.post(
        "/v1/score",
        summary="Surprise, p-value and E-value of each result",
        response_model=ScoredList | list[ScoredList],
        responses=errors(),
        openapi_extra=takes(ScoreRequest),
    )
    async def score(request: Request) -> Response:
        """Fit the tail of one list or of each list, and say how unusual each result is."""
        return await service.answer(request, lambda body: _score(service, body))

    return routes


def _score(service: Service, body: bytes) -> Answer:
    asked = ScoreRequest.model_validate_json(body)
    given, single = one_or_many(asked.scores, asked.lists)
    lists = limited(given, service.limits)
    fits = fit_tails(lists, higher_is_better=asked.higher_is_better, **asked.fit_options())
    columns = [getattr(fits, name).tolist() for name in _OF_A_TAIL]
    tails = [dict(zip(_OF_A_TAIL, row, strict=True)) for row in zip(*columns, strict=True)]
    rows: list[dict[str, Any]] = [
        {
            "surprise": surprise.tolist(),
            "pvalues": pvalues.tolist(),
            "evalues": evalues.tolist(),
            "fit": tail,
            "warnings": warnings,
        }
        for surprise, pvalues, evalues, tail, warnings in zip(
            fits.surprise, fits.pvalues, fits.evalues, tails, fits.warnings, strict=True
        )
    ]
    told = {"lists": len(lists), "results": int(lists.values.size)}
    return Answer(to_json(rows[0] if single else rows, inf_nan_mode="null"), told)
