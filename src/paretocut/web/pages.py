"""Pages and their files, with everything from this server."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

from paretocut.web.refusals import Refused

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the pages: everything comes from this server."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Headers of all that belongs to a page."""

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def pages(home: str) -> APIRouter:
    """Return the page ``home`` at ``/``, the page to try the service at ``/docs``, and files."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def root() -> Response:
        return _file(home)

    @routes.get("/docs")
    def docs() -> Response:
        return _file("docs.html")

    @routes.get("/static/{name}")
    def static(name: str) -> Response:
        return _file(name)

    return routes


def _file(name: str) -> Response:
    # Only names that are in the folder: no path from a request reaches the file system.
    for file in files("paretocut.web.explorer").joinpath("static").iterdir():
        if file.name == name and (kind := _TYPES.get(name.rpartition(".")[2])):
            return Response(file.read_bytes(), 200, HEADERS, kind)
    raise Refused(404, message="there is no such file")
