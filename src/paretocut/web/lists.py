"""Lists of numbers and names from a request, within the limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from paretocut.lists import Ragged, offsets_of
from paretocut.web.limits import Limits, Refused

__all__ = ["check_ids", "check_words", "limited", "one_or_many"]


def one_or_many(
    scores: list[float] | None, lists: list[list[float]] | None
) -> tuple[list[list[float]], bool]:
    """Return the lists of a request, and whether it was a single one.

    Parameters
    ----------
    scores, lists
        What the request has; exactly one must be there.
    """
    if (scores is None) == (lists is None):
        raise Refused(422, "invalid_body", "exactly one of scores and lists must be given")
    if scores is not None:
        return [scores], True
    assert lists is not None
    return lists, False


def limited(lists: Sequence[Sequence[float]], limits: Limits) -> Ragged:
    """Return lists of numbers in two arrays, if they are not too many or too long.

    Parameters
    ----------
    lists
        The lists.
    limits
        What is allowed.
    """
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    limits.check_lists(len(lists), int(lengths.max(initial=0)))
    offsets = offsets_of(lengths)
    values = np.fromiter(chain.from_iterable(lists), dtype=np.float64, count=int(offsets[-1]))
    return Ragged(values, offsets)


def check_ids(ids: Iterable[str], limits: Limits) -> None:
    """Refuse names that would need much more memory than the body that brought them.

    Arrays of names give each name the room of the longest.

    Parameters
    ----------
    ids
        The names.
    limits
        What is allowed.
    """
    count = longest = 0
    for name in ids:
        if "\0" in name:  # such an array would lose it
            raise Refused(422, "invalid_body", "ids must not hold the character U+0000")
        count += 1
        longest = max(longest, len(name))
    _check_room(count, longest, limits)


def check_words(text: str, limits: Limits) -> None:
    """Refuse a file of words that would need much more memory than its text.

    Parameters
    ----------
    text
        Words between spaces, some to a line.
    limits
        What is allowed.
    """
    longest = 16
    while re.search(rf"\S{{{longest}}}", text):
        longest *= 2
    _check_room(text.count("\n") + 1, longest, limits)


def _check_room(count: int, longest: int, limits: Limits) -> None:
    if count * longest > 4 * limits.max_body_bytes:
        raise Refused(
            413, "ids_too_long", f"{count:,} ids may not be as long as {longest:,} characters"
        )
