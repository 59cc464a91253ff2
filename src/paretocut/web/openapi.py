"""The OpenAPI description of the service: addresses, bodies, errors and examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec

from paretocut.decisions.options import OPTIONS
from paretocut.fusion.options import FUSING
from paretocut.web import bodies
from paretocut.web.arrow_streams import ARROW
from paretocut.web.cutting import cut
from paretocut.web.evaluating import compare
from paretocut.web.fusing import fuse_lists
from paretocut.web.refusals import CODES
from paretocut.web.scoring import score

VERSION = version("paretocut")
"""Of the service, which is that of the library."""


class _Post(NamedTuple):
    summary: str
    work: Callable[..., Any]
    body: type
    answer: Any


_POSTS = {
    "/v1/cut": _Post(
        "How many results to keep, and why",
        cut,
        bodies.CutRequest,
        bodies.Decision | list[bodies.Decision],
    ),
    "/v1/score": _Post(
        "Surprise, p-value and E-value of each result",
        score,
        bodies.ScoreRequest,
        bodies.ScoredList | list[bodies.ScoredList],
    ),
    "/v1/fuse": _Post(
        "One list of several retrievers' lists, cut or not",
        fuse_lists,
        bodies.FuseRequest,
        bodies.FusedList | list[bodies.FusedList],
    ),
    "/v1/evaluate": _Post(
        "Methods compared on a judged run",
        compare,
        bodies.EvaluateRequest,
        bodies.EvaluationAnswer,
    ),
}
_ERRORS = (400, 401, 408, 413, 415, 422, 429, 500, 503)
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_SCORES = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37, 0.35, 0.33]
_RETRIEVED = {
    "words": {"ids": ["a", "b", "c"], "scores": [9.0, 7.0, 1.0]},
    "vectors": {"ids": ["b", "a", "d"], "scores": [0.2, 0.3, 0.9], "higher_is_better": False},
}
_EXAMPLES: dict[str, Any] = {
    "CutRequest": {"scores": _SCORES},
    "ScoreRequest": {"scores": _SCORES},
    "FuseRequest": {"retrievers": _RETRIEVED, "cut": {"expect": "few"}},
    "EvaluateRequest": {
        "run": "q1 Q0 a 1 0.9 me\nq1 Q0 b 2 0.4 me\nq2 Q0 c 1 0.8 me\n",
        "qrels": "q1 0 a 1\nq2 0 c 1\n",
        "methods": ["fixed_k:k=1", "minmax:threshold=0.5"],
        "metrics": ["f1"],
        "folds": 2,
    },
}
_ONE_OF = {
    "CutRequest": ("scores", "lists"),
    "ScoreRequest": ("scores", "lists"),
    "FuseRequest": ("retrievers", "queries"),
}


def description(*, secured: bool) -> dict[str, Any]:
    """Return the description; a ``secured`` service asks for a token."""
    posts = _POSTS.values()
    kinds = [
        *(post.body for post in posts),
        *(post.answer for post in posts),
        *(bodies.CutOptions, bodies.Health, bodies.ErrorAnswer),
    ]
    references, schemas = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    schema_of = dict(zip(map(repr, kinds), references, strict=True))
    for name, schema in schemas.items():
        for field, about in schema.get("properties", {}).items():
            if name in _EXAMPLES and field in (known := {**FUSING, **OPTIONS}):
                about["default"] = known[field].default
    for name, example in _EXAMPLES.items():
        schemas[name]["examples"] = [example]
        if name in _ONE_OF:
            schemas[name]["oneOf"] = [{"required": [one]} for one in _ONE_OF[name]]
    stream_options = schemas.pop("CutOptions")["properties"]
    paths: dict[str, Any] = {
        "/healthz": _get("Say that the service is up.", "application/json", {}),
        "/metrics": _get("Return the metrics, for Prometheus.", "text/plain", {}, 401, 500),
    }
    paths["/healthz"]["get"]["security"] = []
    health = {"schema": schema_of[repr(bodies.Health)]}
    paths["/healthz"]["get"]["responses"]["200"]["content"]["application/json"] = health
    for path, post in _POSTS.items():
        asked = {"application/json": {"schema": schema_of[repr(post.body)]}}
        answer = {"application/json": {"schema": schema_of[repr(post.answer)]}}
        operation: dict[str, Any] = {
            "summary": post.summary,
            "description": inspect.getdoc(post.work),
            "operationId": post.work.__name__,
            "requestBody": {"required": True, "content": asked},
            "responses": {"200": {"description": "answered", "content": answer}, **_errors()},
        }
        if path == "/v1/cut":
            asked[ARROW] = answer[ARROW] = {"schema": {"type": "string", "format": "binary"}}
            operation["parameters"] = [
                {
                    "name": name,
                    "in": "query",
                    "required": False,
                    "description": f"For a body of type {ARROW}.",
                    "schema": _without_null(schema),
                }
                for name, schema in stream_options.items()
            ]
        paths[path] = {"post": operation}
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "paretocut",
            "summary": "How many results of a ranked list to return, or none.",
            "version": VERSION,
        },
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }
    if secured:
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    return described


def _get(about: str, kind: str, content: dict[str, Any], *statuses: int) -> dict[str, Any]:
    good = {"description": "answered", "content": {kind: content}}
    own = {"description": about, "responses": {"200": good, **_errors(statuses)}}
    return {"get": own}


def _errors(statuses: tuple[int, ...] = _ERRORS) -> dict[str, Any]:
    """Return the descriptions of these errors; without any, of all that a body can cause."""
    found: dict[str, Any] = {}
    for status in statuses:
        code, message = CODES[status]
        content = {
            "schema": {"$ref": "#/components/schemas/ErrorAnswer"},
            "example": {"error": {"status": status, "code": code, "message": message}},
        }
        found[str(status)] = {
            "description": code.replace("_", " "),
            "content": {"application/json": content},
        }
        if status in _HEADERS:
            found[str(status)]["headers"] = {_HEADERS[status]: {"schema": {"type": "string"}}}
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a given value; an address has no null."""
    kept = {name: value for name, value in schema.items() if name != "default"}
    if "anyOf" in kept:
        kinds = [kind for kind in kept.pop("anyOf") if kind != {"type": "null"}]
        kept |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return kept
