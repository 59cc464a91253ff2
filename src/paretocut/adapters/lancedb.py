"""LanceDB: the answers of ``table.search(...).to_list()`` and ``.to_arrow()``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from paretocut.adapters._base import CutList, CutOptions, Cutter
from paretocut.adapters._rows import cut_of_rows, cut_of_table
from paretocut.errors import InvalidParameterError

__all__ = ["cut_arrow", "cut_list"]

_REMEDY = "an IVF index looks into few partitions: .nprobes(64).refine_factor(10)"
# Hybrid search keeps the other two columns beside its own.
_HIGHER_IS_BETTER = {"_relevance_score": True, "_score": True, "_distance": False}


def cut_list(
    rows: Sequence[dict[str, Any]], *, asked: int | None = None, **options: Unpack[CutOptions]
) -> CutList[dict[str, Any]]:
    """Return the rows worth keeping, with the decision.

    Parameters
    ----------
    rows
        What ``.to_list()`` returned, with ``_distance`` of a vector search, ``_score`` of a full
        text search or ``_relevance_score`` of a reranker; ask for ``.limit(200)`` or so.
    asked
        How many results the search asked for, if you want to be warned when it got less than
        half of them.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    first = rows[0] if isinstance(rows, Sequence) and rows else None
    if first is not None and not isinstance(first, Mapping):
        raise InvalidParameterError(
            f"cut_list: rows must be dictionaries, as .to_list() returns them, got {first!r:.60}"
        )
    score = "_distance" if first is None else _score_of(first, "cut_list")
    return cut_of_rows(
        rows,
        score,
        Cutter.of("cut_list", options),
        who="cut_list",
        higher_is_better=_HIGHER_IS_BETTER[score],
        asked=asked,
        remedy=_REMEDY,
    )


def cut_arrow(table: Any, *, asked: int | None = None, **options: Unpack[CutOptions]) -> Any:
    """Return the rows of the Arrow table worth keeping; its metadata holds the decision.

    Parameters
    ----------
    table
        What ``.to_arrow()`` returned, with a column of scores as in `cut_list`.
    asked
        How many results the search asked for, if you want to be warned when it got less than
        half of them.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    names = getattr(table, "column_names", None)
    if names is None:
        raise InvalidParameterError(
            f"cut_arrow: table must be a pyarrow.Table, got {type(table).__name__}"
        )
    score = _score_of(names, "cut_arrow")
    return cut_of_table(
        table,
        score,
        Cutter.of("cut_arrow", options),
        who="cut_arrow",
        higher_is_better=_HIGHER_IS_BETTER[score],
        asked=asked,
        remedy=_REMEDY,
    )


def _score_of(columns: Iterable[str], who: str) -> str:
    there = list(columns)
    for name in _HIGHER_IS_BETTER:
        if name in there:
            return name
    raise InvalidParameterError(
        f"{who}: the answer must have a column {', '.join(_HIGHER_IS_BETTER)}; got {there}"
    )
