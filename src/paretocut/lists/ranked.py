"""Ranked lists in columns, without a Python object per result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import columns as _columns
from paretocut.lists.columns import Parts, refused
from paretocut.lists.ragged import (
    BoolArray,
    FloatArray,
    IntArray,
    Ragged,
    RaggedLike,
    best_first,
    offsets_of,
    refuse_not_finite,
)
from paretocut.schema.drawn import Drawn
from paretocut.schema.parameters import (
    check_array,
    check_bool,
    check_int,
    check_numbers,
    check_probability,
)

_COLUMNS = "scores relevance doc_ids query_embeddings doc_embeddings _num_relevant".split()
_forbidden = partial(InvalidParameterError, who="RankedLists")
_UNKNOWN = -1  # in the place of a number of relevant documents
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, eq=False)
class RankedList(Drawn):
    """One ranked list, best first: a view into the columns of a `RankedLists`.

    Its attributes are those of `RankedLists`, and None for what is not known.
    """

    query_id: str
    scores: FloatArray
    relevance: NDArray[Any] | None = None
    relevant: BoolArray | None = None
    doc_ids: NDArray[Any] | None = None
    num_relevant: int | None = None
    higher_is_better: bool = True
    min_grade: float = 1

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def judgements(self) -> FloatArray | None:
        """1 for relevant results, 0 for others and NaN for unjudged ones; None without grades."""
        if self.relevance is None:
            return None
        relevant = _counts(self.relevance, self.min_grade)
        return np.where(np.isnan(self.relevance), np.nan, relevant)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RankedLists(Drawn):
    """Many ranked lists in columns, every list best first.

    Lists that arrive in another order are sorted (stably), and all columns of the results move
    with them. The lists remember whether their scores are distances: ``scores`` are as they came,
    and `merit` is always higher for better results. The caller's arrays are never modified.
    Columns of results are kept as `Ragged`, the others as arrays; ``parts`` holds the `Parts` of
    lists that were fused.

    Parameters
    ----------
    scores
        Scores of each list: anything `Ragged.from_any` takes. NaN and infinity are refused.
    relevance
        Grades of the results, in the layout of ``scores``. None and NaN mean that nobody judged
        the result; whatever needs all grades then refuses: unknown is not irrelevant.
    query_ids
        One name per list, text or whole numbers; by default "0", "1", ...
    doc_ids
        Names of the results, text or whole numbers, in the layout of ``scores``; kept as text.
    num_relevant
        Relevant documents in the collection, one number per list; by default those retrieved.
    query_embeddings, doc_embeddings
        One row per list, for methods that use neighbouring queries; one row per result, in the
        order of the flat scores, or (lists, depth, dimensions).
    higher_is_better
        False for distances.
    min_grade
        Smallest grade that counts as relevant.

    Examples
    --------
    >>> lists = RankedLists([[0.9, 0.2, 0.4], [0.3]], relevance=[[1, 0, 1], [0]])
    >>> lists
    RankedLists(2 lists, 4 results, judged)
    >>> lists[0].scores.tolist(), lists[0].relevance.tolist(), lists.num_relevant.tolist()
    ([0.9, 0.4, 0.2], [1, 1, 0], [2, 0])
    """

    scores: Ragged
    relevance: Ragged | None = None
    doc_ids: Ragged | None = None
    query_embeddings: NDArray[Any] | None = None
    doc_embeddings: NDArray[Any] | None = None
    higher_is_better: bool = True
    min_grade: float = 1
    parts: Parts | None = None
    _query_ids: NDArray[Any] | None = None
    _num_relevant: IntArray | None = None

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
        higher_is_better = check_bool(higher_is_better, who="RankedLists", name="higher_is_better")
        ragged = Ragged.from_any(scores, dtype=np.float64)
        names = None if query_ids is None else _columns.query_names(query_ids, len(ragged))
        order = best_first(ragged, higher_is_better, "RankedLists", names)
        n, results = len(ragged), ragged.values.size
        self.__dict__.update(
            scores=ragged,
            relevance=_columns.grades(relevance, ragged, names, min_grade),
            doc_ids=_columns.aligned(doc_ids, ragged, "doc_ids"),
            query_embeddings=_columns.matrix(query_embeddings, n, "query_embeddings", "lists"),
            doc_embeddings=_columns.matrix(doc_embeddings, results, "doc_embeddings", "results"),
            higher_is_better=higher_is_better,
            min_grade=min_grade,
            _query_ids=names,
        )
        if order is not None:
            self.__dict__.update(vars(self._picked(ragged.with_values(order))))
        self.__dict__["_num_relevant"] = self._checked_num_relevant(num_relevant)

    def _checked_num_relevant(self, num_relevant: ArrayLike | None) -> IntArray | None:
        retrieved = np.zeros(len(self), dtype=np.int64)
        if self.relevance is not None:
            retrieved = self.relevance.count(self.is_relevant(self.relevance.values))
            if num_relevant is None:
                return np.where(self.judged.count(~self.judged.values), _UNKNOWN, retrieved)
        if num_relevant is None:
            return None
        given = check_array(num_relevant, who="RankedLists", name="num_relevant")
        if given.shape != (len(self),) or given.dtype.kind not in "iu":
            raise refused(
                f"num_relevant must be {len(self)} integers, one per list, "
                f"got shape {given.shape} of {given.dtype}"
            )
        short = np.flatnonzero(given < retrieved)
        if short.size:
            i = int(short[0])
            raise refused(
                f"query {str(self.query_ids[i])!r}: num_relevant must be at least "
                f"the relevant results retrieved, {retrieved[i]}, got {given[i]}"
            )
        return given.astype(np.int64)

    @classmethod
    def of_scores(
        cls, scores: Ragged, higher_is_better: bool, *, who: str, any_order: bool = False
    ) -> tuple[RankedLists, IntArray | None]:
        """Return bare scores as lists, and the order that sorted their values, if one did."""
        order = best_first(scores, higher_is_better, who)
        if order is not None:
            if not any_order:
                _columns.refuse_worst_first(scores, higher_is_better, who=who)
            scores = scores.with_values(scores.values[order])
        lists = object.__new__(cls)
        lists.__dict__.update(scores=scores, higher_is_better=higher_is_better)
        return lists, order

    @property
    def query_ids(self) -> NDArray[Any]:
        """Names of the queries; "0", "1", ... if none were given."""
        names = self._query_ids
        if names is None:
            names = self.__dict__["_query_ids"] = _columns.query_names(None, len(self))
        return names

    @property
    def merit(self) -> Ragged:
        """The scores with higher always better, falling in every list; distances are negated."""
        if self.higher_is_better:
            return self.scores
        return self.scores.with_values(-self.scores.values)

    @property
    def relevant(self) -> Ragged:
        """Which results are relevant, with grade ``min_grade`` or more."""
        column = self._judgements("relevant", self.relevance)
        if not self.fully_judged:
            missing = self.scores.count(np.isnan(column.values))
            i = int(np.flatnonzero(missing)[0])
            raise refused(
                "relevant needs a judgement of every result, but nobody judged "
                f"{missing[i]} of the {len(column[i])} results of query "
                f"{str(self.query_ids[i])!r}; use a method that takes lists judged in part "
                "(Consensus), or grade these results 0 if unjudged means not relevant"
            )
        return column.with_values(self.is_relevant(column.values))

    def is_relevant(self, grades: NDArray[Any]) -> BoolArray:
        """Return which of these ``grades`` count as relevant; NaN, unknown, does not."""
        return _counts(grades, self.min_grade)

    @property
    def judged(self) -> Ragged:
        """Which results somebody judged."""
        column = self._judgements("judged", self.relevance)
        return column.with_values(~np.isnan(column.values))

    @property
    def fully_judged(self) -> bool:
        """Whether there are judgements, and every result has one."""
        return self.relevance is not None and not np.isnan(self.relevance.values).any()

    @property
    def num_relevant(self) -> IntArray:
        """Number of relevant documents in the collection, one per list."""
        numbers = self._judgements("num_relevant", self._num_relevant)
        unknown = np.flatnonzero(numbers == _UNKNOWN)
        if unknown.size:
            raise refused(
                "num_relevant must be given for lists that are judged in part, got "
                f"none for query {str(self.query_ids[unknown[0]])!r}"
            )
        return numbers

    def _judgements(self, name: str, found: _Found | None) -> _Found:
        if found is None:
            raise refused(f"{name} needs judgements, but these lists were made without relevance")
        return found

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> RankedList: ...
    @overload
    def __getitem__(self, index: slice | ArrayLike) -> RankedLists: ...
    def __getitem__(self, index: Any) -> RankedList | RankedLists:
        """Return one `RankedList` for an integer; for a slice, a mask or places, `RankedLists`."""
        if isinstance(index, (int, np.integer)):
            return self._one(range(len(self))[index])
        if not isinstance(index, slice):
            index = np.asarray(index, dtype=None if np.size(index) else np.int64)
        return self._take(np.arange(len(self))[index])

    def _one(self, i: int) -> RankedList:
        judgements = relevant = None
        if self.relevance is not None:
            judgements = self.relevance[i]
            relevant = None if np.isnan(judgements).any() else self.is_relevant(judgements)
        number = _UNKNOWN if self._num_relevant is None else int(self._num_relevant[i])
        return RankedList(
            *(str(self.query_ids[i]), self.scores[i], judgements, relevant),
            None if self.doc_ids is None else self.doc_ids[i],
            None if number == _UNKNOWN else number,
            *(self.higher_is_better, self.min_grade),
        )

    def _take(self, positions: IntArray) -> RankedLists:
        return self._picked(
            self.scores.places(positions),
            _query_ids=self.query_ids[positions],
            query_embeddings=_pick(self.query_embeddings, positions),
            _num_relevant=_pick(self._num_relevant, positions),
        )

    def _picked(self, places: Ragged, **columns: Any) -> RankedLists:
        """Return lists of the results that stand at these places of the flat columns."""

        def moved(column: Ragged) -> Ragged:
            return places.with_values(column.values[places.values])

        return self.like(
            scores=moved(self.scores),
            relevance=self.relevance and moved(self.relevance),
            doc_ids=self.doc_ids and moved(self.doc_ids),
            doc_embeddings=_pick(self.doc_embeddings, places.values),
            parts=self.parts and self.parts.each(moved),
            **columns,
        )

    def with_relevance(
        self, relevance: RaggedLike, num_relevant: ArrayLike | None = None
    ) -> RankedLists:
        """Return the same lists with these judgements instead of their own.

        ``relevance`` is in the order of the results, best first; ``num_relevant`` is as in
        `RankedLists`.
        """
        column = _columns.grades(relevance, self.scores, self.query_ids, self.min_grade)
        lists = self.like(relevance=column, num_relevant=None)
        return lists.like(num_relevant=lists._checked_num_relevant(num_relevant))

    def divided_by(self, divisors: ArrayLike) -> RankedLists:
        """Return the same lists, their scores divided by ``divisors``, one for each list."""
        given = check_numbers(divisors, who="RankedLists.divided_by", name="divisors")
        if given.shape != (len(self),) or not (given > 0).all():
            raise InvalidScoresError(
                f"RankedLists.divided_by: divisors must be {len(self)} positive numbers, one per "
                f"list, got {np.array2string(given, threshold=6)}"
            )
        with np.errstate(over="ignore"):
            scaled = self.scores.with_values(self.scores.values / self.scores.spread(given))
        refuse_not_finite(scaled, "RankedLists.divided_by", "divided scores")
        return self.like(scores=scaled)

    def like(self, **columns: Any) -> RankedLists:
        """Return lists with other ``columns``, taken as they are: they must keep the invariants."""
        for name in columns.keys() & {"query_ids", "num_relevant"}:  # stored as they were given
            columns[f"_{name}"] = columns.pop(name)
        made = object.__new__(RankedLists)
        made.__dict__.update(self.__dict__ | columns)
        return made

    def __iter__(self) -> Iterator[RankedList]:
        return (self._one(i) for i in range(len(self)))

    def __repr__(self) -> str:
        judged = ", judged" if self.fully_judged else ""
        if self.relevance is not None and not judged:
            judged = f", {np.count_nonzero(self.judged.values)} judged"
        return f"RankedLists({len(self)} lists, {self.scores.values.size} results{judged})"

    def distinct(self, groups: Iterable[Any] | None = None) -> RankedLists:
        """Return one list, chosen at random, of each of the ``groups``, so that none counts twice.

        A group may be a user or a session. By default it is a query: lists with the same id, or
        with the same scores to the last bit (and the same documents, where they are named).
        """
        if groups is None:
            own = _columns.same_query(self.scores, self._query_ids, self.doc_ids)
        else:
            own = _columns.check_groups(groups, len(self), "RankedLists.distinct")
        return self._take(_columns.one_of_each(own))

    def split(self, train: float = 0.8, *, seed: int = 0) -> tuple[RankedLists, RankedLists]:
        """Return a random training part, with the share ``train`` of the queries, and the rest.

        Lists with the same query id, or nearly the same scores, stay together; ``seed`` is that
        of the random division.
        """
        check_probability(train, who="RankedLists", name="train")
        queries, shuffled = self._shuffled(2, "split", seed)
        size = min(max(round(train * shuffled.size), 1), shuffled.size - 1)
        learns = np.isin(queries, shuffled[:size])
        return self[learns], self[~learns]

    def folds(self, k: int, *, seed: int = 0) -> Iterator[tuple[RankedLists, RankedLists]]:
        """Return an iterator over ``k`` pairs (training part, test part) of a cross-validation.

        ``k`` is at least 2; lists of one query stay together, and ``seed`` is that of `split`.
        """
        check_int(k, who="RankedLists", name="k", low=2)
        queries, shuffled = self._shuffled(k, "folds", seed)
        tests = (np.isin(queries, part) for part in np.array_split(shuffled, k))
        return ((self[~held_out], self[held_out]) for held_out in tests)

    def fold_numbers(self, k: int, *, seed: int = 0) -> IntArray:
        """Return which of ``k`` folds each list is in; ``seed`` is that of `split`."""
        queries, shuffled = self._shuffled(k, "folds", seed)
        return (shuffled % k)[queries]

    def _shuffled(self, needed: int, what: str, seed: int) -> tuple[IntArray, IntArray]:
        """Return the query of each list, and all queries in random order."""
        if len(self) < needed:
            raise _forbidden(f"{what} needs at least {needed} lists, got {len(self)}")
        start = check_int(seed, who="RankedLists", name="seed")
        queries = _columns.nearly_same(self.scores, self._query_ids, self.doc_ids)
        if queries.max() < needed:  # scores that tell no queries apart, such as ranks
            queries = np.arange(len(self))
        return queries, np.random.default_rng(start).permutation(queries.max() + 1)

    def truncate(self, k: ArrayLike) -> RankedLists:
        """Return the lists cut to their first ``k`` results: a number, one per list, or `Cuts`.

        ``num_relevant`` stays the same.
        """
        cuts = _columns.check_cuts(k, len(self), who="RankedLists")
        lengths = np.minimum(cuts, self.scores.lengths)
        kept = np.flatnonzero(self.scores.ranks < self.scores.spread(lengths))
        return self._picked(Ragged.unchecked(kept, offsets_of(lengths)))

    @staticmethod
    def concat(parts: Iterable[RankedLists]) -> RankedLists:
        """Return the lists of all ``parts``, one after the other.

        They have the same columns; ``parts``, of fused lists, is left out.
        """
        items = list(parts)
        if not items:
            raise _forbidden("concat needs at least one part, got none")
        for name in ("min_grade", "higher_is_better"):
            values = {getattr(item, name) for item in items}
            if len(values) > 1:
                raise _forbidden(f"concat needs one {name} in all parts, got {sorted(values)}")
        offsets = offsets_of(np.concatenate([item.scores.lengths for item in items]))
        query_ids = np.concatenate([item.query_ids for item in items])
        columns: dict[str, Any] = {"_query_ids": query_ids, "parts": None}
        for name in _COLUMNS:
            column = [part for item in items if (part := getattr(item, name)) is not None]
            if 0 < len(column) < len(items):
                raise _forbidden(
                    f"concat needs {name.lstrip('_')} in all parts or in none, "
                    f"got it in {len(column)} of {len(items)}"
                )
            if column and isinstance(column[0], Ragged):
                columns[name] = Ragged(np.concatenate([part.values for part in column]), offsets)
            elif column:
                columns[name] = np.concatenate(column)
        return items[0].like(**columns)


def _pick(column: NDArray[Any] | None, positions: NDArray[Any]) -> NDArray[Any] | None:
    return None if column is None else column[positions]


def _counts(grades: NDArray[Any], min_grade: float) -> BoolArray:
    if grades.dtype == np.bool_:
        # True must count as relevant whatever min_grade was meant for in a graded run.
        return grades
    return grades >= min_grade
