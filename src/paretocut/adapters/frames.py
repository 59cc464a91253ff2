"""`keep` for frames: one row per result, or one row per query with a column of lists.

A frame is known by the names of its classes. Its columns become codes and doubles, `Keeper.found`
decides, and the engine itself picks the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from paretocut.adapters.arrow import (
    codes_of,
    explained,
    found_in_lists,
    found_in_rows,
    holds_lists,
    keep_arrow,
    pyarrow,
    scores_of,
    type_of,
)
from paretocut.adapters.clusters import keep_ray, keep_spark
from paretocut.adapters.keeper import EXPLAINED, Keeper
from paretocut.errors import InvalidParameterError, require
from paretocut.schema.parameters import check_bool, check_choice
from paretocut.truncators.choose import Chosen

Frame: TypeAlias = Any


def keep_frame(
    frame: Frame,
    *,
    query: Any = None,
    score: Any = None,
    along: Any = (),
    higher_is_better: bool | None = None,
    explain: bool | Iterable[str] = False,
    on_error: str = "raise",
    **options: Any,
) -> Any:
    """Return a frame of the same type with the results kept, in their order.

    Parameters
    ----------
    frame
        A pandas, Polars (also lazy), Arrow, DuckDB, Spark or Ray frame, with one row per result;
        or one row per query, where the column of scores holds lists.
    query
        Name of the column with the queries: rows with the same value are one list, wherever they
        are. None for lists in cells, or if the frame is the answer to one query.
    score
        Name of the column with the scores.
    along
        Names of columns of lists that are shortened like the scores.
    higher_is_better
        False for distances. By default the direction of a fitted truncator, or True; the order
        of rows says nothing. Only of a frame that is one answer, the order decides.
    explain
        True returns the decisions too. Names (``k``, ``n``, ``reason``, ``warnings``,
        ``surprise``) add these columns instead.
    on_error
        ``"raise"``, or ``"drop"`` to keep nothing of a list with an infinitely good score.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    engine = _engine(frame)
    if engine is None:
        raise InvalidParameterError(f"keep: frame must be a frame, got {type(frame).__name__}")
    if score is None:
        raise InvalidParameterError("keep: score must name the column with the scores, got None")
    if higher_is_better is not None:
        check_bool(higher_is_better, who="keep", name="higher_is_better")
    chosen = Chosen.of("keep", options)
    names = () if isinstance(explain, bool) else (explain,) if isinstance(explain, str) else explain
    keeper = Keeper(
        chosen,
        query,
        score,
        (along,) if isinstance(along, str) else tuple(along),
        tuple(check_choice(name, tuple(EXPLAINED), who="keep", name="explain") for name in names),
        _direction(chosen, higher_is_better),
        check_choice(on_error, ("raise", "drop"), who="keep", name="on_error") == "drop",
        explain is True,
    )
    kept, cuts = engine(frame, keeper)
    if explain is not True:
        return kept
    if cuts is None:
        raise InvalidParameterError(
            "keep: explain must name columns, such as ['reason'], because this frame is decided on "
            f"later or elsewhere ({type(frame).__module__}); got True"
        )
    return kept, cuts


def is_frame(answer: Any) -> bool:
    """Return whether `keep_frame` takes it."""
    return _engine(answer) is not None


def _direction(chosen: Chosen, given: bool | None) -> bool | None:
    """Return the direction that was given, or that the truncator learned."""
    return chosen.truncator.direction if given is None else given


def _pandas(frame: Frame, keeper: Keeper) -> tuple[Frame, Any]:
    keeper.check(frame.columns)
    column = frame[keeper.score]
    if _cells_are_lists(column):
        return _pandas_lists(frame, keeper)
    scores = scores_of(_arrow(column, keeper.no_numbers), keeper)
    if keeper.query is None:
        found = keeper.found_in_one(scores)
    else:
        queries = _arrow(frame[keeper.query], keeper.no_queries)
        found = keeper.found(codes_of(queries, keeper), scores)
    new = {name: found.of_rows(name) for name in keeper.columns}
    return frame[found.mask].assign(**new), keeper.decisions(found)


def _pandas_lists(frame: Frame, keeper: Keeper) -> tuple[Frame, Any]:
    pa = pyarrow()
    own = {name: frame[name] for name in (keeper.score, *keeper.along)}
    lengths = {
        name: np.array(
            [len(cell) if here else 0 for cell, here in zip(cells, cells.notna(), strict=True)]
        )
        for name, cells in own.items()
    }
    scores = _arrow(own[keeper.score].array, keeper.no_numbers)
    made, found = found_in_lists(pa.table([scores], names=[keeper.score]), keeper, lengths)
    places = made["places"].to_pylist()
    new = {
        name: type(cells)([*map(_picked, cells, places)], index=frame.index, dtype=cells.dtype)
        for name, cells in own.items()
    }
    return frame.assign(
        **new, **{name: made[name].to_pylist() for name in keeper.columns}
    ), found.cuts


