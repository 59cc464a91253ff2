"""Ray Data: columns of decisions for datasets with one row per query, or one per result.

The workers need paretocut. A query must be in one piece: a list in one row, or rows that
`cut_rows` brings together. Each task uses one thread, since Ray gives it one CPU; to use more, pass
``threads`` and ``ray_remote_args={"num_cpus": ...}``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeAlias, Unpack

from paretocut._extras import require
from paretocut.adapters import arrow
from paretocut.adapters._columns import Options, one_thread

__all__ = ["cut_lists", "cut_rows"]

Dataset: TypeAlias = Any  # ray.data.Dataset


def cut_lists(
    dataset: Dataset,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Dataset:
    """Return the dataset, one row per query, with the number to keep and the results' surprise.

    Blocks are read in place, as they lie in Ray's store, one block at a time.

    Parameters
    ----------
    dataset
        A `ray.data.Dataset`.
    column
        Name of the column with the scores: lists of numbers or 1-D arrays, in any order.
    k, surprise
        Names of the new columns: integers, and lists in the order of the scores.
    ray_remote_args
        Resources of a task and other arguments of `ray.remote`.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.
    """
    require("ray.data", feature="the Ray functions", extra="ray")
    names = {"column": column, "k": k, "surprise": surprise}
    return dataset.map_batches(
        functools.partial(arrow.cut_lists, **names, **one_thread(options)),
        batch_format="pyarrow",
        batch_size=None,
        zero_copy_batch=True,
        **(ray_remote_args or {}),
    )


def cut_rows(
    dataset: Dataset,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Dataset:
    """Return the dataset, one row per result, with its surprise and whether it is kept.

    Rows are brought together by query, which moves them across the cluster; their order is lost.

    Parameters
    ----------
    dataset
        A `ray.data.Dataset`.
    query, score
        Names of the columns: rows with the same query are one list.
    surprise, kept
        Names of the new columns.
    ray_remote_args
        Resources of a task and other arguments of `ray.remote`.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.
    """
    require("ray.data", feature="the Ray functions", extra="ray")
    names = {"query": query, "score": score, "surprise": surprise, "kept": kept}
    return dataset.groupby(query).map_groups(
        functools.partial(arrow.cut_rows, **names, **one_thread(options)),
        batch_format="pyarrow",
        **(ray_remote_args or {}),
    )
