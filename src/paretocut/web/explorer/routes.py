"""The explorer over HTTP: its page, and views of the runs that are open.

Runs live in the memory of this process. It is for the person at the machine: one worker, bound to
the loopback.
"""

from __future__ import annotations

import io
import json
import secrets
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from paretocut.io import read_texts
from paretocut.web.app import PAGE_HEADERS
from paretocut.web.bodies import Body, read
from paretocut.web.explorer import views
from paretocut.web.explorer.compared import compared_view
from paretocut.web.explorer.copied import Source
from paretocut.web.explorer.example import example_run
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.gate import gate_code
from paretocut.web.explorer.judging import Key, press, question_view
from paretocut.web.explorer.pasted import pasted_lists, unpacked
from paretocut.web.limits import Refused
from paretocut.web.service import Asked

MAX_BYTES = 200_000_000
"""Size of a run that can be uploaded."""

T = TypeVar("T")
_MOST_RUNS = 8
_VIEWS = {
    "run": views.run_view,
    "frontier": views.frontier_view,
    "qrels": views.qrels_view,
    "question": question_view,
}


class _Upload(Body):
    """A run and what belongs to it: pasted as text, or files in base64."""

    run: str = ""
    qrels: str | None = None
    files: dict[Literal["run", "qrels", "query_texts", "corpus"], str] | None = None
    name: str | None = None
    distances: bool | None = None


class _Place(Body):
    i: int
    rank: int


class _Judgement(_Place):
    relevant: bool | None = None


class _Pressed(_Place):
    key: Key


class _Copied(Body):
    i: int
    k: int
    method: str | None = None


class _Gate(Body):
    method: str
    threshold: float


class _Compared(Body):
    other: str
    method: str


class _Measured(Body):
    metric: str | None = None


class _OpenRuns:
    """The runs that are open; of those uploaded, the oldest is closed first."""

    def __init__(self, first: Exploration | None, other: Exploration | None) -> None:
        given = {"run": first, "other": other}
        self._given = {name: run for name, run in given.items() if run is not None}
        self._uploaded: OrderedDict[str, Exploration] = OrderedDict()

    def add(self, run: Exploration) -> str:
        """Return the name of a newly opened run."""
        name = secrets.token_urlsafe(9)
        self._uploaded[name] = run
        if len(self._uploaded) > _MOST_RUNS:
            self._uploaded.popitem(last=False)
        return name

    def get(self, name: str) -> Exploration:
        """Return an open run."""
        found = self._given.get(name) or self._uploaded.get(name)
        if found is None:
            raise Refused(404, message="this run is not open any more: open it again")
        return found

    @property
    def names(self) -> dict[str, str]:
        """The open runs, as the page calls them."""
        return {key: run.name for key, run in (self._given | self._uploaded).items()}

    def view(self, request: Request, view: Callable[[Exploration], Any]) -> Response:
        """Answer with a view of an open run."""
        found = self.get(request.path_params["name"])
        with found.lock:
            return _answer(view(found))


