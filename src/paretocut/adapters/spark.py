"""Apache Spark: columns of decisions for frames with one row per query, or one per result.

The workers need paretocut and pyarrow. A query must be in one piece: a list in one row, or rows
that `cut_rows` brings together. Each task uses one thread, since Spark gives it one core; where
``spark.task.cpus`` is more, pass ``threads``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, Unpack

from paretocut.adapters import arrow
from paretocut.adapters._frames import FrameCutter, Options, check_columns
from paretocut.errors import InvalidParameterError
from paretocut.schema.extras import require

__all__ = ["cut_lists", "cut_rows"]

Frame: TypeAlias = Any  # pyspark.sql.DataFrame


def cut_lists(
    frame: Frame,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    reason: str | None = "reason",
    **options: Unpack[Options],
) -> Frame:
    """Return the frame, one row per query, with the number to keep, the surprise and the reason.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame`.
    column
        Name of the column with the scores: arrays of numbers, in any order.
    k, surprise, reason
        Names of the new columns: ``bigint``, ``array<double>`` in the order of the scores, and
        ``string``; None leaves the reason out.
    **options
        Who decides and within which bounds, as in `paretocut.cut`; ``higher_is_better``;
        ``threads``.
    """
    types = require("pyspark.sql.types", feature="the Spark functions", extra="spark")
    new = {"k": k, "surprise": surprise, "reason": reason}
    check_columns("cut_lists", _names(frame, "cut_lists"), there={"column": column}, new=new)
    added = [
        types.StructField(k, types.LongType()),
        types.StructField(surprise, types.ArrayType(types.DoubleType())),
    ]
    if reason is not None:
        added.append(types.StructField(reason, types.StringType()))
    cutter = _sent(frame, FrameCutter("cut_lists", {"threads": 1, **options}))

    def cut_batches(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield arrow.lists_with(
                batch, cutter(), column=column, k=k, surprise=surprise, reason=reason
            )

    return frame.mapInArrow(cut_batches, types.StructType([*frame.schema.fields, *added]))


def cut_rows(
    frame: Frame,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    reason: str | None = None,
    **options: Unpack[Options],
) -> Frame:
    """Return the frame, one row per result, with its surprise and whether it is kept.

    Rows are brought together by query, which moves them across the cluster. Arrays in one row per
    query (`cut_lists`) are much faster.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame`.
    query, score
        Names of the columns: rows with the same query are one list.
    surprise, kept, reason
        Names of the new columns: ``double``, ``boolean`` and, only if it has a name, ``string``.
    **options
        Who decides and within which bounds, as in `paretocut.cut`; ``higher_is_better``;
        ``threads``.
    """
    types = require("pyspark.sql.types", feature="the Spark functions", extra="spark")
    there = {"query": query, "score": score}
    new = {"surprise": surprise, "kept": kept, "reason": reason}
    check_columns("cut_rows", _names(frame, "cut_rows"), there=there, new=new)
    added = [
        types.StructField(surprise, types.DoubleType()),
        types.StructField(kept, types.BooleanType()),
    ]
    if reason is not None:
        added.append(types.StructField(reason, types.StringType()))
    cutter = _sent(frame, FrameCutter("cut_rows", {"threads": 1, **options}))

    def cut_query(table: Any) -> Any:
        return arrow.rows_with(
            table,
            cutter(),
            query=query,
            score=score,
            surprise=surprise,
            kept=kept,
            reason=reason,
        )

    schema = types.StructType([*frame.schema.fields, *added])
    return frame.groupBy(query).applyInArrow(cut_query, schema)


def _names(frame: Frame, who: str) -> list[str]:
    """Return the names of the columns, once the frame is known to be Spark's."""
    if not hasattr(frame, "mapInArrow"):
        raise InvalidParameterError(
            f"{who}: frame must be a pyspark.sql.DataFrame, got {type(frame).__name__}"
        )
    names: list[str] = frame.columns
    return names


def _sent(frame: Frame, cutter: FrameCutter) -> Callable[[], FrameCutter]:
    """Return what gives a worker the cutter, which goes to each of them once."""
    try:
        broadcast = frame.sparkSession.sparkContext.broadcast(cutter)
    except Exception:  # Spark Connect has no broadcasts: the cutter travels with each task
        return lambda: cutter
    return lambda: broadcast.value
