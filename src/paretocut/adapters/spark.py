"""Apache Spark: columns of decisions for frames with one row per query, or one per result.

The workers need paretocut and pyarrow. A query must be in one piece: a list in one row, or rows
that `cut_rows` brings together. Each task uses one thread, since Spark gives it one core; where
``spark.task.cpus`` is more, pass ``threads``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, Unpack

from paretocut._extras import require
from paretocut.adapters import arrow
from paretocut.adapters._columns import Options, check_columns, one_thread

__all__ = ["cut_lists", "cut_rows"]

Frame: TypeAlias = Any  # pyspark.sql.DataFrame


def cut_lists(
    frame: Frame,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    **options: Unpack[Options],
) -> Frame:
    """Return the frame, one row per query, with the number to keep and the results' surprise.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame`.
    column
        Name of the column with the scores: arrays of numbers, in any order.
    k, surprise
        Names of the new columns: ``bigint``, and ``array<double>`` in the order of the scores.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.
    """
    types = require("pyspark.sql.types", feature="the Spark functions", extra="spark")
    new = {"k": k, "surprise": surprise}
    check_columns("cut_lists", frame.columns, there={"column": column}, new=new)
    schema = types.StructType(
        [
            *frame.schema.fields,
            types.StructField(k, types.LongType()),
            types.StructField(surprise, types.ArrayType(types.DoubleType())),
        ]
    )
    settled = one_thread(options)

    def cut_batches(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield arrow.cut_lists(batch, column, k=k, surprise=surprise, **settled)

    return frame.mapInArrow(cut_batches, schema)


def cut_rows(
    frame: Frame,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
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
    surprise, kept
        Names of the new columns: ``double`` and ``boolean``.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.
    """
    types = require("pyspark.sql.types", feature="the Spark functions", extra="spark")
    there, new = {"query": query, "score": score}, {"surprise": surprise, "kept": kept}
    check_columns("cut_rows", frame.columns, there=there, new=new)
    schema = types.StructType(
        [
            *frame.schema.fields,
            types.StructField(surprise, types.DoubleType()),
            types.StructField(kept, types.BooleanType()),
        ]
    )
    settled = one_thread(options)

    def cut_query(table: Any) -> Any:
        return arrow.cut_rows(table, query, score, surprise=surprise, kept=kept, **settled)

    return frame.groupBy(query).applyInArrow(cut_query, schema)
