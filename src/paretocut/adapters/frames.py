"""What the adapters for data frames and clusters share: columns of scores in, decisions out.

Every one of them offers two functions. `cut_lists` takes a frame with one row per query and a
column of lists, and adds the number of results to keep, a column of lists with their surprise and
the reason. `cut_rows` takes a frame with one row per result, and adds surprise and whether the row
is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paretocut.adapters.hybrid import arms_by_name
from paretocut.adapters.reporting import report
from paretocut.decisions import Cuts
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError, speaking_for
from paretocut.fusion.chosen import ChosenFusion
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists, offsets_of
from paretocut.lists.columns import as_text
from paretocut.schema.parameters import check_bool
from paretocut.tail import limited_threads
from paretocut.truncators.choose import Chosen


class FrameOptions(DecisionOptions, total=False):
    """Who decides and within which bounds, the direction, and the number of threads."""

    higher_is_better: bool
    threads: int | None


class ListNames(NamedTuple):
    """Names of the columns of `cut_lists`: one that is there, and new ones."""

    column: str
    k: str
    surprise: str
    reason: str | None

    def check(self, who: str, present: Collection[str]) -> None:
        check_there(who, present, column=self.column)
        _check_new(who, present, k=self.k, surprise=self.surprise, reason=self.reason)


class RowNames(NamedTuple):
    """Names of the columns of `cut_rows`: two that are there, and new ones."""

    query: str
    score: str
    surprise: str
    kept: str
    reason: str | None

    def check(self, who: str, present: Collection[str]) -> None:
        check_there(who, present, query=self.query, score=self.score)
        _check_new(who, present, surprise=self.surprise, kept=self.kept, reason=self.reason)


def check_there(who: str, present: Collection[str], **names: str) -> None:
    """Refuse names, by the caller's argument, that no column has."""
    for argument, name in names.items():
        if name not in present:
            raise InvalidParameterError(
                f"{who}: {argument} must name a column, one of {', '.join(present)}; got {name!r}"
            )


def _check_new(who: str, present: Collection[str], **names: str | None) -> None:
    for argument, name in names.items():
        if name is not None and name in present:
            raise InvalidParameterError(
                f"{who}: {argument} must name a new column, got {name!r}, which is there already"
            )


class FrameCutter:
    """Decides on columns of lists: the options of a frame function, checked once."""

    def __init__(self, who: str, options: Mapping[str, Any]) -> None:
        rest = dict(options)
        self.who = who
        up = rest.pop("higher_is_better", True)
        self.higher_is_better = check_bool(up, who=who, name="higher_is_better")
        self.threads = rest.pop("threads", None)
        self.chosen = Chosen.of(who, rest)

    def decide(self, lists: Ragged) -> tuple[Cuts, Ragged]:
        """Return the decisions on lists in any order, and the surprise of each result."""
        with limited_threads(self.threads):
            with speaking_for(self.who, "cut_batch"):
                cuts = self.chosen.cut_batch(lists, higher_is_better=self.higher_is_better)
                cuts.warnings  # noqa: B018  # of all lists at once
            report(cuts, self.who)
            return cuts, cuts.surprise

    def lists(self, lists: Ragged, there: BoolArray) -> tuple[IntArray, FloatArray, NDArray[Any]]:
        """Return numbers, surprise of all results and reasons; a list may not be ``there``.

        Such a list is empty, and its number and reason mean nothing.
        """
        starts = lists.offsets[:-1][there]
        known = Ragged.unchecked(lists.values, np.append(starts, lists.offsets[-1]))
        cuts, surprise = self.decide(known)
        reasons = placed(np.array(cuts.reasons, dtype=object), there, None)
        return placed(cuts.k, there, 0), surprise.values, reasons

    def rows(
        self, groups: NDArray[Any], scores: FloatArray, scored: BoolArray
    ) -> tuple[FloatArray, BoolArray, Callable[[], NDArray[Any]]]:
        """Return surprise, whether it is kept, and how to get the reason, of each row.

        Rows of one group are one list. Rows that are not ``scored`` take no part.
        """
        at = np.flatnonzero(scored)
        at = at[np.argsort(groups[at], kind="stable")]  # rows of a list together
        _, lengths = np.unique(groups[at], return_counts=True)
        lists = Ragged.unchecked(scores[at], offsets_of(lengths.astype(np.int64)))
        cuts, found = self.decide(lists)
        surprise = np.full(scores.size, np.nan)
        surprise[at] = found.values
        kept = np.zeros(scores.size, dtype=np.bool_)
        kept[at[cuts.indices.values + np.repeat(lists.offsets[:-1], cuts.k)]] = True

        def reasons() -> NDArray[Any]:
            texts = np.full(scores.size, None, dtype=object)
            texts[at] = lists.spread(np.array(cuts.reasons, dtype=object))
            return texts

        return surprise, kept, reasons


