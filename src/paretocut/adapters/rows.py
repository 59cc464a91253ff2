"""Answers made of rows: tuples, named tuples, mappings, or an Arrow table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from paretocut.adapters.deciding import CutList, Decision, cut_scored
from paretocut.adapters.hybrid import Arm, Fuser, arms_by_name
from paretocut.adapters.reporting import KEY, warn_of_shortfall
from paretocut.errors import InvalidParameterError
from paretocut.truncators.choose import Chosen

__all__ = ["columns_of", "cut_fetched_rows", "cut_fetched_table", "fuse_fetched_rows"]

Row = TypeVar("Row")


def cut_fetched_rows(
    rows: Sequence[Row], score: str | int, options: Mapping[str, Any], *, who: str, **how: Any
) -> CutList[Row]:
    """Return the rows kept; ``score`` is place or name of a column, the rest as in `_cut`."""
    chosen = Chosen.of(who, options)
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        raise InvalidParameterError(
            f"{who}: rows must be a list of rows, got {type(rows).__name__}"
        )
    decision = _cut([_value(row, score, who) for row in rows], chosen, who=who, **how)
    return CutList([rows[i] for i in decision.kept], decision.cut)


def cut_fetched_table(
    table: Any, score: str, options: Mapping[str, Any], *, who: str, **how: Any
) -> Any:
    """Return the rows of a `pyarrow.Table` that are kept; its metadata holds the decision."""
    chosen = Chosen.of(who, options)
    names = columns_of(table, who)
    if score not in names:
        raise _no_column(who, score, names)
    decision = _cut(table[score].to_pylist(), chosen, who=who, **how)
    metadata = dict(table.schema.metadata or {})
    if _is_ours(metadata.get(KEY.encode())):
        metadata[KEY.encode()] = json.dumps(decision.cut.to_dict()).encode()
    return table.take(decision.kept).replace_schema_metadata(metadata)


def _cut(
    scores: list[Any], chosen: Chosen, *, who: str, up: bool, asked: int | None, remedy: str
) -> Decision:
    """Return the decision on scores or (not ``up``) distances; see `warn_of_shortfall`."""
    warn_of_shortfall(len(scores), asked, who=who, remedy=remedy)
    return cut_scored(scores, chosen, who=who, higher_is_better=up)


def fuse_fetched_rows(
    rows: Sequence[Row],
    scores: Mapping[Any, bool],
    options: Mapping[str, Any],
    *,
    who: str,
    names: Sequence[str] | None = None,
) -> CutList[Row]:
    """Return the rows of a hybrid search kept, best first by their fused score.

    ``scores`` has the column of each search and whether higher is better there; ``names`` are
    those of the searches. None in a column means that the search did not find the document.
    """
    arms: dict[str, Arm[int]] = {}
    columns = zip(names or map(str, scores), scores.items(), strict=True)
    for name, (column, up) in arms_by_name(dict(columns), who, "scores").items():
        values = [_value(row, column, who) for row in rows]
        found = [i for i, value in enumerate(values) if value is not None and value == value]
        arms[name] = Arm(found, [str(i) for i in found], [values[i] for i in found], up)
    kept = Fuser.of(who, options).answer(arms, lambda i, score, mark: i)
    return CutList([rows[i] for i in kept], kept.cut)


def columns_of(table: Any, who: str) -> list[str]:
    """Return the names of the columns, once the table is known to be one."""
    names: list[str] | None = getattr(table, "column_names", None)
    if names is None:
        raise InvalidParameterError(
            f"{who}: table must be a pyarrow.Table, got {type(table).__name__}"
        )
    return names


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
