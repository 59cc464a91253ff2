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
from contextlib import nullcontext
from typing import Any, Literal

from fastapi import APIRouter, Depends, Request, Response

from paretocut.io import read_texts
from paretocut.web.bodies import Strict
from paretocut.web.explorer import views
from paretocut.web.explorer.compared import compared_view
from paretocut.web.explorer.copied import Source
from paretocut.web.explorer.example import example_run
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.gate import gate_code
from paretocut.web.explorer.judging import Key, press, question_view
from paretocut.web.explorer.pasted import pasted_lists, unpacked
from paretocut.web.pages import HEADERS
from paretocut.web.refusals import Refused

MAX_BYTES = 200_000_000
"""Size of a run that can be uploaded."""

_MOST_RUNS = 8
_VIEWS = {
    "run": views.run_view,
    "frontier": views.frontier_view,
    "qrels": views.qrels_view,
    "question": question_view,
}


class _Upload(Strict):
    """A run and what belongs to it: pasted as text, or files in base64."""

    run: str = ""
    qrels: str | None = None
    files: dict[Literal["run", "qrels", "query_texts", "corpus"], str] | None = None
    name: str | None = None
    distances: bool | None = None


class _Place(Strict):
    i: int
    rank: int


class _Judgement(_Place):
    relevant: bool | None = None


class _Pressed(_Place):
    key: Key


class _OpenRuns:
    """The runs that are open; of those uploaded, the oldest is closed first."""

    def __init__(self, first: Exploration | None, other: Exploration | None) -> None:
        self._given = {"run": first, "other": other}
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
        """The names of the open runs, as the page shows them."""
        given = {key: run for key, run in self._given.items() if run is not None}
        return {key: run.name for key, run in (given | self._uploaded).items()}

    def view(self, name: str, view: Callable[[Exploration], Any]) -> Response:
        """Answer with a view of an open run."""
        found = self.get(name)
        with found.lock:
            return _answer(view(found))


def router(first: Exploration | None, other: Exploration | None = None) -> APIRouter:
    """Return the data of the explorer, below ``/api``.

    Without a first run, the page shows the box to upload or paste one.
    """
    runs = _OpenRuns(first, other)
    routes = APIRouter(include_in_schema=False)

    @routes.get("/api/{name}/copy")
    def copy(name: str, i: int, k: int, method: str | None = None) -> Response:
        return runs.view(name, lambda run: views.copy_view(run, method, _checked(run, i), k))

    @routes.get("/api/{name}/compare")
    def compare(name: str, other: str, method: str) -> Response:
        with runs.get(other).lock if other != name else nullcontext():
            return runs.view(name, lambda run: compared_view(run, runs.get(other), method))

    @routes.get("/api/{name}/gate")
    def gate(name: str, method: str, threshold: float) -> Response:
        return runs.view(name, lambda run: gate_code(run, method, threshold))

    @routes.get("/api/{name}/{view}")
    def whole(name: str, view: str, metric: str | None = None) -> Response:
        if view not in _VIEWS:
            raise Refused(404)
        if (name, view) == ("run", "run") and first is None:
            return _answer(None)
        if view == "run":
            if metric is not None:
                runs.get(name).measure_by(metric)
            _learn(runs.get(name))
            return runs.view(name, lambda run: views.run_view(run) | {"open": runs.names})
        return runs.view(name, _VIEWS[view])

    @routes.post("/api/example", dependencies=[Depends(_only_json)])
    def example() -> Response:
        return _answer({"session": runs.add(example_run())})

    @routes.get("/api/{name}/query/{i}")
    def query(name: str, i: int) -> Response:
        return runs.view(name, lambda run: views.query_view(run, _checked(run, i)))

    @routes.get("/api/{name}/judging/{i}")
    def judging(name: str, i: int) -> Response:
        return runs.view(name, lambda run: views.judging_view(run, _checked(run, i)))

    @routes.post("/api/{name}/judge", dependencies=[Depends(_only_json)])
    def judge(name: str, given: _Judgement) -> Response:
        def view(run: Exploration) -> Any:
            i = _checked(run, given.i)
            run.judge(i, given.rank, given.relevant)
            return {
                "query": views.query_view(run, i, also=given.rank),
                "judging": views.judging_view(run, i),
            }

        return runs.view(name, view)

    @routes.post("/api/{name}/answer", dependencies=[Depends(_only_json)])
    def answer(name: str, given: _Pressed) -> Response:
        return runs.view(name, lambda run: press(run, given.key, given.i, given.rank))

    @routes.post("/api/{name}/learn", dependencies=[Depends(_only_json)])
    def learn(name: str, given: _Place) -> Response:
        _learn(runs.get(name))

        def view(run: Exploration) -> Any:
            i = _checked(run, given.i)
            return {
                "run": views.run_view(run),
                "query": views.query_view(run, i, also=given.rank),
                "judging": views.judging_view(run, i),
            }

        return runs.view(name, view)

    @routes.post("/api/upload", dependencies=[Depends(_only_json)])
    def upload(given: _Upload) -> Response:
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

    return routes


def _only_json(request: Request) -> None:
    """Refuse other types: a page of another origin cannot send this one without asking first."""
    if request.headers.get("content-type") != "application/json":
        raise Refused(415, "unsupported_type", "the content type must be application/json")


def _learn(run: Exploration) -> None:
    if run.unlearned:
        lists = run.lists
        learned = run.learned(lists)  # takes a while
        with run.lock:
            run.learn(learned)
            run.unlearned = run.lists is not lists  # judgements came in meanwhile


def _answer(content: Any) -> Response:
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, 200, HEADERS, "application/json")


def _checked(run: Exploration, i: int) -> int:
    if not 0 <= i < len(run.lists):
        raise Refused(404, message=f"this run has queries 0 to {len(run.lists) - 1}")
    return i