def explorer_routes(first: Exploration | None, other: Exploration | None = None) -> list[Route]:
    """Return the data of the explorer, below ``/api``.

    Without a first run, the page shows the box to upload or paste one. The other run is one that
    the first is compared with.
    """
    runs = _OpenRuns(first, other)

    def copy(request: Request) -> Response:
        given = _options(_Copied, request)
        return runs.view(
            request,
            lambda run: views.copy_view(run, given.method, _checked(run, given.i), given.k),
        )

    def compare(request: Request) -> Response:
        given = _options(_Compared, request)
        other = runs.get(given.other)
        return runs.view(request, lambda run: compared_view(run, other, given.method))

    def gate(request: Request) -> Response:
        given = _options(_Gate, request)
        return runs.view(request, lambda run: gate_code(run, given.method, given.threshold))

    def whole(request: Request) -> Response:
        name, view = request.path_params["name"], request.path_params["view"]
        if view not in _VIEWS:
            raise Refused(404)
        if (name, view) == ("run", "run") and first is None:
            return _answer(None)
        if view == "run":
            metric = _options(_Measured, request).metric
            if metric is not None:
                runs.get(name).measure_by(metric)
            _learn(runs.get(name))
            return runs.view(request, lambda run: views.run_view(run) | {"open": runs.names})
        return runs.view(request, _VIEWS[view])

    def query(request: Request) -> Response:
        i = request.path_params["i"]
        return runs.view(request, lambda run: views.query_view(run, _checked(run, i)))

    def judging(request: Request) -> Response:
        i = request.path_params["i"]
        return runs.view(request, lambda run: views.judging_view(run, _checked(run, i)))

    def judge(request: Request) -> Response:
        given = _body(_Judgement, request)

        def view(run: Exploration) -> Any:
            i = _checked(run, given.i)
            run.judge(i, given.rank, given.relevant)
            return {
                "query": views.query_view(run, i, also=given.rank),
                "judging": views.judging_view(run, i),
            }

        return runs.view(request, view)

    def answer(request: Request) -> Response:
        given = _body(_Pressed, request)
        return runs.view(request, lambda run: press(run, given.key, given.i, given.rank))

    def learn(request: Request) -> Response:
        given = _body(_Place, request)
        _learn(runs.get(request.path_params["name"]))

        def view(run: Exploration) -> Any:
            i = _checked(run, given.i)
            return {
                "run": views.run_view(run),
                "query": views.query_view(run, i, also=given.rank),
                "judging": views.judging_view(run, i),
            }

        return runs.view(request, view)

    def upload(request: Request) -> Response:
        given = _body(_Upload, request)
        name = (given.name or "pasted")[:200]
        files = {key: unpacked(text) for key, text in (given.files or {}).items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lists = pasted_lists(
                files.get("run", given.run),
                files.get("qrels", given.qrels),
                name=name if "run" in files else "",
                higher_is_better=not given.distances,
                max_bytes=MAX_BYTES,
            )
        texts = {
            key: read_texts(io.BytesIO(files[key])) if key in files else {}
            for key in ("query_texts", "corpus")
        }
        run = Exploration(
            lists,
            name=name,
            query_texts=texts["query_texts"],
            doc_texts=texts["corpus"],
            source=Source(() if lists.doc_ids is None else (name,), bool(given.distances)),
        )
        views.run_view(run)  # problems show up now
        notes = [str(warning.message) for warning in caught]
        return _answer({"session": runs.add(run), "notes": notes})

    def example(request: Request) -> Response:
        _body(Body, request)
        return _answer({"session": runs.add(example_run())})

    return [
        Route("/api/upload", upload, methods=["POST"]),
        Route("/api/example", example, methods=["POST"]),
        *(
            Route(f"/api/{{name}}/{handler.__name__}", handler, methods=["POST"])
            for handler in (judge, answer, learn)
        ),
        Route("/api/{name}/copy", copy),
        Route("/api/{name}/gate", gate),
        Route("/api/{name}/compare", compare),
        Route("/api/{name}/{view}", whole),
        Route("/api/{name}/query/{i:int}", query),
        Route("/api/{name}/judging/{i:int}", judging),
    ]


def _body(kind: type[T], request: Request) -> T:
    """Return the body, which must be JSON: a page of another origin must ask before it sends it."""
    asked: Asked = request.scope["paretocut.asked"]
    if asked.headers.get(b"content-type") != b"application/json":
        raise Refused(415, "unsupported_type", "the content type must be application/json")
    return read(kind, asked.body)


def _options(kind: type[T], request: Request) -> T:
    return msgspec.convert(dict(request.query_params), kind, strict=False)


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


def _checked(run: Exploration, i: int) -> int:
    if not 0 <= i < len(run.lists):
        raise Refused(404, message=f"this run has queries 0 to {len(run.lists) - 1}")
    return i
