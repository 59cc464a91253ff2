"""The explorer over HTTP: its page, and the views of the sessions it has open.

A session lives in the memory of this process. It is for the person at the machine: one worker,
bound to the loopback.
"""

from __future__ import annotations

import json
import secrets
import warnings
from collections import OrderedDict
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from paretocut.errors import InvalidParameterError
from paretocut.web.explorer.judging import judge, judging_view, learn_at_start, qrels_text
from paretocut.web.explorer.pasted import pasted_lists
from paretocut.web.explorer.session import Session
from paretocut.web.explorer.views import copy_view, frontier_view, query_view, run_view
from paretocut.web.limits import Refused

__all__ = ["MAX_BYTES", "POLICY", "router"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: nothing but what this server sends."""

MAX_BYTES = 200_000_000
"""Size of a run that can be uploaded."""

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

    def get(self, name: str) -> Session:
        found = self.first if name == "run" else self._uploaded.get(name)
        if found is None:
            raise Refused(404, "not_found", "this run is not open any more: open it again")
        return found


def router(session: Session | None) -> APIRouter:
    """Return the explorer: its page at ``/``, its data below ``/api``.

    Parameters
    ----------
    session
        What is looked at first; None shows the box to upload or paste a run.
    """
    sessions = _Sessions(session)
    routes = APIRouter(include_in_schema=False)

    def viewed(name: str, view: Callable[[Session], Any]) -> Response:
        """Answer with a view of an open session."""
        found = sessions.get(name)
        with found.lock:
            return _answer(view(found))

    @routes.get("/")
    def page() -> Response:
        return _file("index.html")

    @routes.get("/static/{name}")
    def static(name: str) -> Response:
        return _file(name)

    @routes.get("/api/{name}/run")
    def run(name: str) -> Response:
        if name == "run" and sessions.first is None:
            return _answer(None)
        return viewed(name, run_view)

    @routes.get("/api/{name}/frontier")
    def frontier(name: str) -> Response:
        return viewed(name, frontier_view)

    @routes.get("/api/{name}/query/{i}")
    def query(name: str, i: int, also: int | None = None) -> Response:
        return viewed(name, lambda found: query_view(found, _checked(found, i), also=also))

    @routes.get("/api/{name}/judging/{i}")
    def judging(name: str, i: int) -> Response:
        return viewed(name, lambda found: judging_view(found, _checked(found, i)))

    @routes.get("/api/{name}/qrels")
    def qrels(name: str) -> Response:
        return viewed(name, qrels_text)

    @routes.get("/api/{name}/copy")
    def copy(name: str, i: int, k: int, method: str | None = None) -> Response:
        def view(found: Session) -> Any:
            if method is not None and method not in found.methods:
                raise InvalidParameterError(
                    f"copy: method must be one of {', '.join(found.methods)}, got {method!r}"
                )
            return copy_view(found, method, _checked(found, i), k)

        return viewed(name, view)

    @routes.post("/api/{name}/judge")
    async def judged(name: str, request: Request) -> Response:
        given = await _body(request, {"i": int, "rank": int, "relevant": bool | None})

        def view(found: Session) -> Any:
            i = _checked(found, given["i"])
            judge(found, i, given["rank"], given["relevant"])
            return {
                "run": run_view(found),
                "query": query_view(found, i, also=given["rank"]),
                "judging": judging_view(found, i),
            }

        return await run_in_threadpool(viewed, name, view)

    @routes.post("/api/upload")
    async def upload(request: Request) -> Response:
        kinds = {"run": str, "qrels": str | None, "name": str | None, "distances": bool | None}
        given = await _body(request, kinds)
        return await run_in_threadpool(_uploaded, given, sessions)

    return routes


def _answer(content: Any) -> Response:
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, 200, _HEADERS, "application/json")


def _file(name: str) -> Response:
    # Only names that are in the folder: no path from a request reaches the file system.
    for file in files("paretocut.web.explorer").joinpath("static").iterdir():
        if file.name == name and (kind := _TYPES.get(f".{name.rpartition('.')[2]}")):
            return Response(file.read_bytes(), 200, _HEADERS, kind)
    raise Refused(404, "not_found", "there is no such file")


def _checked(session: Session, i: int) -> int:
    if not 0 <= i < len(session.lists):
        raise Refused(404, "not_found", f"this run has queries 0 to {len(session.lists) - 1}")
    return i


async def _body(request: Request, kinds: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a JSON object, each of its kind; those left out are None."""
    # A page of another origin cannot send this type without asking first.
    if request.headers.get("content-type") != "application/json":
        raise Refused(415, "unsupported_type", "the content type must be application/json")
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Refused(400, "invalid_body", "the body is not JSON") from None
    if not isinstance(content, dict):
        raise Refused(400, "invalid_body", "the body must be a JSON object")
    found = {name: content.get(name) for name in kinds}
    for name, value in found.items():
        if not isinstance(value, kinds[name]) or (kinds[name] is int and value is True):
            raise Refused(422, "invalid_body", f"{name} is missing or of the wrong kind")
    return found


def _uploaded(given: dict[str, Any], sessions: _Sessions) -> Response:
    """Open what was uploaded, and answer how it is called from now on."""
    name = (given["name"] or "pasted")[:200]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lists = pasted_lists(given["run"], given["qrels"], higher_is_better=not given["distances"])
    session = Session(lists, name=name, source=name)
    learn_at_start(session)
    run_view(session)  # what is wrong is told now
    notes = [str(warning.message) for warning in caught]
    return _answer({"session": sessions.add(session), "notes": notes})
