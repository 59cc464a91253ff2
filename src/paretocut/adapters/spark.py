"""Apache Spark: columns of decisions for frames with one row per query, or one per result.

The workers need paretocut and pyarrow. A query must be in one piece: a list in one row, or rows
that `cut_rows` brings together. Each task uses one thread, since Spark gives it one core; where
``spark.task.cpus`` is more, pass ``threads``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, Unpack

from paretocut.adapters.arrow import ListsJob, RowsJob, rows_by_query
from paretocut.adapters.frames import FrameCutter, FrameOptions, ListNames, RowNames
from paretocut.errors import InvalidParameterError, require

__all__ = ["cut_lists", "cut_rows"]

Frame: TypeAlias = Any  # pyspark.sql.DataFrame


def cut_lists(
    frame: Frame,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    reason: str | None = "reason",
    **options: Unpack[FrameOptions],
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
        Who decides, as in `paretocut.cut`, with bounds; ``higher_is_better``; ``threads``.
    """
    types = require("pyspark.sql.types", feature="the Spark functions", extra="spark")
    cutter = FrameCutter("cut_lists", {"threads": 1, **options})
    job = ListsJob(cutter, ListNames(column, k, surprise, reason))
    new = {k: types.LongType(), surprise: types.ArrayType(types.DoubleType())}
    schema, sent = _prepared(types, frame, job, new)
    return frame.mapInArrow(lambda batches: map(sent(), batches), schema)


def cut_rows(
    frame: Frame,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    reason: str | None = None,
    **options: Unpack[FrameOptions],
) -> Frame:
    """Return the frame, one row per result, with its surprise and whether it is kept.

    Rows are brought together by query, which moves them across the cluster and sorts them. Arrays
    in one row per query (`cut_lists`) need neither.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame`.
    query, score
        Names of the columns: rows with the same query are one list.
    surprise, kept, reason
        Names of the new columns: ``double``, ``boolean`` and, only if it has a name, ``string``.
    **options
        Who decides, as in `paretocut.cut`, with bounds; ``higher_is_better``; ``threads``.
    """
    types = require("pyspark.sql.types", feature="the Spark functions", extra="spark")
    cutter = FrameCutter("cut_rows", {"threads": 1, **options})
    job = RowsJob(cutter, RowNames(query, score, surprise, kept, reason))
    new = {surprise: types.DoubleType(), kept: types.BooleanType()}
    schema, sent = _prepared(types, frame, job, new)
    # A call for every query would cost far more than the decisions. Sorted, a query is in one
    # piece, and a task holds one batch and one query at a time.
    sorted_frame = frame.repartition(query).sortWithinPartitions(query)
    return sorted_frame.mapInArrow(lambda batches: rows_by_query(batches, query, sent()), schema)


def _prepared(
    types: Any, frame: Frame, job: ListsJob | RowsJob, new: dict[str, Any]
) -> tuple[Any, Callable[[], Any]]:
    """Return the schema of the result, and how a worker gets the job, which is sent there once."""
    who, names = job.cutter.who, job.names
    if not hasattr(frame, "mapInArrow"):
        raise InvalidParameterError(
            f"{who}: frame must be a pyspark.sql.DataFrame, got {type(frame).__name__}"
        )
    names.check(who, frame.columns)
    if names.reason is not None:
        new = {**new, names.reason: types.StringType()}
    added = [types.StructField(name, kind) for name, kind in new.items()]
    schema = types.StructType([*frame.schema.fields, *added])
    try:
        broadcast = frame.sparkSession.sparkContext.broadcast(job)
    except Exception:  # Spark Connect has no broadcasts: the job travels with each task
        return schema, lambda: job
    return schema, lambda: broadcast.value