def placed(values: NDArray[Any], where: BoolArray, otherwise: Any) -> NDArray[Any]:
    """Return a column with the values where the mask says, and something else in between."""
    column = np.full(where.shape, otherwise, dtype=values.dtype)
    column[where] = values
    return column


def fused_frames(
    frames: Any,
    names: tuple[str, str, str],
    higher_is_better: Mapping[str, bool] | None,
    options: Mapping[str, Any],
    check: Callable[[Any], object],
) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame of fused results, from frames with one row per result.

    ``names`` are those of the columns with queries, documents and scores, each with ``to_numpy``;
    ``check`` refuses what is no frame.
    """
    who, columns = "fuse_rows", {}
    for name, frame in arms_by_name(frames, who, "frames").items():
        check(frame)
        check_there(who, frame.columns, **dict(zip(("query", "doc", "score"), names, strict=True)))
        columns[name] = [frame[own].to_numpy() for own in names]
    return fused_columns(columns, names, higher_is_better or {}, ChosenFusion.of(who, options))


def fused_columns(
    columns: Mapping[str, list[NDArray[Any]]],
    names: tuple[str, str, str],
    higher_is_better: Mapping[str, bool],
    fusion: ChosenFusion,
) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame of fused results, best first for each query."""
    query, doc, score = names
    place: dict[str, int] = {}
    for given in columns.values():
        given[0] = as_text(given[0], query)
        for one in given[0].tolist():
            place.setdefault(one, len(place))
    lists = {
        name: _lists(place, *given, up=higher_is_better.get(name, True))
        for name, given in columns.items()
    }
    fused = fusion.fuse(lists)
    assert fused.doc_ids is not None
    assert fused.parts is not None
    found: dict[str, NDArray[Any]] = {
        query: np.array(list(place), dtype=object)[fused.scores.rows],
        doc: fused.doc_ids.values.astype(object),
        score: fused.scores.values,
        "rank": fused.scores.ranks + 1,
    }
    for name, part, ranks in zip(columns, fused.parts.scores, fused.parts.ranks, strict=True):
        found |= {f"{score}_{name}": part.values, f"rank_{name}": ranks.values}
    return found


def _lists(
    place: Mapping[str, int],
    queries: NDArray[Any],
    docs: NDArray[Any],
    scores: NDArray[Any],
    *,
    up: bool,
) -> RankedLists:
    """Return the list of each query; it is empty where there are no rows."""
    rows = np.array([place[one] for one in queries.tolist()], dtype=np.int64)
    together = np.argsort(rows, kind="stable")
    offsets = offsets_of(np.bincount(rows, minlength=len(place)).astype(np.int64))
    return RankedLists(
        Ragged(np.asarray(scores, dtype=np.float64)[together], offsets),
        query_ids=list(place),
        doc_ids=Ragged(np.asarray(docs)[together], offsets),
        higher_is_better=up,
    )
