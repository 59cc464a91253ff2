"""Frames of pandas, Polars, Arrow and DuckDB: the rows that the engine itself would keep."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from columns import OPTIONS, lists_of_scores, row_table, truncators_of, work_of
from frames import CASES, ENGINES, Engine, documented, kept_rows, rows_kept
from hypothesis import given
from hypothesis import strategies as st
from support import importorskip

import paretocut as pc
from paretocut.errors import InvalidParameterError, InvalidScoresError

pa = importorskip("pyarrow")
pd = importorskip("pandas")
pl = importorskip("polars")
duckdb = importorskip("duckdb")

from paretocut.adapters import frames  # noqa: E402
from paretocut.adapters.frames import Keeper, engine_of  # noqa: E402
from paretocut.truncators.choose import Chosen  # noqa: E402

LISTS = lists_of_scores()
ROWS = row_table(LISTS)
keep = functools.partial(pc.keep, query="query_id", score="score")
every_engine = pytest.mark.parametrize("name", ENGINES)


def engine(name: str) -> Engine:
    return ENGINES[name]()


def plain_rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@every_engine
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_rows_are_those_of_the_engine_in_their_order(
    name: str, options: dict[str, Any]
) -> None:
    make, read = engine(name)
    frame = make(pa.table(ROWS))
    kept = keep(frame, **options)
    assert type(kept) is type(frame)
    assert plain_rows(read(kept)) == kept_rows(LISTS, **options)


@every_engine
def test_rows_may_come_in_any_order_and_nothing_is_refused_by_chance(name: str) -> None:
    # Ten thousand groups of five: about 80 of them stand worst first by accident.
    generator = np.random.default_rng(0)
    scores = generator.exponential(size=(10_000, 5)).round(4)
    order = generator.permutation(50_000)
    columns = {
        "query_id": np.repeat(np.arange(10_000), 5)[order],
        "score": scores.ravel()[order],
        "row": np.arange(50_000),
    }
    make, read = engine(name)
    kept = read(keep(make(pa.table(columns))))
    assert kept["row"].to_pylist() == sorted(kept["row"].to_pylist())
    wanted = -np.sort(-scores)
    k = pc.cut_batch(wanted).k
    found = np.zeros(10_000)
    np.add.at(found, kept["query_id"].to_numpy(), kept["score"].to_numpy())
    np.testing.assert_allclose(found, [own[:n].sum() for own, n in zip(wanted, k, strict=True)])


@every_engine
def test_worst_first_is_an_order_like_any_other(name: str) -> None:
    make, read = engine(name)
    frame = make(pa.table({"query_id": ["q"] * 20, "score": [*np.linspace(0, 1, 18), 8.0, 9.0]}))
    assert read(keep(frame))["score"].to_pylist() == [8.0, 9.0]
    assert read(keep(frame, higher_is_better=False, max_k=1))["score"].to_pylist() == [0.0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-5, 5)), max_size=40), st.booleans())
def test_any_rows_are_kept_as_list_by_list(rows: list[tuple[int, int]], up: bool) -> None:
    # Ties: the first rows of a query are kept.
    lists: dict[int, list[float]] = {}
    for query, score in rows:
        lists.setdefault(query, []).append(float(score))
    frame = pd.DataFrame(rows, columns=["query_id", "score"])
    found = keep(frame, higher_is_better=up, min_k=1)
    pairs = list(zip(found["query_id"], found["score"].astype(float), strict=True))
    places = {query: i for i, query in enumerate(lists)}
    pairs.sort(key=lambda pair: places[pair[0]])  # stable
    assert pairs == rows_kept(lists, up=up, min_k=1)


@pytest.mark.parametrize("case", CASES)
@every_engine
def test_the_table_of_the_page_says_what_becomes_of_a_column(name: str, case: str) -> None:
    says = documented()[case][name.removesuffix(" lazy").removesuffix(" batch")]
    one = CASES[case]
    make, read = engine(name)
    frame = make(pa.table({"query": one.query(), "score": one.score()}))
    if says.startswith("error"):
        column = case.partition(":")[0].replace("queries", "query").replace("scores", "score")
        refused = (InvalidScoresError, InvalidParameterError, pl.exceptions.ComputeError)
        with pytest.raises(refused, match=f"keep: column '{column}' must hold"):
            read(pc.keep(frame, query="query", score="score"))
        return
    assert says in ("read", "no result", "one list")
    found = one.read(read(pc.keep(frame, query="query", score="score")))
    assert found == one.want


def test_the_table_has_every_case_and_engine() -> None:
    table = documented()
    assert table.keys() == CASES.keys()
    local = {name.removesuffix(" lazy").removesuffix(" batch") for name in ENGINES}
    assert all(row.keys() == {*local, "Spark", "Ray"} for row in table.values())


@every_engine
def test_an_endless_score_is_named_with_its_query_or_its_list_is_dropped(name: str) -> None:
    make, read = engine(name)
    columns = {"query_id": ["a", "b", "b", "a"], "score": [1.0, 2.0, float("inf"), 0.9]}
    refused = (InvalidScoresError, pl.exceptions.ComputeError)
    with pytest.raises(refused, match=r"column 'score' .* infinite in row 2, of query 'b'"):
        read(keep(make(pa.table(columns))))
    with pytest.warns(pc.adapters.ScoresWarning, match="nothing is kept of 1 such lists"):
        found = read(keep(make(pa.table(columns)), on_error="drop"))
    assert found["query_id"].to_pylist() == ["a", "a"]


def test_no_tail_is_fitted_unless_the_decision_or_the_caller_needs_it() -> None:
    frame = pd.DataFrame(ROWS)
    assert work_of(lambda: keep(frame)) == 0
    assert work_of(lambda: keep(frame, explain=["k", "n"])) == 0
    lists = sum(bool(scores) for scores in LISTS)
    assert work_of(lambda: keep(frame, evalue=0.05)) >= lists
    assert work_of(lambda: keep(frame, explain=["surprise"])) >= lists


@every_engine
def test_columns_explain_the_rows_that_are_kept(name: str) -> None:
    make, read = engine(name)
    asked = ["k", "n", "surprise", "reason", "warnings"]
    found = read(keep(make(pa.table(ROWS)), evalue=0.05, explain=asked)).to_pylist()
    assert [tuple(row.values())[:3] for row in found] == kept_rows(LISTS, evalue=0.05)
    for row in found:
        scores = LISTS[int(row["query_id"][1:])]
        alone = pc.cut(scores, evalue=0.05)
        assert (row["k"], row["n"], row["reason"]) == (alone.k, alone.n, alone.reason)
        assert row["surprise"] == alone.surprise[row["position"]]
        assert row["warnings"] == ", ".join(alone.warnings)
    empty = read(keep(make(pa.table(ROWS)), max_k=0, explain=asked))
    assert empty.num_rows == 0
    assert empty.column_names == [*ROWS, *asked]


@every_engine
def test_the_decisions_come_too_and_know_their_queries(name: str) -> None:
    make, _ = engine(name)
    frame = make(pa.table(ROWS))
    if name == "Polars lazy":
        with pytest.raises(InvalidParameterError, match=r"explain must name columns.*got True"):
            keep(frame, explain=True)
        return
    _, cuts = keep(frame, explain=True)
    found = dict(zip(cuts.lists.query_ids.tolist(), cuts, strict=True))
    for i, scores in enumerate(LISTS):
        if scores:
            cut = found.pop(f"q{i}")
            assert (cut.k, cut.reason) == (pc.cut(scores).k, pc.cut(scores).reason)
    assert not found


@every_engine
def test_a_frame_without_queries_is_one_answer_and_its_order_tells_the_direction(name: str) -> None:
    make, read = engine(name)
    for scores in ([9.0, 8.0, 1.0, 0.9, 0.8], [0.1, 0.2, 0.9, 0.95, 1.0]):
        frame = make(pa.table({"id": range(5), "distance": scores}))
        assert read(pc.keep(frame, score="distance"))["id"].to_pylist() == [0, 1]
    mixed = make(pa.table({"id": range(4), "distance": [9.0, 0.1, 8.0, 0.2]}))
    refused = (InvalidScoresError, pl.exceptions.ComputeError)
    with pytest.raises(refused, match=r"query must name a column; or.*higher_is_better"):
        read(pc.keep(mixed, score="distance"))
    found = read(pc.keep(mixed, score="distance", higher_is_better=False))
    assert found["id"].to_pylist() == [1, 3]
    if name != "Polars lazy":
        _, cut = pc.keep(mixed, score="distance", higher_is_better=True, explain=True)
        assert (cut.k, cut.n) == (2, 4)


@every_engine
def test_a_fitted_truncator_brings_its_own_direction(name: str) -> None:
    make, read = engine(name)
    near = [[0.1, 0.12, *np.linspace(0.8, 1, 30)]] * 5
    judged = pc.RankedLists(near, relevance=[[1, 1, *[0] * 30]] * 5, higher_is_better=False)
    truncator = pc.truncators.ScoreThreshold("minmax").fit(judged)
    frame = make(pa.table({"query_id": ["q"] * 32, "score": near[0]}))
    assert read(keep(frame, truncator=truncator))["score"].to_pylist() == [0.1, 0.12]
    refused = (InvalidScoresError, pl.exceptions.ComputeError)
    with pytest.raises(refused, match="lists must hold distances"):
        read(keep(frame, truncator=truncator, higher_is_better=True))
    gate = pc.Background.fit(np.linspace(0.5, 0.8, 60), higher_is_better=False)
    gated = pc.truncators.Gated(pc.truncators.Consensus(), gate)
    assert read(keep(frame, truncator=gated))["score"].to_pylist() == [0.1, 0.12]


def test_truncators_decide_as_they_do_alone() -> None:
    for truncator in truncators_of(LISTS):
        kept, cuts = keep(pd.DataFrame(ROWS), truncator=truncator, explain=True)
        counts = kept["query_id"].value_counts()
        for query, cut in zip(cuts.lists.query_ids.tolist(), cuts, strict=True):
            alone = truncator.cut(LISTS[int(query[1:])])
            assert counts.get(query, 0) == cut.k == alone.k
            assert cut.reason == alone.reason


# What frames look like.


@every_engine
def test_no_rows_at_all_is_no_problem(name: str) -> None:
    make, read = engine(name)
    schema = pa.schema({"query_id": pa.string(), "score": pa.float64()})
    assert read(keep(make(schema.empty_table()))).num_rows == 0


def test_odd_indexes_and_columns_of_pandas_stay() -> None:
    frame = pd.DataFrame(ROWS)
    wanted = [row[1:] for row in kept_rows(LISTS)]
    several = frame.set_index(pd.MultiIndex.from_arrays([frame["position"] % 3, frame["score"]]))
    twice = frame.set_index(frame["position"] % 2)
    for odd in (several, twice, frame[::-1]):
        before = odd.copy()
        kept = keep(odd)
        pd.testing.assert_frame_equal(odd, before)
        rows = list(zip(kept["position"], kept["score"], strict=True))
        assert sorted(rows) == sorted(wanted)
        assert set(kept.index) <= set(odd.index)
        assert kept.index.names == odd.index.names
    wide = frame.rename(columns={"query_id": ("q", 1), "score": ("s", 2), "position": 7})
    found = pc.keep(wide, query=("q", 1), score=("s", 2))
    assert list(zip(found[7], found[("s", 2)], strict=True)) == wanted


def test_pandas_categories_without_rows_and_missing_ones_are_exact() -> None:
    queries = pd.Categorical(["b", None, "a", "b", None, "a"], categories=["z", "a", "b", "y"])
    frame = pd.DataFrame({"query_id": queries, "score": [9.0, 5.0, 1.0, 0.1, 0.2, 8.0]})
    kept, cuts = keep(frame, explain=True)
    assert kept["score"].tolist() == [9.0, 5.0, 8.0]
    assert kept["query_id"].dtype == frame["query_id"].dtype
    assert len(cuts) == 3


def test_objects_in_pandas_are_read_if_all_are_numbers() -> None:
    for words in (["1", "2"], [1.0, "2"], [1j, 2j], [True, False], [1.0, None, "x"]):
        frame = pd.DataFrame({"query_id": 1, "score": pd.Series(words, dtype=object)})
        with pytest.raises(InvalidScoresError, match="column 'score' must hold numbers, got"):
            keep(frame)
    mixed = pd.DataFrame({"query_id": 1, "score": pd.Series([9, None, 0.5, 0.4], dtype=object)})
    assert keep(mixed)["score"].tolist() == [9]
    nothing = pd.DataFrame({"query_id": [1], "score": pd.Series([None], dtype=object)})
    assert len(keep(nothing)) == 0
    lists = pd.DataFrame({"query_id": [{"a": 1}], "score": [1.0]})
    with pytest.raises(InvalidParameterError, match="column 'query_id' must hold names"):
        keep(lists)


@every_engine
def test_names_that_are_missing_twice_or_taken_are_refused(name: str) -> None:
    make, _ = engine(name)
    frame = make(pa.table(ROWS))
    for wrong, argument in (({"query": "x"}, "query"), ({"score": "x"}, "score")):
        with pytest.raises(
            InvalidParameterError, match=f"{argument} must name one column, one of .*; got 'x'"
        ):
            keep(frame, **wrong)
    with pytest.raises(InvalidParameterError, match="score must name the column"):
        pc.keep(frame, query="query_id")
    with pytest.raises(InvalidParameterError, match=r"explain must be .*'k'.*got 'x'"):
        keep(frame, explain=["x"])
    with pytest.raises(InvalidParameterError, match="on_error must be"):
        keep(frame, on_error="ignore")
    with pytest.raises(InvalidParameterError, match="e_value"):
        keep(frame, e_value=0.05)
    taken = make(pa.table({**ROWS, "k": ROWS["score"]}))
    with pytest.raises(InvalidParameterError, match="explain must name a new column, got 'k'"):
        keep(taken, explain="k")


def test_a_column_of_lists_is_for_cut_batch() -> None:
    table = pa.table({"query_id": ["a", "b"], "score": [[3.0, 2.0, 0.1], [1.0, 0.9]]})
    for frame in (table, table.to_pandas(), pl.from_arrow(table)):
        with pytest.raises(InvalidScoresError, match=r"explode its lists, or use pc\.cut_batch$"):
            keep(frame)
        assert pc.cut_batch(frame["score"]).k.tolist() == [2, 2]


def test_two_columns_of_one_name_are_refused_only_if_they_are_asked_for() -> None:
    table = pa.table([[1, 1], [2.0, 1.0], [3.0, 4.0]], names=["query_id", "score", "score"])
    for frame in (table, table.to_pandas()):
        with pytest.raises(InvalidParameterError, match="got 'score', the name of 2 columns"):
            keep(frame)
    other = pa.table([[1, 1], [2.0, 1.0], [3, 4], [5, 6]], names=["query_id", "score", "x", "x"])
    assert keep(other, max_k=1)[3].to_pylist() == [5]
    assert keep(other.to_pandas(), max_k=1)["x"].to_numpy().tolist() == [[3, 5]]


def test_dictionaries_of_arrow_may_hold_a_value_twice_or_null() -> None:
    words = pa.array(["a", "b", "a", None])
    codes = pa.array([0, 2, 3, None, 1, 0], pa.uint8())
    column = pa.DictionaryArray.from_arrays(codes, words)
    table = pa.table({"query_id": column, "score": [9.0, 1.0, 8.0, 0.1, 7.0, 0.9]})
    kept, cuts = keep(table, explain=True)
    assert kept["score"].to_pylist() == [9.0, 8.0, 7.0]
    assert cuts.lists.query_ids.tolist() == ["a", "None", "b"]
    assert kept.schema.equals(table.schema)


def test_types_of_duckdb_stay_and_the_relation_can_be_queried() -> None:
    with duckdb.connect() as connection:
        connection.execute("create type mood as enum ('sad', 'glad')")
        connection.execute("create table _made as select 1 as kept")  # no name of ours counts
        relation = connection.sql(
            "select 'q' as query_id, 10 - i as score, 'glad'::mood as mood, '101'::bit as bits, "
            "i::hugeint as large, uuid() as own from range(9) t(i)"
        )
        kept = keep(relation)
        assert kept.types == relation.types
        rows = connection.sql("select score, bits, mood from kept order by score desc").fetchall()
        assert rows[:2] == [(10, "101", "glad"), (9, "101", "glad")]
        assert len(rows) == pc.cut([10.0 - i for i in range(9)]).k


def test_lazy_frames_stay_lazy_and_later_filters_come_later() -> None:
    frame = pl.DataFrame(ROWS)
    seen: list[int] = []
    source = frame.lazy().map_batches(lambda part: seen.append(len(part)) or part)
    kept = keep(source, evalue=0.05)
    assert not seen
    low = kept.filter(pl.col("score") < 1.01).select("score").collect()["score"].to_list()
    assert seen == [len(frame)]
    assert low == [row[2] for row in kept_rows(LISTS, evalue=0.05) if row[2] < 1.01]


def test_what_is_no_frame_is_refused_and_subclasses_are_frames() -> None:
    class Mine(pd.DataFrame):
        pass

    assert engine_of(Mine) is not None
    assert len(keep(Mine(ROWS))) == len(kept_rows(LISTS))
    for other in ([1.0], {"score": [1.0]}, np.zeros((2, 2)), pd.Series([1.0])):
        assert engine_of(type(other)) is None


def test_what_means_nothing_for_frames_is_refused() -> None:
    frame = pd.DataFrame(ROWS)
    for option in ({"max_tokens": 5}, {"text": "position"}, {"asked": 200}):
        with pytest.raises(InvalidParameterError, match=f"{next(iter(option))} must be left out"):
            keep(frame, **option)


# Sorted batches, as clusters see them.


@pytest.mark.parametrize("lengths", [[4000], [1] * 100, [0, 7, 60, 16, 15, 17, 1, 32] * 9, []])
def test_whole_queries_are_found_and_no_row_is_looked_at_twice(
    lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # It looked at all rows of a query again with every batch: quadratic for a long query.
    queries = pa.array(np.repeat(np.arange(len(lengths)), lengths))
    table = pa.table({"query_id": queries, "row": np.arange(len(queries))})
    looked_at, codes_of = [0], frames.codes_of

    def counted(column: Any, keeper: Any) -> Any:
        looked_at[0] += len(column)
        return codes_of(column, keeper)

    monkeypatch.setattr(frames, "codes_of", counted)
    keeper = Keeper(Chosen.of("keep", {}), "query_id", "row", (), None, False)
    batches = (table[at : at + 16] for at in range(0, len(queries), 16))
    parts = list(frames.whole_queries(batches, keeper))
    assert looked_at == [len(queries)]
    assert pa.concat_tables([table[:0], *parts]).equals(table)
    ends = [part["query_id"][-1].as_py() for part in parts]
    starts = [part["query_id"][0].as_py() for part in parts]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))


# Fusion.


def test_arrow_tables_are_fused_like_pandas_frames() -> None:
    words = pa.table({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [7.0, 2.0]})
    vectors = pa.table({"query_id": ["q", "q"], "doc_id": ["b", "c"], "score": [0.9, 0.5]})
    arms = {"words": words, "vectors": vectors}
    found = pc.fuse(arms, query="query_id", method="rrf")
    assert found["doc_id"].to_pylist() == ["b", "a", "c"]
    assert found["score_words"].to_pylist()[:2] == [2.0, 7.0]
    assert np.isnan(found["score_words"].to_pylist()[2])
    pandas = {name: table.to_pandas() for name, table in arms.items()}
    fused = pc.fuse(pandas, query="query_id", method="rrf")
    assert fused["rank_words"].tolist() == [2, 1, 0]
    assert pc.keep(fused, query="query_id", score="score", max_k=1).doc_id.tolist() == ["b"]
