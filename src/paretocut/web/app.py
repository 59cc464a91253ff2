"""The application: all routes, behind one admission."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from paretocut.web import cutting, evaluating, fusing, scoring
from paretocut.web.admission import Admission
from paretocut.web.bodies import Health
from paretocut.web.deciders import Models, ready_methods
from paretocut.web.limits import Limits
from paretocut.web.openapi import describe, errors
from paretocut.web.pages import pages
from paretocut.web.refusals import Refused, answer_for, as_refused
from paretocut.web.service import Service

_ROUTES = (cutting.ROUTE, scoring.ROUTE, fusing.ROUTE, evaluating.ROUTE)


def create_app(
    models: Models | None = None,
    *,
    token: str | None = None,
    limits: Limits | None = None,
    threads: int | None = None,
    hosts: Sequence[str] | None = None,
    router: APIRouter | None = None,
) -> Admission:
    """Return the application, ready for any ASGI server; with ``hosts``, it has no other names."""
    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, "paretocut")
    service = Service(models or Models(), limits or Limits(), pool)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        ready_methods()  # imports what the first request would wait for
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    # FastAPI's pages load scripts from other hosts, so they are off.
    app = FastAPI(
        title="paretocut",
        summary="How many results of a ranked list to return, or none.",
        version=version("paretocut"),
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    for kind in (HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _refuse)
    names = sorted({*service.models.truncators, *service.models.fusions})
    health = Health(status="ok", version=app.version, models=names)

    @app.get("/healthz", response_model=Health, openapi_extra={"security": []})
    async def healthz() -> Health:
        """Say that the service is up."""
        return health

    @app.get(
        "/metrics",
        response_class=Response,
        responses=errors(401, 500) | {200: {"content": {"text/plain": {}}}},
    )
    async def metrics() -> Response:
        """Return the metrics, for Prometheus."""
        return Response(service.telemetry.render(), media_type=CONTENT_TYPE_LATEST)

    for route in _ROUTES:
        route.describe(app)
    app.include_router(pages("docs.html" if router is None else "index.html"))
    if router is not None:
        app.include_router(router)
    describe(app, [route.body for route in _ROUTES], secured=token is not None)
    return Admission(app, service=service, routes=_ROUTES, token=token, hosts=hosts)


async def _refuse(request: Request, error: Exception) -> Response:
    refused = as_refused(error) or Refused(500)
    request.scope["paretocut.noted"]["code"] = refused.code
    return answer_for(refused)
