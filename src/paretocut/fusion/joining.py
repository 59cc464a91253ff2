"""The lists of several retrievers, matched by query, and their join by document."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut import _kernel
from paretocut.decisions.cuts import matching
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.lists.columns import Parts, as_text, code_points
from paretocut.schema.parameters import check_positive_int, shown

HUGE = 1e100  # sums of larger numbers, times weights, could overflow


class QueryCoverageWarning(UserWarning):
    """Some queries have no list from a retriever; they are kept, and in ``missing`` by its name."""

    def __init__(self, missing: Mapping[str, Sequence[str]]) -> None:
        self.missing = {name: tuple(queries) for name, queries in missing.items()}
        parts = [
            f"{len(queries)} without a list from {name} ({', '.join(map(repr, queries[:3]))}"
            f"{', ...' if len(queries) > 3 else ''})"
            for name, queries in self.missing.items()
        ]
        super().__init__(f"some retrievers lack queries, which are kept: {'; '.join(parts)}")

    def __reduce__(self) -> tuple[type[QueryCoverageWarning], tuple[Any, ...]]:
        return type(self), (self.missing,)


@dataclass(frozen=True)
class OneRetriever:
    """Lists of one retriever, cut to the results that take part."""

    lists: RankedLists
    merit: Ragged  # the scores with higher better
    place: IntArray  # which of the lists belongs to each query, or -1
    whole: bool  # whether every result is judged, also those that do not take part

    def by_query(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a value of each list by query, 0 where the retriever has no list."""
        values = np.zeros(len(self.place), dtype=column.dtype)
        there = self.place >= 0
        values[there] = column[self.place[there]]
        return values

    @cached_property
    def ranged(self) -> tuple[Ragged, IntArray]:
        """The merit of lists as `Ragged.within_range` has them, and the power of each query."""
        merit, power = self.merit.within_range()
        return merit, self.by_query(power)

    @cached_property
    def begin(self) -> IntArray:
        return self.by_query(self.merit.offsets[:-1])

    @cached_property
    def end(self) -> IntArray:
        return self.by_query(self.merit.offsets[1:])

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Best and lowest score of each query, within range."""
        high, low = map(self.by_query, self.ranged[0].ends())
        return high, low

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each query, within range."""
        mean, sd = np.empty((2, len(self.place)))
        _kernel.moments(self.ranged[0].values, self.begin, self.end, mean, sd)
        # Equal scores have a deviation of 0, or with rounding a tiny one: no divisor.
        sd[sd <= 1e-12 * np.abs(mean)] = 0.0
        return mean, sd


@dataclass(frozen=True)
class Affine:
    """The summand of a result: (gain - shift) / unit of its query, or ``missing``."""

    gain: FloatArray  # flat, as the scores
    shift: FloatArray
    unit: FloatArray  # infinity for a list of equal scores
    missing: FloatArray


@dataclass(frozen=True)
class Retrievers:
    """The lists of all retrievers, matched by query."""

    names: tuple[str, ...]
    query_ids: NDArray[Any]
    lists: list[OneRetriever]


def matched(lists: Any, depth: int | None, who: str) -> Retrievers:
    """Return the lists of each retriever, checked and matched by query."""
    if depth is not None:
        check_positive_int(depth, who=who, name="depth")
    ranked = arms_by_name(lists, who)
    for name, item in ranked.items():
        if not isinstance(item, RankedLists):
            raise InvalidParameterError(
                f"the lists of {name} must be RankedLists, got {type(item).__name__}", who=who
            )
        if item.doc_ids is None:
            raise InvalidParameterError(
                f"the lists of {name} must have doc_ids, by which results are matched, "
                "got lists without",
                who=who,
            )
    grades = {item.min_grade for item in ranked.values()}
    if len(grades) > 1:
        raise InvalidParameterError(f"lists must have one min_grade, got {sorted(grades)}", who=who)
    query_ids, places = _queries(ranked, who)
    lacking = {name: query_ids[place < 0].tolist() for name, place in places.items()}
    if missing := {name: queries for name, queries in lacking.items() if queries}:
        warnings.warn(QueryCoverageWarning(missing), stacklevel=3)
    parts = []
    for name, item in ranked.items():
        lengths = matching(item)  # None if there is no padding
        if depth is not None:
            lengths = np.minimum(item.scores.lengths if lengths is None else lengths, depth)
        used = item if lengths is None else item.truncate(lengths)
        parts.append(OneRetriever(used, used.merit, places[name], item.fully_judged))
    return Retrievers(tuple(ranked), query_ids, parts)


def arms_by_name(lists: Any, who: str, what: str = "lists") -> dict[str, Any]:
    """Return the lists of two or more retrievers by name; in a sequence that is "1", "2", ..."""
    if isinstance(lists, Mapping):
        named = {str(name): item for name, item in lists.items()}
    elif isinstance(lists, (list, tuple)):
        named = {str(i): item for i, item in enumerate(lists, start=1)}
    else:
        raise InvalidParameterError(
            f"{what} must be a sequence or a mapping, one for each retriever, "
            f"got {type(lists).__name__}",
            who=who,
        )
    if len(named) < 2:
        raise InvalidParameterError(
            f"{what} must be those of at least 2 retrievers, got {len(named)}", who=who
        )
    return named


