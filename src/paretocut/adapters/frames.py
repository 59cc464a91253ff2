"""`keep` for frames with one row per result; on clusters the workers decide."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paretocut.decisions import Cuts
from paretocut.decisions.warnings import warn
from paretocut.errors import InvalidParameterError, InvalidScoresError, ParetocutError, require
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists, offsets_of
from paretocut.schema.parameters import check_bool, check_choice
from paretocut.tail import limited_threads
from paretocut.truncators.choose import Chosen

Frame: TypeAlias = Any
# Which list each row belongs to, how many lists there are, and the query of a list.
Lists: TypeAlias = tuple[NDArray[Any], int, Callable[[int], object]]

EXPLAINED = {"k": "int64", "n": "int64", "surprise": "double", "reason": "str", "warnings": "str"}
"""The columns that can be asked for, and their types."""

_FOUND = "__paretocut"


def keep_frame(
    frame: Frame,
    *,
    query: Any = None,
    score: Any = None,
    higher_is_better: bool | None = None,
    explain: bool | Iterable[str] = False,
    on_error: str = "raise",
    **options: Any,
) -> Any:
    """Return the rows worth keeping of a frame with one row per result, as `paretocut.keep`."""
    engine: Engine = engine_of(frame.__class__)  # type: ignore[assignment]
    if score is None:
        raise InvalidParameterError("keep: score must name the column with the scores, got None")
    chosen = Chosen.of("keep", options)
    up = chosen.truncator.direction
    if higher_is_better is not None:
        up = check_bool(higher_is_better, who="keep", name="higher_is_better")
    names = () if isinstance(explain, bool) else (explain,) if isinstance(explain, str) else explain
    columns = tuple(
        check_choice(one, tuple(EXPLAINED), who="keep", name="explain") for one in names
    )
    if query is None and engine in (_spark, _ray):
        raise InvalidParameterError(
            "keep: query must name a column, because the rows of this frame are in many places; "
            "got None"
        )
    drop = check_choice(on_error, ("raise", "drop"), who="keep", name="on_error") == "drop"
    kept, cuts = engine(frame, Keeper(chosen, query, score, columns, up, explain is True, drop))
    if explain is not True:
        return kept
    if cuts is None:
        raise InvalidParameterError(
            "keep: explain must name columns, such as ['reason'], because this frame is decided on "
            f"later or elsewhere ({type(frame).__module__}); got True"
        )
    return kept, cuts[0] if query is None else cuts


class Found(NamedTuple):
    """The decisions on the lists of a frame, and which rows they keep."""

    cuts: Cuts
    mask: BoolArray
    rows: IntArray  # kept, list by list
    places: IntArray  # of these among the results of all lists, best first

    def columns(self, names: Collection[str]) -> dict[str, NDArray[Any]]:
        """Return columns of `EXPLAINED` for the rows kept, in their order."""
        made, cuts = {}, self.cuts
        order = np.argsort(self.rows, kind="stable") if names else self.rows
        for name in names:
            if name == "surprise":
                made[name] = cuts.surprise.values[self.places][order]
                continue
            of_lists: Any = cuts.reasons if name == "reason" else getattr(cuts, name)
            if name == "warnings":
                of_lists = map(", ".join, of_lists)
            kind = object if EXPLAINED[name] == "str" else np.int64
            made[name] = np.repeat(np.fromiter(of_lists, kind, len(cuts)), cuts.k)[order]
        return made

    def arrow_columns(self, names: Collection[str]) -> dict[str, Any]:
        pa = _pyarrow()
        found = self.columns(names).items()
        return {name: pa.array(own, pa.type_for_alias(EXPLAINED[name])) for name, own in found}

    def flags(self, names: Collection[str]) -> dict[str, Any]:
        """Return columns as long as the frame: which rows are kept, and what explains these."""
        pa = _pyarrow()
        rank = pa.array(np.cumsum(self.mask) - 1, mask=~self.mask)  # among the rows kept
        new = {name: column.take(rank) for name, column in self.arrow_columns(names).items()}
        return {"kept": pa.array(self.mask), **new}


@dataclass(frozen=True)
class Keeper:
    """A call of `keep` on a frame, its options checked once; clusters send it to their workers."""

    chosen: Chosen
    query: Any
    score: Any
    columns: tuple[str, ...]  # to explain
    up: bool | None
    named: bool  # whether the decisions know their queries
    drop: bool = False  # keep nothing of lists that cannot be decided on

    def check(self, present: Collection[Any]) -> None:
        """Refuse names of columns that are not there, there twice, or in the way."""
        there = list(present)
        for argument, name in (("query", self.query), ("score", self.score)):
            count = there.count(name)
            if count != 1 and not (argument == "query" and name is None):
                raise InvalidParameterError(
                    f"keep: {argument} must name one column, one of {', '.join(map(str, there))}; "
                    f"got {name!r}" + (f", the name of {count} columns" if count else "")
                )
        for name in self.columns:
            if name in there:
                raise InvalidParameterError(
                    f"keep: explain must name a new column, got {name!r}, which is there already"
                )

    def refused(self, name: Any, kind: object) -> ParetocutError:
        if name == self.score:
            more = "; explode its lists, or use pc.cut_batch" if "list" in str(kind) else ""
            return InvalidScoresError(f"keep: column {name!r} must hold numbers, got {kind}{more}")
        return InvalidParameterError(
            f"keep: column {name!r} must hold names or numbers of queries, got {kind}"
        )

    def found(self, column: Callable[[Any], Any]) -> Found:
        """Return the decisions on a frame, whose columns this function returns as Arrow."""
        scores, up = _scores_of(column(self.score), self), self.up
        if self.query is not None:
            return self._decided(codes_of(column(self.query), self), scores, up is not False)
        if up is None:
            known = scores[np.isfinite(scores)]
            up = bool((known[1:] <= known[:-1]).all())
            if not up and not (known[1:] >= known[:-1]).all():
                raise InvalidScoresError(
                    "keep: query must name a column; or, if the frame answers one query, "
                    "higher_is_better must be given, because its rows come in no order"
                )
        one = np.zeros(scores.size, dtype=np.int64), 1, lambda _: None
        return self._decided(one, scores, up)

    def _decided(self, lists: Lists, scores: FloatArray, up: bool) -> Found:
        """Return the decisions on rows in any order; missing scores take no part."""
        codes, size, query_of = lists
        values, rows = scores, None  # None: all of them, as they are
        if not np.isfinite(scores).all():
            there = np.isfinite(scores)
            endless = np.flatnonzero(scores == (np.inf if up else -np.inf))  # others are padding
            if endless.size:
                row, bad = int(endless[0]), np.unique(codes[endless])
                text = f"keep: column {self.score!r} must hold finite scores, got one that is "
                text += f"infinite in row {row}, of query {query_of(int(codes[row]))!r}"
                if not self.drop:
                    raise InvalidScoresError(f"{text}; on_error='drop' keeps nothing of such lists")
                warn(f"{text}; nothing is kept of {bad.size} such lists")
                there &= ~np.isin(codes, bad)
            rows = np.flatnonzero(there)
            values, codes = values[rows], codes[rows]
        if (codes[1:] < codes[:-1]).any():
            together = _together(codes)
            rows = together if rows is None else rows[together]
            values = values[together]
        offsets = offsets_of(np.bincount(codes, minlength=size).astype(np.int64, copy=False))
        ranked, order = RankedLists.of_scores(
            Ragged.unchecked(values, offsets), up, who="keep", any_order=True
        )
        if self.named and self.query is not None:
            names = [str(query_of(i)) for i in range(size)]
            ranked = RankedLists(ranked.scores, query_ids=names, higher_is_better=up)
        cuts = self.chosen.cut_batch(ranked)
        starts = offsets[:-1] - offsets_of(cuts.k)[:-1]
        places = np.arange(int(cuts.k.sum())) + np.repeat(starts, cuts.k)
        kept = places if order is None else order[places]
        kept = kept if rows is None else rows[kept]
        mask = np.zeros(scores.size, dtype=np.bool_)
        mask[kept] = True
        return Found(cuts, mask, kept, places)


def _together(codes: NDArray[Any]) -> IntArray:
    """Return the order that brings equal codes together, in linear time."""
    order: IntArray | None = None
    for shift in range(0, int(codes.max()).bit_length(), 16):
        digits = (codes >> shift).astype(np.uint16)  # NumPy sorts 16 bits by radix, not more
        step = np.argsort(digits if order is None else digits[order], kind="stable")
        order = step if order is None else order[step]
    assert order is not None
    return order


def codes_of(column: Any, keeper: Keeper) -> Lists:
    """Return a number for each query, by its first row; null is a query like any other."""
    pa = _pyarrow()
    values = column.combine_chunks() if hasattr(column, "chunks") else column
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        # A dictionary may hold a value twice, null, and values that no row has.
        words = pa.concat_arrays([values.dictionary, pa.nulls(1, values.type.value_type)])
        by_word, _, query_of = codes_of(words, keeper)
        places = values.indices.cast(pa.int64()).fill_null(len(words) - 1)
        codes, size, word_of = codes_of(pa.array(by_word[places.to_numpy()]), keeper)
        return codes, size, lambda i: query_of(word_of(i))  # type: ignore[arg-type]
    try:
        encoded = values.dictionary_encode("encode")
    except pa.ArrowNotImplementedError:
        raise keeper.refused(keeper.query, column.type) from None
    words = encoded.dictionary
    return encoded.indices.to_numpy(), len(words), lambda i: words[i].as_py()


def _scores_of(column: Any, keeper: Keeper) -> FloatArray:
    """Return numbers of any type as doubles, NaN in the place of null."""
    pa = _pyarrow()
    kind, types = column.type, pa.types
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if not any(test(kind) for test in numeric):
        raise keeper.refused(keeper.score, kind)
    doubles = column.cast(pa.float64(), safe=False)  # rounds integers that are too large
    return np.asarray(doubles)


def _pyarrow() -> Any:
    return require("pyarrow", feature="keep for this frame", extra="arrow")


def _pandas(frame: Frame, keeper: Keeper) -> tuple[Frame, Cuts]:
    pa = _pyarrow()
    keeper.check(frame.columns)

    def column(name: Any) -> Any:
        try:
            return pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, OverflowError) as error:
            raise keeper.refused(name, error) from error

    found = keeper.found(column)
    return frame[found.mask].assign(**found.columns(keeper.columns)), found.cuts


def _arrow(table: Frame, keeper: Keeper) -> tuple[Frame, Cuts]:
    keeper.check(table.schema.names)
    found = keeper.found(table.column)
    kept = table.filter(_pyarrow().array(found.mask))
    for name, column in found.arrow_columns(keeper.columns).items():
        kept = kept.append_column(name, column)
    return kept, found.cuts


def _polars(frame: Frame, keeper: Keeper) -> tuple[Frame, Cuts]:
    pl = require("polars", feature="keep", extra="polars")
    keeper.check(frame.columns)
    found = keeper.found(lambda name: frame.select(name).to_arrow().column(0))
    new = found.arrow_columns(keeper.columns).items()
    added = (pl.from_arrow(column).alias(name) for name, column in new)
    return frame.filter(pl.Series(found.mask)).with_columns(added), found.cuts


def _lazy_polars(frame: Frame, keeper: Keeper) -> tuple[Frame, None]:
    pl = require("polars", feature="keep", extra="polars")
    schema = frame.collect_schema()
    keeper.check(schema.names())
    kinds = {"int64": pl.Int64, "double": pl.Float64, "str": pl.String}
    schema = {**schema, **{name: kinds[EXPLAINED[name]] for name in keeper.columns}}
    return frame.map_batches(lambda part: _polars(part, keeper)[0], schema=schema), None


def _duckdb(relation: Frame, keeper: Keeper) -> tuple[Frame, Cuts]:
    keeper.check(relation.columns)
    rows = relation.materialize()  # once: its rows may come in another order next time
    used = ('"' + name.replace('"', '""') + '"' for name in {keeper.query, keeper.score} - {None})
    table = rows.select(", ".join(used)).to_arrow_table()
    found = keeper.found(table.column)
    _pc_made = _pyarrow().table(found.flags(keeper.columns))  # the statement knows it by its name
    columns = ", ".join(["_pc_own.*", *(f"_pc_made.{name}" for name in keeper.columns)])
    sql = f"select {columns} from _pc_own positional join _pc_made where _pc_made.kept"
    return rows.query("_pc_own", sql), found.cuts


def _spark(frame: Frame, keeper: Keeper) -> tuple[Frame, None]:
    F = require("pyspark.sql.functions", feature="keep", extra="spark")
    types = require("pyspark.sql.types", feature="keep", extra="spark")
    keeper.check(frame.columns)
    queries, scores = (frame.schema[name].dataType for name in (keeper.query, keeper.score))
    if not isinstance(scores, types.NumericType):
        raise keeper.refused(keeper.score, scores.simpleString())
    if isinstance(queries, (types.ArrayType, types.MapType, types.StructType)):
        raise keeper.refused(keeper.query, queries.simpleString())
    kinds = {"int64": "bigint", "double": "double", "str": "string"}
    schema = ["kept boolean", *(f"{name} {kinds[EXPLAINED[name]]}" for name in keeper.columns)]
    decide = F.arrow_udf(_on_workers(keeper), ", ".join(schema)).asNondeterministic()
    query, score = (
        F.col("`" + name.replace("`", "``") + "`") for name in (keeper.query, keeper.score)
    )
    # Sorted, a query is in one piece. A call for each query would cost far more. Only these columns
    # cross to Python. A decision depends on other rows, so Spark must neither filter before it nor
    # decide twice: only with a function that is not deterministic it does not.
    frame = frame.repartition(query).sortWithinPartitions(query)
    frame = frame.withColumn(_FOUND, decide(query, score))
    found = F.col(_FOUND)
    kept = frame.where(found["kept"])
    return kept.withColumns({name: found[name] for name in keeper.columns}).drop(_FOUND), None


def _on_workers(keeper: Keeper) -> Callable[..., Any]:
    """Return the function that Spark calls with batches of queries and scores."""
    pa = _pyarrow()

    def run(batches: Any) -> Any:
        names = [keeper.query, keeper.score]
        tables = (_pyarrow().table(list(batch), names=names) for batch in batches)
        with limited_threads(1):
            for table in whole_queries(tables, keeper):
                flags = keeper.found(table.column).flags(keeper.columns)
                yield _pyarrow().StructArray.from_arrays(list(flags.values()), names=list(flags))

    given = Iterator[tuple[pa.Array, pa.Array]]  # type: ignore[name-defined]
    run.__annotations__ = {"batches": given, "return": Iterator[pa.Array]}  # type: ignore[name-defined]
    return run


def whole_queries(tables: Iterable[Any], keeper: Keeper) -> Iterator[Any]:
    """Yield tables of whole queries, from tables whose rows are sorted by query."""
    pa = _pyarrow()
    held: list[Any] = []  # of one query, which may go on
    for table in tables:
        codes = codes_of(table.column(keeper.query), keeper)[0]
        start = int(np.argmax(codes == codes[-1])) if len(codes) else 0
        if start:
            yield pa.concat_tables([*held, table.slice(0, start)])
            held = []
        held.append(table.slice(start))
    if held:
        yield pa.concat_tables(held)


def _ray(dataset: Frame, keeper: Keeper) -> tuple[Frame, None]:
    # As `groupby(query).map_groups` does, but with one call for a block, not for every query:
    # a sorted dataset has all rows of a query in one block.
    how = {"batch_format": "pyarrow", "batch_size": None, "zero_copy_batch": True}
    dataset = dataset.map_batches(functools.partial(_sortable, keeper=keeper), **how)
    dataset = dataset.sort(keeper.query)
    return dataset.map_batches(functools.partial(_keep_block, keeper=keeper), **how), None


def _sortable(block: Any, *, keeper: Keeper) -> Any:
    """Return the block with queries that Ray can sort, which it cannot do with categories."""
    types = _pyarrow().types
    keeper.check(block.schema.names)
    kind = block.schema.field(keeper.query).type
    if types.is_nested(kind):
        raise keeper.refused(keeper.query, kind)
    if not types.is_dictionary(kind):
        return block
    plain = block.column(keeper.query).cast(kind.value_type)
    return block.set_column(block.schema.get_field_index(keeper.query), keeper.query, plain)


def _keep_block(block: Any, *, keeper: Keeper) -> Any:
    with limited_threads(1):
        return _arrow(block, keeper)[0]


Engine: TypeAlias = Callable[[Frame, Keeper], tuple[Frame, "Cuts | None"]]
_ENGINES: Mapping[tuple[str, str], Engine] = {
    ("pandas.", "DataFrame"): _pandas,
    ("polars.", "DataFrame"): _polars,
    ("polars.", "LazyFrame"): _lazy_polars,
    ("pyarrow.", "Table"): _arrow,
    ("pyarrow.", "RecordBatch"): _arrow,
    ("duckdb.", "DuckDBPyRelation"): _duckdb,
    ("pyspark.sql.", "DataFrame"): _spark,
    ("ray.data.", "Dataset"): _ray,
}


@functools.cache
def engine_of(kind: type) -> Engine | None:
    """Return the function that keeps rows of frames of this type, known by its classes' names."""
    for own in kind.__mro__:
        module = f"{own.__module__.removeprefix('_')}."
        for (start, name), engine in _ENGINES.items():
            if own.__name__ == name and module.startswith(start):
                return engine
    return None
