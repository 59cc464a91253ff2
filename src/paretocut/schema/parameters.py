"""Checks of arguments: each returns the value in its plain type, or says what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import InvalidParameterError, InvalidScoresError, ParetocutError
from paretocut.schema.kinds import Flag, Kind, Real, Text, Whole

_PROBABILITY = Real(above=0, below=1)


def check(kind: Kind, value: Any, *, who: str, name: str) -> Any:
    """Return the value, or raise InvalidParameterError if it is not of this kind."""
    try:
        return kind.check(value, {})
    except ParetocutError:
        raise  # says more than we know here
    except ValueError as error:
        raise InvalidParameterError(
            f"{name} must be {error}, got {shown(value)}", who=who
        ) from None


def check_choice(value: Any, choices: Iterable[str], *, who: str, name: str) -> str:
    return str(check(Text(tuple(choices)), value, who=who, name=name))


def check_bool(value: Any, *, who: str, name: str) -> bool:
    return value if isinstance(value, bool) else bool(check(Flag(), value, who=who, name=name))


def check_real(
    value: Any,
    *,
    who: str,
    name: str,
    low: float = -math.inf,
    high: float = math.inf,
    closed: Literal["neither", "low"] = "neither",
) -> float:
    kind = Real(low, below=high) if closed == "low" else Real(above=low, below=high)
    return float(check(kind, value, who=who, name=name))


def check_probability(value: Any, *, who: str, name: str) -> float:
    return float(check(_PROBABILITY, value, who=who, name=name))


def check_int(value: Any, *, who: str, name: str, low: int = 0) -> int:
    """Return the value as an int that is ``low`` or more, and that an array can hold."""
    return int(check(Whole(low), value, who=who, name=name))


def check_positive_int(value: Any, *, who: str, name: str) -> int:
    return check_int(value, who=who, name=name, low=1)


def check_port(value: Any, *, who: str) -> int:
    return int(check(Whole(0, 65535), value, who=who, name="port"))


def check_array(value: Any, *, who: str, name: str) -> NDArray[Any]:
    """Return the value as an array; a masked one, or lists of unequal length, are refused."""
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidScoresError(
            f"{name} must not be masked, got a masked array; take .compressed() of it", who=who
        )
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidScoresError(f"{name} must be an array, got {_brief(value)}", who=who) from None


def check_numbers(
    value: Any, *, who: str, name: str, ndim: int | None = None, finite: bool = True
) -> Any:
    """Return the value as a new array of numbers (float64, C order), of any shape by default."""
    given = check_array(value, who=who, name=name)
    if given.dtype.kind not in "biuf" and given.size:
        raise InvalidScoresError(
            f"{name} must be an array of numbers, got {_brief(value)}", who=who
        )
    numbers = np.array(given, dtype=np.float64, order="C")
    if ndim is not None and numbers.ndim != ndim:
        raise InvalidScoresError(
            f"{name} must have {ndim} dimension{'s' if ndim > 1 else ''}, got {numbers.ndim}",
            who=who,
        )
    if finite and not np.isfinite(numbers).all():
        raise InvalidScoresError(f"{name} must be finite, got NaN or infinity", who=who)
    return numbers


def _brief(value: Any) -> str:
    """Return the value in few words; None among numbers is named with its place."""
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            if item is None:
                return f"None at index {i}"
    text = shown(value)
    return text if len(text) <= 60 else text[:57] + "..."


def shown(value: Any) -> str:
    """Return how the value looks, in few words."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python refuses to write integers of thousands of digits
        bits = getattr(value, "bit_length", None)
        return f"an integer of {bits()} bits" if bits else f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:197]}..."
