"""Pages and their files, with everything from this server."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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


def pages(home: str) -> list[Route]:
    """Return the page ``home`` at ``/``, the page to try the service at ``/docs``, and files."""

    def page(request: Request) -> Response:
        name = {"/": home, "/docs": "docs.html"}.get(request.url.path)
        return _file(name or request.path_params["name"])

    return [Route(path, page, methods=["GET"]) for path in ("/", "/docs", "/static/{name}")]


def _file(name: str) -> Response:
    # Only names that are in the folder: no path from a request reaches the file system.
    for file in files("paretocut.web.explorer").joinpath("static").iterdir():
        if file.name == name and (kind := _TYPES.get(name.rpartition(".")[2])):
            return Response(file.read_bytes(), 200, HEADERS, kind)
    raise Refused(404, message="there is no such file")
