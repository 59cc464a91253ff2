"""Arrow tables: a column of lists in, columns with the decisions out.

Scores are read in place where they are doubles, in slices and chunks too. A null list has no
decision: its `k` and its surprise are null. A null score is a result without a score: it has no
part in the fit, its surprise is null, and it is not kept.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

import numpy as np

from paretocut._extras import require
from paretocut.adapters._columns import Options, check_columns, decide, decide_rows
from paretocut.errors import InvalidScoresError
from paretocut.types import FloatArray, Ragged

__all__ = ["cut_array", "cut_lists", "cut_rows"]

Table: TypeAlias = Any  # pyarrow.Table or pyarrow.RecordBatch


def cut_lists(
    table: Table,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    **options: Unpack[Options],
) -> Table:
    """Return the table, one row per query, with the number to keep and the results' surprise.

    Parameters
    ----------
    table
        A `pyarrow.Table` or `pyarrow.RecordBatch`; the same kind comes back.
    column
        Name of the column with the scores: lists of numbers, in any order.
    k, surprise
        Names of the new columns: integers, and lists in the order of the scores.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> noise = -np.log(np.linspace(0.005, 0.995, 197))
    >>> table = pa.table({"query": ["a", "b"], "scores": [[12.0, 11.0, *noise], None]})
    >>> cut_lists(table, evalue=0.05).column("k").to_pylist()
    [2, None]
    """
    new = {"k": k, "surprise": surprise}
    check_columns("cut_lists", table.schema.names, there={"column": column}, new=new)
    counts, scored = cut_array(table.column(column), **options)
    return table.append_column(k, counts).append_column(surprise, scored)


def cut_rows(
    table: Table,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    **options: Unpack[Options],
) -> Table:
    """Return the table, one row per result, with its surprise and whether it is kept.

    Parameters
    ----------
    table
        A `pyarrow.Table` or `pyarrow.RecordBatch`; the same kind comes back, its rows in order.
    query, score
        Names of the columns: rows with the same query are one list, wherever they are.
    surprise, kept
        Names of the new columns.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.
    """
    pa = require("pyarrow", feature="cut_rows", extra="arrow")
    there, new = {"query": query, "score": score}, {"surprise": surprise, "kept": kept}
    check_columns("cut_rows", table.schema.names, there=there, new=new)
    scores = _whole(pa, table.column(score))
    scored = scores.is_valid().to_numpy(zero_copy_only=False)
    codes = _whole(pa, table.column(query)).dictionary_encode("encode").indices.to_numpy()
    found, keep = decide_rows(codes[scored], _doubles(scores.drop_null()), options)
    all_found = np.zeros(len(scores))
    all_found[scored] = found
    all_kept = np.zeros(len(scores), dtype=np.bool_)
    all_kept[scored] = keep
    return table.append_column(surprise, pa.array(all_found, mask=~scored)).append_column(
        kept, pa.array(all_kept)
    )


def cut_array(lists: Any, **options: Unpack[Options]) -> tuple[Any, Any]:
    """Return two arrays, the number to keep of each list and lists of surprise.

    Parameters
    ----------
    lists
        A pyarrow array of lists (also large, fixed-size or view), or a `pyarrow.ChunkedArray`,
        whose chunks are worked on one by one and come back as chunks.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.
    """
    pa = require("pyarrow", feature="cut_array", extra="arrow")
    if not isinstance(lists, pa.ChunkedArray):
        return _cut_chunk(pa, lists, options)
    # A column without chunks still has a type, and it decides what comes back.
    chunks = lists.chunks or [pa.array([], lists.type)]
    counts, surprise = zip(*(_cut_chunk(pa, chunk, options) for chunk in chunks), strict=True)
    return pa.chunked_array(counts), pa.chunked_array(surprise)


def _cut_chunk(pa: Any, lists: Any, options: Options) -> tuple[Any, Any]:
    lists = _as_lists(pa, lists)
    null = lists.is_null().to_numpy(zero_copy_only=False)
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    flat = lists.flatten()  # unlike `values`, only what this slice holds, and nothing of nulls
    if flat.null_count == 0:
        k, surprise = decide(Ragged(_doubles(flat), offsets), options)
        found = pa.array(surprise.values)
    else:
        scored = flat.is_valid().to_numpy(zero_copy_only=False)
        before = np.concatenate([[0], np.cumsum(scored)])
        k, surprise = decide(Ragged(_doubles(flat.drop_null()), before[offsets]), options)
        values = np.zeros(len(flat))
        values[scored] = surprise.values
        found = pa.array(values, mask=~scored)
    large = pa.types.is_large_list(lists.type)
    make = pa.LargeListArray if large else pa.ListArray
    ends = pa.array(offsets if large else offsets.astype(np.int32))
    return pa.array(k, mask=null), make.from_arrays(ends, found, mask=pa.array(null))


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


def _doubles(values: Any) -> FloatArray:
    """Return the numbers as float64, in place if that is what they are."""
    array = values.to_numpy(zero_copy_only=False)
    if array.dtype.kind not in "iuf" and len(array):
        raise InvalidScoresError(f"cut_array: scores must be numbers, got {values.type}")
    return np.asarray(array, dtype=np.float64)
