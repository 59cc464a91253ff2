"""Answers made of rows: tuples, named tuples, mappings, or an Arrow table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from paretocut.adapters._base import CutList, Cutter, cut_scored
from paretocut.adapters._fused import Arm, Fuser, arms_by_name
from paretocut.adapters._telling import KEY, warn_of_shortfall
from paretocut.errors import InvalidParameterError

__all__ = ["cut_of_rows", "cut_of_table", "fuse_of_columns", "fuse_of_rows"]

Row = TypeVar("Row")


def cut_of_rows(
    rows: Sequence[Row],
    score: str | int,
    cutter: Cutter,
    *,
    who: str,
    higher_is_better: bool,
    asked: int | None,
    remedy: str,
) -> CutList[Row]:
    """Return the rows kept, with the decision.

    Parameters
    ----------
    rows
        The rows of one answer, best first.
    score
        Place or name of the column of scores.
    cutter, who, higher_is_better
        As in `cut_scored`.
    asked, remedy
        As in `warn_of_shortfall`.
    """
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        raise InvalidParameterError(
            f"{who}: rows must be a list of rows, got {type(rows).__name__}"
        )
    warn_of_shortfall(len(rows), asked, who=who, remedy=remedy)
    scores = [_value(row, score, who) for row in rows]
    decision = cut_scored(scores, cutter, who=who, higher_is_better=higher_is_better)
    return CutList([rows[i] for i in decision.kept], decision.cut)


def fuse_of_rows(
    rows: Sequence[Row],
    scores: Mapping[str, tuple[str | int, bool]],
    options: Mapping[str, Any],
    *,
    who: str,
) -> CutList[Row]:
    """Return the rows of a hybrid search kept, best first by their fused score.

    Parameters
    ----------
    rows
        One row for each document that any of the searches found.
    scores
        By name of the search, its column of scores and whether higher is better there; None in
        that column means that the search did not find the document.
    options
        How the searches are fused and who decides.
    who
        Name of the adapter.
    """
    arms: dict[str, Arm[int]] = {}
    for name, (column, up) in arms_by_name(scores, who, "scores").items():
        values = [_value(row, column, who) for row in rows]
        found = [i for i, value in enumerate(values) if value is not None and value == value]
        arms[name] = Arm(found, [str(i) for i in found], [values[i] for i in found], up)
    kept = Fuser(who, options).answer(arms, lambda i, score, mark: i)
    return CutList([rows[i] for i in kept], kept.cut)


def fuse_of_columns(
    rows: Sequence[Row], scores: Mapping[Any, bool], options: Mapping[str, Any]
) -> CutList[Row]:
    """Return the rows of a hybrid search in SQL kept, best first by their fused score.

    Parameters
    ----------
    rows
        As for `fuse_of_rows`.
    scores
        The columns of scores, and whether higher is better there; each column names a search.
    options
        How the searches are fused and who decides.
    """
    arms = {str(column): (column, up) for column, up in scores.items()}
    return fuse_of_rows(rows, arms, options, who="fuse_rows")


def cut_of_table(
    table: Any,
    score: str,
    cutter: Cutter,
    *,
    who: str,
    higher_is_better: bool,
    asked: int | None,
    remedy: str,
) -> Any:
    """Return the rows of a `pyarrow.Table` that are kept; its metadata holds the decision.

    Parameters
    ----------
    table, score
        The answer, and the name of its column of scores.
    cutter, who, higher_is_better, asked, remedy
        As in `cut_of_rows`.
    """
    names = getattr(table, "column_names", None)
    if names is None:
        raise InvalidParameterError(
            f"{who}: table must be a pyarrow.Table, got {type(table).__name__}"
        )
    if score not in names:
        raise _no_column(who, score, names)
    warn_of_shortfall(len(table), asked, who=who, remedy=remedy)
    scores = table[score].to_pylist()
    decision = cut_scored(scores, cutter, who=who, higher_is_better=higher_is_better)
    metadata = dict(table.schema.metadata or {})
    if _is_ours(metadata.get(KEY.encode())):
        metadata[KEY.encode()] = json.dumps(decision.cut.to_dict()).encode()
    return table.take(decision.kept).replace_schema_metadata(metadata)


def _is_ours(text: bytes | None) -> bool:
    """Return whether the place for the decision is free, or holds an earlier one."""
    try:
        there = {} if text is None else json.loads(text)
    except ValueError:
        return False
    return text is None or (isinstance(there, dict) and {"k", "n", "reason"} <= there.keys())


def _value(row: Any, score: str | int, who: str) -> Any:
    try:
        if isinstance(score, int) or isinstance(row, Mapping):
            return row[score]
        return getattr(row, score)
    except (KeyError, IndexError, AttributeError, TypeError):
        names = list(row) if isinstance(row, Mapping) else getattr(row, "_fields", None)
        raise _no_column(who, score, names or f"a row like {row!r:.60}") from None


def _no_column(who: str, score: str | int, names: Any) -> InvalidParameterError:
    return InvalidParameterError(f"{who}: score must name a column of {names}, got {score!r}")
