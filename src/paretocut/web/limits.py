"""What one request may cost, and what is said to one that may not be answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from paretocut.schema.parameters import check_positive_int, check_real

__all__ = ["Limits", "Refused"]


@dataclass(frozen=True)
class Limits:
    """What one request may cost.

    Attributes
    ----------
    max_body_bytes
        Bytes of a request's body.
    max_lists
        Lists, or queries, of one request.
    max_list_length
        Results of one list.
    max_concurrency
        Requests under way at once, in each worker; more are answered 429.
    max_seconds
        Time for a request, from its first byte to its answer.
    """

    max_body_bytes: int = 32 << 20
    max_lists: int = 10_000
    max_list_length: int = 100_000
    max_concurrency: int = 64
    max_seconds: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "max_seconds":
                check_real(value, who="Limits", name=field.name, low=0)
            else:
                check_positive_int(value, who="Limits", name=field.name)

    def check_lists(self, lists: int, longest: int) -> None:
        """Refuse a batch that is too large, or a list that is too long.

        Parameters
        ----------
        lists
            How many lists the request has.
        longest
            Results of the longest of them.
        """
        if lists > self.max_lists:
            raise Refused(
                413, "too_many_lists", f"a request may have {self.max_lists:,} lists, got {lists:,}"
            )
        if longest > self.max_list_length:
            raise Refused(
                413,
                "list_too_long",
                f"a list may have {self.max_list_length:,} results, got {longest:,}",
            )


class Refused(Exception):
    """A request that is not answered, with the status, a code for programs and words for people."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})
