"""Answers made of rows: tuples, named tuples, mappings, or an Arrow table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from paretocut.adapters._base import CutList, Cutter, cut_scored
from paretocut.adapters._telling import KEY, warn_of_shortfall
from paretocut.errors import InvalidParameterError

__all__ = ["cut_of_rows", "cut_of_table"]

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
