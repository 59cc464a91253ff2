"""DuckDB: the answers of a search in SQL, fetched as rows or as an Arrow table.

For a whole column of lists inside a query, see `paretocut.adapters.duckdb_udf`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack

from paretocut.adapters.deciding import CutList
from paretocut.adapters.fetched import cut_fetched_rows, cut_fetched_table, fuse_fetched_rows
from paretocut.adapters.hybrid import HybridOptions
from paretocut.decisions.options import DecisionOptions

__all__ = ["cut_arrow", "cut_rows", "fuse_rows"]

Row = TypeVar("Row")

_REMEDY = "an HNSW index of the extension vss finds hnsw_ef_search results: SET hnsw_ef_search"


def cut_rows(
    rows: Sequence[Row],
    score: int,
    *,
    higher_is_better: bool,
    asked: int | None = None,
    **options: Unpack[DecisionOptions],
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
        How many results the search asked for; a warning tells you if it got less than half.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    return cut_fetched_rows(
        rows,
        score,
        options,
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
    **options: Unpack[DecisionOptions],
) -> Any:
    """Return the rows of the Arrow table worth keeping; its metadata holds the decision.

    Parameters
    ----------
    table
        What ``to_arrow_table()`` returned of such a query.
    score
        Name of the column with the scores.
    higher_is_better, asked, **options
        As in `cut_rows`.
    """
    return cut_fetched_table(
        table,
        score,
        options,
        who="cut_arrow",
        higher_is_better=higher_is_better,
        asked=asked,
        remedy=_REMEDY,
    )


def fuse_rows(
    rows: Sequence[Row], scores: Mapping[int, bool], **options: Unpack[HybridOptions]
) -> CutList[Row]:
    """Return the rows of a hybrid search worth keeping, best first, with the decision.

    One statement does both searches: two subqueries with ``ORDER BY`` and ``LIMIT 200``, joined by
    ``FULL JOIN ... USING (id)``. A document that one of them did not find has NULL there.

    Parameters
    ----------
    rows
        What ``fetchall()`` returned.
    scores
        Places of the columns of scores, and whether higher is better there: True for BM25 of the
        extension fts and similarities, False for distances. ``{1: True, 2: False}``.
    **options
        How the searches are fused, as in `paretocut.fuse` (or ``fusion``, a fitted
        `paretocut.Fusion` or the path of a saved one), and who decides, as in `paretocut.cut`.
    """
    return fuse_fetched_rows(rows, scores, options, who="fuse_rows")
