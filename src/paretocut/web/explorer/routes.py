"""The explorer over HTTP: its page, and the views of the sessions it has open.

A session lives in the memory of this process. It is for the person at the machine: one worker,
bound to the loopback unless told otherwise.
"""

from __future__ import annotations

import json
import secrets
import warnings
from collections import OrderedDict
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from paretocut._extras import require

require("fastapi", feature="the explorer", extra="serve")

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from paretocut.errors import ParetocutError
from paretocut.web.explorer.session import Session
from paretocut.web.explorer.texts import pasted_lists
from paretocut.web.explorer.views import copy_view, frontier_view, query_view, run_view

__all__ = ["POLICY", "router"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: nothing but what this server sends."""

MAX_BYTES = 200_000_000
_MOST_SESSIONS = 8
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _Sessions:
    """The sessions that are open; of those uploaded, the oldest is forgotten first."""

    def __init__(self, first: Session | None) -> None:
        self.first = first
        self._uploaded: OrderedDict[str, Session] = OrderedDict()

    def add(self, session: Session) -> str:
        name = secrets.token_urlsafe(9)
        self._uploaded[name] = session
        if len(self._uploaded) > _MOST_SESSIONS:
            self._uploaded.popitem(last=False)
        return name

    def get(self, name: str) -> Session | None:
        return self.first if name == "run" else self._uploaded.get(name)


def router(session: Session | None) -> APIRouter:
    """Return the explorer: its page at ``/``, its data below ``/api``.

    Parameters
    ----------
    session
        What is looked at first; None shows the box to upload or paste a run.
    """
    sessions = _Sessions(session)
    routes = APIRouter(include_in_schema=False)

    def answer(status: int, content: Any) -> Response:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        return Response(text, status, _HEADERS, "application/json")

    def viewed(name: str, view: Callable[[Session], Any]) -> Response:
        """Return a view of an open session, or say that it is not there."""
        found = sessions.get(name)
        if found is None:
            return answer(404, {"error": "this run is not open any more: open it again"})
        try:
            return answer(200, view(found))
        except (IndexError, KeyError):
            return answer(404, {"error": "there is no such query or method in this run"})
        except ParetocutError as error:
            return answer(422, {"error": str(error)})

    @routes.get("/")
    def page() -> Response:
        return _file("index.html")

    @routes.get("/static/{name}")
    def static(name: str) -> Response:
        return _file(name)

    def _file(name: str) -> Response:
        # Only names that are in the folder: no path from a request reaches the file system.
        for file in files("paretocut.web").joinpath("static").iterdir():
            if file.name == name and (kind := _TYPES.get(f".{name.rpartition('.')[2]}")):
                return Response(file.read_bytes(), 200, _HEADERS, kind)
        return answer(404, {"error": "there is no such file"})

    @routes.get("/api/{name}/run")
    def run(name: str) -> Response:
        if name == "run" and sessions.first is None:
            return answer(200, None)
        return viewed(name, run_view)

    @routes.get("/api/{name}/frontier")
    def frontier(name: str) -> Response:
        return viewed(name, frontier_view)

    @routes.get("/api/{name}/query/{i}")
    def query(name: str, i: int) -> Response:
        return viewed(name, lambda found: query_view(found, range(len(found.lists))[i]))

    @routes.get("/api/{name}/copy")
    def copy(name: str, i: int, k: int, method: str | None = None) -> Response:
        return viewed(name, lambda found: copy_view(found, method, i, k))

    @routes.post("/api/upload")
    async def upload(request: Request) -> Response:
        # A page of another origin cannot send this type without asking first.
        if request.headers.get("content-type") != "application/json":
            return answer(415, {"error": "the content type must be application/json"})
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                return answer(413, {"error": f"the run must be at most {MAX_BYTES:,} bytes"})
        status, content = await run_in_threadpool(_uploaded, bytes(body), sessions)
        return answer(status, content)

    return routes


def _uploaded(body: bytes, sessions: _Sessions) -> tuple[int, dict[str, Any]]:
    """Open what was uploaded, and return how it is called from now on."""
    try:
        given = json.loads(body)
        run, qrels = given["run"], given.get("qrels")
        name, distances = str(given.get("name") or "pasted")[:200], bool(given.get("distances"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 422, {"error": 'the body must be JSON with the text of a run: {"run": "..."}'}
    if not isinstance(run, str) or not isinstance(qrels, str | None):
        return 422, {"error": "run and qrels must be texts"}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lists = pasted_lists(run, qrels, higher_is_better=not distances, max_bytes=MAX_BYTES)
        session = Session(lists, name=name, source=name)
        run_view(session)  # what is wrong is told now
    except ParetocutError as error:
        return 422, {"error": str(error)}
    notes = [str(warning.message) for warning in caught]
    return 200, {"session": sessions.add(session), "notes": notes}
