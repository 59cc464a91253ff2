"""`keep` for Spark and Ray: the workers decide, one thread a task, and nothing comes back twice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from paretocut.adapters.arrow import (
    codes_of,
    explained,
    found_in_lists,
    found_in_rows,
    holds_lists,
    keep_arrow,
    pyarrow,
)
from paretocut.adapters.keeper import EXPLAINED, Keeper
from paretocut.errors import InvalidParameterError, require
from paretocut.tail import limited_threads

_FOUND = "__paretocut"


def keep_spark(frame: Any, keeper: Keeper) -> tuple[Any, None]:
    """Return the Spark frame of the rows kept, or with its lists shortened."""
    F = require("pyspark.sql.functions", feature="keep", extra="spark")
    types = require("pyspark.sql.types", feature="keep", extra="spark")
    keeper.check(frame.columns)
    kinds = {"int64": types.LongType(), "double": types.DoubleType(), "str": types.StringType()}
    new = {name: kinds[EXPLAINED[name]] for name in keeper.columns}
    in_lists = isinstance(frame.schema[keeper.score].dataType, types.ArrayType)
    if in_lists:
        names = [keeper.score, *keeper.along]
        if "surprise" in new:
            new["surprise"] = types.ArrayType(types.DoubleType())
        fields = {"places": types.ArrayType(types.LongType()), **new}
    else:
        _check_query(keeper)
        names = [keeper.query, keeper.score]
        queries, scores = (frame.schema[name].dataType for name in names)
        if not isinstance(scores, types.NumericType):
            raise keeper.no_numbers(scores.simpleString())
        if isinstance(queries, (types.ArrayType, types.MapType, types.StructType)):
            raise keeper.no_queries(queries.simpleString())
        fields = {"kept": types.BooleanType(), **new}
        # Sorted, a query is in one piece. A call for each query would cost far more.
        query = F.col(_quoted(keeper.query))
        frame = frame.repartition(query).sortWithinPartitions(query)
    schema = types.StructType([types.StructField(name, kind) for name, kind in fields.items()])
    decide = F.arrow_udf(_on_workers(frame, keeper, names), schema)
    # Only these columns cross to Python. A decision depends on other rows, so Spark must neither
    # filter before it nor decide twice: only with a function that is not deterministic it does not.
    columns = [F.col(_quoted(name)) for name in names]
    frame = frame.withColumn(_FOUND, decide.asNondeterministic()(*columns))
    found = F.col(_FOUND)
    if in_lists:
        for name, column in zip(names, columns, strict=True):
            places = found["places"].cast("array<int>")
            frame = frame.withColumn(name, F.transform(places, functools.partial(F.get, column)))
    else:
        frame = frame.where(found["kept"])
    return frame.withColumns({name: found[name] for name in new}).drop(_FOUND), None


def keep_ray(dataset: Any, keeper: Keeper) -> tuple[Any, None]:
    """Return the Ray dataset of the rows kept, or with its lists shortened."""
    ray = require("ray", feature="keep", extra="ray")
    how = {"batch_format": "pyarrow", "batch_size": None, "zero_copy_batch": True}
    sent = ray.put(keeper)
    if keeper.query is not None:
        # As `groupby(query).map_groups` does, but with one call for a block, not for every query:
        # a sorted dataset has all rows of a query in one block.
        dataset = dataset.map_batches(functools.partial(_sortable, sent=sent), **how)
        dataset = dataset.sort(keeper.query)
    return dataset.map_batches(functools.partial(_keep_block, sent=sent), **how), None


def _sortable(block: Any, *, sent: Any) -> Any:
    """Return the block with queries that Ray can sort, which it cannot do with categories."""
    keeper, types = _received(sent), pyarrow().types
    keeper.check(block.schema.names)
    kind = block.schema.field(keeper.query).type
    if types.is_nested(kind):
        raise keeper.no_queries(kind)
    if not types.is_dictionary(kind):
        return block
    plain = block.column(keeper.query).cast(kind.value_type)
    return block.set_column(block.schema.get_field_index(keeper.query), keeper.query, plain)


def _keep_block(block: Any, *, sent: Any) -> Any:
    keeper = _received(sent)
    keeper.check(block.schema.names)
    if not holds_lists(block.schema.field(keeper.score).type):
        _check_query(keeper)
    with limited_threads(1):
        return keep_arrow(block, keeper)[0]


def _received(sent: Any) -> Keeper:
    keeper: Keeper = require("ray", feature="keep", extra="ray").get(sent)
    return keeper


def _check_query(keeper: Keeper) -> None:
    if keeper.query is None:
        raise InvalidParameterError(
            "keep: query must name a column, because the rows of this frame are in many places and "
            f"column {keeper.score!r} holds no lists; got None"
        )


def _on_workers(frame: Any, keeper: Keeper, names: list[str]) -> Callable[..., Any]:
    """Return the function that Spark calls with batches of these columns."""
    pa = pyarrow()
    try:
        sent = frame.sparkSession.sparkContext.broadcast(keeper)
        get: Callable[[], Keeper] = lambda: sent.value  # noqa: E731
    except Exception:  # Spark Connect has no broadcasts: the keeper travels with each task
        get = lambda: keeper  # noqa: E731

    def run(batches: Any) -> Any:
        own = get()
        tables = (_table(batch, names) for batch in batches)
        with limited_threads(1):
            if own.query is None:
                yield from (_struct(found_in_lists(table, own)[0]) for table in tables)
            else:
                yield from (_flags(table, own) for table in whole_queries(tables, own))

    given: Any = pa.Array if len(names) == 1 else tuple[pa.Array, ...]  # type: ignore[name-defined]
    hints = {"batches": Iterator[given], "return": Iterator[pa.Array]}  # type: ignore[name-defined]
    run.__annotations__ = hints
    return run


def whole_queries(tables: Iterable[Any], keeper: Keeper) -> Iterator[Any]:
    """Yield tables of whole queries, from tables whose rows are sorted by query."""
    pa = pyarrow()
    held: list[Any] = []  # of one query, which may go on
    for table in tables:
        codes = codes_of(table.column(keeper.query), keeper).codes
        start = int(np.argmax(codes == codes[-1])) if len(codes) else 0
        if start:
            yield pa.concat_tables([*held, table.slice(0, start)])
            held = []
        held.append(table.slice(start))
    if held:
        yield pa.concat_tables(held)


def _table(batch: Any, names: list[str]) -> Any:
    return pyarrow().table(list(batch) if isinstance(batch, tuple) else [batch], names=names)


def _flags(table: Any, keeper: Keeper) -> Any:
    """Return which rows are kept, and what is explained of them."""
    found = found_in_rows(table, keeper)
    return _struct({"kept": pyarrow().array(found.mask), **explained(found, keeper)})


def _struct(columns: Mapping[str, Any]) -> Any:
    return pyarrow().StructArray.from_arrays(list(columns.values()), names=list(columns))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
