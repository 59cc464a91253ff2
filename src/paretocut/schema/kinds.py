"""What a model may have learned: the type, shape and range of each value.

A model file may come from anywhere. Each model describes its state once, with the kinds below,
and `checked` refuses whatever does not fit the description.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import NotFittedError
from paretocut.lists import Ragged

__all__ = [
    "Array",
    "Either",
    "Fitted",
    "Flag",
    "Instance",
    "Items",
    "Kind",
    "Lists",
    "Made",
    "Real",
    "Sizes",
    "Text",
    "Whole",
    "checked",
]

Sizes = dict[str, Any]
"""Sizes by name, as the values seen so far have them; the same name means the same size."""

_LARGEST = 2**63 - 1
_WORDS = {"b": "true or false", "i": "integers", "f": "numbers"}


class Kind(ABC):
    """What one value may be."""

    @abstractmethod
    def check(self, value: Any, sizes: Sizes) -> Any:
        """Return the value in its plain type; raise ValueError with what is allowed if it differs.

        Parameters
        ----------
        value
            As it came from a file.
        sizes
            Sizes by name; those that this value sets are added.
        """


def checked(described: Mapping[str, Kind], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in their plain types.

    Parameters
    ----------
    described
        What each value must be. Values are checked in this order.
    given
        The values, as they came from a file.

    Raises
    ------
    ValueError
        If a value does not fit, is missing, or is not described.
    """
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
            raise ValueError(f"{name} must be {error}, got {_shown(given[name])}") from None
    return found


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    def check(self, value: Any, sizes: Sizes) -> bool:
        """Return the flag."""
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value


@dataclass(frozen=True)
class Text(Kind):
    """A text, one of the choices if there are any."""

    choices: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes) -> str:
        """Return the text."""
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise ValueError(f"one of {', '.join(self.choices)}" if self.choices else "a text")
        return value


@dataclass(frozen=True)
class Whole(Kind):
    """An integer within bounds.

    Attributes
    ----------
    low, high
        The bounds; both are allowed.
    size
        Name under which other values find this number as their size.
    """

    low: int = 0
    high: int = _LARGEST
    size: str = ""

    def check(self, value: Any, sizes: Sizes) -> int:
        """Return the integer."""
        if type(value) is not int or not self.low <= value <= self.high:
            top = "" if self.high == _LARGEST else f" and at most {self.high}"
            raise ValueError(f"an integer of at least {self.low}{top}")
        if self.size:
            sizes[self.size] = value
        return value


@dataclass(frozen=True)
class Real(Kind):
    """A number within bounds, never NaN.

    Attributes
    ----------
    low, high
        The bounds; both are allowed.
    above
        A bound that is itself not allowed.
    infinite
        Whether the number may be infinite.
    """

    low: float = -math.inf
    high: float = math.inf
    above: float | None = None
    infinite: bool = False

    def check(self, value: Any, sizes: Sizes) -> float:
        """Return the number as a float."""
        number = math.nan
        if type(value) is float or (type(value) is int and abs(value) <= _LARGEST):
            number = float(value)
        within = self.low <= number <= self.high and (self.above is None or number > self.above)
        if not within or (math.isinf(number) and not self.infinite):
            finite = "" if self.infinite else "finite "
            raise ValueError(f"a {finite}number{_bounds(self.low, self.high, self.above)}")
        return number


@dataclass(frozen=True)
class Items(Kind):
    """A list whose items are all of one kind.

    Attributes
    ----------
    of
        What each item must be.
    size
        How many there are: a number, the name of a size, or nothing for any.
    """

    of: Kind
    size: int | str = ""

    def check(self, value: Any, sizes: Sizes) -> list[Any]:
        """Return the list."""
        if not isinstance(value, (list, tuple)):
            raise ValueError("a list")
        _match((self.size,), (len(value),), sizes)
        items = []
        for i, item in enumerate(value):
            try:
                items.append(self.of.check(item, sizes))
            except ValueError as error:
                raise ValueError(f"a list whose item {i} is {error}") from None
        return items


