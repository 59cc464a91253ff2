"""Answers made of rows: tuples, named tuples, mappings, or an Arrow table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from paretocut.adapters.deciding import CutList, cut_scored
from paretocut.adapters.hybrid import Fuser, arms_by_name
from paretocut.adapters.reporting import KEY
from paretocut.errors import InvalidParameterError

Row = TypeVar("Row")


def cut_fetched_rows(
    rows: Sequence[Row], score: str | int, options: Mapping[str, Any], *, who: str, **how: Any
) -> CutList[Row]:
    """Return the rows kept; ``score`` is place or name of a column, ``how`` as in `cut_each`."""
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        raise InvalidParameterError(
            f"{who}: rows must be a list of rows, got {type(rows).__name__}"
        )
    scores = [_value(row, score, who) for row in rows]
    decision = cut_scored(scores, options, who=who, **how)
    return CutList([rows[i] for i in decision.kept], decision.cut)


def cut_fetched_table(
    table: Any, score: str, options: Mapping[str, Any], *, who: str, **how: Any
) -> Any:
    """Return the rows of a `pyarrow.Table` that are kept; its metadata holds the decision."""
    names = columns_of(table, who)
    if score not in names:
        raise _no_column(who, score, names)
    decision = cut_scored(table[score].to_pylist(), options, who=who, **how)
    metadata = dict(table.schema.metadata or {})
    if _is_ours(metadata.get(KEY.encode())):
        metadata[KEY.encode()] = json.dumps(decision.cut.to_dict()).encode()
    return table.take(decision.kept).replace_schema_metadata(metadata)


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
    named = arms_by_name(dict(zip(names or map(str, scores), scores, strict=True)), who, "scores")
    values = {name: [_value(row, at, who) for row in rows] for name, at in named.items()}
    up = dict(zip(named, scores.values(), strict=True))
    fuser = Fuser[tuple[int, float]].of(
        who, options, lambda pair: str(pair[0]), lambda pair: pair[1], up
    )
    kept = fuser.answer(
        {
            name: [
                (i, value) for i, value in enumerate(own) if value is not None and value == value
            ]
            for name, own in values.items()
        },
        lambda pair, score, mark: pair,
    )
    return CutList([rows[i] for i, _ in kept], kept.cut)


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
