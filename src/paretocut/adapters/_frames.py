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

from paretocut.adapters._base import CutOptions, Cutter
from paretocut.adapters._fused import Fuser, arms_by_name
from paretocut.adapters._telling import tell, warn_of_scores
from paretocut.decisions import Cuts
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import BoolArray, FloatArray, Ragged, RankedLists, best_first, offsets_of
from paretocut.lists.columns import check_direction
from paretocut.schema.parameters import check_bool
from paretocut.tail import limited_threads

__all__ = ["Decided", "FrameCutter", "Options", "RowsDecided", "check_columns", "fused_frames"]


class Options(CutOptions, total=False):
    """Options of `paretocut.cut`, and the number of threads."""

    higher_is_better: bool
    threads: int | None


class Decided(NamedTuple):
    """What was decided on a column of lists.

    Attributes
    ----------
    cuts
        The decisions.
    surprise
        Surprise of each result, in the caller's order.
    """

    cuts: Cuts
    surprise: Ragged


class RowsDecided(NamedTuple):
    """What was decided on rows of single results.

    Attributes
    ----------
    surprise, kept
        One of each per row.
    reasons
        Why, one per row; only the text of a row's list.
    """

    surprise: FloatArray
    kept: BoolArray
    reasons: NDArray[Any]


class FrameCutter:
    """Decides on columns of lists: the options of a frame function, checked once.

    Parameters
    ----------
    who
        Name of the function, for messages.
    options
        Options of `paretocut.cut`, the direction and the number of threads.
    """

    def __init__(self, who: str, options: Mapping[str, Any]) -> None:
        rest = dict(options)
        self.who = who
        up = rest.pop("higher_is_better", True)
        self.higher_is_better = check_bool(up, who=who, name="higher_is_better")
        self.threads = rest.pop("threads", None)
        self.cutter = Cutter.of(who, rest)

    def decide(self, lists: Ragged) -> Decided:
        """Return the decisions on lists of scores in any order, and the surprise of each."""
        wrong = lists.first_not_finite()
        if wrong is not None:
            raise InvalidScoresError(
                f"{self.who}: scores must be finite, got {lists[wrong[0]][wrong[1]]} "
                f"at index {wrong[1]} of list {wrong[0]}"
            )
        check_direction(lists, self.higher_is_better, who=self.who)
        order = best_first(lists, self.higher_is_better)
        ranked = RankedLists(lists, higher_is_better=self.higher_is_better)
        with limited_threads(self.threads):
            cuts = self.cutter.truncator.cut_batch(
                ranked, min_k=self.cutter.min_k, max_k=self.cutter.max_k
            )
            found: Ragged = cuts.fits.surprise
            warn_of_scores(cuts.warnings, self.who)
            tell(cuts, self.who)
        surprise = np.zeros(lists.values.size)  # results that match nothing have surprise 0
        surprise[lists.ranks < lists.spread(found.lengths)] = found.values
        if order is not None:
            sorted_surprise, surprise = surprise, np.empty_like(surprise)
            surprise[order] = sorted_surprise
        return Decided(cuts, lists.with_values(surprise))

    def decide_rows(self, groups: NDArray[Any], scores: FloatArray) -> RowsDecided:
        """Return the decision on each row; rows of one group are one list.

        Parameters
        ----------
        groups
            Which list each row belongs to.
        scores
            Score of each row.
        """
        together = np.argsort(groups, kind="stable")
        _, lengths = np.unique(groups, return_counts=True)
        lists = Ragged.unchecked(
            np.asarray(scores, dtype=np.float64)[together], offsets_of(lengths.astype(np.int64))
        )
        decided = self.decide(lists)
        sign = -1.0 if self.higher_is_better else 1.0
        order = np.lexsort((sign * lists.values, lists.rows))
        kept = np.empty(scores.size, dtype=np.bool_)
        kept[together[order]] = lists.ranks < lists.spread(decided.cuts.k)
        surprise = np.empty(scores.size)
        surprise[together] = decided.surprise.values
        reasons = np.empty(scores.size, dtype=object)
        reasons[together] = lists.spread(np.array(decided.cuts.reasons, dtype=object))
        return RowsDecided(surprise, kept, reasons)


def check_columns(
    who: str,
    present: Collection[str],
    *,
    there: Mapping[str, str],
    new: Mapping[str, str | None],
) -> None:
    """Refuse names of columns that are not there, and new ones that are.

    Both mappings go from the caller's argument to the name it was given.
    """
    for argument, name in there.items():
        if name not in present:
            raise InvalidParameterError(
                f"{who}: {argument} must name a column, one of {', '.join(present)}; got {name!r}"
            )
    for argument, new_name in new.items():
        if new_name is not None and new_name in present:
            raise InvalidParameterError(
                f"{who}: {argument} must name a new column, got {new_name!r}, which is there "
                "already"
            )


def fused_frames(
    frames: Any,
    names: tuple[str, str, str],
    higher_is_better: Mapping[str, bool] | None,
    options: Mapping[str, Any],
    check: Callable[[Any], object],
) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame of fused results, from frames with one row per result.

    Parameters
    ----------
    frames
        By name of the retriever, or in a row; each column has ``to_numpy``.
    names
        Of the columns with queries, documents and scores.
    higher_is_better
        By name of the retriever; True where nothing is said.
    options
        Of `paretocut.fuse`, or ``fusion``.
    check
        Raises an error for what is not a frame of the library.
    """
    columns = {}
    for name, frame in arms_by_name(frames, "fuse_rows", "frames").items():
        check(frame)
        there = dict(zip(("query", "doc", "score"), names, strict=True))
        check_columns("fuse_rows", frame.columns, there=there, new={})
        query, doc, score = (frame[own].to_numpy() for own in names)
        columns[name] = (query, doc, score)
    return _fused_columns(columns, names, higher_is_better or {}, options, who="fuse_rows")


def _fused_columns(
    frames: Mapping[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]],
    names: tuple[str, str, str],
    higher_is_better: Mapping[str, bool],
    options: Mapping[str, Any],
    *,
    who: str,
) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame of fused results, best first for each query."""
    query, doc, score = names
    queries = list(
        dict.fromkeys(str(one) for column, _, _ in frames.values() for one in column.tolist())
    )
    place = {name: i for i, name in enumerate(queries)}
    lists = {}
    for name, (own, docs, scores) in frames.items():
        rows = np.array([place[str(one)] for one in own.tolist()], dtype=np.int64)
        together = np.argsort(rows, kind="stable")
        offsets = offsets_of(np.bincount(rows, minlength=len(queries)).astype(np.int64))
        lists[name] = RankedLists(
            Ragged(np.asarray(scores, dtype=np.float64)[together], offsets),
            query_ids=queries,
            doc_ids=Ragged(np.asarray(docs).astype(str)[together], offsets),
            higher_is_better=higher_is_better.get(name, True),
        )
    fused = Fuser(who, options).fuse_lists(lists)
    assert fused.doc_ids is not None
    assert fused.parts is not None
    columns: dict[str, NDArray[Any]] = {
        query: np.array(queries, dtype=object)[fused.scores.rows],
        doc: fused.doc_ids.values.astype(object),
        score: fused.scores.values,
        "rank": fused.scores.ranks + 1,
    }
    for name, part, ranks in zip(frames, fused.parts.scores, fused.parts.ranks, strict=True):
        columns |= {f"{score}_{name}": part.values, f"rank_{name}": ranks.values}
    return columns
