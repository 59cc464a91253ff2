"""Arrow tables: a column of lists in, columns with the decisions out.

Scores are read in place where they are doubles, in slices and chunks too. A null list has no
decision: its `k` and its surprise are null. A null score is a result without a score: it has no
part in the fit, its surprise is null, and it is not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, Unpack

import numpy as np

from paretocut.adapters.frames import FrameCutter, FrameOptions, ListNames, RowNames, placed
from paretocut.errors import InvalidParameterError, InvalidScoresError, require
from paretocut.lists import BoolArray, FloatArray, Ragged, offsets_of

__all__ = ["ListsJob", "RowsJob", "cut_array", "cut_lists", "cut_rows", "cut_with"]

Table: TypeAlias = Any  # pyarrow.Table or pyarrow.RecordBatch


def cut_lists(
    table: Table,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    reason: str | None = "reason",
    **options: Unpack[FrameOptions],
) -> Table:
    """Return the table, one row per query, with the number to keep, the surprise and the reason.

    Parameters
    ----------
    table
        A `pyarrow.Table` or `pyarrow.RecordBatch`; the same kind comes back.
    column
        Name of the column with the scores: lists of numbers, in any order.
    k, surprise, reason
        Names of the new columns: integers, lists in the order of the scores, and sentences; None
        leaves the reason out.
    **options
        Who decides, as in `paretocut.cut`, with bounds; ``higher_is_better``; ``threads``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> noise = np.random.default_rng(0).exponential(size=197)
    >>> table = pa.table({"query": ["a", "b"], "scores": [[12.0, 11.0, *noise], None]})
    >>> cut_lists(table, evalue=0.05).column("k").to_pylist()
    [2, None]
    """
    cutter = FrameCutter("cut_lists", options)
    return ListsJob(cutter, ListNames(column, k, surprise, reason))(table)


def cut_rows(
    table: Table,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    reason: str | None = None,
    **options: Unpack[FrameOptions],
) -> Table:
    """Return the table, one row per result, with its surprise and whether it is kept.

    Parameters
    ----------
    table
        A `pyarrow.Table` or `pyarrow.RecordBatch`; the same kind comes back, its rows in order.
    query, score
        Names of the columns: rows with the same query are one list, wherever they are.
    surprise, kept, reason
        Names of the new columns; the reason of the row's list only if it has a name.
    **options
        As in `cut_lists`.
    """
    cutter = FrameCutter("cut_rows", options)
    return RowsJob(cutter, RowNames(query, score, surprise, kept, reason))(table)


def cut_array(lists: Any, **options: Unpack[FrameOptions]) -> tuple[Any, Any, Any]:
    """Return three arrays: the number to keep of each list, lists of surprise, and the reasons.

    Parameters
    ----------
    lists
        A pyarrow array of lists (also large, fixed-size or view), or a `pyarrow.ChunkedArray`,
        whose chunks are worked on one by one and come back as chunks.
    **options
        As in `cut_lists`.
    """
    return cut_with(lists, FrameCutter("cut_array", options))


@dataclass(frozen=True)
class ListsJob:
    """What `cut_lists` does with a table; clusters send it to their workers."""

    cutter: FrameCutter
    names: ListNames

    def __call__(self, table: Table) -> Table:
        names = self.names
        names.check(self.cutter.who, _names(table, self.cutter.who))
        counts, scored, reasons = cut_with(table.column(names.column), self.cutter)
        table = table.append_column(names.k, counts).append_column(names.surprise, scored)
        return table if names.reason is None else table.append_column(names.reason, reasons)


@dataclass(frozen=True)
class RowsJob:
    """What `cut_rows` does with a table; clusters send it to their workers."""

    cutter: FrameCutter
    names: RowNames

    def __call__(self, table: Table) -> Table:
        pa = require("pyarrow", feature="cut_rows", extra="arrow")
        names = self.names
        names.check(self.cutter.who, _names(table, self.cutter.who))
        scores = _whole(pa, table.column(names.score))
        scored = _mask(scores.is_valid())
        codes = _whole(pa, table.column(names.query)).dictionary_encode("encode").indices
        values = placed(_doubles(scores.drop_null()), scored, np.nan)
        surprise, kept, reasons = self.cutter.rows(codes.to_numpy(), values, scored)
        table = table.append_column(names.surprise, pa.array(surprise, mask=~scored))
        table = table.append_column(names.kept, pa.array(kept))
        if names.reason is None:
            return table
        return table.append_column(names.reason, pa.array(reasons(), pa.string()))


def rows_by_query(batches: Iterable[Any], query: str, job: RowsJob) -> Iterator[Any]:
    """Yield what the job makes of batches whose rows are sorted by query, in whole queries."""
    pa = require("pyarrow", feature="cut_rows", extra="arrow")
    held = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        held = table if held is None else pa.concat_tables([held, table])
        names = _whole(pa, held.column(query))
        # The last query may go on in the next batch.
        codes = names.dictionary_encode("encode").indices.to_numpy()
        start = int(np.argmax(codes == codes[-1])) if len(codes) else 0
        yield from job(held.slice(0, start)).to_batches() if start else ()
        held = held.slice(start)
    if held is not None:
        yield from job(held).to_batches()


def cut_with(lists: Any, cutter: FrameCutter) -> tuple[Any, Any, Any]:
    """Return what `cut_array` does, for options that were checked before."""
    pa = require("pyarrow", feature="cut_array", extra="arrow")
    if not isinstance(lists, (pa.Array, pa.ChunkedArray)):
        raise InvalidParameterError(
            f"{cutter.who}: lists must be an Arrow array of lists, got {type(lists).__name__}"
        )
    if not isinstance(lists, pa.ChunkedArray):
        return _cut_chunk(pa, lists, cutter)
    # A column without chunks still has a type, and it decides what comes back.
    chunks = lists.chunks or [pa.array([], lists.type)]
    columns = zip(*(_cut_chunk(pa, chunk, cutter) for chunk in chunks), strict=True)
    counts, surprise, reasons = (pa.chunked_array(column) for column in columns)
    return counts, surprise, reasons


def _cut_chunk(pa: Any, lists: Any, cutter: FrameCutter) -> tuple[Any, Any, Any]:
    lists = _as_lists(pa, lists)
    null = _mask(lists.is_null())
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    offsets = offsets_of(lengths.astype(np.int64))
    flat = lists.flatten()  # unlike `values`, only what this slice holds, and nothing of nulls
    scored, own = None, offsets
    if flat.null_count:
        scored = _mask(flat.is_valid())
        own = np.concatenate([[0], np.cumsum(scored)])[offsets]
    k, found, reasons = cutter.lists(Ragged(_doubles(flat.drop_null()), own), ~null)
    surprise = (
        pa.array(found) if scored is None else pa.array(placed(found, scored, 0), mask=~scored)
    )
    large = pa.types.is_large_list(lists.type)
    make = pa.LargeListArray if large else pa.ListArray
    ends = pa.array(offsets if large else offsets.astype(np.int32))
    return (
        pa.array(k, mask=null),
        make.from_arrays(ends, surprise, mask=pa.array(null)),
        pa.array(reasons, pa.string()),
    )


def _names(table: Table, who: str) -> list[str]:
    """Return the names of the columns, once the table is known to be one."""
    if not hasattr(table, "schema") or not hasattr(table, "append_column"):
        raise InvalidParameterError(
            f"{who}: table must be a pyarrow.Table or RecordBatch, got {type(table).__name__}"
        )
    names: list[str] = table.schema.names
    return names


def _as_lists(pa: Any, lists: Any) -> Any:
    """Return the array as lists or large lists; other kinds of lists are converted."""
    kind = lists.type
    if isinstance(lists, pa.ExtensionArray) and _dimensions(kind) == 1:
        lists = lists.storage  # a tensor of Ray's or of Arrow's own
        if pa.types.is_struct(lists.type) and lists.type.get_field_index("data") >= 0:
            lists = lists.flatten()[lists.type.get_field_index("data")]
    if pa.types.is_null(lists.type):
        return lists.cast(pa.list_(pa.float64()))
    if pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type):
        return lists
    if hasattr(lists.type, "value_type") and "list" in str(lists.type):
        return lists.cast(pa.large_list(lists.type.value_type))  # fixed-size lists and views
    raise InvalidScoresError(f"cut_array: lists must be an array of lists, got {kind}")


def _dimensions(kind: Any) -> int:
    """Return the dimensions of a type of tensors; other types of extensions count as one."""
    return len(kind.shape) if hasattr(kind, "shape") else getattr(kind, "ndim", 1)


def _whole(pa: Any, column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mask(flags: Any) -> BoolArray:
    mask: BoolArray = flags.to_numpy(zero_copy_only=False)
    return mask


def _doubles(values: Any) -> FloatArray:
    """Return the numbers as float64, in place if that is what they are."""
    array = values.to_numpy(zero_copy_only=False)
    if array.dtype.kind not in "iuf" and len(array):
        raise InvalidScoresError(f"cut_array: scores must be numbers, got {values.type}")
    return np.asarray(array, dtype=np.float64)
