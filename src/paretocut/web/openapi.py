"""The description of the service: bodies, errors and examples."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from paretocut.web.arrow_streams import ARROW
from paretocut.web.bodies import ErrorAnswer
from paretocut.web.refusals import CODES

BINARY = {"schema": {"type": "string", "format": "binary"}}
"""The description of a stream."""

_ERRORS = (400, 401, 408, 413, 415, 422, 429, 500, 503)
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_TEMPLATE = "#/components/schemas/{model}"


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of these errors; without any, of all that a body can cause."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in statuses or _ERRORS:
        code, message = CODES[status]
        example = {"error": {"status": status, "code": code, "message": message}}
        found[status] = {
            "model": ErrorAnswer,
            "description": code.replace("_", " "),
            "content": {"application/json": {"example": example}},
        }
        if status in _HEADERS:
            found[status]["headers"] = {_HEADERS[status]: {"schema": {"type": "string"}}}
    return found


def takes(body: type[BaseModel], stream_options: type[BaseModel] | None) -> dict[str, Any]:
    """Return the description of a JSON body, and of an Arrow stream with these options."""
    content = {"application/json": {"schema": {"$ref": _TEMPLATE.format(model=body.__name__)}}}
    extra: dict[str, Any] = {"requestBody": {"required": True, "content": content}}
    if stream_options is not None:
        content[ARROW] = BINARY
        schema = stream_options.model_json_schema(ref_template=_TEMPLATE)
        extra["parameters"] = [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": f"For a body of type {ARROW}.",
                "schema": _without_null(field),
            }
            for name, field in schema["properties"].items()
        ]
    return extra


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a given value; an address has no null."""
    kept = {name: value for name, value in schema.items() if name != "default"}
    if "anyOf" in kept:
        kinds = [kind for kind in kept.pop("anyOf") if kind != {"type": "null"}]
        kept |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return kept


def describe(app: FastAPI, bodies: list[type[BaseModel]], *, secured: bool) -> None:
    """Add to the app's description the bodies that FastAPI does not parse itself, and the token."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        known = app.openapi_schema is not None
        description = plain()
        if not known:
            components = description["components"]
            _, found = models_json_schema(
                [(model, "validation") for model in bodies], ref_template=_TEMPLATE
            )
            schemas = components["schemas"] | found["$defs"]
            components["schemas"] = dict(sorted(schemas.items()))
            if secured:
                components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                description["security"] = [{"token": []}]
        return description

    app.openapi = openapi  # type: ignore[method-assign]
