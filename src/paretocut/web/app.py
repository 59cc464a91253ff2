"""The application: all routes, behind one admission."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router

from paretocut.web.admission import Admission, Handler, Service
from paretocut.web.answering import cut, fuse_lists, score
from paretocut.web.bodies import Health
from paretocut.web.deciders import Models, ready_methods
from paretocut.web.limits import Limits, Refused
from paretocut.web.openapi import VERSION, description

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Headers of all that belongs to a page: everything comes from this server."""

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def create_app(
    models: Models | None = None,
    *,
    token: str | None = None,
    limits: Limits | None = None,
    threads: int | None = None,
    hosts: Sequence[str] | None = None,
    routes: Sequence[BaseRoute] | None = None,
) -> Admission:
    """Return the application, ready for any ASGI server; with ``hosts``, it has no other names.

    ``routes`` are those of the explorer, whose page is then the home page.
    """
    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, "paretocut")
    service = Service(models or Models(), limits or Limits(), pool)
    health = _json(Health("ok", VERSION, service.models.names))
    described = _json(description(secured=token is not None))

    async def healthz(request: Request) -> Response:
        return health

    async def metrics(request: Request) -> Response:
        return Response(service.telemetry.render(), media_type=CONTENT_TYPE_LATEST)

    async def openapi(request: Request) -> Response:
        return described

    def page(request: Request) -> Response:
        home = "docs.html" if routes is None else "index.html"
        name = {"/": home, "/docs": "docs.html"}.get(request.url.path)
        return _file(name or request.path_params["name"])

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        ready_methods()  # imports what the first request would wait for
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    router = Router(
        [
            Route("/v1/cut", Handler(service, cut, quick=True), methods=["POST"]),
            Route("/v1/score", Handler(service, score, quick=True), methods=["POST"]),
            Route("/v1/fuse", Handler(service, fuse_lists), methods=["POST"]),
            Route("/healthz", healthz),
            Route("/metrics", metrics),
            Route("/openapi.json", openapi),
            *(Route(path, page) for path in ("/", "/docs", "/static/{name}")),
            *(routes or ()),
        ],
        redirect_slashes=False,
        lifespan=lifespan,
    )
    return Admission(router, service, token, hosts)


def _json(content: Any) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json")


def _file(name: str) -> Response:
    # Only names that are in the folder: no path from a request reaches the file system.
    for file in files("paretocut.web.explorer").joinpath("static").iterdir():
        if file.name == name and (kind := _TYPES.get(name.rpartition(".")[2])):
            return Response(file.read_bytes(), 200, PAGE_HEADERS, kind)
    raise Refused(404, message="there is no such file")
