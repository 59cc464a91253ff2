"""DuckDB: functions for SQL that take a list of scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from paretocut.adapters.arrow import cut_with
from paretocut.adapters.frames import FrameCutter, FrameOptions
from paretocut.errors import InvalidParameterError, require

__all__ = ["register"]


def register(
    connection: Any,
    *,
    k: str = "paretocut_k",
    surprise: str = "paretocut_surprise",
    reason: str = "paretocut_reason",
    **options: Unpack[FrameOptions],
) -> None:
    """Make three functions known to a DuckDB connection, for use in its SQL.

    ``paretocut_k(scores)`` is how many results to keep, ``paretocut_surprise(scores)`` is the list
    of their surprise, ``paretocut_reason(scores)`` the sentence that says why; ``scores`` is a
    list of numbers in any order, and NULL gives NULL. The options are settled here: for other
    options, register again under other names.

    Parameters
    ----------
    connection
        A `duckdb.DuckDBPyConnection`.
    k, surprise, reason
        Names of the functions.
    **options
        Who decides, as in `paretocut.cut`, with bounds; ``higher_is_better``; ``threads``.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     register(connection, evalue=0.05)
    ...     connection.sql(
    ...         "SELECT paretocut_k(list(-ln((7919 * i % 997) / 997)) || [30, 31]) "
    ...         "FROM range(1, 100) t(i)"
    ...     ).fetchall()
    [(2,)]
    """
    duckdb = require("duckdb", feature="the DuckDB functions", extra="duckdb")
    require("pyarrow", feature="the DuckDB functions", extra="duckdb")
    if not hasattr(connection, "create_function"):
        raise InvalidParameterError(
            f"register: connection must be a DuckDB connection, got {type(connection).__name__}"
        )
    cutter = FrameCutter("register", options)  # refuses bad options at once
    lists = duckdb.list_type("DOUBLE")
    for column, (name, kind) in enumerate(((k, "BIGINT"), (surprise, lists), (reason, "VARCHAR"))):
        connection.create_function(
            name,
            _function(column, cutter),
            [lists],
            kind,
            type="arrow",
            null_handling="special",  # ours: a NULL in the vector is a row like the others
        )


def _function(column: int, cutter: FrameCutter) -> Callable[[Any], Any]:
    # DuckDB counts the parameters, so it must be a function of one.
    return lambda lists: cut_with(lists, cutter)[column]
