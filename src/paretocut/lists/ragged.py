"""Lists of unequal length in two arrays, without a Python object per value."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut import _kernel
from paretocut.errors import InvalidScoresError
from paretocut.schema.parameters import check_array

_refused = partial(InvalidScoresError, who="Ragged")
_SORTED_AT_ONCE = 4_000_000  # values, about a tenth of a second
_IN_ORDER = -1  # the kernel's code for lists that are best first

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


def as_array(values: Any) -> NDArray[Any]:
    """Return values as an array; a masked one, or lists among the values, is refused."""
    return check_array(values, who="Ragged", name="values")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ragged:
    """Lists of unequal length in two arrays: all values in a row, and where each list begins.

    Parameters
    ----------
    values, offsets
        1-D arrays, of which list ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> ragged = Ragged.from_any([[3.0, 1.0], [], [2.0]])
    >>> len(ragged), ragged[0].tolist(), ragged.lengths.tolist()
    (3, [3.0, 1.0], [2, 0, 1])
    """

    values: NDArray[Any]
    offsets: IntArray

    def __post_init__(self) -> None:
        values, offsets = as_array(self.values), as_array(self.offsets)
        if values.ndim != 1:
            raise _refused(f"values must be 1-D, got {values.ndim}-D")
        if offsets.ndim != 1 or offsets.size == 0 or offsets.dtype.kind not in "iu":
            raise _refused(
                "offsets must be a 1-D array of at least one integer, "
                f"got shape {offsets.shape} of {offsets.dtype}"
            )
        if offsets[0] != 0 or offsets[-1] != values.size or np.any(offsets[1:] < offsets[:-1]):
            raise _refused(
                f"offsets must rise from 0 to the number of values, {values.size}, "
                f"got {np.array2string(offsets, threshold=8)}"
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "offsets", offsets.astype(np.int64, copy=False))

    @classmethod
    def from_any(
        cls,
        lists: RaggedLike,
        *,
        dtype: Any = None,
        array: Callable[[Any], NDArray[Any]] = as_array,
    ) -> Ragged:
        """Return ``lists`` as ``Ragged``, without a copy if the layout allows it.

        A pair is values and offsets if its second part is an array of integers; otherwise it is
        two lists. The values get the type ``dtype``; ``array`` makes an array of those of one list.
        """
        pair = isinstance(lists, tuple) and len(lists) == 2 and hasattr(lists[1], "__array__")
        if isinstance(lists, Ragged):
            ragged = lists
        elif type(lists).__module__.partition(".")[0] == "pyarrow":
            ragged = _from_arrow(lists)
        elif pair and np.asarray(lists[1]).dtype.kind in "iu":
            ragged = cls(array(lists[0]), as_array(lists[1]))
        else:
            ragged = _from_sequence(lists, array)
        if array is not as_array:
            ragged = ragged.with_values(array(ragged.values))
        if dtype is None or ragged.values.dtype == dtype:
            return ragged
        try:
            # Strings, dates and complex numbers convert too, and should not.
            if np.dtype(dtype).kind == "f" and ragged.values.dtype.kind not in "biufO":
                raise TypeError
            return ragged.with_values(ragged.values.astype(dtype))
        except (TypeError, ValueError, OverflowError) as error:
            raise _refused(
                f"values must convert to {np.dtype(dtype)}, got {ragged.values.dtype}"
            ) from error

    @property
    def lengths(self) -> IntArray:
        """Number of values in each list."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def rows(self) -> IntArray:
        """Which list each value belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def ranks(self) -> IntArray:
        """Place of each value in its list, from 0."""
        return np.arange(self.values.size) - np.repeat(self.offsets[:-1], self.lengths)

    @property
    def filled(self) -> BoolArray:
        """Which lists hold any value."""
        return self.offsets[1:] > self.offsets[:-1]

    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first and the last value of each list; 0 of an empty one."""
        if self.offsets.size == 2 and self.values.size:
            return self.values[:1], self.values[-1:]
        starts, stops = self.offsets[:-1], self.offsets[1:]
        filled = stops > starts
        if filled.all():
            return self.values[starts], self.values[stops - 1]
        first, last = np.zeros((2, len(self)), dtype=self.values.dtype)
        first[filled] = self.values[starts[filled]]
        last[filled] = self.values[stops[filled] - 1]
        return first, last

    def within_range(self) -> tuple[Ragged, IntArray]:
        """Return sorted lists, very large or small ones divided by a power of two, and the power.

        No digit changes; but squares and differences of the originals would overflow, or vanish.
        """
        first, last = self.ends()
        power = np.zeros(len(self), dtype=np.int64)
        if first.size == 1 and 1e-100 < max(abs(first[0]), abs(last[0])) < 1e100:
            return self, power  # the common case, without a vector in sight
        size = np.maximum(np.abs(first), np.abs(last))
        extreme = (size > 1e100) | ((size < 1e-100) & (size > 0))
        if not extreme.any():
            return self, power
        power[extreme] = np.frexp(size[extreme])[1]
        return self.with_values(np.ldexp(self.values, -self.spread(power))), power

    def count(self, mask: BoolArray) -> IntArray:
        """Return how many values of each list the mask, one flag per value, marks."""
        if len(self) == 1:
            return np.array([np.count_nonzero(mask)])
        total = np.zeros(mask.size + 1, dtype=np.int64)
        np.cumsum(mask, out=total[1:])
        return np.diff(total[self.offsets])

    def spread(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return one number per value, from one number per list."""
        return np.repeat(column, self.lengths)

    def with_values(self, values: NDArray[Any]) -> Ragged:
        """Return other values of the same layout."""
        if values.shape != self.values.shape:
            raise _refused(f"values must be {self.values.size} in a row, got shape {values.shape}")
        return Ragged.unchecked(values, self.offsets)

    @classmethod
    def unchecked(cls, values: NDArray[Any], offsets: IntArray) -> Ragged:
        """Return a column from a 1-D array and offsets that are known to be right."""
        ragged = object.__new__(cls)
        object.__setattr__(ragged, "values", values)
        object.__setattr__(ragged, "offsets", offsets)
        return ragged

    def take(self, indices: ArrayLike) -> Ragged:
        """Return the lists at these positions, in this order."""
        places = self.places(indices)
        return places.with_values(self.values[places.values])

    def places(self, indices: ArrayLike) -> Ragged:
        """Return where in ``values`` the values of the lists at these positions are."""
        index = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[index]
        offsets = offsets_of(lengths)
        shift = np.repeat(self.offsets[:-1][index] - offsets[:-1], lengths)
        return Ragged.unchecked(np.arange(offsets[-1]) + shift, offsets)

    def blocks(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of lists that hold at most so many values together, or one list each."""
        start = 0
        while start < len(self):
            reach = np.searchsorted(self.offsets, self.offsets[start] + most, side="right")
            stop = max(start + 1, int(reach) - 1)
            yield start, stop
            start = stop

    def tolist(self) -> list[list[Any]]:
        """Return the lists as lists of plain Python values."""
        values, offsets = self.values.tolist(), self.offsets.tolist()
        return [values[start:stop] for start, stop in itertools.pairwise(offsets)]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[Any]:
        i = range(len(self))[index]  # range gives negative indices and IndexError for free
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Ragged({len(self)} lists, {self.values.size} values of {self.values.dtype})"


RaggedLike: TypeAlias = "Ragged | Sequence[ArrayLike] | tuple[ArrayLike, ArrayLike] | Any"
"""Input of ``Ragged.from_any``; ``Any`` stands for arrays, also those of pyarrow."""


def refuse_not_finite(
    column: Ragged, who: str, what: str = "scores", query_ids: NDArray[Any] | None = None
) -> None:
    """Refuse NaN and infinity; the error names the place, and the query if it has a name."""
    finite = np.isfinite(column.values)
    if finite.all():
        return
    at = int(np.argmin(finite))
    i = int(np.searchsorted(column.offsets, at, side="right")) - 1
    place = at - int(column.offsets[i])
    where = f"index {place}" if len(column) == 1 else f"index {place} of list {i}"
    if query_ids is not None:
        where = f"rank {place + 1} of query {str(query_ids[i])!r}"
    raise InvalidScoresError(f"{what} must be finite, got {column.values[at]} at {where}", who=who)


def best_first(
    scores: Ragged,
    higher_is_better: bool,
    who: str = "Ragged",
    query_ids: NDArray[Any] | None = None,
) -> IntArray | None:
    """Return the order that sorts every list best first, or None if all of them are."""
    values = np.ascontiguousarray(scores.values, dtype=np.float64)
    found = _kernel.survey(values, scores.offsets, bool(higher_is_better))
    if found == _IN_ORDER:
        return None
    if found >= 0:
        refuse_not_finite(scores, who, query_ids=query_ids)
    order = np.empty(values.size, dtype=np.int64)
    for first, last in scores.blocks(_SORTED_AT_ONCE):  # Python looks for Ctrl-C between them
        own = scores.offsets[first : last + 1]
        _kernel.sort_lists(values, own, bool(higher_is_better), order)
    return order


def offsets_of(lengths: IntArray) -> IntArray:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _from_sequence(lists: Any, make: Callable[[Any], NDArray[Any]]) -> Ragged:
    problem = "lists must be a 2-D array or a sequence of 1-D arrays (one: [scores]), got "
    if hasattr(lists, "__array__"):
        array = as_array(lists)
        if array.ndim == 2:
            rows, columns = array.shape
            return Ragged(array.reshape(-1), np.arange(rows + 1, dtype=np.int64) * columns)
        if array.ndim != 1 or (array.size and array.dtype != object):
            raise _refused(f"{problem}a {array.ndim}-D array of {array.dtype}")
    if isinstance(lists, (str, bytes, dict)) or not isinstance(lists, Iterable):
        raise _refused(f"{problem}{type(lists).__name__}")
    parts = [make(part) for part in lists]
    for i, part in enumerate(parts):
        if part.ndim != 1:
            raise _refused(f"{problem}{part.ndim}-D data at position {i}")
    offsets = offsets_of(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)))
    # An empty list has no type of its own: NumPy would call it float64 and so widen the others.
    filled = [part for part in parts if part.size] or parts[:1] or [np.empty(0)]
    try:
        return Ragged(np.concatenate(filled), offsets)
    except np.exceptions.DTypePromotionError:
        kinds = " and ".join(sorted({str(part.dtype) for part in filled}))
        raise _refused(f"lists must be of one type, got {kinds}") from None


def _from_arrow(array: Any) -> Ragged:
    if hasattr(array, "chunks"):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if not hasattr(array, "flatten") or not hasattr(array, "value_lengths"):
        raise _refused(
            f"an Arrow array must be of lists, got {getattr(array, 'type', type(array))}"
        )
    if array.null_count:
        first = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise _refused(f"Arrow lists must not be null, got a null at {first}")
    lengths = array.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return Ragged(array.flatten().to_numpy(zero_copy_only=False), offsets_of(lengths))
