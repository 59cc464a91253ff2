"""Answers made of rows: tuples, named tuples, mappings, or an Arrow table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack

from paretocut.adapters._base import CutList, CutOptions, cut_scored
from paretocut.errors import InvalidParameterError

__all__ = ["cut_of_rows", "cut_of_table"]

Row = TypeVar("Row")


def cut_of_rows(
    rows: Sequence[Row],
    score: str | int,
    *,
    who: str,
    higher_is_better: bool,
    **options: Unpack[CutOptions],
) -> CutList[Row]:
    """Return the rows that stand out; ``score`` is the place or name of the column of scores."""
    decision = cut_scored(
        [_value(row, score, who) for row in rows],
        who=who,
        higher_is_better=higher_is_better,
        **options,
    )
    return CutList([rows[i] for i in decision.kept], decision.cut)


def cut_of_table(
    table: Any, score: str, *, who: str, higher_is_better: bool, **options: Unpack[CutOptions]
) -> Any:
    """Return the rows of a `pyarrow.Table` that stand out."""
    if score not in table.column_names:
        raise _no_column(who, score, table.column_names)
    decision = cut_scored(
        table[score].to_pylist(), who=who, higher_is_better=higher_is_better, **options
    )
    return table.take(decision.kept)


def _value(row: Any, score: str | int, who: str) -> Any:
    try:
        if isinstance(score, int) or isinstance(row, Mapping):
            return row[score]
        return getattr(row, score)
    except (KeyError, IndexError, AttributeError):
        names = list(row) if isinstance(row, Mapping) else getattr(row, "_fields", len(row))
        raise _no_column(who, score, names) from None


def _no_column(who: str, score: str | int, names: Any) -> InvalidParameterError:
    return InvalidParameterError(f"{who}: score must name a column of {names}, got {score!r}")
