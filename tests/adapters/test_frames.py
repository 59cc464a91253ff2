"""Arrow, pandas, Polars and DuckDB: the engine's numbers, whatever the columns look like."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from columns import OPTIONS, expected, expected_rows, lists_of_scores, row_table
from support import importorskip

import paretocut as pc

pa = importorskip("pyarrow")
pd = importorskip("pandas")
pl = importorskip("polars")
duckdb = importorskip("duckdb")

import paretocut.adapters.arrow as of_arrow  # noqa: E402
import paretocut.adapters.duckdb_udf as of_duckdb  # noqa: E402
import paretocut.adapters.pandas as of_pandas  # noqa: E402
import paretocut.adapters.polars  # noqa: E402
from paretocut.adapters.frames import FrameCutter  # noqa: E402

# Some lists are short, which the rules say; test_warnings.py looks at that.
pytestmark = pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")

LISTS = [*lists_of_scores(), None]
Answer = list[tuple[int | None, list[float] | None]]


def plain(value: Any) -> Any:
    """Return a cell as Python has it."""
    if value is None or value is pd.NA:
        return None
    return value.tolist() if hasattr(value, "tolist") else value


def by_arrow(lists: list[Any], **options: Any) -> Answer:
    result = of_arrow.cut_lists(pa.table({"scores": lists}), **options)
    return list(zip(result["k"].to_pylist(), result["surprise"].to_pylist(), strict=True))


def by_batch(lists: list[Any], **options: Any) -> Answer:
    batch = pa.record_batch({"scores": pa.array(lists, pa.large_list(pa.float64()))})
    result = of_arrow.cut_lists(batch, **options)
    assert isinstance(result, pa.RecordBatch)
    return list(zip(result["k"].to_pylist(), result["surprise"].to_pylist(), strict=True))


def by_pandas(lists: list[Any], **options: Any) -> Answer:
    result = of_pandas.cut_lists(pd.DataFrame({"scores": lists}), **options)
    return [(plain(k), plain(s)) for k, s in zip(result["k"], result["surprise"], strict=True)]


def by_pandas_on_arrow(lists: list[Any], **options: Any) -> Answer:
    column = pd.Series(lists, dtype=pd.ArrowDtype(pa.list_(pa.float64())))
    result = of_pandas.cut_lists(pd.DataFrame({"scores": column}), **options)
    assert result["surprise"].dtype == column.dtype
    return [(plain(k), plain(s)) for k, s in zip(result["k"], result["surprise"], strict=True)]


def by_polars(lists: list[Any], **options: Any) -> Answer:
    scores = pl.col("scores").paretocut
    frame = pl.DataFrame({"scores": lists}, schema={"scores": pl.List(pl.Float64)})
    return frame.select(scores.k(**options), scores.surprise(**options)).rows()


def by_polars_streaming(lists: list[Any], **options: Any) -> Answer:
    lazy = pl.LazyFrame({"scores": lists}, schema={"scores": pl.List(pl.Float64)})
    both = lazy.select(pl.col("scores").paretocut.cut(**options)).unnest("scores")
    assert both.collect_schema() == {
        "k": pl.Int64,
        "surprise": pl.List(pl.Float64),
        "reason": pl.String,
    }
    return both.drop("reason").collect(engine="streaming").rows()


def by_polars_series(lists: list[Any], **options: Any) -> Answer:
    series = pl.Series("scores", lists, dtype=pl.List(pl.Float64)).paretocut
    k, surprise = series.k(**options), series.surprise(**options)
    assert series.cut(**options).name == "scores"
    return list(zip(k.to_list(), surprise.to_list(), strict=True))


def by_duckdb(lists: list[Any], **options: Any) -> Answer:
    with duckdb.connect() as connection:
        of_duckdb.register(connection, **options)
        connection.execute("CREATE TABLE runs (i INT, scores DOUBLE[])")
        for row in enumerate(lists):
            connection.execute("INSERT INTO runs VALUES (?, ?)", row)
        query = "SELECT paretocut_k(scores), paretocut_surprise(scores) FROM runs ORDER BY i"
        return connection.execute(query).fetchall()


WAYS: list[Callable[..., Answer]] = [
    by_arrow, by_batch, by_pandas, by_pandas_on_arrow, by_polars, by_polars_streaming,
    by_polars_series, by_duckdb,
]  # fmt: skip
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@every_way
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_numbers_are_those_of_the_engine(
    way: Callable[..., Answer], options: dict[str, Any]
) -> None:
    answer = way(LISTS, **options)
    assert answer[-1] == (None, None)
    assert answer[:-1] == [expected(scores, **options) for scores in LISTS[:-1]]


@every_way
def test_lists_that_are_all_null_have_no_decision(way: Callable[..., Answer]) -> None:
    assert way([None, None]) == [(None, None), (None, None)]


@every_way
def test_no_lists_at_all_is_no_problem(way: Callable[..., Answer]) -> None:
    assert way([]) == []


@every_way
def test_the_rule_decides(way: Callable[..., Answer]) -> None:
    # Guards against options that get lost: on these lists the rules disagree.
    strict, loose = way(LISTS, evalue=0.05), way(LISTS, alpha=0.5)
    assert strict[0][0] == 3 < loose[0][0]


@every_way
def test_scores_that_are_not_numbers_or_not_finite_are_refused(way: Callable[..., Answer]) -> None:
    refused = (pc.errors.InvalidScoresError, duckdb.Error, pl.exceptions.ComputeError)
    with pytest.raises(refused, match=r"scores must be finite, got inf at index 1"):
        way([[2.0, 1.0], [1.0, float("inf"), 2.0]])


@pytest.mark.parametrize("way", [by_arrow, by_batch, by_polars, by_polars_streaming, by_duckdb])
def test_a_null_score_has_no_part_in_the_fit(way: Callable[..., Answer]) -> None:
    scores = LISTS[0]
    k, surprise = expected(scores, evalue=0.05)
    with_nulls = [None, *scores[:7], None, *scores[7:], None]
    ((found_k, found),) = way([with_nulls], evalue=0.05)
    assert found_k == k == 3
    assert found == [None, *surprise[:7], None, *surprise[7:], None]


def kinds_of_lists() -> list[Any]:
    return [
        pa.list_(pa.float64()),
        pa.large_list(pa.float64()),
        pa.list_view(pa.float64()),
        pa.list_(pa.float64(), 60),
    ]


@pytest.mark.parametrize("kind", kinds_of_lists(), ids=str)
def test_slices_of_every_kind_of_arrow_list_are_respected(kind: Any) -> None:
    lists = lists_of_scores(lengths=(60,) * 6)
    whole = pa.array([*lists[:3], None, *lists[3:]], kind)
    k, surprise, _ = of_arrow.cut_array(whole[2:5], evalue=0.05)
    wanted = [expected(lists[2], evalue=0.05), (None, None), expected(lists[3], evalue=0.05)]
    assert list(zip(k.to_pylist(), surprise.to_pylist(), strict=True)) == wanted


@pytest.mark.parametrize("number", [pa.float32(), pa.int16(), pa.uint64()], ids=str)
def test_numbers_of_every_type_are_taken_as_doubles(number: Any) -> None:
    scores = pa.array([1 + round(1000 * x) for x in LISTS[0]]).cast(number)
    k, surprise, _ = of_arrow.cut_array(pa.array([scores.to_pylist()], pa.list_(number)))
    assert (k[0].as_py(), surprise[0].as_py()) == expected([float(x) for x in scores.to_pylist()])


@pytest.mark.parametrize("shape", [[60], [6, 10]])
def test_tensors_of_one_dimension_are_lists_and_others_are_refused(shape: list[int]) -> None:
    (scores,) = lists_of_scores(lengths=(60,))
    storage = pa.array([scores], pa.list_(pa.float64(), 60))
    kind = pa.fixed_shape_tensor(pa.float64(), shape)
    tensors = pa.ExtensionArray.from_storage(kind, storage)
    if len(shape) == 1:
        assert of_arrow.cut_array(tensors)[0].to_pylist() == [expected(scores)[0]]
    else:
        with pytest.raises(pc.errors.InvalidScoresError, match=r"array of lists, got extension"):
            of_arrow.cut_array(tensors)


@pytest.mark.parametrize("values", [["a"], [1.0], [["a"]], [[[1.0]]]], ids=str)
def test_columns_that_are_not_lists_of_numbers_are_refused(values: list[Any]) -> None:
    with pytest.raises(pc.errors.InvalidScoresError, match=r"must be (an array of lists|numbers)"):
        of_arrow.cut_lists(pa.table({"scores": values}))


def test_chunks_stay_chunks() -> None:
    lists = LISTS[:4]
    column = pa.chunked_array([pa.array(lists[:1]), pa.array(lists[1:])])
    result = of_arrow.cut_lists(pa.table({"scores": column}))
    assert [len(chunk) for chunk in result["k"].chunks] == [1, 3]
    assert result["k"].to_pylist() == [expected(scores)[0] for scores in lists]


def test_doubles_are_read_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(0).exponential(size=600)
    seen = []
    decide = FrameCutter.decide
    monkeypatch.setattr(
        FrameCutter, "decide", lambda self, lists: seen.append(lists) or decide(self, lists)
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 200, 400, 600], pa.int32()), pa.array(numbers))
    of_arrow.cut_array(lists[1:])
    pl.Series(pl.from_arrow(lists)).paretocut.k()
    assert np.shares_memory(seen[0].values, numbers)
    assert not seen[1].values.flags.owndata
    assert seen[0].values.size == 400


ROWS = row_table(LISTS[:-1])


def rows_by_polars(**options: Any) -> Any:
    frame = pl.DataFrame(ROWS)
    score = pl.col("score")
    lists = frame.group_by("query_id").agg("position", score)
    lists = lists.with_columns(pl.col("score").paretocut.cut(**options).struct.unnest())
    rows = lists.explode("position", "score", "surprise")
    best = score.rank("ordinal", descending=options.get("higher_is_better", True))
    rows = rows.with_columns(kept=best.over("query_id") <= pl.col("k"))
    return frame.join(rows, on=["query_id", "position"], maintain_order="left").to_pandas()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
def test_rows_of_a_query_are_one_list_wherever_they_are(
    library: str, options: dict[str, Any]
) -> None:
    if library == "arrow":
        result = of_arrow.cut_rows(pa.table(ROWS), **options).to_pandas()
    elif library == "pandas":
        index = range(1000, 1000 - len(ROWS["score"]), -1)
        result = of_pandas.cut_rows(pd.DataFrame(ROWS, index=index), **options)
        assert result.index.tolist() == list(index)
    else:
        result = rows_by_polars(**options)
    assert result["score"].tolist() == ROWS["score"]
    for i, scores in enumerate(LISTS[:-1]):
        of_query = result[result["query_id"] == f"q{i}"]
        found = list(zip(of_query["surprise"], of_query["kept"], strict=True))
        assert found == expected_rows(scores, **options)


def test_rows_without_a_score_are_not_kept() -> None:
    scores = [*LISTS[0], None]
    wanted = expected_rows(LISTS[0], evalue=0.05)
    columns = {"query_id": [None] * len(scores), "score": scores}
    by_arrow = of_arrow.cut_rows(pa.table(columns), evalue=0.05)
    by_pandas = of_pandas.cut_rows(pd.DataFrame(columns), evalue=0.05)
    found = list(zip(by_arrow["surprise"].to_pylist(), by_arrow["kept"].to_pylist(), strict=True))
    assert found == [*wanted, (None, False)]
    found = list(zip(by_pandas["surprise"], by_pandas["kept"], strict=True))
    assert found[:-1] == wanted
    assert np.isnan(found[-1][0])
    assert not found[-1][1]


def test_no_rows_at_all_is_no_problem() -> None:
    schema = pa.schema({"query_id": pa.string(), "score": pa.float64()})
    assert of_arrow.cut_rows(schema.empty_table()).num_rows == 0
    assert len(of_pandas.cut_rows(pd.DataFrame({"query_id": [], "score": []}))) == 0


def test_the_first_of_tied_rows_is_kept() -> None:
    scores = [5.0, 5.0, *np.linspace(0, 1, 50)]
    frame = pd.DataFrame({"query_id": 1, "score": scores})
    assert np.flatnonzero(of_pandas.cut_rows(frame, max_k=1, min_k=1)["kept"]).tolist() == [0]


def test_what_the_caller_has_is_not_changed() -> None:
    scores = [np.array(one) for one in LISTS[:-1]]
    for one in scores:
        one.setflags(write=False)
    frame = pd.DataFrame({"scores": scores})
    rows = pd.DataFrame(ROWS)
    of_pandas.cut_lists(frame)
    of_pandas.cut_rows(rows)
    assert frame.columns.tolist() == ["scores"]
    assert rows.equals(pd.DataFrame(ROWS))
    table = pa.table({"scores": LISTS})
    of_arrow.cut_lists(table, higher_is_better=False)
    assert table.equals(pa.table({"scores": LISTS}))


@pytest.mark.parametrize("module", [of_arrow, of_pandas], ids=["arrow", "pandas"])
def test_columns_are_neither_invented_nor_overwritten(module: Any) -> None:
    columns = {"scores": [[1.0]], "k": [1], "query_id": [1], "score": [1.0], "kept": [True]}
    frame = pa.table(columns) if module is of_arrow else pd.DataFrame(columns)
    refused = pc.errors.InvalidParameterError
    with pytest.raises(refused, match=r"cut_lists: k must name a new column, got 'k'"):
        module.cut_lists(frame)
    with pytest.raises(refused, match=r"column must name a column, one of scores, k, .* 'x'"):
        module.cut_lists(frame, "x")
    with pytest.raises(refused, match=r"cut_rows: kept must name a new column"):
        module.cut_rows(frame)
    with pytest.raises(refused, match=r"query must name a column"):
        module.cut_rows(frame, "x")
    with pytest.raises(refused, match=r"score must name a column"):
        module.cut_rows(frame, score="x")
    assert "n" in getattr(module.cut_lists(frame, k="n"), "column_names", ["n"])


def test_pandas_says_what_is_wrong_with_frame_or_column() -> None:
    with pytest.raises(
        pc.errors.InvalidParameterError, match=r"frame must be a pandas.DataFrame, got polars\."
    ):
        of_pandas.cut_rows(pl.DataFrame(ROWS))
    words = pd.DataFrame({"query_id": "q", "points": ["high", "low"]})
    with pytest.raises(
        pc.errors.InvalidScoresError, match=r"column 'points' must hold numbers, got .*'high'"
    ):
        of_pandas.cut_rows(words, score="points")


def test_duckdb_refuses_bad_options_before_any_query() -> None:
    with duckdb.connect() as connection:
        with pytest.raises(pc.errors.InvalidParameterError, match="evalue must be in"):
            of_duckdb.register(connection, evalue=-1)
        with pytest.raises(
            pc.errors.InvalidParameterError, match=r"options must be among .*, got e_value"
        ):
            of_duckdb.register(connection, e_value=0.05)  # type: ignore[call-arg]


def test_functions_of_two_rules_live_side_by_side_in_duckdb() -> None:
    with duckdb.connect() as connection:
        of_duckdb.register(connection, evalue=0.05)
        of_duckdb.register(
            connection, k="generous", surprise="unused", reason="unused_too", alpha=0.2
        )
        found = connection.execute("SELECT paretocut_k($1), generous($1)", [LISTS[0]]).fetchone()
    assert found == (expected(LISTS[0], evalue=0.05)[0], expected(LISTS[0], alpha=0.2)[0])


def test_duckdb_works_on_more_rows_than_one_vector_holds() -> None:
    generator = np.random.default_rng(3)
    scores = generator.exponential(size=(5000, 30))
    runs = pa.table({"i": np.arange(5000), "scores": list(scores)})
    with duckdb.connect() as connection:
        connection.register("runs", runs)
        of_duckdb.register(connection)
        found = connection.execute("SELECT paretocut_k(scores) FROM runs ORDER BY i").fetchall()
    assert [k for (k,) in found] == pc.truncators.Consensus().predict(scores).tolist()


@pytest.mark.parametrize(
    ("package", "extra", "code"),
    [
        ("pyarrow", "arrow", "import paretocut.adapters.arrow as a; a.cut_array(None)"),
        ("pandas", "pandas", "import paretocut.adapters.pandas as a; a.cut_lists(None)"),
        ("polars", "polars", "import paretocut.adapters.polars"),
        ("duckdb", "duckdb", "import paretocut.adapters.duckdb_udf as a; a.register(None)"),
        ("pyspark", "spark", "import paretocut.adapters.spark as a; a.cut_lists(None)"),
        ("ray", "ray", "import paretocut.adapters.ray as a; a.cut_rows(None)"),
    ],
)
def test_a_missing_package_is_named_with_its_pip_line(package: str, extra: str, code: str) -> None:
    blocked = f"import sys; sys.modules[{package!r}] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "MissingExtraError" in done.stderr
    assert f"pip install 'paretocut[{extra}]'" in done.stderr
