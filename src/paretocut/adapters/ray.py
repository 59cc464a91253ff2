"""Ray Data: columns of decisions for datasets with one row per query, or one per result.

The workers need paretocut. A query must be in one piece: a list in one row, or rows that
`cut_rows` brings together. Each task uses one thread, since Ray gives it one CPU; to use more, pass
``threads`` and ``ray_remote_args={"num_cpus": ...}``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeAlias, Unpack

from paretocut.adapters.arrow import ListsJob, RowsJob
from paretocut.adapters.frames import FrameCutter, FrameOptions, ListNames, RowNames
from paretocut.errors import InvalidParameterError, require

__all__ = ["cut_lists", "cut_rows"]

Dataset: TypeAlias = Any  # ray.data.Dataset


def cut_lists(
    dataset: Dataset,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    reason: str | None = "reason",
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Unpack[FrameOptions],
) -> Dataset:
    """Return the dataset, one row per query, with the number to keep, surprise and reason.

    Blocks are read in place, as they lie in Ray's store, one block at a time.

    Parameters
    ----------
    dataset
        A `ray.data.Dataset`.
    column
        Name of the column with the scores: lists of numbers or 1-D arrays, in any order.
    k, surprise, reason
        Names of the new columns: integers, lists in the order of the scores, and sentences; None
        leaves the reason out.
    ray_remote_args
        Resources of a task and other arguments of `ray.remote`.
    **options
        Who decides, as in `paretocut.cut`, with bounds; ``higher_is_better``; ``threads``.
    """
    cutter = FrameCutter("cut_lists", {"threads": 1, **options})
    _check(dataset, cutter.who)
    job = ListsJob(cutter, ListNames(column, k, surprise, reason))
    return _mapped(dataset, job, ray_remote_args)


def cut_rows(
    dataset: Dataset,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    reason: str | None = None,
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Unpack[FrameOptions],
) -> Dataset:
    """Return the dataset, one row per result, with its surprise and whether it is kept.

    Rows are brought together by query, which moves them across the cluster and sorts them by query.

    Parameters
    ----------
    dataset
        A `ray.data.Dataset`.
    query, score
        Names of the columns: rows with the same query are one list.
    surprise, kept, reason
        Names of the new columns; the reason of the row's list only if it has a name.
    ray_remote_args
        Resources of a task and other arguments of `ray.remote`.
    **options
        Who decides, as in `paretocut.cut`, with bounds; ``higher_is_better``; ``threads``.
    """
    cutter = FrameCutter("cut_rows", {"threads": 1, **options})
    _check(dataset, cutter.who)
    # As `groupby(query).map_groups` does, but with one call for a block, not for every query:
    # a sorted dataset has all rows of a query in one block.
    return _mapped(
        dataset.sort(query),
        RowsJob(cutter, RowNames(query, score, surprise, kept, reason)),
        ray_remote_args,
    )


def _check(dataset: Dataset, who: str) -> None:
    _ray()
    if not hasattr(dataset, "map_batches"):
        raise InvalidParameterError(
            f"{who}: dataset must be a ray.data.Dataset, got {type(dataset).__name__}"
        )


def _mapped(dataset: Dataset, job: ListsJob | RowsJob, remote: Mapping[str, Any] | None) -> Dataset:
    """Return what the job makes of each block; the job itself goes to each node once."""
    return dataset.map_batches(
        functools.partial(_run, sent=_ray().put(job)),
        batch_format="pyarrow",
        batch_size=None,
        zero_copy_batch=True,
        **(remote or {}),
    )


def _run(table: Any, *, sent: Any) -> Any:
    return _ray().get(sent)(table)


def _ray() -> Any:
    return require("ray", feature="the Ray functions", extra="ray")
