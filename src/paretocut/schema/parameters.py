"""Checks of options, shared by everything that has some.

Each check returns the value in its plain type, or raises an error in four parts: who refused,
which argument, what is allowed, what came.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Literal

from paretocut.errors import InvalidParameterError, InvalidScoresError

__all__ = [
    "check_bool",
    "check_choice",
    "check_int",
    "check_numbers",
    "check_positive_int",
    "check_probability",
    "check_real",
    "shown",
]

_LARGEST_PORT = 65535
_LARGEST_INT = 2**63 - 1
_BRACKETS = {"both": ("[", "]"), "neither": ("(", ")"), "low": ("[", ")"), "high": ("(", "]")}


def check_choice(value: Any, choices: Iterable[str], *, who: str, name: str) -> str:
    """Return the value, one of the choices."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise InvalidParameterError(f"{who}: {name} must be one of {listed}, got {shown(value)}")
    return value


def check_bool(value: Any, *, who: str, name: str) -> bool:
    """Return the value as a bool; NumPy's will do, words and numbers will not."""
    if isinstance(value, bool):
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise InvalidParameterError(f"{who}: {name} must be True or False, got {shown(value)}")


def check_real(
    value: Any,
    *,
    who: str,
    name: str,
    low: float = -math.inf,
    high: float = math.inf,
    closed: Literal["both", "neither", "low", "high"] = "neither",
) -> float:
    """Return the value as a float inside the interval."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # the last: an integer beyond all floats
        number = math.nan
    left, right = _BRACKETS[closed]
    above = number >= low if left == "[" else number > low
    below = number <= high if right == "]" else number < high
    # Decimals convert, but refuse to be added to floats later.
    plain = isinstance(value, Real) or hasattr(value, "dtype")
    if isinstance(value, bool) or not (plain and above and below):
        raise InvalidParameterError(
            f"{who}: {name} must be in {left}{low:g}, {high:g}{right}, got {shown(value)}"
        )
    return number


def check_probability(value: Any, *, who: str, name: str) -> float:
    """Return the value as a float in (0, 1)."""
    return check_real(value, who=who, name=name, low=0, high=1)


def check_int(value: Any, *, who: str, name: str, low: int = 0) -> int:
    """Return the value as an int that is ``low`` or more, and that an array can hold."""
    # True counts as 1 in Python, but nobody means it.
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    number = int(value) if whole else low - 1
    if number > _LARGEST_INT:
        raise InvalidParameterError(
            f"{who}: {name} must be an integer of at most {_LARGEST_INT}, got {shown(value)}"
        )
    if number < low:
        raise InvalidParameterError(
            f"{who}: {name} must be an integer of at least {low}, got {shown(value)}"
        )
    return number


def check_positive_int(value: Any, *, who: str, name: str) -> int:
    """Return the value as an int that is 1 or more."""
    return check_int(value, who=who, name=name, low=1)


def check_port(value: Any, *, who: str) -> int:
    """Return the value as the number of a port; 0 stands for any that is free."""
    port = check_int(value, who=who, name="port")
    if port > _LARGEST_PORT:
        raise InvalidParameterError(f"{who}: port must be at most {_LARGEST_PORT}, got {port}")
    return port


def check_numbers(value: Any, *, who: str, name: str, ndim: int | None = None) -> Any:
    """Return the value as an array of finite numbers (float64), of any shape by default."""
    import numpy as np

    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf" and given.size:
            raise TypeError
        numbers = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidScoresError(
            f"{who}: {name} must be an array of numbers, got {shown(value)}"
        ) from None
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidScoresError(
            f"{who}: {name} must not be masked, got a masked array; take .compressed() of it"
        )
    if ndim is not None and numbers.ndim != ndim:
        raise InvalidScoresError(
            f"{who}: {name} must have {ndim} dimension{'s' if ndim > 1 else ''}, got {numbers.ndim}"
        )
    if not np.isfinite(numbers).all():
        raise InvalidScoresError(f"{who}: {name} must be finite, got NaN or infinity")
    return numbers


def shown(value: Any) -> str:
    """Return how the value looks, in few words.

    Python refuses to write integers of thousands of digits, and arrays can be of any length.
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        bits = getattr(value, "bit_length", None)
        return f"an integer of {bits()} bits" if bits else f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:197]}..."
