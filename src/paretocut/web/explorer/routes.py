"""The explorer over HTTP: its page, and views of the runs that are open.

Runs live in the memory of this process. It is for the person at the machine: one worker, bound to
the loopback.
"""

from __future__ import annotations

import io
import json
import logging
import secrets
import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any, Literal, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from paretocut.io import read_texts
from paretocut.schema.parameters import check_port
from paretocut.web.admission import Admission, Asked
from paretocut.web.app import PAGE_HEADERS, create_app
from paretocut.web.bodies import Body, read
from paretocut.web.explorer import views
from paretocut.web.explorer.copied import copy_view, gate_code, qrels_view
from paretocut.web.explorer.exploration import Exploration, Source
from paretocut.web.explorer.pasted import example_run, pasted_lists
from paretocut.web.explorer.query import query_view
from paretocut.web.limits import Limits, Refused
from paretocut.web.server import LOOPBACK, bound, end_on_signals, server_of
from paretocut.web.telemetry import log_lines

MAX_BYTES = 200_000_000
"""Size of a run that can be uploaded."""

T = TypeVar("T")
_MOST_RUNS = 8
_HOST = "127.0.0.1"
_TEXTS = ("query_texts", "corpus")


class _Upload(Body):
    """A run and what belongs to it: pasted as text, or files in base64."""

    run: str = ""
    qrels: str | None = None
    files: dict[Literal["run", "qrels", "query_texts", "corpus"], bytes] | None = None
    name: str | None = None
    distances: bool | None = None


class _Query(Body):
    i: int


class _Place(_Query):
    rank: int


class _Judgement(_Place):
    relevant: bool | None = None


class _Pressed(_Place):
    key: views.Key


class _Copied(_Query):
    k: int
    method: str | None = None


class _Gate(Body):
    threshold: float
    method: str | None = None


class _Compared(Body):
    other: str
    method: str


class _Measured(Body):
    metric: str | None = None


