"""The columns that ranked lists are made of: checks, and lists that are the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists.ragged import (
    IntArray,
    Ragged,
    RaggedLike,
    as_array,
    offsets_of,
    refuse_not_finite,
)
from paretocut.schema.parameters import check_array, shown

refused = partial(InvalidScoresError, who="RankedLists")
_FIRST, _BITS = 3, 14  # results of near-copies that agree, and the bits of their scores that do
_UNSORTED = 10  # so many scores stand worst first by accident once in 3.6 million times


def query_names(query_ids: ArrayLike | None, n: int) -> NDArray[Any]:
    names = as_text(np.arange(n) if query_ids is None else query_ids, "query_ids")
    if names.shape != (n,):
        raise refused(f"query_ids must be {n} names, one per list, got shape {names.shape}")
    return names


def as_text(ids: Any, name: str = "doc_ids") -> NDArray[Any]:
    """Return ids as text, whole floats as integers; as objects if one ends in NUL."""
    if not isinstance(ids, (list, tuple)):
        array = as_array(ids)
        if array.dtype.kind in "Uiu":
            return array.astype(np.str_, copy=False)
        if array.dtype.kind == "S" and array.ndim == 1:
            try:
                return array.astype(np.str_)  # ASCII, in one go
            except UnicodeDecodeError:
                return np.char.decode(array, "utf-8", "surrogateescape")
        ids = array.tolist() if array.ndim else [array.item()]
    kinds = set(map(type, ids))
    try:
        if kinds == {int}:
            ids = list(map(str, ids))
        elif kinds != {str}:
            ids = [_one_id(item, name) for item in ids]
    except ValueError as error:  # Python writes no integer of more than 4,300 digits
        if isinstance(error, InvalidScoresError):
            raise
        raise refused(f"{name} must have at most 4,300 digits, got an integer with more") from None
    ends = any(text.endswith("\0") for text in ids) if "\0" in "".join(ids) else False
    return np.array(ids, dtype=object if ends else np.str_)


def _one_id(item: Any, name: str) -> str:
    if isinstance(item, str):
        return str(item)
    if isinstance(item, bytes):
        return item.decode("utf-8", "surrogateescape")
    whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
    if whole or (isinstance(item, (float, np.floating)) and float(item).is_integer()):
        return str(int(item))
    raise refused(
        f"{name} must be text or whole numbers, got {shown(item):.60} ({type(item).__name__})"
    )


def code_points(*columns: NDArray[Any]) -> tuple[list[NDArray[np.uint32]], NDArray[Any] | None]:
    """Return names as the kernel compares them; numbered, and the names, if one ends in NUL."""
    if any(column.dtype == object for column in columns):
        whole = np.concatenate([column.astype(object) for column in columns])
        names, numbers = np.unique(whole, return_inverse=True)
        ends = np.cumsum([len(column) for column in columns])[:-1]
        return np.split(numbers.reshape(-1, 1).astype(np.uint32), ends), names
    return [_rows(np.ascontiguousarray(column)) for column in columns], None


def _rows(text: NDArray[np.str_]) -> NDArray[np.uint32]:
    if not text.dtype.isnative:
        text = text.astype(text.dtype.newbyteorder("="))
    if text.size == 0:
        return np.zeros((0, 1), dtype=np.uint32)
    return text.view(np.uint32).reshape(len(text), -1)


def aligned(column: RaggedLike | None, scores: Ragged, name: str) -> Ragged | None:
    if column is None:
        return None
    ragged = Ragged.from_any(column, array=as_text if name == "doc_ids" else as_array)
    if (lists := len(ragged)) != len(scores):
        raise refused(f"{name} must have as many lists as scores, {len(scores)}, got {lists}")
    different = np.flatnonzero(ragged.lengths != scores.lengths)
    if different.size:
        i = int(different[0])
        raise refused(
            f"{name} must be as long as scores in every list, "
            f"got {ragged.lengths[i]} for {scores.lengths[i]} scores in list {i}"
        )
    return ragged


def grades(
    relevance: RaggedLike | None, scores: Ragged, names: NDArray[np.str_] | None, min_grade: float
) -> Ragged | None:
    """Return the grades of the results, NaN where nobody judged; None without judgements."""
    column = aligned(relevance, scores, "relevance")
    if column is None:
        return None
    values = column.values
    if values.dtype == object:
        values = known_or_nan(values, min_grade)
    if values.dtype.kind not in "biuf":
        raise refused(f"relevance must be numbers, got {values.dtype}")
    if np.isinf(values).any():
        known = column.with_values(np.where(np.isnan(values), 0, values))
        refuse_not_finite(known, "RankedLists", "relevance", names)
    return column.with_values(values)


def known_or_nan(items: Iterable[Any], min_grade: float) -> NDArray[Any]:
    """Return grades as floats, NaN in the place of None; as they are if some are no numbers."""
    found = list(items)
    if not all(item is None or isinstance(item, (bool, int, float, np.generic)) for item in found):
        return np.asarray(found, dtype=object)
    # True must count as relevant whatever min_grade was meant for in a graded run.
    yes = float(max(1, min_grade))
    known = [yes if isinstance(item, (bool, np.bool_)) and item else item for item in found]
    try:
        return np.array(known, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # dates, integers without end
        return np.asarray(found, dtype=object)


def matrix(vectors: ArrayLike | None, rows: int, name: str, what: str) -> NDArray[Any] | None:
    if vectors is None:
        return None
    array = check_array(vectors, who="RankedLists", name=name)
    if name == "doc_embeddings" and array.ndim == 3:
        array = array.reshape(-1, array.shape[-1])
    if array.ndim != 2 or len(array) != rows:
        raise refused(
            f"{name} must have one row for each of the {rows} {what}, got shape {array.shape}"
        )
    return array


def check_cuts(k: ArrayLike, n: int, *, who: str) -> IntArray:
    """Return the cuts of ``n`` lists, from one number for all of them or one for each."""
    try:
        cuts = np.asarray(k)
    except ValueError:  # lists of unequal length
        cuts = np.empty(0)
    if cuts.dtype.kind not in "iu" or cuts.shape not in ((), (n,)) or np.any(cuts < 0):
        raise InvalidParameterError(
            f"k must be one integer or {n} of them, 0 or more, got {shown(k)}", who=who
        )
    bounded = np.minimum(cuts.astype(np.uint64), np.uint64(sys.maxsize))
    return np.broadcast_to(bounded, (n,)).astype(np.int64)


def refuse_worst_first(scores: Ragged, higher_is_better: bool, *, who: str) -> None:
    """Refuse lists that run from worst to best, if unsorted ones hardly would by accident."""
    values = scores.values if higher_is_better else -scores.values
    if len(scores) == 1 and (values[1:] < values[:-1]).any():
        return  # the common case, without counting
    better, worse = np.zeros((2, values.size), dtype=bool)  # than the result before
    np.greater(values[1:], values[:-1], out=better[1:])
    np.less(values[1:], values[:-1], out=worse[1:])
    first = scores.offsets[:-1][scores.filled]  # nothing stands before the first of a list
    better[first] = worse[first] = False
    rising, falling = scores.count(better) > 0, scores.count(worse) > 0
    wrong, lists = np.flatnonzero(rising & ~falling), np.count_nonzero(rising | falling)
    if 2 * wrong.size <= lists:
        return
    # The logarithm of the number of orders that these scores could have come in; ties are one.
    own = scores.take(wrong)
    new = np.append(True, own.values[1:] != own.values[:-1])
    new[own.offsets[:-1]] = True
    place = np.arange(new.size)
    equal = place - np.maximum.accumulate(np.where(new, place, 0)) + 1
    orders = float(np.log((own.ranks + 1) / equal).sum())
    choices = lgamma(lists + 1) - lgamma(wrong.size + 1) - lgamma(lists - wrong.size + 1)
    if orders - choices < lgamma(_UNSORTED + 1) - 1e-6:
        return
    what, other = ("scores", "distances")[:: 1 if higher_is_better else -1]
    run = "rise" if higher_is_better else "fall"
    where = f" in list {wrong[0]}, one of {wrong.size}" if len(scores) > 1 else ""
    raise InvalidScoresError(
        f"{what} must not come worst first, got {what} that {run} from {own[0][0]:g} to "
        f"{own[0][-1]:g}{where}; give higher_is_better={not higher_is_better} if they are {other}, "
        "or else reverse them",
        who=who,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Score and rank that each retriever, by its name, gave each result of fused lists.

    A retriever that did not return the document has the score NaN and the rank 0.
    """

    names: tuple[str, ...]
    scores: tuple[Ragged, ...]
    ranks: tuple[Ragged, ...]

    def describe(self, query: int, position: int) -> str:
        """Return score and rank of one result from each retriever, in words."""
        words = []
        for name, scores, ranks in zip(self.names, self.scores, self.ranks, strict=True):
            rank, score = ranks[query][position], scores[query][position]
            words.append(f"{name}: {score:.3g}, rank {rank}" if rank else f"{name}: not found")
        return "; ".join(words)

    def of_list(self, query: int) -> list[dict[str, dict[str, float]]]:
        """Return score and rank of each result of a fused list, by the retrievers that found it."""
        rows: list[dict[str, dict[str, float]]] = [{} for _ in self.scores[0][query]]
        for name, scores, ranks in zip(self.names, self.scores, self.ranks, strict=True):
            own = zip(rows, scores[query].tolist(), ranks[query].tolist(), strict=True)
            for row, score, rank in own:
                if rank:
                    row[name] = {"score": score, "rank": rank}
        return rows

    def each(self, change: Callable[[Ragged], Ragged]) -> Parts:
        """Return the parts with every column changed in the same way."""
        scores, ranks = (tuple(map(change, columns)) for columns in (self.scores, self.ranks))
        return Parts(self.names, scores, ranks)


