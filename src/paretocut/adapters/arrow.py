"""Arrow columns as codes and doubles: the way into `Keeper` for all engines but pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.adapters.keeper import EXPLAINED, Found, Keeper, Lists
from paretocut.errors import InvalidParameterError, require
from paretocut.lists import FloatArray, IntArray, offsets_of


def keep_arrow(table: Any, keeper: Keeper) -> tuple[Any, Any]:
    """Return the rows kept of an Arrow table or batch, or its lists shortened; and decisions."""
    pa = pyarrow()
    keeper.check(table.schema.names)
    if not holds_lists(table.schema.field(keeper.score).type):
        found = found_in_rows(table, keeper)
        kept = table.filter(pa.array(found.mask))
        for name in keeper.columns:
            kept = kept.append_column(name, pa.array(found.of_rows(name), type_of(name)))
        return kept, keeper.decisions(found)
    made, found = found_in_lists(table, keeper)
    places = made["places"]
    for name in (keeper.score, *keeper.along):
        lists = _lists(table.column(name))
        starts = np.repeat(offsets_of(_lengths(lists))[:-1], found.cuts.k)
        values = lists.flatten().take(pa.array(places.flatten().to_numpy() + starts))
        large = pa.types.is_large_list(lists.type)
        make, size = (pa.LargeListArray, np.int64) if large else (pa.ListArray, np.int32)
        ends = pa.array(offsets_of(found.cuts.k).astype(size))
        short = make.from_arrays(ends, values, mask=places.is_null())
        table = table.set_column(table.schema.get_field_index(name), name, short)
    for name in keeper.columns:
        table = table.append_column(name, made[name])
    return table, found.cuts


def found_in_rows(table: Any, keeper: Keeper) -> Found:
    """Return the decisions on a table or batch with one row per result."""
    if keeper.along:
        raise InvalidParameterError(
            f"keep: along must be left out, because column {keeper.score!r} holds no lists"
        )
    scores = scores_of(table.column(keeper.score), keeper)
    if keeper.query is None:
        return keeper.found_in_one(scores)
    return keeper.found(codes_of(table.column(keeper.query), keeper), scores)


def found_in_lists(
    table: Any, keeper: Keeper, lengths_of: Mapping[Any, IntArray] | None = None
) -> tuple[Mapping[str, Any], Found]:
    """Return columns with the places kept in each list and what is explained; and decisions.

    ``lengths_of`` has the lengths of lists in columns that are not in the table.
    """
    pa = pyarrow()
    if keeper.query is not None:
        raise InvalidParameterError(
            f"keep: query must be left out, because column {keeper.score!r} holds the list of a "
            f"query in each row; got {keeper.query!r}"
        )
    lists = _lists(table.column(keeper.score))
    lengths, null = _lengths(lists), lists.is_null()
    for name in keeper.along:
        other = _lengths(_lists(table.column(name))) if lengths_of is None else lengths_of[name]
        different = np.flatnonzero(other != lengths)
        if different.size:
            raise InvalidParameterError(
                f"keep: along: column {name!r} must hold lists as long as those of column "
                f"{keeper.score!r}, got another length in row {different[0]}"
            )
    codes = np.repeat(np.arange(len(lists)), lengths)
    scores = scores_of(lists.flatten(), keeper)
    found = keeper.found(Lists(codes, len(lists), lambda i: f"of row {i}"), scores)
    k = found.cuts.k

    def listed(values: NDArray[Any]) -> Any:
        return pa.LargeListArray.from_arrays(pa.array(offsets_of(k)), pa.array(values), mask=null)

    starts = np.repeat(offsets_of(lengths)[:-1], k)
    made = {"places": listed(np.flatnonzero(found.mask) - starts)}
    mask = null.to_numpy(zero_copy_only=False)
    for name in keeper.columns:
        if name == "surprise":
            made[name] = listed(found.of_rows(name))
        else:
            made[name] = pa.array(found.of_lists(name), type_of(name), mask=mask)
    return made, found


def explained(found: Found, keeper: Keeper) -> dict[str, Any]:
    """Return what is explained, in columns as long as the frame: null where a row is dropped."""
    pa = pyarrow()
    rank = pa.array(np.cumsum(found.mask) - 1, mask=~found.mask)  # among the rows kept
    return {
        name: pa.array(found.of_rows(name), type_of(name)).take(rank) for name in keeper.columns
    }


def codes_of(column: Any, keeper: Keeper) -> Lists:
    """Return a number for each query, by its first row; null is a query like any other."""
    pa = pyarrow()
    values = _whole(column)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        # A dictionary may hold a value twice, null, and values that no row has.
        words = pa.concat_arrays([values.dictionary, pa.nulls(1, values.type.value_type)])
        by_word = codes_of(words, keeper)
        places = values.indices.cast(pa.int64()).fill_null(len(words) - 1)
        codes, size, word_of = codes_of(pa.array(by_word.codes[places.to_numpy()]), keeper)
        return Lists(codes, size, lambda i: by_word.query_of(word_of(i)))  # type: ignore[arg-type]
    try:
        encoded = values.dictionary_encode("encode")
    except pa.ArrowNotImplementedError:
        raise keeper.no_queries(column.type) from None
    words = encoded.dictionary
    return Lists(encoded.indices.to_numpy(), len(words), lambda i: words[i].as_py())


def scores_of(column: Any, keeper: Keeper) -> FloatArray:
    """Return numbers of any type as doubles, NaN in the place of null."""
    pa = pyarrow()
    kind, types = column.type, pa.types
    if not any(
        test(kind)
        for test in (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    ):
        raise keeper.no_numbers(kind)
    doubles = _whole(column).cast(pa.float64(), safe=False)  # rounds integers that are too large
    numbers: FloatArray = doubles.to_numpy(zero_copy_only=False)
    return numbers


def holds_lists(kind: Any) -> bool:
    """Return whether an Arrow type is one of lists, or of tensors with one dimension."""
    if hasattr(kind, "shape") or hasattr(kind, "ndim"):
        return (len(kind.shape) if hasattr(kind, "shape") else kind.ndim) == 1
    return "list" in str(kind).partition("<")[0]


def type_of(name: str) -> Any:
    """Return the Arrow type of a column of `EXPLAINED`."""
    return pyarrow().type_for_alias(EXPLAINED[name])


def pyarrow() -> Any:
    return require("pyarrow", feature="keep for this frame", extra="arrow")


def _lists(column: Any) -> Any:
    """Return a column of lists in one piece; tensors of Ray's or Arrow's own become lists."""
    pa = pyarrow()
    lists = _whole(column)
    if isinstance(lists, pa.ExtensionArray):
        lists = lists.storage
        if pa.types.is_struct(lists.type):
            lists = lists.flatten()[lists.type.get_field_index("data")]
    return lists


def _lengths(lists: Any) -> IntArray:
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, dtype=np.int64)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "chunks") else column
