"""Polars: the namespace ``paretocut`` on expressions and series, for columns of lists.

Importing this module registers the namespace::

    import paretocut.adapters.polars
    frame.with_columns(pl.col("scores").paretocut.k(alpha=0.05))

It works in eager and lazy frames and in the streaming engine, and reads the scores in place. A null
list gives null; a null score has no part in the fit, and its surprise is null.
"""

from __future__ import annotations

from typing import Any, Unpack

from paretocut._extras import require
from paretocut.adapters._columns import Options
from paretocut.adapters.arrow import cut_array

__all__ = ["ParetocutExpr", "ParetocutSeries"]

pl = require("polars", feature="the Polars namespace", extra="polars")


class ParetocutExpr:
    """Decisions on a column of lists, one list per row: ``pl.col("scores").paretocut``.

    Lists are scores in any order. Options are those of `paretocut.fit_batch` and of
    `paretocut.SurpriseFits.cut`.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> noise = -np.log(np.linspace(0.005, 0.995, 197))
    >>> frame = pl.DataFrame({"scores": [[12.0, 11.0, *noise], []]})
    >>> frame.select(pl.col("scores").paretocut.k(evalue=0.05))["k"].to_list()
    [2, 0]
    """

    def __init__(self, expr: Any) -> None:
        self._expr = expr

    def cut(self, **options: Unpack[Options]) -> Any:
        """Return an expression of structs with the fields ``k`` and ``surprise``.

        Both come from one fit; `k` and `surprise` alone are its fields.
        """
        kind = pl.Struct({"k": pl.Int64, "surprise": pl.List(pl.Float64)})
        return self._expr.map_batches(
            lambda lists: _cut_series(lists, options), return_dtype=kind, is_elementwise=True
        )

    def k(self, **options: Unpack[Options]) -> Any:
        """Return an expression, named ``k``: how many results of each list to keep."""
        return self.cut(**options).struct.field("k")

    def surprise(self, **options: Unpack[Options]) -> Any:
        """Return an expression, named ``surprise``: lists in the order of the scores."""
        return self.cut(**options).struct.field("surprise")


class ParetocutSeries:
    """The same for a series of lists: ``series.paretocut``."""

    def __init__(self, series: Any) -> None:
        self._series = series

    def cut(self, **options: Unpack[Options]) -> Any:
        """Return a series of structs with the fields ``k`` and ``surprise``."""
        return _cut_series(self._series, options)

    def k(self, **options: Unpack[Options]) -> Any:
        """Return a series: how many results of each list to keep."""
        return self.cut(**options).struct.field("k")

    def surprise(self, **options: Unpack[Options]) -> Any:
        """Return a series of lists in the order of the scores."""
        return self.cut(**options).struct.field("surprise")


def _cut_series(lists: Any, options: Options) -> Any:
    counts, scored = cut_array(lists.to_arrow(), **options)
    columns = {"k": pl.from_arrow(counts), "surprise": pl.from_arrow(scored)}
    return pl.DataFrame(columns).to_struct(lists.name)


pl.api.register_expr_namespace("paretocut")(ParetocutExpr)
pl.api.register_series_namespace("paretocut")(ParetocutSeries)
