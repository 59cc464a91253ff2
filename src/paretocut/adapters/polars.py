"""Polars: the namespace ``paretocut`` on expressions and series, for columns of lists.

Importing this module registers the namespace::

    import paretocut.adapters.polars
    frame.with_columns(pl.col("scores").paretocut.k())

It works in eager and lazy frames and in the streaming engine, and reads the scores in place. A null
list gives null; a null score is ignored, and its surprise is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from paretocut.adapters.arrow import cut_with
from paretocut.adapters.frames import FrameCutter, FrameOptions, fused_frames
from paretocut.errors import InvalidParameterError, require

__all__ = ["ParetoCutExpr", "ParetoCutSeries", "fuse_rows"]

pl = require("polars", feature="the Polars namespace", extra="polars")


class _Fields:
    """The fields of a decision one by one, of expressions and series alike."""

    def cut(self, **options: Unpack[FrameOptions]) -> Any:
        raise NotImplementedError

    def k(self, **options: Unpack[FrameOptions]) -> Any:
        """Return how many results of each list to keep, named ``k``."""
        return self.cut(**options).struct.field("k")

    def surprise(self, **options: Unpack[FrameOptions]) -> Any:
        """Return lists of surprise in the order of the scores, named ``surprise``."""
        return self.cut(**options).struct.field("surprise")

    def reason(self, **options: Unpack[FrameOptions]) -> Any:
        """Return one sentence for each list, named ``reason``."""
        return self.cut(**options).struct.field("reason")


class ParetoCutExpr(_Fields):
    """Decisions on a column of lists, one list per row: ``pl.col("scores").paretocut``.

    Lists are scores in any order. Options are those of `paretocut.cut`: who decides and within
    which bounds; and ``threads``.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> noise = np.random.default_rng(0).exponential(size=197)
    >>> frame = pl.DataFrame({"scores": [[12.0, 11.0, *noise], []]})
    >>> frame.select(pl.col("scores").paretocut.k(evalue=0.05))["k"].to_list()
    [2, 0]
    """

    def __init__(self, expr: Any) -> None:
        self._expr = expr

    def cut(self, **options: Unpack[FrameOptions]) -> Any:
        """Return an expression of structs with the fields ``k``, ``surprise`` and ``reason``.

        All come from one decision; `k`, `surprise` and `reason` alone are its fields.
        """
        cutter = FrameCutter("paretocut", options)  # refuses bad options at once
        fields = {"k": pl.Int64, "surprise": pl.List(pl.Float64), "reason": pl.String}
        return self._expr.map_batches(
            lambda lists: _cut_series(lists, cutter),
            return_dtype=pl.Struct(fields),
            is_elementwise=True,
        )


class ParetoCutSeries(_Fields):
    """The same for a series of lists: ``series.paretocut``."""

    def __init__(self, series: Any) -> None:
        self._series = series

    def cut(self, **options: Unpack[FrameOptions]) -> Any:
        """Return a series of structs with the fields ``k``, ``surprise`` and ``reason``."""
        return _cut_series(self._series, FrameCutter("paretocut", options))


def fuse_rows(
    frames: Mapping[str, Any] | Sequence[Any],
    query: str = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    *,
    higher_is_better: Mapping[str, bool] | None = None,
    **options: Any,
) -> Any:
    """Return one frame of fused results, best first for each query.

    A document that a retriever did not find has rank 0 and a null score.

    Parameters
    ----------
    frames
        Frames of two or more retrievers, by name or not, one row per result.
    query, doc, score, higher_is_better, **options
        As for `paretocut.adapters.pandas.fuse_rows`, which names the columns of the result too.

    Examples
    --------
    >>> import polars as pl
    >>> words = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [7.0, 2.0]})
    >>> vectors = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "c"], "score": [0.9, 0.5]})
    >>> fuse_rows({"words": words, "vectors": vectors}, method="rrf")["doc_id"].to_list()
    ['b', 'a', 'c']
    """
    found = fused_frames(frames, (query, doc, score), higher_is_better, options, _check_polars)
    return pl.DataFrame(
        {name: pl.Series(name, _strings(values)) for name, values in found.items()}
    ).with_columns(pl.selectors.float().fill_nan(None))


def _check_polars(frame: Any) -> None:
    if not isinstance(frame, pl.DataFrame):
        kind = type(frame)
        raise InvalidParameterError(
            "fuse_rows: frames must be polars.DataFrame (collect lazy ones), "
            f"got {kind.__module__}.{kind.__qualname__}"
        )


def _strings(values: Any) -> Any:
    """Return a column of objects as a list, of which Polars makes strings."""
    return values.tolist() if values.dtype == object else values


def _cut_series(lists: Any, cutter: FrameCutter) -> Any:
    names = ("k", "surprise", "reason")
    found = zip(names, cut_with(lists.to_arrow(), cutter), strict=True)
    columns = {name: pl.from_arrow(column) for name, column in found}
    return pl.DataFrame(columns).to_struct(lists.name)


pl.api.register_expr_namespace("paretocut")(ParetoCutExpr)
pl.api.register_series_namespace("paretocut")(ParetoCutSeries)