def same_query(
    scores: Ragged, query_ids: NDArray[Any] | None = None, doc_ids: Ragged | None = None
) -> IntArray:
    """Return equal numbers for lists with the same id, or the same scores and documents."""
    return _joined(query_ids, _same_content(scores, doc_ids))


def nearly_same(
    scores: Ragged, query_ids: NDArray[Any] | None = None, doc_ids: Ragged | None = None
) -> IntArray:
    """Return `same_query` by the first three results, and their scores to about four digits."""
    first = scores.ranks < _FIRST
    offsets = offsets_of(np.minimum(scores.lengths, _FIRST))
    documents = None if doc_ids is None else Ragged(doc_ids.values[first], offsets)
    part, power = np.frexp(scores.values[first])
    power = np.minimum(power, 1023 - _BITS)  # no number on a grid is infinite
    # Two shifted grids: close numbers that one of them separates share a cell of the other.
    grids = (np.ldexp(np.floor(np.ldexp(part, _BITS) + shift), power) for shift in (0.0, 0.5))
    near = (_same_content(Ragged(values, offsets), documents) for values in grids)
    return _joined(query_ids, *near)


def _joined(query_ids: NDArray[Any] | None, *same: IntArray) -> IntArray:
    """Return the number of the query of each list, from the first list that is the same."""
    if query_ids is not None:
        _, first, own = np.unique(query_ids, return_index=True, return_inverse=True)
        same = (*same, first[own])
    root = list(range(len(same[0])))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for earlier in same:
        for i in np.flatnonzero(earlier != np.arange(len(root))).tolist():
            one, other = sorted((find(i), find(int(earlier[i]))))
            root[other] = one
    return numbered(find(i) for i in range(len(root)))


