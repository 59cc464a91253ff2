"""DuckDB: the answers of a search in SQL, fetched as rows or as an Arrow table.

For a whole column of lists inside a query, see `paretocut.adapters.duckdb_udf`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, Unpack

from paretocut.adapters._base import CutList, CutOptions, Cutter
from paretocut.adapters._rows import cut_of_rows, cut_of_table

__all__ = ["cut_arrow", "cut_rows"]

Row = TypeVar("Row")

_REMEDY = "an HNSW index of the extension vss finds hnsw_ef_search results: SET hnsw_ef_search"


def cut_rows(
    rows: Sequence[Row],
    score: int,
    *,
    higher_is_better: bool,
    asked: int | None = None,
    **options: Unpack[CutOptions],
) -> CutList[Row]:
    """Return the rows worth keeping, with the decision.

    Parameters
    ----------
    rows
        What ``fetchall()`` returned of a query with ``ORDER BY`` and ``LIMIT 200`` or so.
    score
        Place of the column with the scores; -1 is the last.
    higher_is_better
        True for ``array_cosine_similarity``, ``array_inner_product`` and BM25; False for
        ``array_distance``, ``array_cosine_distance`` and ``array_negative_inner_product``.
    asked
        How many results the search asked for, if you want to be warned when it got less than
        half of them.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    return cut_of_rows(
        rows,
        score,
        Cutter.of("cut_rows", options),
        who="cut_rows",
        higher_is_better=higher_is_better,
        asked=asked,
        remedy=_REMEDY,
    )


def cut_arrow(
    table: Any,
    score: str,
    *,
    higher_is_better: bool,
    asked: int | None = None,
    **options: Unpack[CutOptions],
) -> Any:
    """Return the rows of the Arrow table worth keeping; its metadata holds the decision.

    Parameters
    ----------
    table
        What ``to_arrow_table()`` returned of such a query.
    score
        Name of the column with the scores.
    higher_is_better
        As in `cut_rows`.
    asked
        How many results the search asked for, if you want to be warned when it got less than
        half of them.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    return cut_of_table(
        table,
        score,
        Cutter.of("cut_arrow", options),
        who="cut_arrow",
        higher_is_better=higher_is_better,
        asked=asked,
        remedy=_REMEDY,
    )
