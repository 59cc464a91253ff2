"""Columns that hold many ranked lists without a Python object per result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut.errors import InvalidParameterError, InvalidScoresError

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Ragged",
    "RaggedLike",
    "RankedList",
    "RankedLists",
]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

_Column = TypeVar("_Column")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ragged:
    """Lists of unequal length in two arrays: all values in a row, and where each list begins.

    Parameters
    ----------
    values
        1-D array with the values of every list, one list after the other.
    offsets
        ``len(ragged) + 1`` integers from 0 to ``len(values)``, never falling;
        list ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> ragged = Ragged.from_any([[3.0, 1.0], [], [2.0]])
    >>> len(ragged), ragged[0].tolist(), ragged.lengths.tolist()
    (3, [3.0, 1.0], [2, 0, 1])
    """

    values: NDArray[Any]
    offsets: IntArray

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        offsets = np.asarray(self.offsets)
        if values.ndim != 1:
            raise InvalidScoresError(f"Ragged: values must be 1-D, got {values.ndim}-D")
        if offsets.ndim != 1 or offsets.size == 0 or offsets.dtype.kind not in "iu":
            raise InvalidScoresError(
                "Ragged: offsets must be a 1-D array of at least one integer, "
                f"got shape {offsets.shape} of {offsets.dtype}"
            )
        if offsets[0] != 0 or offsets[-1] != values.size or np.any(offsets[1:] < offsets[:-1]):
            raise InvalidScoresError(
                f"Ragged: offsets must rise from 0 to the number of values, {values.size}, "
                f"got {np.array2string(offsets, threshold=8)}"
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "offsets", offsets.astype(np.int64, copy=False))

    @classmethod
    def from_any(cls, lists: RaggedLike, *, dtype: Any = None) -> Ragged:
        """Return the lists as ``Ragged``, without a copy where the layout allows it.

        Parameters
        ----------
        lists
            A 2-D array, a sequence of 1-D arrays or lists, a tuple ``(values, offsets)``,
            a pyarrow list array (chunked or not), or a ``Ragged``.
        dtype
            Type of the values; by default the one they came with.
        """
        if isinstance(lists, Ragged):
            ragged = lists
        elif type(lists).__module__.partition(".")[0] == "pyarrow":
            ragged = _from_arrow(lists)
        elif isinstance(lists, tuple) and len(lists) == 2:
            ragged = cls(_array(lists[0]), _array(lists[1]))
        else:
            ragged = _from_sequence(lists, dtype)
        if dtype is None or ragged.values.dtype == dtype:
            return ragged
        try:
            # Strings, dates and complex numbers convert too, and should not.
            if np.dtype(dtype).kind == "f" and ragged.values.dtype.kind not in "biufO":
                raise TypeError
            return ragged.with_values(ragged.values.astype(dtype))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidScoresError(
                f"Ragged: values must convert to {np.dtype(dtype)}, got {ragged.values.dtype}"
            ) from error

    @property
    def lengths(self) -> IntArray:
        """Number of values in each list."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> IntArray:
        """Which list each value belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def with_values(self, values: NDArray[Any]) -> Ragged:
        """Return other values of the same layout."""
        return Ragged(values, self.offsets)

    def take(self, indices: ArrayLike) -> Ragged:
        """Return the lists at these positions, in this order."""
        index = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[index]
        offsets = _offsets(lengths)
        shift = self.offsets[:-1][index] - offsets[:-1]
        return Ragged(self.values[np.arange(offsets[-1]) + np.repeat(shift, lengths)], offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[Any]:
        i = range(len(self))[index]  # range gives negative indices and IndexError for free
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Ragged({len(self)} lists, {self.values.size} values of {self.values.dtype})"


RaggedLike: TypeAlias = (
    "Ragged | NDArray[Any] | Sequence[ArrayLike] | tuple[ArrayLike, ArrayLike] | Any"
)
"""What ``Ragged.from_any`` takes; ``Any`` stands for pyarrow list arrays."""


def _offsets(lengths: IntArray) -> IntArray:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _array(values: Any) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:  # lists of unequal length inside
        raise InvalidScoresError(f"Ragged: values must be 1-D, got {values!r:.60}") from error


def _from_sequence(lists: Any, dtype: Any) -> Ragged:
    problem = "Ragged: lists must be a 2-D array or a sequence of 1-D arrays (one: [scores]), got "
    if hasattr(lists, "__array__"):
        array = np.asarray(lists)
        if array.ndim == 2:
            rows, columns = array.shape
            return Ragged(array.reshape(-1), np.arange(rows + 1, dtype=np.int64) * columns)
        if array.ndim != 1 or (array.size and array.dtype != object):
            raise InvalidScoresError(f"{problem}a {array.ndim}-D array of {array.dtype}")
    if isinstance(lists, (str, bytes, dict)) or not isinstance(lists, Iterable):
        raise InvalidScoresError(f"{problem}{type(lists).__name__}")
    parts = [_array(part) for part in lists]
    for i, part in enumerate(parts):
        if part.ndim != 1:
            raise InvalidScoresError(f"{problem}{part.ndim}-D data at position {i}")
    offsets = _offsets(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)))
    # An empty list has no type of its own: NumPy would call it float64 and so widen the others.
    filled = [part for part in parts if part.size]
    if not filled:
        return Ragged(np.empty(0, dtype or np.float64), offsets)
    try:
        return Ragged(np.concatenate(filled), offsets)
    except np.exceptions.DTypePromotionError:
        kinds = " and ".join(sorted({str(part.dtype) for part in filled}))
        raise InvalidScoresError(f"Ragged: lists must be of one type, got {kinds}") from None


def _from_arrow(array: Any) -> Ragged:
    if hasattr(array, "chunks"):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if not hasattr(array, "flatten") or not hasattr(array, "value_lengths"):
        raise InvalidScoresError(
            f"Ragged: an Arrow array must be of lists, got {getattr(array, 'type', type(array))}"
        )
    if array.null_count:
        first = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise InvalidScoresError(f"Ragged: Arrow lists must not be null, got a null at {first}")
    lengths = array.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    values = array.flatten().to_numpy(zero_copy_only=False)
    return Ragged(values.astype(str) if values.dtype == object else values, _offsets(lengths))


@dataclass(frozen=True, slots=True, eq=False)
class RankedList:
    """One ranked list, best first: a view into the columns of a `RankedLists`.

    Attributes
    ----------
    query_id
        Name of the query.
    scores
        Scores, never rising.
    relevance, relevant, num_relevant
        Grades, which of them count as relevant, and the number of relevant documents in the
        collection; None without judgements.
    doc_ids
        Names of the results, or None.
    """

    query_id: str
    scores: FloatArray
    relevance: NDArray[Any] | None = None
    relevant: BoolArray | None = None
    doc_ids: NDArray[Any] | None = None
    num_relevant: int | None = None

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class RankedLists:
    """Many ranked lists in columns, every list best first and higher scores better.

    Lists that arrive in another order are sorted (stably), and what belongs to the results
    moves with them; distances are negated on entry. The caller's arrays are never changed.

    Parameters
    ----------
    scores
        Scores of each list: anything `Ragged.from_any` takes. NaN and infinity are refused.
    relevance
        Grades of the results, in the layout of ``scores``: booleans, integers or floats.
    query_ids
        One name per list; by default "0", "1", ...
    doc_ids
        Names of the results, in the layout of ``scores``.
    num_relevant
        Relevant documents in the collection, one number per list; by default those retrieved.
    query_embeddings
        One row per list, for the methods that look at neighbouring queries.
    doc_embeddings
        One row per result, in the order of the flat scores; or (lists, depth, dimensions).
    higher_is_better
        False for distances.
    min_grade
        Smallest grade that counts as relevant.

    Attributes
    ----------
    scores, relevance, doc_ids
        `Ragged` columns (the last two may be None).
    query_ids, query_embeddings, doc_embeddings
        Arrays (the embeddings may be None).
    min_grade
        As given.

    Examples
    --------
    >>> lists = RankedLists([[0.9, 0.2, 0.4], [0.3]], relevance=[[1, 0, 1], [0]])
    >>> lists
    RankedLists(2 lists, 4 results, judged)
    >>> lists[0].scores.tolist(), lists[0].relevance.tolist(), lists.num_relevant.tolist()
    ([0.9, 0.4, 0.2], [1, 1, 0], [2, 0])
    """

    scores: Ragged
    relevance: Ragged | None
    query_ids: NDArray[np.str_]
    doc_ids: Ragged | None
    query_embeddings: NDArray[Any] | None
    doc_embeddings: NDArray[Any] | None
    min_grade: float
    _num_relevant: IntArray | None

    def __init__(
        self,
        scores: RaggedLike,
        relevance: RaggedLike | None = None,
        query_ids: ArrayLike | None = None,
        doc_ids: RaggedLike | None = None,
        num_relevant: ArrayLike | None = None,
        query_embeddings: ArrayLike | None = None,
        doc_embeddings: ArrayLike | None = None,
        *,
        higher_is_better: bool = True,
        min_grade: float = 1,
    ) -> None:
        ragged = Ragged.from_any(scores, dtype=np.float64)
        n = len(ragged)
        names = _query_ids(query_ids, n)
        _refuse_not_finite(ragged, names, "score")
        if not higher_is_better:
            ragged = ragged.with_values(-ragged.values)
        grades = _aligned(relevance, ragged, "relevance")
        if grades is not None and grades.values.dtype.kind not in "biuf":
            raise InvalidScoresError(
                f"RankedLists: relevance must be numbers, got {grades.values.dtype}"
            )
        if grades is not None and grades.values.dtype.kind == "f":
            _refuse_not_finite(grades, names, "relevance")
        documents = _aligned(doc_ids, ragged, "doc_ids")
        query_vectors = _matrix(query_embeddings, n, "query_embeddings", "lists")
        vectors = _matrix(doc_embeddings, ragged.values.size, "doc_embeddings", "results")

        order = _order(ragged)
        if order is not None:
            ragged = ragged.with_values(ragged.values[order])
            grades = None if grades is None else grades.with_values(grades.values[order])
            documents = (
                None if documents is None else documents.with_values(documents.values[order])
            )
            vectors = _pick(vectors, order)

        self._set(
            scores=ragged,
            relevance=grades,
            query_ids=names,
            doc_ids=documents,
            query_embeddings=query_vectors,
            doc_embeddings=vectors,
            min_grade=min_grade,
            _num_relevant=None,
        )
        object.__setattr__(self, "_num_relevant", self._checked_num_relevant(num_relevant))

    def _set(self, **columns: Any) -> RankedLists:
        for name, column in columns.items():
            object.__setattr__(self, name, column)
        return self

    def _checked_num_relevant(self, num_relevant: ArrayLike | None) -> IntArray | None:
        retrieved = None if self.relevance is None else _count(self.relevant)
        if num_relevant is None:
            return retrieved
        given = np.asarray(num_relevant)
        if given.shape != (len(self),) or given.dtype.kind not in "iu":
            raise InvalidScoresError(
                f"RankedLists: num_relevant must be {len(self)} integers, one per list, "
                f"got shape {given.shape} of {given.dtype}"
            )
        floor = np.zeros(len(self), dtype=np.int64) if retrieved is None else retrieved
        short = np.flatnonzero(given < floor)
        if short.size:
            i = int(short[0])
            raise InvalidScoresError(
                f"RankedLists: query {str(self.query_ids[i])!r}: num_relevant must be at least "
                f"the relevant results retrieved, {floor[i]}, got {given[i]}"
            )
        return given.astype(np.int64)

    @property
    def relevant(self) -> Ragged:
        """Which results are relevant: those of grade ``min_grade`` or more."""
        grades = self._judged("relevant", self.relevance)
        if grades.values.dtype == np.bool_:
            # True must count as relevant whatever min_grade was meant for in a graded run.
            return grades
        return grades.with_values(grades.values >= self.min_grade)

    @property
    def num_relevant(self) -> IntArray:
        """Number of relevant documents in the collection, one per list."""
        return self._judged("num_relevant", self._num_relevant)

    def _judged(self, name: str, column: _Column | None) -> _Column:
        if column is None:
            raise InvalidScoresError(
                f"RankedLists: {name} needs judgements, but these lists were made without relevance"
            )
        return column

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> RankedList: ...
    @overload
    def __getitem__(self, index: slice | ArrayLike) -> RankedLists: ...
    def __getitem__(self, index: Any) -> RankedList | RankedLists:
        """Return one `RankedList` for an integer, and `RankedLists` for anything else.

        Parameters
        ----------
        index
            An integer, a slice, a boolean mask over the lists or a sequence of integers.
        """
        if isinstance(index, (int, np.integer)):
            return self._one(range(len(self))[index])
        positions = np.arange(len(self))[index if isinstance(index, slice) else _index(index)]
        return self._take(positions)

    def _one(self, i: int) -> RankedList:
        return RankedList(
            query_id=str(self.query_ids[i]),
            scores=self.scores[i],
            relevance=None if self.relevance is None else self.relevance[i],
            relevant=None if self.relevance is None else self.relevant[i],
            doc_ids=None if self.doc_ids is None else self.doc_ids[i],
            num_relevant=None if self._num_relevant is None else int(self._num_relevant[i]),
        )

    def _take(self, positions: IntArray) -> RankedLists:
        vectors = self.doc_embeddings
        if vectors is not None:
            rows = self.scores.with_values(np.arange(self.scores.values.size))
            vectors = vectors[rows.take(positions).values]
        return self._like(
            scores=self.scores.take(positions),
            relevance=None if self.relevance is None else self.relevance.take(positions),
            query_ids=self.query_ids[positions],
            doc_ids=None if self.doc_ids is None else self.doc_ids.take(positions),
            query_embeddings=_pick(self.query_embeddings, positions),
            doc_embeddings=vectors,
            _num_relevant=_pick(self._num_relevant, positions),
        )

    def _like(self, **columns: Any) -> RankedLists:
        """Return lists with some columns replaced; they are known to keep the invariants."""
        kept = {name: getattr(self, name) for name in self.__slots__}
        return object.__new__(RankedLists)._set(**(kept | columns))

    def __iter__(self) -> Iterator[RankedList]:
        return (self._one(i) for i in range(len(self)))

    def __repr__(self) -> str:
        judged = ", judged" if self.relevance is not None else ""
        return f"RankedLists({len(self)} lists, {self.scores.values.size} results{judged})"

    def split(self, train: float = 0.8, *, seed: int = 0) -> tuple[RankedLists, RankedLists]:
        """Return a random training part and the rest, divided by query.

        Parameters
        ----------
        train
            Share of the queries in the training part, in (0, 1); each part gets at least one.
        seed
            Seed of the random division.
        """
        if not 0 < train < 1:
            raise InvalidParameterError(f"RankedLists: train must be in (0, 1), got {train}")
        shuffled = self._shuffled(2, "split", seed)
        size = min(max(round(train * len(self)), 1), len(self) - 1)
        return self._take(np.sort(shuffled[:size])), self._take(np.sort(shuffled[size:]))

    def folds(self, k: int, *, seed: int = 0) -> Iterator[tuple[RankedLists, RankedLists]]:
        """Return an iterator over ``k`` pairs (training part, test part) of a cross-validation.

        Parameters
        ----------
        k
            Number of folds, at least 2 and at most the number of lists.
        seed
            Seed of the random division.
        """
        if k < 2:
            raise InvalidParameterError(f"RankedLists: k must be at least 2 folds, got {k}")
        parts = np.array_split(self._shuffled(k, "folds", seed), k)

        def pairs() -> Iterator[tuple[RankedLists, RankedLists]]:
            for test in parts:
                held_out = np.zeros(len(self), dtype=bool)
                held_out[test] = True
                yield self[~held_out], self[held_out]

        return pairs()

    def _shuffled(self, needed: int, what: str, seed: int) -> IntArray:
        if len(self) < needed:
            raise InvalidParameterError(
                f"RankedLists: {what} needs at least {needed} lists, got {len(self)}"
            )
        return np.random.default_rng(seed).permutation(len(self))

    def truncate(self, k: ArrayLike) -> RankedLists:
        """Return the lists cut to their first ``k`` results; ``num_relevant`` stays as it was.

        Parameters
        ----------
        k
            One number for all lists or one per list; more than a list has keeps all of it.
        """
        wanted = np.asarray(k)
        if wanted.dtype.kind not in "iu" or wanted.shape not in ((), (len(self),)):
            raise InvalidParameterError(
                f"RankedLists: k must be one integer or {len(self)} of them, "
                f"got shape {wanted.shape} of {wanted.dtype}"
            )
        if np.any(wanted < 0):
            raise InvalidParameterError(f"RankedLists: k must be 0 or more, got {wanted.min()}")
        lengths = np.minimum(np.broadcast_to(wanted, (len(self),)), self.scores.lengths)
        offsets = _offsets(lengths)
        rank = np.arange(self.scores.values.size) - np.repeat(
            self.scores.offsets[:-1], self.scores.lengths
        )
        keep = rank < np.repeat(lengths, self.scores.lengths)

        def cut(column: Ragged | None) -> Ragged | None:
            return None if column is None else Ragged(column.values[keep], offsets)

        return self._like(
            scores=cut(self.scores),
            relevance=cut(self.relevance),
            doc_ids=cut(self.doc_ids),
            doc_embeddings=_pick(self.doc_embeddings, keep),
        )

    @staticmethod
    def concat(parts: Iterable[RankedLists]) -> RankedLists:
        """Return the lists of all parts, one after the other.

        Parameters
        ----------
        parts
            At least one; all with the same columns and the same ``min_grade``.
        """
        items = list(parts)
        if not items:
            raise InvalidParameterError("RankedLists: concat needs at least one part, got none")
        grades = {item.min_grade for item in items}
        if len(grades) > 1:
            raise InvalidParameterError(
                f"RankedLists: concat needs one min_grade in all parts, got {sorted(grades)}"
            )
        offsets = _offsets(np.concatenate([item.scores.lengths for item in items]))
        columns: dict[str, Any] = {}
        for name in RankedLists.__slots__:
            column = [getattr(item, name) for item in items]
            if name == "min_grade":
                continue
            if any(part is None for part in column):
                if not all(part is None for part in column):
                    raise InvalidParameterError(
                        f"RankedLists: concat needs {name.lstrip('_')} in all parts or in none, "
                        f"got it in {sum(part is not None for part in column)} of {len(column)}"
                    )
                columns[name] = None
            elif isinstance(column[0], Ragged):
                columns[name] = Ragged(np.concatenate([part.values for part in column]), offsets)
            else:
                columns[name] = np.concatenate(column)
        return items[0]._like(**columns)


def _index(index: ArrayLike) -> NDArray[Any]:
    array = np.asarray(index)
    return array if array.size else array.astype(np.int64)


def _pick(column: NDArray[Any] | None, positions: NDArray[Any]) -> NDArray[Any] | None:
    return None if column is None else column[positions]


def _count(flags: Ragged) -> IntArray:
    totals = _offsets(flags.values.astype(np.int64))
    return totals[flags.offsets[1:]] - totals[flags.offsets[:-1]]


def _query_ids(query_ids: ArrayLike | None, n: int) -> NDArray[np.str_]:
    if query_ids is None:
        return np.arange(n).astype(np.str_)
    names = np.asarray(query_ids)
    if names.shape != (n,):
        raise InvalidScoresError(
            f"RankedLists: query_ids must be {n} names, one per list, got shape {names.shape}"
        )
    return names.astype(np.str_)


def _refuse_not_finite(column: Ragged, query_ids: NDArray[np.str_], what: str) -> None:
    bad = np.flatnonzero(~np.isfinite(column.values))
    if bad.size:
        position = int(bad[0])
        i = int(np.searchsorted(column.offsets, position, side="right")) - 1
        rank = position - int(column.offsets[i]) + 1
        raise InvalidScoresError(
            f"RankedLists: query {str(query_ids[i])!r}: {what} at rank {rank} must be finite, "
            f"got {column.values[position]}"
        )


def _aligned(column: RaggedLike | None, scores: Ragged, name: str) -> Ragged | None:
    if column is None:
        return None
    ragged = Ragged.from_any(column)
    if ragged.values.dtype == object:
        ragged = ragged.with_values(ragged.values.astype(np.str_))
    if len(ragged) != len(scores):
        raise InvalidScoresError(
            f"RankedLists: {name} must have as many lists as scores, {len(scores)}, "
            f"got {len(ragged)}"
        )
    different = np.flatnonzero(ragged.offsets != scores.offsets)
    if different.size:
        i = int(different[0]) - 1
        raise InvalidScoresError(
            f"RankedLists: {name} must be as long as scores in every list, "
            f"got {ragged.lengths[i]} for {scores.lengths[i]} scores in list {i}"
        )
    return ragged


def _matrix(vectors: ArrayLike | None, rows: int, name: str, what: str) -> NDArray[Any] | None:
    if vectors is None:
        return None
    array = np.asarray(vectors)
    if name == "doc_embeddings" and array.ndim == 3:
        array = array.reshape(-1, array.shape[-1])
    if array.ndim != 2 or len(array) != rows:
        raise InvalidScoresError(
            f"RankedLists: {name} must have one row for each of the {rows} {what}, "
            f"got shape {array.shape}"
        )
    return array


def _order(scores: Ragged) -> IntArray | None:
    """Return what sorts every list best first, or None when all of them are."""
    rises = np.flatnonzero(scores.values[1:] > scores.values[:-1]) + 1
    if np.isin(rises, scores.offsets).all():
        return None
    return np.lexsort((-scores.values, scores.rows))
