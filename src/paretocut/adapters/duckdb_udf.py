"""DuckDB: functions for SQL that take a list of scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from paretocut._extras import require
from paretocut.adapters._columns import Options
from paretocut.adapters.arrow import cut_array

__all__ = ["register"]


def register(
    connection: Any,
    *,
    k: str = "paretocut_k",
    surprise: str = "paretocut_surprise",
    **options: Unpack[Options],
) -> None:
    """Make two functions known to a DuckDB connection, for use in its SQL.

    ``paretocut_k(scores)`` is how many results to keep, ``paretocut_surprise(scores)`` is the list
    of their surprise; ``scores`` is a list of numbers in any order, and NULL gives NULL. The
    options are settled here: for other options, register again under other names.

    Parameters
    ----------
    connection
        A `duckdb.DuckDBPyConnection`.
    k, surprise
        Names of the functions.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     register(connection, evalue=0.05)
    ...     connection.sql(
    ...         "SELECT paretocut_k(list(-ln(i / 100)) || [12, 11]) FROM range(1, 100) t(i)"
    ...     ).fetchall()
    [(2,)]
    """
    duckdb = require("duckdb", feature="the DuckDB functions", extra="duckdb")
    pa = require("pyarrow", feature="the DuckDB functions", extra="duckdb")
    cut_array(pa.array([], pa.list_(pa.float64())), **options)  # bad options are told here
    lists = duckdb.list_type("DOUBLE")
    for name, column, kind in ((k, 0, "BIGINT"), (surprise, 1, lists)):
        connection.create_function(
            name,
            _function(column, options),
            [lists],
            kind,
            type="arrow",
            null_handling="special",  # ours: a NULL in the vector is a row like the others
        )


def _function(column: int, options: Options) -> Callable[[Any], Any]:
    # DuckDB counts the parameters, so it must be a function of one.
    return lambda lists: cut_array(lists, **options)[column]