def _queries(
    lists: Mapping[str, RankedLists], who: str
) -> tuple[NDArray[Any], dict[str, IntArray]]:
    """Return the queries of all retrievers, and where each retriever has them, or -1."""
    known: dict[str, int] = {}
    for name, item in lists.items():
        own: set[str] = set()
        for query in item.query_ids.tolist():
            if query in own:
                raise InvalidParameterError(
                    f"the query_ids of {name} must differ, got {query!r} more than once", who=who
                )
            own.add(query)
            known.setdefault(query, len(known))
    places = {name: np.full(len(known), -1, dtype=np.int64) for name in lists}
    for name, item in lists.items():
        places[name][[known[query] for query in item.query_ids.tolist()]] = np.arange(len(item))
    return as_text(list(known)), places


def checked_weights(weights: ArrayLike | None, count: int, who: str) -> FloatArray:
    """Return one weight for each retriever, equal ones by default."""
    if weights is None:
        return np.ones(count)
    try:
        given = np.asarray(weights)
    except ValueError:  # lists among the numbers
        given = np.empty(0)
    # Words and flags convert too, and should not.
    given = given.astype(np.float64) if given.dtype.kind in "iuf" else np.empty(0)
    if given.shape != (count,) or not np.isfinite(given).all() or (given < 0).any():
        raise InvalidParameterError(
            f"weights must be {count} numbers of 0 or more, got {shown(weights)}", who=who
        )
    if not given.any():
        raise InvalidParameterError(f"weights must not all be 0, got {shown(weights)}", who=who)
    return given if given.max() <= HUGE else given / given.max() * HUGE


def joined(
    retrievers: Retrievers,
    parts: Sequence[Affine],
    weights: FloatArray,
    *,
    times_count: bool = False,
) -> RankedLists:
    """Return the fused lists; ``times_count`` multiplies sums by the number of finders."""
    ids, by_number = code_points(
        *(one.lists.doc_ids.values for one in retrievers.lists)  # type: ignore[union-attr]
    )
    count, queries = len(ids), len(retrievers.query_ids)
    room = int(sum((one.end - one.begin).sum() for one in retrievers.lists))
    width = max(matrix.shape[1] for matrix in ids)
    offsets = np.empty(queries + 1, dtype=np.int64)
    scores, names = np.empty(room), np.empty((room, width), dtype=np.uint32)
    part_scores, part_ranks = np.empty((count, room)), np.empty((count, room), dtype=np.int32)
    sources = [
        _kernel.FuseSource(
            matrix,
            np.ascontiguousarray(part.gain),
            np.ascontiguousarray(one.lists.scores.values),
            *(one.begin, one.end, part.shift, part.unit, part.missing, float(weight)),
        )
        for matrix, one, part, weight in zip(ids, retrievers.lists, parts, weights, strict=True)
    ]
    found = _kernel.fuse(sources, times_count, offsets, scores, names, part_scores, part_ranks)
    first = retrievers.lists[0].lists
    points = names[:found]
    text = points.view(f"U{width}")[:, 0] if by_number is None else by_number[points[:, 0]]
    fused = first.like(
        scores=Ragged(scores[:found], offsets),
        relevance=None,
        query_ids=retrievers.query_ids,
        doc_ids=Ragged(text, offsets),
        query_embeddings=first.query_embeddings if queries == len(first) else None,
        doc_embeddings=None,
        higher_is_better=True,
        parts=Parts(
            retrievers.names,
            tuple(Ragged(row[:found], offsets) for row in part_scores),
            tuple(Ragged(row[:found], offsets) for row in part_ranks),
        ),
        num_relevant=None,
    )
    return _judged(fused, retrievers)


def _judged(fused: RankedLists, retrievers: Retrievers) -> RankedLists:
    """Return the fused lists with the grades of the lists behind them.

    A result without a grade in any list counts as not relevant if the lists are judged in full,
    and stays unknown if one of them is judged in part.
    """
    assert fused.parts is not None
    judged = [
        (one, one.lists.relevance.values, ranks)
        for one, ranks in zip(retrievers.lists, fused.parts.ranks, strict=True)
        if one.lists.relevance is not None
    ]
    if not judged:
        return fused
    whole = all(one.whole for one, _, _ in judged)
    kind = np.result_type(*(values.dtype for _, values, _ in judged))
    grades = np.full(fused.scores.values.size, 0 if whole else np.nan, dtype=kind)
    number = np.zeros(len(fused), dtype=np.int64)
    for one, values, ranks in judged:
        here = np.flatnonzero(ranks.values > 0)
        found = values[(ranks.spread(one.begin) + ranks.values - 1)[here]]
        known = ~np.isnan(found)
        grades[here[known]] = found[known]
        if whole:
            number = np.maximum(number, one.by_query(one.lists.num_relevant))
    column = fused.scores.with_values(grades)
    if not whole:
        return fused.with_relevance(column)
    relevant = fused.with_relevance(column).relevant
    return fused.with_relevance(column, np.maximum(number, relevant.count(relevant.values)))
