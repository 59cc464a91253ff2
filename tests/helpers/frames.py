"""Frames of every engine: how they are made of columns and read, and what each does with values.

`CASES` are the rows of the table in `docs/adapters/frames.md`, and the table says what becomes of
them in which engine.
"""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from columns import expected_rows, row_table
from support import ROOT, importorskip

import paretocut as pc

PAGE = ROOT / "docs/adapters/frames.md"
Columns = dict[str, Any]
"""Lists or Arrow arrays, by name."""


class Engine(NamedTuple):
    """How a frame is made of an Arrow table, and becomes one again."""

    make: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _pandas() -> Engine:
    importorskip("pandas")
    pa = importorskip("pyarrow")

    def read(frame: Any) -> Any:
        return pa.Table.from_pandas(frame.reset_index(drop=True), preserve_index=False)

    return Engine(lambda table: table.to_pandas(), read)


def _pandas_arrow() -> Engine:
    pd, pa = importorskip("pandas"), importorskip("pyarrow")
    return Engine(
        lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
        lambda frame: pa.Table.from_pandas(frame.reset_index(drop=True), preserve_index=False),
    )


def _arrow() -> Engine:
    return Engine(lambda table: table, lambda table: table)


def _batch() -> Engine:
    pa = importorskip("pyarrow")

    def make(table: Any) -> Any:
        columns = [table[name].combine_chunks() for name in table.column_names]
        return pa.RecordBatch.from_arrays(columns, names=table.column_names)

    return Engine(make, lambda batch: pa.Table.from_batches([batch]))


def _polars() -> Engine:
    pl = importorskip("polars")
    return Engine(pl.from_arrow, lambda frame: frame.to_arrow())


def _lazy() -> Engine:
    pl = importorskip("polars")
    return Engine(lambda table: pl.from_arrow(table).lazy(), lambda lazy: lazy.collect().to_arrow())


@functools.cache
def _connection() -> Any:
    return importorskip("duckdb").connect()


def _duckdb() -> Engine:
    def make(table: Any) -> Any:
        return importorskip("duckdb").from_arrow(table, connection=_connection())

    return Engine(make, lambda relation: relation.to_arrow_table())


ENGINES: dict[str, Callable[[], Engine]] = {
    "pandas": _pandas,
    "pandas on Arrow": _pandas_arrow,
    "Arrow": _arrow,
    "Arrow batch": _batch,
    "Polars": _polars,
    "Polars lazy": _lazy,
    "DuckDB": _duckdb,
}


def rows_kept(lists: dict[Any, list[float]], *, up: bool, **options: Any) -> list[Any]:
    """Return query and score of every row that is kept; the first of equal scores."""
    kept = []
    for query, scores in lists.items():
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=up)
        k = pc.cut([scores[i] for i in best], higher_is_better=up, **options).k
        kept += [(query, scores[i]) for i in sorted(best[:k])]
    return kept


def kept_rows(lists: list[list[float]], **options: Any) -> list[tuple[str, int, float]]:
    """Return the rows of `row_table` of these lists that are kept, in their order."""
    kept = {
        (f"q{i}", position)
        for i, scores in enumerate(lists)
        for position, (_, keeps) in enumerate(expected_rows(scores, **options))
        if keeps
    }
    rows = zip(*row_table(lists).values(), strict=True)
    return [row for row in rows if row[:2] in kept]


SCORES = [9.0, 8.5, 1.0, 0.9, 0.8, 0.7, 0.5]
BEST = {9.0, 8.5}  # what is kept of them
NAMES = ["a"] * len(SCORES)


class Case(NamedTuple):
    """A column of scores or queries of some kind, between columns that every engine reads."""

    query: Callable[[], Any]
    score: Callable[[], Any]
    read: Callable[[Any], set[Any]] = lambda table: set(table["score"].to_pylist())
    want: Any = BEST  # where the table says that it is read


def _array(values: list[Any], kind: str | None = None) -> Callable[[], Any]:
    def make() -> Any:
        pa = importorskip("pyarrow")
        return pa.array(values, None if kind is None else pa.type_for_alias(kind))

    return make


def _decimals() -> Any:
    pa = importorskip("pyarrow")
    return pa.array([decimal.Decimal(str(score)) for score in SCORES], pa.decimal128(10, 2))


def _categories() -> Any:
    """Return two chunks with different dictionaries, one with values that no row has, and null."""
    pa = importorskip("pyarrow")
    first = pa.DictionaryArray.from_arrays(pa.array([1, 1, 1, None], pa.int8()), ["x", "a"])
    second = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], pa.int8()), ["a", "b"])
    return pa.chunked_array([first, second])


def _queries(table: Any) -> set[Any]:
    return set(zip(table["query"].to_pylist(), table["score"].to_pylist(), strict=True))


_name = _array(NAMES)
_plain = _array(SCORES)
_large = 2**53
_day = datetime.datetime(2026, 1, 1)
CASES: dict[str, Case] = {
    "numbers of any size": Case(_name, _array([18, 17, 2, 2, 1, 1, 1], "int16"), want={18, 17}),
    "decimals": Case(
        _name, _decimals, lambda table: {float(one) for one in table["score"].to_pylist()}
    ),
    "scores: null": Case(_name, _array([None, *SCORES[:-1]])),
    "scores: NaN": Case(_name, _array([float("nan"), *SCORES[:-1]])),
    "scores: infinitely bad": Case(_name, _array([*SCORES[:-1], float("-inf")])),
    "scores: infinitely good": Case(_name, _array([float("inf"), *SCORES[:-1]])),
    "scores: text": Case(_name, _array([str(score) for score in SCORES])),
    "scores: true and false": Case(_name, _array([score > 1 for score in SCORES])),
    "scores: times": Case(_name, _array([_day] * len(SCORES))),
    "queries: null": Case(
        _array(["a", None, "a", None, "a", None, "a"]),
        _plain,
        _queries,
        {("a", 9.0), (None, 8.5)},
    ),
    "queries: 64-bit numbers": Case(
        _array([_large, _large + 1, *[_large, _large + 1] * 2, _large], "int64"),
        _plain,
        _queries,
        {(_large, 9.0), (_large + 1, 8.5)},
    ),
    "queries: categories": Case(
        _categories, _plain, _queries, {("a", 9.0), ("a", 8.5), (None, 0.9)}
    ),
    "queries: times": Case(_array([_day] * len(SCORES)), _plain),
    "queries: lists": Case(_array([["a"]] * len(SCORES)), _plain),
}


def documented() -> dict[str, dict[str, str]]:
    """Return what the page says of each case, by engine."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    (at,) = (i for i, row in enumerate(rows) if row[0] == "column")
    names = rows[at][1:]
    found = {}
    for row in rows[at + 2 :]:
        if row[0] not in CASES:
            break
        found[row[0]] = dict(zip(names, row[1:], strict=True))
    return found
