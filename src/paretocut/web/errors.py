"""The one shape of every error, and which of our exceptions is which."""

from __future__ import annotations

from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from paretocut.errors import (
    DataFormatError,
    InvalidParameterError,
    InvalidScoresError,
    MissingExtraError,
    ParetocutError,
)
from paretocut.web.limits import Refused

__all__ = ["CODES", "answer_for", "as_refused"]

CODES = {
    400: ("invalid_body", "the body is not JSON: expected value at line 1 column 12"),
    401: ("unauthorized", "a bearer token is needed: Authorization: Bearer TOKEN"),
    404: ("not_found", "there is nothing at this address"),
    405: ("method_not_allowed", "this address does not take this method"),
    408: ("slow_body", "the body did not arrive within max_seconds"),
    413: ("body_too_large", "a body may have 33,554,432 bytes, got more"),
    415: ("unsupported_encoding", "bodies must not be compressed, got Content-Encoding: gzip"),
    422: ("invalid_scores", "cut: scores must be finite, got nan at index 3"),
    429: ("too_many_requests", "64 requests are under way, the most allowed; try again"),
    500: ("internal_error", "something went wrong; the log of the service says what"),
    503: ("out_of_time", "the request took longer than max_seconds; send fewer or shorter lists"),
}
"""The code and an example of the message of each status; a status may have other codes too."""

_LONGEST = 500  # letters of a message; what came with the request may be long


def answer_for(refused: Refused) -> Response:
    """Return the answer to a request that is refused.

    Parameters
    ----------
    refused
        Why.
    """
    message = refused.message
    if len(message) > _LONGEST:
        message = message[: _LONGEST - 3] + "..."
    content = {"error": {"status": refused.status, "code": refused.code, "message": message}}
    return Response(
        to_json(content),
        status_code=refused.status,
        headers=refused.headers,
        media_type="application/json",
    )


def as_refused(error: Exception) -> Refused | None:
    """Return the refusal that an exception stands for, or None for one nobody foresaw.

    Parameters
    ----------
    error
        What was raised.
    """
    if isinstance(error, Refused):
        return error
    if isinstance(error, (ValidationError, RequestValidationError)):
        return _invalid(error.errors()[0])
    if isinstance(error, HTTPException):
        code, message = CODES.get(error.status_code, ("refused", str(error.detail)))
        return Refused(error.status_code, code, message, error.headers)
    for kind, code in (
        (InvalidScoresError, "invalid_scores"),
        (InvalidParameterError, "invalid_parameter"),
        (DataFormatError, "invalid_data"),
        (MissingExtraError, "not_installed"),
        (ParetocutError, "refused"),
    ):
        if isinstance(error, kind):
            return Refused(422, code, str(error))
    return None


def _invalid(problem: Any) -> Refused:
    """Return the first problem that pydantic found, without the value that came."""
    if problem["type"] == "json_invalid":
        return Refused(400, "invalid_body", f"the body is not JSON: {problem['ctx']['error']}")
    place = ".".join(str(part) for part in problem["loc"][:4])
    message = problem["msg"].removeprefix("Value error, ")
    return Refused(422, "invalid_body", f"{place}: {message}" if place else message)
