"""The description of the service: bodies, errors and examples."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from paretocut.web.errors import CODES
from paretocut.web.schemas import REQUESTS, ErrorAnswer

__all__ = ["describe", "errors", "takes"]

_ERRORS = (400, 401, 408, 413, 415, 422, 429, 500, 503)
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_TEMPLATE = "#/components/schemas/{model}"


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of errors, by default of all that a body can bring.

    Parameters
    ----------
    *statuses
        Which.
    """
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


def takes(
    body: type[BaseModel],
    *,
    media_type: str | None = None,
    parameters: type[BaseModel] | None = None,
) -> dict[str, Any]:
    """Return the description of a request's body.

    Parameters
    ----------
    body
        Its schema.
    media_type
        Another type that the same route takes.
    parameters
        Options of a body of that other type, which go into the address.
    """
    content: dict[str, Any] = {
        "application/json": {"schema": {"$ref": _TEMPLATE.format(model=body.__name__)}}
    }
    extra: dict[str, Any] = {"requestBody": {"required": True, "content": content}}
    if media_type is not None:
        content[media_type] = {"schema": {"type": "string", "format": "binary"}}
    if parameters is not None:
        schema = parameters.model_json_schema(ref_template=_TEMPLATE)
        extra["parameters"] = [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": f"For a body of type {media_type}.",
                "schema": _without_null(field),
            }
            for name, field in schema["properties"].items()
        ]
    return extra


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value that is there; an address has no null."""
    kept = {name: value for name, value in schema.items() if name != "default"}
    if "anyOf" in kept:
        kinds = [kind for kind in kept.pop("anyOf") if kind != {"type": "null"}]
        kept |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return kept


def describe(app: FastAPI, *, secured: bool) -> None:
    """Let the application describe itself with the bodies that its routes read by themselves.

    Parameters
    ----------
    app
        The application, with all its routes.
    secured
        Whether requests need the bearer token.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title,
                version=app.version,
                summary="How many results of a ranked list to return, or none.",
                routes=app.routes,
            )
            _, schemas = models_json_schema(
                [(model, "validation") for model in REQUESTS], ref_template=_TEMPLATE
            )
            components = found.setdefault("components", {})
            components["schemas"] = dict(
                sorted((components.get("schemas", {}) | schemas["$defs"]).items())
            )
            if secured:
                components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                found["security"] = [{"token": []}]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