@dataclass(frozen=True)
class Array(Kind):
    """An array of numbers.

    Attributes
    ----------
    shape
        One entry per dimension: a number, the name of a size, or "" for any.
    kind
        "f" for numbers of any type, "i" for integers, "b" for true or false.
    low, high
        Bounds of the numbers; both are allowed.
    above
        A bound that is itself not allowed.
    infinite
        Whether numbers may be infinite; they are never NaN.
    rising
        Whether numbers must never fall along the last dimension.
    covariance
        Whether it must be symmetric without negative eigenvalues.
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
        """Return the array."""
        allowed = f"an array of {_WORDS[self.kind]}"
        kinds = {"b": "b", "i": "iu", "f": "fiu"}[self.kind]
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise ValueError(allowed)
        if value.ndim != len(self.shape) or value.dtype.itemsize > 8:
            raise ValueError(f"{allowed} of {len(self.shape)} dimensions")
        _match(self.shape, value.shape, sizes)
        if self.kind != "b":
            self._check_range(value)
        return value

    def _check_range(self, value: NDArray[Any]) -> None:
        if np.isnan(value).any() or not (self.infinite or np.isfinite(value).all()):
            raise ValueError(f"an array of {'' if self.infinite else 'finite '}numbers, none NaN")
        over = (value < self.low) | (value > self.high)
        if self.above is not None:
            over |= value <= self.above
        if over.any():
            raise ValueError(f"an array of numbers{_bounds(self.low, self.high, self.above)}")
        if self.rising and (value[..., 1:] < value[..., :-1]).any():
            raise ValueError("an array of numbers that never fall")
        if self.covariance:
            largest = float(np.abs(value).max(initial=0.0))
            hair = 1e-9 * largest
            if largest > 1e100 or (np.abs(value - value.T) > hair).any():
                raise ValueError("a symmetric matrix")
            if value.size and np.linalg.eigvalsh(value)[0] < -hair:
                raise ValueError("a matrix without negative eigenvalues")


@dataclass(frozen=True)
class Lists(Kind):
    """Lists of unequal length.

    Attributes
    ----------
    rows
        Name of the number of lists.
    layout
        Name of the lengths of the lists.
    longer
        By how much each list is longer than that.
    kind
        As for `Array`.
    """

    rows: str
    layout: str
    longer: int = 0
    kind: str = "f"

    def check(self, value: Any, sizes: Sizes) -> Ragged:
        """Return the lists."""
        if not isinstance(value, Ragged):
            raise ValueError("lists of unequal length")
        Array(("",), self.kind).check(value.values, sizes)
        lengths = value.lengths - self.longer
        _match((self.rows,), (len(value),), sizes)
        known = sizes.setdefault(self.layout, lengths)
        if lengths.min(initial=0) < 0 or not np.array_equal(known, lengths):
            more = f", {self.longer} longer" if self.longer else ""
            raise ValueError(f"lists as long as the others{more}")
        return value


@dataclass(frozen=True)
class Instance(Kind):
    """An object of a class of ours, which has checked itself.

    Attributes
    ----------
    type
        The class.
    """

    type: type

    def check(self, value: Any, sizes: Sizes) -> Any:
        """Return the object."""
        if not isinstance(value, self.type):
            raise ValueError(f"a {self.type.__name__}")
        return value


@dataclass(frozen=True)
class Fitted(Instance):
    """A model inside the model, which has learned what it needs.

    Attributes
    ----------
    keys_only
        Whether only its ``keys`` are asked for, which may need no fit.
    """

    keys_only: bool = False

    def check(self, value: Any, sizes: Sizes) -> Any:
        """Return the model."""
        model = super().check(value, sizes)
        if not self.keys_only or model.keys_learn():
            try:
                model._require_fitted()
            except NotFittedError:
                raise ValueError("fitted") from None
        return model


@dataclass(frozen=True)
class Made(Kind):
    """A value that a function makes of plain data, with checks of its own.

    Attributes
    ----------
    make
        Takes the data; raises ValueError, TypeError or KeyError for what it does not take.
    keep
        Whether the data itself is kept, and the function only checks it.
    """

    make: Callable[[Any], Any]
    keep: bool = False

    def check(self, value: Any, sizes: Sizes) -> Any:
        """Return what the function makes, or the data itself."""
        if not isinstance(value, Mapping):
            raise ValueError("values by name")
        try:
            made = self.make(value)
        except (TypeError, KeyError) as error:
            raise ValueError(f"complete ({error})") from None
        except ValueError as error:
            raise ValueError(f"such that {error}") from None
        return value if self.keep else made


@dataclass(frozen=True)
class Either(Kind):
    """A value of this kind, or None."""

    kind: Kind

    def check(self, value: Any, sizes: Sizes) -> Any:
        """Return the value or None."""
        return None if value is None else self.kind.check(value, sizes)


def _bounds(low: float, high: float, above: float | None) -> str:
    """Return the bounds of a number in words."""
    words = {"above": above, "of at least": low, "of at most": high}
    said = [f"{word} {bound:g}" for word, bound in words.items() if bound is not None]
    finite = [text for text in said if not text.endswith("inf")]
    return f" {' and '.join(finite)}" if finite else ""


def _match(expected: tuple[int | str, ...], got: tuple[int, ...], sizes: Sizes) -> None:
    """Compare sizes with those that are known, and note those that were not."""
    for size, number in zip(expected, got, strict=True):
        if size == "":
            continue
        wanted = sizes.setdefault(size, number) if isinstance(size, str) else size
        if wanted != number:
            of = f" ({size})" if isinstance(size, str) else ""
            raise ValueError(f"of size {wanted}{of}, not {number}")


def _shown(value: Any) -> str:
    """Return a short text for a value; it may be large, or nested without end."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    if isinstance(value, (list, tuple, Mapping)):
        return f"{type(value).__name__} of {len(value)}"
    return f"{value!r:.60}"
