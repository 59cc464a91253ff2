"""The application: routes behind one gate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from paretocut.web import cutting, evaluating, fusing, scoring
from paretocut.web.errors import answer_for, as_refused
from paretocut.web.gate import Gate
from paretocut.web.limits import Limits
from paretocut.web.models import Models, ready_methods
from paretocut.web.openapi import describe, errors
from paretocut.web.schemas import Health
from paretocut.web.service import Service
from paretocut.web.telemetry import CONTENT_TYPE_LATEST, Telemetry
from paretocut.web.work import Workshop

__all__ = ["create_app"]


def create_app(
    models: Models | None = None,
    *,
    token: str | None = None,
    limits: Limits | None = None,
    threads: int | None = None,
    routers: Sequence[APIRouter] = (),
) -> FastAPI:
    """Return the application, ready for any ASGI server.

    Parameters
    ----------
    models
        Truncators and fusions that requests may name.
    token
        Bearer token that every request but ``/healthz`` must carry; None asks for none.
    limits
        What one request may cost.
    threads
        Requests worked on at once; None for one per processor.
    routers
        More routes, behind the same gate.
    """
    limits = limits or Limits()
    service = Service(models or Models(), limits, Workshop(threads), Telemetry())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        ready_methods()  # imports what the first request would wait for
        yield
        service.workshop.close()

    # The pages that show a description load scripts from elsewhere, so there are none.
    app = FastAPI(
        title="paretocut",
        version=version("paretocut"),
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    app.add_middleware(Gate, limits=limits, token=token, telemetry=service.telemetry)
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _refuse)
    app.include_router(_own_routes(service))
    for part in (cutting, scoring, fusing, evaluating):
        app.include_router(part.router(service))
    for router in routers:
        app.include_router(router)
    describe(app, secured=token is not None)
    return app


def _own_routes(service: Service) -> APIRouter:
    routes = APIRouter()
    names = sorted({*service.models.truncators, *service.models.fusions})
    health = Health(status="ok", version=version("paretocut"), models=names)

    @routes.get("/healthz", response_model=Health, openapi_extra={"security": []})
    async def healthz() -> Health:
        """Say that the service is up."""
        return health

    @routes.get(
        "/metrics",
        response_class=Response,
        responses=errors(401, 500) | {200: {"content": {"text/plain": {}}}},
    )
    async def metrics() -> Response:
        """Return the metrics, for Prometheus."""
        return Response(service.telemetry.render(), media_type=CONTENT_TYPE_LATEST)

    return routes


async def _refuse(request: Request, error: Exception) -> Response:
    refused = as_refused(error)
    assert refused is not None
    request.scope["paretocut.told"]["code"] = refused.code
    return answer_for(refused)
