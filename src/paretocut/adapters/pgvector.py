"""PostgreSQL with pgvector: the rows that psycopg, or any other driver, fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, Unpack

from paretocut.adapters.deciding import CutList
from paretocut.adapters.hybrid import HybridOptions
from paretocut.adapters.fetched import cut_fetched_rows, fuse_fetched_rows
from paretocut.decisions.options import DecisionOptions

__all__ = ["cut_rows", "fuse_rows"]

Row = TypeVar("Row")

_REMEDY = (
    "an HNSW index finds at most hnsw.ef_search results, 40 unless it is set: "
    "SET LOCAL hnsw.ef_search = 200 (IVFFlat: ivfflat.probes)"
)


def cut_rows(
    rows: Sequence[Row],
    score: str | int,
    *,
    higher_is_better: bool = False,
    asked: int | None = None,
    **options: Unpack[DecisionOptions],
) -> CutList[Row]:
    """Return the rows worth keeping, with the decision.

    Parameters
    ----------
    rows
        What ``cursor.fetchall()`` returned of a query with ``ORDER BY`` and ``LIMIT 200`` or so:
        tuples, named tuples or dictionaries.
    score
        The column with the scores: its place for tuples, else its name.
    higher_is_better
        False for all of pgvector's operators, ``<#>`` (a negative inner product) among them; True
        if the query turns them into similarities, as ``1 - (embedding <=> %s)`` does.
    asked, **options
        As for `paretocut.adapters.duckdb.cut_rows`.
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


def fuse_rows(
    rows: Sequence[Row], scores: Mapping[str | int, bool], **options: Unpack[HybridOptions]
) -> CutList[Row]:
    """Return the rows of a hybrid search worth keeping, best first, with the decision.

    The statement joins two searches; see `paretocut.adapters.duckdb.fuse_rows`.

    Parameters
    ----------
    rows
        What ``cursor.fetchall()`` returned: tuples, named tuples or dictionaries.
    scores
        The columns of scores, by place or name, and whether higher is better there: True for
        ``ts_rank_cd``, False for pgvector's operators. ``{"rank": True, "distance": False}``.
    **options
        As for `paretocut.adapters.duckdb.fuse_rows`.
    """
    return fuse_fetched_rows(rows, scores, options, who="fuse_rows")
