"""What one request may cost."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np

from paretocut.lists import Ragged
from paretocut.schema.parameters import check_positive_int, check_real
from paretocut.web.refusals import InvalidBody, Refused


class Deadline:
    """When a request must be answered: so many seconds from now, or never any more."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left."""
        return self._at - time.monotonic()

    def check(self) -> None:
        """Give up work that is too late."""
        if self.left() < 0:
            raise self.missed()

    def missed(self) -> Refused:
        """Make the work stop at its next look, and return the answer."""
        self._at = 0.0
        return Refused(503, headers={"Retry-After": "1"})


@dataclass(frozen=True)
class Limits:
    """What one request may cost."""

    max_body_bytes: int = 32 << 20
    max_lists: int = 10_000  # or queries
    max_list_length: int = 100_000
    max_concurrency: int = 64  # requests under way at once, in each worker
    max_seconds: float = 30.0  # from the first byte of a request to its answer

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "max_seconds":
                check_real(value, who="Limits", name=field.name, low=0)
            else:
                check_positive_int(value, who="Limits", name=field.name)

    def check_lists(self, lists: int, longest: int = 0) -> None:
        """Refuse too many lists, or a list that is too long."""
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

    def checked(self, lists: Ragged) -> Ragged:
        """Return the lists, unless they are too many or too long."""
        self.check_lists(len(lists), int(lists.lengths.max(initial=0)))
        return lists

    def as_lists(self, lists: Sequence[Sequence[float]]) -> Ragged:
        """Return lists of numbers, unless they are too many or too long."""
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
            count += 1
            longest = max(longest, len(name))
        self._check_room(count, longest)

    def check_words(self, text: str) -> None:
        """Refuse a TREC text whose ids would need much more memory than the text."""
        longest = 16
        while re.search(rf"\S{{{longest}}}", text):
            longest *= 2
        self._check_room(text.count("\n") + 1, longest)

    def _check_room(self, count: int, longest: int) -> None:
        if count * longest > 4 * self.max_body_bytes:
            raise Refused(
                413, "ids_too_long", f"{count:,} ids may not be as long as {longest:,} characters"
            )
