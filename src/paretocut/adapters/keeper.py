"""What `keep` does with the columns of any frame: lists of scores in, which rows to keep out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paretocut.adapters.reporting import warn
from paretocut.decisions import Cut, Cuts
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists, offsets_of
from paretocut.truncators.choose import Chosen

EXPLAINED = {"k": "int64", "n": "int64", "surprise": "double", "reason": "str", "warnings": "str"}
"""The columns that can be asked for, and their types."""


class Lists(NamedTuple):
    """Which list each row belongs to, how many lists there are, and the query of a list."""

    codes: NDArray[Any]
    size: int
    query_of: Callable[[int], object]


@dataclass(frozen=True)
class Found:
    """The decisions on the lists of a frame, and which rows they keep."""

    cuts: Cuts
    mask: BoolArray
    _rows: IntArray = field(repr=False)  # kept, list by list
    _places: IntArray = field(repr=False)  # of these among the results of all lists, best first

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self._rows, kind="stable")

    def of_rows(self, name: str) -> NDArray[Any]:
        """Return a column of `EXPLAINED` for the rows kept, in their order."""
        if name == "surprise":
            return self.cuts.surprise.values[self._places][self._order]
        return np.repeat(self.of_lists(name), self.cuts.k)[self._order]

    def of_lists(self, name: str) -> NDArray[Any]:
        """Return a column of `EXPLAINED` for the lists."""
        if name in ("k", "n"):
            return np.asarray(getattr(self.cuts, name))
        texts = self.cuts.reasons if name == "reason" else map(", ".join, self.cuts.warnings)
        return np.fromiter(texts, dtype=object, count=len(self.cuts))


@dataclass(frozen=True)
class Keeper:
    """A call of `keep` on a frame, its options checked once; clusters send it to their workers."""

    chosen: Chosen
    query: Any
    score: Any
    along: tuple[Any, ...]
    columns: tuple[str, ...]  # to explain
    up: bool | None
    drop: bool  # keep nothing of lists that cannot be decided on
    named: bool  # whether the decisions know their queries

    def check(self, present: Collection[Any]) -> None:
        """Refuse names of columns that are not there, there twice, or in the way."""
        there = list(present)
        names = [("score", self.score), *(("along", name) for name in self.along)]
        for argument, name in names if self.query is None else [("query", self.query), *names]:
            count = there.count(name)
            if count != 1:
                raise InvalidParameterError(
                    f"keep: {argument} must name one column, one of {', '.join(map(str, there))}; "
                    f"got {name!r}" + (f", the name of {count} columns" if count else "")
                )
        for name in self.columns:
            if name in there:
                raise InvalidParameterError(
                    f"keep: explain must name a new column, got {name!r}, which is there already"
                )

    def found(self, lists: Lists, scores: FloatArray) -> Found:
        """Return the decisions on rows in any order; missing scores take no part."""
        codes, size, query_of = lists
        up = self.up is not False
        values, rows = scores, None  # None: all of them, as they are
        if not np.isfinite(scores).all():
            there = ~np.isnan(scores) & (scores != (-np.inf if up else np.inf))
            endless = there & np.isinf(scores)
            if endless.any():
                there &= ~self._undecidable(endless, lists)[codes]
            rows = np.flatnonzero(there)
            values, codes = values[rows], codes[rows]
        if (codes[1:] < codes[:-1]).any():
            together = _together(codes)
            rows = together if rows is None else rows[together]
            values = values[together]
        offsets = offsets_of(np.bincount(codes, minlength=size).astype(np.int64, copy=False))
        ranked, order = RankedLists.of_scores(
            Ragged.unchecked(values, offsets), up, who="keep", any_order=True
        )
        if self.named:
            names = [str(query_of(i)) for i in range(size)]
            ranked = RankedLists(ranked.scores, query_ids=names, higher_is_better=up)
        cuts = self.chosen.cut_batch(ranked)
        starts = offsets[:-1] - offsets_of(cuts.k)[:-1]
        places = np.arange(int(cuts.k.sum())) + np.repeat(starts, cuts.k)
        kept = places if order is None else order[places]
        kept = kept if rows is None else rows[kept]
        mask = np.zeros(scores.size, dtype=np.bool_)
        mask[kept] = True
        return Found(cuts, mask, kept, places)

    def found_in_one(self, scores: FloatArray) -> Found:
        """Return the decision on rows that answer one query; their order may tell the direction."""
        up = self.up
        if up is None:
            known = scores[np.isfinite(scores)]
            up = bool((known[1:] <= known[:-1]).all())
            if not up and not (known[1:] >= known[:-1]).all():
                raise InvalidScoresError(
                    "keep: query must name a column; or, if the frame answers one query, "
                    "higher_is_better must be given, because its rows come in no order"
                )
        one = Lists(np.zeros(scores.size, dtype=np.int64), 1, lambda _: None)
        return replace(self, up=up, named=False).found(one, scores)

    def decisions(self, found: Found) -> Cuts | Cut:
        """Return what ``explain=True`` gives for rows."""
        return found.cuts[0] if self.query is None else found.cuts

    def no_numbers(self, kind: object) -> InvalidScoresError:
        return InvalidScoresError(f"keep: column {self.score!r} must hold numbers, got {kind}")

    def no_queries(self, kind: object) -> InvalidParameterError:
        return InvalidParameterError(
            f"keep: column {self.query!r} must hold names or numbers of queries, got {kind}"
        )

    def _undecidable(self, endless: BoolArray, lists: Lists) -> BoolArray:
        """Return which lists hold an infinitely good score, or say where the first one is."""
        row = int(np.argmax(endless))
        bad = np.zeros(lists.size, dtype=np.bool_)
        bad[lists.codes[endless]] = True
        query = lists.query_of(int(lists.codes[row]))
        text = f"keep: column {self.score!r} must hold finite scores, got one that is infinite in "
        text += f"row {row}, of query {query!r}"
        if not self.drop:
            raise InvalidScoresError(f"{text}; on_error='drop' keeps nothing of such lists")
        warn(f"{text}; nothing is kept of {np.count_nonzero(bad)} such lists")
        return bad


def _together(codes: NDArray[Any]) -> IntArray:
    """Return what brings equal codes together, in their order, in linear time."""
    order: IntArray | None = None
    for shift in range(0, int(codes.max()).bit_length(), 16):
        digits = (codes >> shift).astype(np.uint16)  # NumPy sorts 16 bits by radix, not more
        step = np.argsort(digits if order is None else digits[order], kind="stable")
        order = step if order is None else order[step]
    assert order is not None
    return order