def _picked(cell: Any, places: list[int] | None) -> Any:
    """Return the items of a cell at these places, in a cell of the same type."""
    if places is None:
        return None
    return cell[places] if hasattr(cell, "dtype") else type(cell)([cell[i] for i in places])


def _cells_are_lists(column: Any) -> bool:
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None or column.dtype != object or column.isna().all():
        return kind is not None and holds_lists(kind)
    return isinstance(column.iloc[int(column.notna().argmax())], (list, tuple, np.ndarray))


def _arrow(column: Any, refused: Callable[[object], Exception]) -> Any:
    """Return a column of pandas as Arrow has it."""
    pa = pyarrow()
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError) as error:
        raise refused(error) from error


def _polars(frame: Frame, keeper: Keeper) -> tuple[Frame, Any]:
    pl = require("polars", feature="keep", extra="polars")
    keeper.check(frame.columns)
    if isinstance(frame.schema[keeper.score], (pl.List, pl.Array)):
        names = (keeper.score, *keeper.along)
        made, found = found_in_lists(frame.select(names).to_arrow(), keeper)
        new = pl.DataFrame({name: pl.from_arrow(column) for name, column in made.items()})
        lists = [frame[name].cast(pl.List(frame.schema[name].inner)) for name in names]
        kept = frame.with_columns(one.list.gather(new["places"]) for one in lists)
        return kept.with_columns(new.drop("places")), found.cuts
    used = [name for name in frame.columns if name in (keeper.query, keeper.score)]
    found = found_in_rows(frame.select(used).to_arrow(), keeper)
    kept, pa = frame.filter(pl.Series(found.mask)), pyarrow()
    new = {name: pa.array(found.of_rows(name), type_of(name)) for name in keeper.columns}
    added = (pl.from_arrow(column).alias(name) for name, column in new.items())
    return kept.with_columns(added), keeper.decisions(found)


def _lazy_polars(frame: Frame, keeper: Keeper) -> tuple[Frame, None]:
    pl = require("polars", feature="keep", extra="polars")
    schema = frame.collect_schema()
    keeper.check(schema.names())
    kinds = {"int64": pl.Int64, "double": pl.Float64, "str": pl.String}
    new = {name: kinds[EXPLAINED[name]] for name in keeper.columns}
    if isinstance(schema[keeper.score], (pl.List, pl.Array)):
        new |= {name: pl.List(schema[name].inner) for name in (keeper.score, *keeper.along)}
        new |= {"surprise": pl.List(pl.Float64)} if "surprise" in new else {}
    return frame.map_batches(lambda part: _polars(part, keeper)[0], schema={**schema, **new}), None


def _duckdb(relation: Frame, keeper: Keeper) -> tuple[Frame, Any]:
    pa = pyarrow()
    keeper.check(relation.columns)
    rows = relation.materialize()  # once: its rows may come in another order next time
    used = {keeper.query, keeper.score, *keeper.along} - {None}
    table = rows.select(", ".join(map(_quoted, used))).to_arrow_table()
    decisions: Any
    if holds_lists(table.schema.field(keeper.score).type):
        made, found = found_in_lists(table, keeper)
        pick = "list_select(_pc_own.{0}, list_transform(_pc_made.places, lambda i: i + 1)) as {0}"
        own, where = f"replace ({', '.join(pick.format(_quoted(name)) for name in used)})", ""
        decisions = found.cuts
    else:
        found = found_in_rows(table, keeper)
        made = {"kept": pa.array(found.mask), **explained(found, keeper)}
        own, where, decisions = "", "where _pc_made.kept", keeper.decisions(found)
    _pc_made = pa.table(dict(made))  # known to the statement by its name
    added = "".join(f", _pc_made.{name}" for name in keeper.columns)
    sql = f"select _pc_own.* {own} {added} from _pc_own positional join _pc_made {where}"
    return rows.query("_pc_own", sql), decisions


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


Engine: TypeAlias = Callable[[Frame, Keeper], tuple[Frame, Any]]
_ENGINES: tuple[tuple[str, str, Engine], ...] = (
    ("pandas.", "DataFrame", _pandas),
    ("polars.", "DataFrame", _polars),
    ("polars.", "LazyFrame", _lazy_polars),
    ("pyarrow.", "Table", keep_arrow),
    ("pyarrow.", "RecordBatch", keep_arrow),
    ("duckdb.", "DuckDBPyRelation", _duckdb),
    ("pyspark.sql.", "DataFrame", keep_spark),
    ("ray.data.", "Dataset", keep_ray),
)


def _engine(frame: Any) -> Engine | None:
    """Return what keeps the rows of such a frame, known by the names of its classes."""
    for kind in type(frame).__mro__:
        module = f"{kind.__module__.removeprefix('_')}."
        for start, name, engine in _ENGINES:
            if kind.__name__ == name and module.startswith(start):
                return engine
    return None
