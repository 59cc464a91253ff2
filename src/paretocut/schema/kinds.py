"""Kinds of values (type, range, shape), which parameters, learned state and requests share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as AnyReal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sizes = dict[str, Any]  # by name, as the values seen so far have them

_LARGEST = 2**63 - 1
_WORDS = {"b": "true or false", "i": "integers", "f": "numbers"}


class Kind(ABC):
    """The allowed type and range of one value."""

    @abstractmethod
    def check(self, value: Any, sizes: Sizes) -> Any:
        """Return the value in its plain type; raise ValueError with the allowed values."""


def checked(described: Mapping[str, Kind], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in their plain types; all must be there, and no others."""
    for name in given:
        if name not in described:
            raise ValueError(f"values must be named {', '.join(described)}, got {name!r:.60}")
    sizes: Sizes = {}
    found = {}
    for name, kind in described.items():
        if name not in given:
            raise ValueError(f"{name} must be there, got nothing")
        try:
            found[name] = kind.check(given[name], sizes)
        except ValueError as error:
            raise ValueError(f"{name} must be {error}, got {_brief(given[name])}") from None
    return found


@dataclass(frozen=True)
class Flag(Kind):
    """True or False; NumPy's will do."""

    def check(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError("True or False")
        return bool(value)


@dataclass(frozen=True)
class Text(Kind):
    """A text, one of the choices if there are any."""

    choices: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            listed = ", ".join(map(repr, self.choices))
            raise ValueError(f"one of {listed}" if self.choices else "a text")
        return value


@dataclass(frozen=True)
class Whole(Kind):
    """An integer within bounds, both allowed; others find it by the name ``size``."""

    low: int = 0
    high: int = _LARGEST
    size: str = ""

    def check(self, value: Any, sizes: Sizes) -> int:
        # True counts as 1 in Python, but nobody means it.
        if not isinstance(value, Integral) or isinstance(value, bool):
            value = self.low - 1
        if not self.low <= (number := int(value)) <= self.high:
            beyond = self.high if self.high < _LARGEST or number > _LARGEST else None
            top = "" if beyond is None else f" and at most {beyond}"
            raise ValueError(f"an integer of at least {self.low}{top}")
        if self.size:
            sizes[self.size] = number
        return number


@dataclass(frozen=True)
class Real(Kind):
    """A number from ``low`` to ``high``, ``above`` and ``below`` others; never NaN."""

    low: float = -math.inf
    high: float = math.inf
    above: float | None = None
    below: float | None = None
    infinite: bool = False

    def check(self, value: Any, sizes: Sizes) -> float:
        number = math.nan
        # Decimals convert, but refuse to be added to floats later.
        if (isinstance(value, AnyReal) or hasattr(value, "dtype")) and not isinstance(value, bool):
            with suppress(TypeError, ValueError, OverflowError):  # an integer beyond all floats
                number = float(value)
        within = self.low <= number <= self.high and (self.infinite or not math.isinf(number))
        within = within and (self.above is None or number > self.above)
        if not within or (self.below is not None and number >= self.below):
            if self == Real(infinite=self.infinite):
                raise ValueError("a number" if self.infinite else "a finite number")
            raise ValueError(f"in {self.interval}")
        return number

    @property
    def interval(self) -> str:
        """The numbers allowed, such as "(0, 1]"."""
        low = self.low if self.above is None else self.above
        high = self.high if self.below is None else self.below
        left = "(" if self.above is not None or (low == -math.inf and not self.infinite) else "["
        right = ")" if self.below is not None or (high == math.inf and not self.infinite) else "]"
        return f"{left}{low:g}, {high:g}{right}"


@dataclass(frozen=True)
class Items(Kind):
    """A list of items of one kind; ``size`` is a number, the name of a size, or "" for any."""

    of: Kind
    size: int | str = ""

    def check(self, value: Any, sizes: Sizes) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise ValueError("a list")
        match_sizes((self.size,), (len(value),), sizes)
        items = []
        for i, item in enumerate(value):
            try:
                items.append(self.of.check(item, sizes))
            except ValueError as error:
                raise ValueError(f"a list whose item {i} is {error}") from None
        return items


@dataclass(frozen=True)
class Array(Kind):
    """An array of numbers, bounded as `Real`.

    ``shape`` has one entry per dimension: a number, the name of a size, or "" for any. ``kind`` is
    "f" for numbers of any type, "i" for integers, "b" for true or false. A ``rising`` array never
    falls along its last dimension; a ``covariance`` is symmetric without negative eigenvalues.
    """

    shape: tuple[int | str, ...]
    kind: str = "f"
    low: float = -math.inf
    high: float = math.inf
    above: float | None = None
    infinite: bool = False
    rising: bool = False
    covariance: bool = False

    def check(self, value: Any, sizes: Sizes) -> NDArray[Any]:
        allowed = f"an array of {_WORDS[self.kind]}"
        kinds = {"b": "b", "i": "iu", "f": "fiu"}[self.kind]
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise ValueError(allowed)
        if value.ndim != len(self.shape) or value.dtype.itemsize > 8:
            raise ValueError(f"{allowed} of {len(self.shape)} dimensions")
        match_sizes(self.shape, value.shape, sizes)
        if self.kind == "b":
            return value
        if np.isnan(value).any() or not (self.infinite or np.isfinite(value).all()):
            raise ValueError(f"an array of {'' if self.infinite else 'finite '}numbers, none NaN")
        over = (value < self.low) | (value > self.high)
        if self.above is not None:
            over |= value <= self.above
        if over.any():
            interval = Real(self.low, self.high, self.above, infinite=self.infinite).interval
            raise ValueError(f"an array of numbers in {interval}")
        if self.rising and (value[..., 1:] < value[..., :-1]).any():
            raise ValueError("an array of numbers that never fall")
        if self.covariance:
            hair = 1e-9 * float(np.abs(value).max(initial=0.0))
            if hair > 1e91 or (np.abs(value - value.T) > hair).any():
                raise ValueError("a symmetric matrix")
            if value.size and np.linalg.eigvalsh(value)[0] < -hair:
                raise ValueError("a matrix without negative eigenvalues")
        return value


@dataclass(frozen=True)
class Instance(Kind):
    """An object of a class of ours, which has checked itself."""

    type: type | tuple[type, ...]
    name: str = ""

    def check(self, value: Any, sizes: Sizes) -> Any:
        if not isinstance(value, self.type):
            raise ValueError(f"a {self.name or getattr(self.type, '__name__', 'model')}")
        return value


@dataclass(frozen=True)
class Made(Kind):
    """A value that a function makes of plain data; it raises ValueError, TypeError or KeyError."""

    make: Callable[[Any], Any]

    def check(self, value: Any, sizes: Sizes) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError("values by name")
        try:
            return self.make(value)
        except (TypeError, KeyError) as error:
            raise ValueError(f"complete ({error})") from None
        except ValueError as error:
            raise ValueError(f"such that {error}") from None


@dataclass(frozen=True)
class Either(Kind):
    """A value of this kind, or None."""

    kind: Kind

    def check(self, value: Any, sizes: Sizes) -> Any:
        return None if value is None else self.kind.check(value, sizes)


class AnyOf(Kind):
    """A value of the first kind that takes it; the error is that of the last one."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds

    def check(self, value: Any, sizes: Sizes) -> Any:
        for kind in self.kinds[:-1]:
            with suppress(ValueError):
                return kind.check(value, sizes)
        return self.kinds[-1].check(value, sizes)


def match_sizes(expected: tuple[int | str, ...], got: tuple[int, ...], sizes: Sizes) -> None:
    """Compare sizes with those that are known, and note those that were not."""
    for size, number in zip(expected, got, strict=True):
        if size == "":
            continue
        wanted = sizes.setdefault(size, number) if isinstance(size, str) else size
        if wanted != number:
            of = f" ({size})" if isinstance(size, str) else ""
            raise ValueError(f"of size {wanted}{of}, not {number}")


def _brief(value: Any) -> str:
    """Return a short text for a value; it may be large, or nested without end."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    if isinstance(value, (list, tuple, Mapping)):
        return f"{type(value).__name__} of {len(value)}"
    return f"{value!r:.60}"
