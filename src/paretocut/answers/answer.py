"""An answer that was read: the scores of its results, and how to make it shorter."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray, RankedLists
from paretocut.schema.parameters import shown

Path: TypeAlias = "str | int | Callable[[Any], Any]"
"""Where something is in a result: a name (with dots between several), a place, or a function."""

NUMBERS = (int, float, np.number, Decimal, Fraction)
# Where results of stores and frameworks keep their id and their text.
_IDS = ("id", "_id", "uuid", "key", "doc_id", "docno", "pk", "corpus_id", "node_id", "index")
_TEXTS = ("text", "page_content", "content", "document", "memory", "chunk", "body", "passage")
_HOLDERS = ("document", "node", "payload", "_source", "entity", "properties", "fields", "metadata")


@dataclass(slots=True)
class Answer:
    """The results of one query or of several, as a search returned them."""

    scores: Sequence[FloatArray]  # of each query's results; not finite where there is no result
    single: bool = True  # whether it answers one query, and not a batch of them
    higher_is_better: bool | None = None  # None if the library does not say
    # A result, from the number of its query and its place.
    result: Callable[[int, int], Any] = lambda query, i: i
    # The same kind of answer, from the places to keep of each query.
    shorter: Callable[[Sequence[Sequence[int]]], Any] = list
    id: Path | None = None  # where it is in a result; None looks under the usual names
    text: Path | None = None
    lists: RankedLists | None = None  # the same, where the answer comes from a fusion

    def ids(self, who: str) -> list[list[str]]:
        """Return the ids of the results of each query."""
        return [
            [
                str(_found(self.result(query, i), self.id, _IDS, ("document", "node"), who, "id"))
                for i in range(len(scores))
            ]
            for query, scores in enumerate(self.scores)
        ]

    def text_of(self, query: int, place: int, who: str) -> str:
        """Return the text of a result."""
        text = _found(self.result(query, place), self.text, _TEXTS, _HOLDERS, who, "text")
        return text if isinstance(text, str) else "" if text is None else str(text)


def direction_of(scores: Sequence[FloatArray], who: str) -> bool | None:
    """Return whether higher is better, as results best first show; None if they do not."""
    orders = {_order(values) for values in scores} - {None}
    if not orders:
        return None
    if orders in ({True}, {False}):
        return orders == {True}
    got = "numbers that rise and fall" if len(scores) == 1 else "lists in different orders"
    raise InvalidScoresError(
        f"the results must come best first, or with higher_is_better=True (scores) or "
        f"higher_is_better=False (distances); got {got}",
        who=who,
    )


def _order(values: FloatArray) -> object:
    """Return True for falling numbers, False for rising ones, None for equal ones, "" for mixed."""
    if len(values) < 2 or values[0] == values[-1] == values.min() == values.max():
        return None
    if (values[1:] <= values[:-1]).all():
        return True
    return False if (values[1:] >= values[:-1]).all() else ""


MISSING = object()
"""The value of `peek` where there is none."""


def pick(thing: Any, path: Path) -> Any:
    """Return the value at a path; raises LookupError, AttributeError or TypeError without one."""
    if callable(path):
        return path(thing)
    if isinstance(path, int):
        return thing[path]
    if isinstance(thing, Mapping):
        if path in thing:
            return thing[path]
    elif "." not in path:
        # A record of a database has its columns as keys.
        by_key = hasattr(thing, "keys") and not hasattr(thing, path)
        return thing[path] if by_key else getattr(thing, path)
    head, dot, rest = path.partition(".")
    if not dot:
        raise KeyError(path)
    return pick(pick(thing, head), rest)


def peek(thing: Any, path: Path) -> Any:
    """Return the value at a path, or `MISSING`."""
    try:
        return pick(thing, path)
    except (LookupError, AttributeError, TypeError):
        return MISSING


def replaced(thing: Any, path: str, value: Any) -> Any:
    """Return a shallow copy of a mapping or an object, with another value at the path."""
    head, dot, rest = path.partition(".")
    if dot:
        value = replaced(pick(thing, head), rest, value)
    if hasattr(thing, "model_copy"):
        return thing.model_copy(update={head: value})
    copied = copy.copy(thing)
    if isinstance(copied, MutableMapping):
        copied[head] = value
        return copied
    try:
        setattr(copied, head, value)
    except AttributeError:  # frozen
        object.__setattr__(copied, head, value)
    return copied


def column(values: Any, who: str) -> FloatArray:
    """Return scores as an array; None and NaN mean that there is none."""
    try:
        array = np.array(values, dtype=np.float64)
        if array.ndim == 1:
            return array
        got = f"{array.ndim} dimensions"
    except (TypeError, ValueError, OverflowError):
        got = next((shown(x) for x in values if not _converts(x)), shown(values))[:60]
    raise InvalidScoresError(
        f"scores must be numbers, one for each result, got {got}; name the score with "
        "score=: a field, a place or a function",
        who=who,
    )


def _converts(value: Any) -> bool:
    try:
        return value is None or float(value) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def fields_of(result: Any) -> list[str]:
    """Return the names that a result has."""
    if isinstance(result, Mapping):
        return [str(name) for name in result]
    names = getattr(result, "_fields", None) or getattr(type(result), "model_fields", None)
    names = names or (result.keys() if hasattr(result, "keys") else None)
    return [*(names or (name for name in dir(result) if not name.startswith("_")))]


def _found(
    result: Any, path: Path | None, names: Sequence[str], inside: Sequence[str], who: str, what: str
) -> Any:
    """Return the value at the path, or under one of the usual names."""
    if path is not None:
        if (found := peek(result, path)) is not MISSING:
            return found
    elif isinstance(result, (str, *NUMBERS)):
        return result
    else:
        for holder in ("", *(f"{one}." for one in inside)):
            for name in names:
                if isinstance(found := peek(result, holder + name), (str, *NUMBERS)):
                    return found
    raise InvalidParameterError(
        f"{what}= must say where the {what} of a result is: a field or a function; "
        f"got {'nothing there' if path is not None else 'none of the usual names'} in a "
        f"{type(result).__name__} with {', '.join(fields_of(result)[:12])}",
        who=who,
    )