def numbered(names: Iterable[Any]) -> IntArray:
    """Return 0, 1, ... for names in order of appearance, the same number for the same name."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def check_groups(groups: Iterable[Any], count: int, who: str) -> IntArray:
    found = numbered(groups)
    if len(found) != count:
        raise InvalidParameterError(
            f"groups must name the group of each of {count}, got {len(found)} names", who=who
        )
    return found


def one_of_each(groups: IntArray) -> IntArray:
    """Return the place of one member of each group, chosen at random with a fixed seed."""
    shuffled = np.random.default_rng(0).permutation(groups.size)
    _, first = np.unique(groups[shuffled], return_index=True)
    return np.sort(shuffled[first])


def _same_content(scores: Ragged, doc_ids: Ragged | None) -> IntArray:
    """Return for each list the first one with the same content; often itself."""
    found = np.arange(len(scores))
    filled = np.flatnonzero(scores.filled)
    if not filled.size:
        return found
    # A sum of the bits, weighted by rank, tells almost all lists apart without a loop.
    bits = (np.asarray(scores.values, dtype=np.float64) + 0.0).view(np.uint64)
    weights = 2 * scores.ranks.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    sums = np.add.reduceat(bits * weights, scores.offsets[filled])
    _, own, count = np.unique(sums, return_inverse=True, return_counts=True)
    first: dict[Any, int] = {}
    for i in filled[count[own] > 1].tolist():
        documents = () if doc_ids is None else tuple(doc_ids[i].tolist())
        found[i] = first.setdefault((tuple(scores[i].tolist()), documents), i)
    return found
