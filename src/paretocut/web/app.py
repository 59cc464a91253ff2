"""The application: all routes, behind one admission, and their OpenAPI description.

``python -m paretocut.web.app`` prints the description.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router

from paretocut.decisions.options import OPTIONS
from paretocut.fusion.methods import FUSING
from paretocut.web import bodies
from paretocut.web.admission import Admission, Handler, Service
from paretocut.web.answering import ARROW, cut, fuse_lists, score
from paretocut.web.bodies import (
    CutRequest,
    Decision,
    FusedList,
    FuseRequest,
    ScoredList,
    ScoreRequest,
)
from paretocut.web.deciders import Models, ready_methods
from paretocut.web.limits import CODES, HEADERS, Limits, Refused

VERSION = version("paretocut")
"""Of the service, which is that of the library."""

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

_POSTS: dict[str, tuple[str, Any, Any, Any]] = {  # summary, work, body, answer
    "/v1/cut": ("How many results to keep, and why", cut, CutRequest, Decision),
    "/v1/score": ("Surprise, p-value and E-value of each result", score, ScoreRequest, ScoredList),
    "/v1/fuse": (
        "Several retrievers' lists as one, cut or not",
        fuse_lists,
        FuseRequest,
        FusedList,
    ),
}
_OPTIONS = dict.fromkeys(("CutOptions", "CutRequest", "Deciding", "ScoreRequest"), OPTIONS)
_OPTIONS["FuseRequest"] = FUSING
_ABOUT = {
    "chance": "share of queries without an answer whose best score is as high; null without a gate",
    "cut": "cut the fused lists; {} is the default cut",
    "explain": "false leaves reason and warnings out: faster",
    "fusion": "name of a fusion of the service",
    "higher_is_better": "false for distances; by default as the model was fitted, or else true",
    "indices": "positions of the kept results in your list, best first",
    "k": "number of results kept; 0 is a possible answer",
    "lists": "scores of each list",
    "method": "a method, as on the command line: largest_gap, minmax:threshold=0.5",
    "Decision.method": "who decided",
    "model": "name of a model of the service",
    "n": "number of results in the list",
    "nearest": "positions of the best three that were not kept",
    "CutRequest.queries": "text of each query, for models that need it",
    "query": "text of the query, for models that need it",
    "scores": "scores of one list, in any order",
}
_ERRORS = (400, 401, 408, 413, 415, 422, 429, 500, 503)
_SCORES = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37, 0.35, 0.33]
_RETRIEVED = {
    "words": {"ids": ["a", "b", "c"], "scores": [9.0, 7.0, 1.0]},
    "vectors": {"ids": ["b", "a", "d"], "scores": [0.2, 0.3, 0.9], "higher_is_better": False},
}
_EXAMPLES: dict[str, Any] = {
    "CutRequest": {"scores": _SCORES},
    "ScoreRequest": {"scores": _SCORES},
    "FuseRequest": {"retrievers": _RETRIEVED, "cut": {"expect": "few"}},
}
_NULL = {"type": "null"}  # an address has none
_EITHER = {"scores": "lists", "retrievers": "queries"}


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
    health = _json(bodies.Health("ok", VERSION, service.models.names))
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
            *(
                Route(path, Handler(service, work, quick=path != "/v1/fuse"), methods=["POST"])
                for path, (_, work, *_) in _POSTS.items()
            ),
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


def description(*, secured: bool) -> dict[str, Any]:
    """Return the description; a ``secured`` service asks for a token."""
    kinds = [kind for post in _POSTS.values() for kind in post[2:]]
    kinds += [bodies.CutOptions, bodies.Health, bodies.ErrorAnswer]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_ref("{name}")["$ref"])
    for name, schema in schemas.items():
        known = _OPTIONS.get(name, {})
        for field, about in schema["properties"].items():
            words = _ABOUT.get(f"{name}.{field}") or _ABOUT.get(field)
            if field in known:
                about["default"], words = known[field].default, known[field].help
            if words is not None:
                about["description"] = f"{words[0].upper()}{words[1:]}."
    for name, example in _EXAMPLES.items():
        schemas[name]["examples"] = [example]
        for one, many in _EITHER.items():
            if one in schemas[name]["properties"]:
                schemas[name]["oneOf"] = [{"required": [one]}, {"required": [many]}]
    options = schemas.pop("CutOptions")["properties"]
    health = _answered("application/json", {"schema": _ref("Health")})
    metrics = _answered("text/plain", {}) | _errors(401, 500)
    up = {"description": "Say that the service is up.", "responses": health, "security": []}
    counted = {"description": "Return the metrics, for Prometheus.", "responses": metrics}
    paths: dict[str, Any] = {"/healthz": {"get": up}, "/metrics": {"get": counted}}
    for path, (summary, work, body, answer) in _POSTS.items():
        taken = {"application/json": {"schema": _ref(body.__name__)}}
        found = _ref(answer.__name__)
        result = {"anyOf": [found, {"type": "array", "items": found}]}
        operation: dict[str, Any] = {
            "summary": summary,
            "description": inspect.getdoc(work),
            "operationId": work.__name__,
            "requestBody": {"required": True, "content": taken},
            "responses": _answered("application/json", {"schema": result}) | _errors(*_ERRORS),
        }
        if path == "/v1/cut":
            stream = taken[ARROW] = {"schema": {"type": "string", "format": "binary"}}
            operation["responses"]["200"]["content"][ARROW] = stream
            operation["parameters"] = [
                {
                    "name": name,
                    "in": "query",
                    "required": False,
                    "description": f"For a body of type {ARROW}.",
                    "schema": {"anyOf": [kind for kind in option["anyOf"] if kind != _NULL]}
                    if "anyOf" in option
                    else option,
                }
                for name, option in options.items()
            ]
        paths[path] = {"post": operation}
    about = "How many results of a ranked list to return, or none."
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "paretocut", "summary": about, "version": VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if secured:
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    return described


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answered(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": "answered", "content": {kind: content}}}


def _errors(*statuses: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status in statuses:
        code, message = CODES[status]
        example = {"error": {"status": status, "code": code, "message": message}}
        content = {"application/json": {"schema": _ref("ErrorAnswer"), "example": example}}
        found[str(status)] = {"description": code.replace("_", " "), "content": content}
        if told := [name for name in HEADERS.get(status, ()) if name != "Connection"]:
            found[str(status)]["headers"] = {told[0]: {"schema": {"type": "string"}}}
    return found


def text() -> str:
    """Return the description of a service that asks for a token, as JSON."""
    return json.dumps(description(secured=True), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
