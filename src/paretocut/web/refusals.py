"""Refused requests: which status and code each error has, and the one shape of the answer."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from paretocut.errors import (
    DataFormatError,
    InvalidParameterError,
    InvalidScoresError,
    MissingExtraError,
    ParetocutError,
)

CODES = {
    400: ("invalid_body", "the body is not JSON: invalid character (byte 11)"),
    401: ("unauthorized", "a bearer token is needed: Authorization: Bearer TOKEN"),
    404: ("not_found", "there is nothing at this address"),
    405: ("method_not_allowed", "this address does not take this method"),
    408: ("slow_body", "the body did not arrive within max_seconds"),
    413: ("body_too_large", "a body may have 33,554,432 bytes, got more"),
    415: ("unsupported_encoding", "bodies must not be compressed, got Content-Encoding: gzip"),
    422: ("invalid_scores", "cut: scores must be finite, got nan at index 3"),
    429: ("too_many_requests", "64 requests are under way, the most allowed; try again"),
    431: ("head_too_large", "address and headers may have 65,536 bytes, got more"),
    500: ("internal_error", "something went wrong; the log of the service has the details"),
    503: ("out_of_time", "the request took longer than max_seconds; send fewer or shorter lists"),
}
"""The usual code of each status, with an example of its message."""

_ERRORS = {
    InvalidScoresError: "invalid_scores",
    InvalidParameterError: "invalid_parameter",
    DataFormatError: "invalid_data",
    MissingExtraError: "not_installed",
    ParetocutError: "refused",
}
_LONGEST = 500  # characters of a message; it may quote a long value


class Refused(Exception):
    """A request that is not answered: a status, a code for programs, a message for people."""

    def __init__(
        self,
        status: int,
        code: str = "",
        message: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        usual = CODES.get(status, ("", ""))
        self.status, self.code, self.message = status, code or usual[0], message or usual[1]
        self.headers = dict(headers or {})


class InvalidBody(Refused):
    """A body of the wrong form: status 422."""

    def __init__(self, message: str) -> None:
        super().__init__(422, "invalid_body", message)


def content_of(refused: Refused) -> bytes:
    """Return the body of the answer to a refused request."""
    message = refused.message
    if len(message) > _LONGEST:
        message = message[: _LONGEST - 3] + "..."
    error = {"status": refused.status, "code": refused.code, "message": message}
    return msgspec.json.encode({"error": error})


def answer_for(refused: Refused) -> Response:
    """Return the answer to a refused request."""
    return Response(content_of(refused), refused.status, refused.headers, "application/json")


def as_refused(error: Exception) -> Refused | None:
    """Return the refusal that an exception stands for, or None for an unexpected one."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, msgspec.ValidationError):
        return InvalidBody(str(error))
    if isinstance(error, HTTPException):
        code, message = CODES.get(error.status_code, ("refused", str(error.detail)))
        return Refused(error.status_code, code, message, error.headers)
    for kind, code in _ERRORS.items():
        if isinstance(error, kind):
            return Refused(422, code, str(error))
    return None