def explorer_routes(first: Exploration | None, other: Exploration | None = None) -> list[Route]:
    """Return the data of the explorer, below ``/api``.

    Without a first run, the page shows the box to upload or paste one. The other run is one that
    the first is compared with.
    """
    given = {"run": first, "other": other}
    runs = {name: run for name, run in given.items() if run is not None}
    stay = len(runs)

    def opened(name: str) -> Exploration:
        if name not in runs:
            raise Refused(404, message="this run is not open any more: open it again")
        return runs[name]

    def added(run: Exploration, notes: list[str]) -> Response:
        name = secrets.token_urlsafe(9)
        runs[name] = run
        if len(runs) > stay + _MOST_RUNS:  # of those uploaded, the oldest is closed
            del runs[next(islice(runs, stay, None))]
        return _answer({"session": name, "notes": notes})

    def route(path: str, view: Callable[[Exploration, Any], Any], kind: type[Body] = Body) -> Route:
        """Return the route of a view of an open run; the run learns before a view of the whole."""
        post = issubclass(kind, _Place)  # judgements, which nothing but this page may send

        def answer(request: Request) -> Response:
            asked = (_body if post else _options)(kind, request)
            name = request.path_params["run"]
            if first is None and name == "run" and path == "run":
                return _answer(None)
            run = opened(name)
            if isinstance(asked, _Query) and not 0 <= asked.i < len(run.lists):
                raise Refused(404, message=f"this run has queries 0 to {len(run.lists) - 1}")
            if isinstance(asked, _Measured) and asked.metric is not None:
                run.measure_by(asked.metric)
            if path in ("run", "learn"):
                _learn(run)
            with run.lock:
                return _answer(view(run, asked))

        return Route(f"/api/{{run}}/{path}", answer, methods=["POST" if post else "GET"])

    def whole(run: Exploration, _: _Measured) -> Any:
        return views.run_view(run) | {"open": {name: one.name for name, one in [*runs.items()]}}

    def upload(request: Request) -> Response:
        given = _body(_Upload, request)
        name = (given.name or "pasted")[:200]
        files = given.files or {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lists = pasted_lists(
                files.get("run", given.run),
                files.get("qrels", given.qrels),
                name=name if "run" in files else "",
                higher_is_better=not given.distances,
                max_bytes=MAX_BYTES,
            )
        texts = {key: read_texts(io.BytesIO(file)) for key, file in files.items() if key in _TEXTS}
        run = Exploration(
            lists,
            name=name,
            query_texts=texts.get("query_texts", {}),
            doc_texts=texts.get("corpus", {}),
            source=Source(() if lists.doc_ids is None else (name,), bool(given.distances)),
        )
        views.run_view(run)  # problems show up now
        return added(run, [str(warning.message) for warning in caught])

    def example(request: Request) -> Response:
        _body(Body, request)
        return added(example_run(), [])

    return [
        Route("/api/upload", upload, methods=["POST"]),
        Route("/api/example", example, methods=["POST"]),
        route("judge", _judge, _Judgement),
        route("answer", lambda run, x: views.press(run, x.key, x.i, x.rank), _Pressed),
        route("learn", lambda run, x: {"run": views.run_view(run), **_at(run, x)}, _Place),
        route("copy", lambda run, x: copy_view(run, x.method, x.i, x.k), _Copied),
        route("gate", _gate, _Gate),
        route(
            "compare", lambda run, x: views.compared_view(run, opened(x.other), x.method), _Compared
        ),
        route("run", whole, _Measured),
        route("frontier", lambda run, _: views.frontier_view(run)),
        route("qrels", lambda run, _: qrels_view(run)),
        route("question", lambda run, _: views.question_view(run)),
        route("query/{i:int}", lambda run, x: query_view(run, x.i), _Query),
        route("judging/{i:int}", lambda run, x: views.judging_view(run, x.i), _Query),
    ]


def _gate(run: Exploration, given: _Gate) -> dict[str, Any]:
    """Return the effect of a gate, or with a method, its code."""
    if given.method is None:
        return views.gate_check(run, given.threshold)
    return gate_code(run, given.method, given.threshold)


def _judge(run: Exploration, given: _Judgement) -> dict[str, Any]:
    run.judge(given.i, given.rank, given.relevant)
    return _at(run, given)


def _at(run: Exploration, given: _Place) -> dict[str, Any]:
    query = query_view(run, given.i, also=given.rank)
    return {"query": query, "judging": views.judging_view(run, given.i)}


def _body(kind: type[T], request: Request) -> T:
    """Return the body, which must be JSON: a page of another origin must ask before it sends it."""
    asked: Asked = request.scope["paretocut.asked"]
    if asked.headers.get(b"content-type") != b"application/json":
        raise Refused(415, "unsupported_type", "the content type must be application/json")
    return read(kind, asked.body)


def _options(kind: type[T], request: Request) -> T:
    given = {**request.query_params, **request.path_params}
    del given["run"]
    return msgspec.convert(given, kind, strict=False)


def _learn(run: Exploration) -> None:
    if run.unlearned:
        lists = run.lists
        learned = run.learned(lists)  # takes a while
        with run.lock:
            run.learn(learned)
            run.unlearned = run.lists is not lists  # judgements came in meanwhile


def _answer(content: Any) -> Response:
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, 200, PAGE_HEADERS, "application/json")


def explorer_app(first: Exploration | None, other: Exploration | None = None) -> Admission:
    """Return the service with the explorer at its root; without a run, the page asks for one."""
    limits = Limits(max_body_bytes=MAX_BYTES, max_seconds=600.0)
    return create_app(limits=limits, routes=explorer_routes(first, other), hosts=LOOPBACK)


def serve(
    first: Exploration | None,
    other: Exploration | None = None,
    *,
    port: int,
    ready: Callable[[str], None],
) -> None:
    """Serve the explorer on the loopback until interrupted; ``ready`` gets the address."""
    with bound(_HOST, check_port(port, who="explore")) as listening:
        server = server_of(explorer_app(first, other), 2)
        end_on_signals(server)
        log_lines(logging.WARNING)
        listening.listen()
        ready(f"http://{_HOST}:{listening.getsockname()[1]}/")
        server.run(sockets=[listening])
