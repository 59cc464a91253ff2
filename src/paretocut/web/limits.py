"""What one request may cost, and how a request is refused."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import msgspec
import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import Response

from paretocut.errors import (
    DataFormatError,
    InvalidParameterError,
    InvalidScoresError,
    MissingExtraError,
    ParetocutError,
)
from paretocut.lists import Ragged
from paretocut.schema.parameters import check_positive_int, check_real

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

HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    429: {"Retry-After": "1"},
    431: {"Connection": "close"},
    503: {"Retry-After": "1"},
}
"""Headers of the answer of a status."""

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

    def __init__(self, status: int, code: str = "", message: str = "", **headers: str) -> None:
        usual = CODES.get(status, ("refused", ""))
        self.status, self.code, self.message = status, code or usual[0], message or usual[1]
        self.headers = HEADERS.get(status, {}) | headers
        super().__init__(self.message)

    def content(self) -> bytes:
        message = self.message
        if len(message) > _LONGEST:
            message = message[: _LONGEST - 3] + "..."
        error = {"status": self.status, "code": self.code, "message": message}
        return msgspec.json.encode({"error": error})

    def answer(self) -> Response:
        return Response(self.content(), self.status, self.headers, "application/json")


class InvalidBody(Refused):
    """A body of the wrong form: status 422."""

    def __init__(self, message: str) -> None:
        super().__init__(422, "invalid_body", message)


def as_refused(error: Exception) -> Refused | None:
    """Return the refusal that an exception stands for, or None for an unexpected one."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, msgspec.ValidationError):
        return InvalidBody(str(error))
    if isinstance(error, HTTPException):
        return Refused(error.status_code, **(error.headers or {}))
    for kind, code in _ERRORS.items():
        if isinstance(error, kind):
            return Refused(422, code, str(error))
    return None


class Deadline:
    """When a request must be answered: so many seconds from now, or never any more."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        return self._at - time.monotonic()

    def check(self) -> None:
        """Give up work that is too late."""
        if self.left() < 0:
            raise self.missed()

    def missed(self) -> Refused:
        """Make the work stop at its next look, and return the answer."""
        self._at = 0.0
        return Refused(503)


@dataclass(frozen=True)
class Limits:
    """What one request may cost."""

    max_body_bytes: int = 32 << 20
    max_lists: int = 10_000  # or queries
    max_list_length: int = 100_000
    max_concurrency: int = 64  # requests under way at once, in each worker
    max_seconds: float = 30.0  # from the first byte of a request to its answer

    def __post_init__(self) -> None:
        check_real(self.max_seconds, who="Limits", name="max_seconds", low=0)
        for field in fields(self)[:-1]:
            check_positive_int(getattr(self, field.name), who="Limits", name=field.name)

    def check_lists(self, lists: int, longest: int = 0) -> None:
        most, length = self.max_lists, self.max_list_length
        if lists > most:
            problem = f"a request may have {most:,} lists, got {lists:,}"
            raise Refused(413, "too_many_lists", problem)
        if longest > length:
            problem = f"a list may have {length:,} results, got {longest:,}"
            raise Refused(413, "list_too_long", problem)

    def checked(self, lists: Ragged) -> Ragged:
        self.check_lists(len(lists), int(lists.lengths.max(initial=0)))
        return lists

    def as_lists(self, lists: Sequence[Sequence[float]]) -> Ragged:
        lengths = list(map(len, lists))
        numbers = chain.from_iterable(lists)
        try:
            values = np.fromiter(numbers, dtype=np.float64, count=sum(lengths))
        except OverflowError:  # an integer beyond all floats
            raise InvalidBody("numbers must be finite, got a larger one") from None
        return self.checked(Ragged.unchecked(values, np.cumsum([0, *lengths])))

    def check_ids(self, ids: Iterable[str]) -> None:
        """Refuse ids that would need much more memory than the body: all get the longest's room."""
        count = longest = 0
        for name in ids:
            if "\0" in name:  # NumPy would drop it
                raise InvalidBody("ids must not hold the character U+0000")
            count, longest = count + 1, max(longest, len(name))
        if count * longest > 4 * self.max_body_bytes:
            problem = f"{count:,} ids may not be as long as {longest:,} characters"
            raise Refused(413, "ids_too_long", problem)
