"""Results that nobody judged: unknown is not irrelevant, in memory, in files, when learning."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from methods import LABEL_FREE, NEEDS

import paretocut as pc
from paretocut import metrics, truncators
from paretocut.errors import DataFormatError, InvalidScoresError
from paretocut.lists import Ragged, RankedLists

NAN = float("nan")


def partly() -> RankedLists:
    """Return three lists: one judged in part, one in full, one not at all."""
    return RankedLists(
        [[0.9, 0.5, 0.7], [0.4, 0.3], [0.2]],
        relevance=[[1, None, 0], [0, 2], [None]],
        query_ids=["part", "full", "none"],
        doc_ids=[["a", "b", "c"], ["d", "e"], ["f"]],
    )


def as_known(column: Ragged | None) -> list[list[float | None]]:
    assert column is not None
    return [[None if g != g else float(g) for g in part.tolist()] for part in column]


def test_grades_move_with_their_results_and_unknown_ones_stay_unknown() -> None:
    lists = partly()
    assert as_known(lists.relevance) == [[1.0, 0.0, None], [0.0, 2.0], [None]]
    assert [part.tolist() for part in lists.judged] == [[True, True, False], [True, True], [False]]
    assert not lists.fully_judged
    assert lists[[1]].fully_judged
    assert repr(lists) == "RankedLists(3 lists, 6 results, 4 judged)"


def test_one_list_tells_what_is_known_of_it() -> None:
    part, full, none = partly()
    assert part.relevant is None
    assert part.num_relevant is None
    assert full.relevant is not None
    assert full.relevant.tolist() == [False, True]
    assert full.num_relevant == 1
    assert none.num_relevant is None


def test_none_and_nan_mean_the_same() -> None:
    by_none = RankedLists([[2.0, 1.0]], relevance=[[None, 1]])
    by_nan = RankedLists([[2.0, 1.0]], relevance=[[NAN, 1]])
    assert as_known(by_none.relevance) == as_known(by_nan.relevance) == [[None, 1.0]]


def test_true_counts_as_relevant_beside_unknown_results_whatever_the_grade_asked_for() -> None:
    lists = RankedLists([[2.0, 1.0, 0.5]], relevance=[[True, None, False]], min_grade=2)
    assert lists.truncate(1).relevant[0].tolist() == [True]


def test_grades_that_are_no_numbers_are_refused() -> None:
    for wrong in (["1", None], [object(), None], [np.inf, None]):
        with pytest.raises(InvalidScoresError, match=r"RankedLists: .*relevance"):
            RankedLists([[2.0, 1.0]], relevance=[wrong])


@pytest.mark.parametrize("name", ["f1", "penalized_dcg", "accuracy", "precision", "recall", "f2"])
def test_metrics_refuse_lists_judged_in_part(name: str) -> None:
    with pytest.raises(
        InvalidScoresError, match="nobody judged 1 of the 3 results of query 'part'"
    ):
        metrics.get(name)(partly(), 1)


@pytest.mark.parametrize("lists", [partly(), partly().truncate(1)])
def test_the_number_of_relevant_documents_is_unknown_too_and_stays_so_when_cut(
    lists: RankedLists,
) -> None:
    with pytest.raises(InvalidScoresError, match=r"num_relevant must be given .* query 'part'"):
        lists.num_relevant  # noqa: B018


def test_the_number_may_be_given_and_must_cover_what_is_known() -> None:
    lists = RankedLists([[2.0, 1.0]], relevance=[[1, None]], num_relevant=[4])
    assert lists.num_relevant.tolist() == [4]
    with pytest.raises(InvalidScoresError, match="at least the relevant results retrieved, 1"):
        RankedLists([[2.0, 1.0]], relevance=[[1, None]], num_relevant=[0])


# Consensus learns from what is judged, Accept from the first result of each list.
@pytest.mark.parametrize("name", sorted(set(truncators.names()) - {"consensus", "accept"}))
def test_truncators_that_need_all_judgements_refuse_and_the_others_do_not_look(name: str) -> None:
    lists = RankedLists(
        np.sort(np.random.default_rng(0).random((12, 20)))[:, ::-1],
        relevance=[[1, None] + [0] * 18] * 12,
        query_embeddings=np.eye(12),
    )
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    truncator = truncators.make(name)
    if name in LABEL_FREE - {"oracle"}:
        bare = RankedLists(lists.scores)
        assert truncator.predict(lists).tolist() == truncator.predict(bare).tolist()
        return
    with pytest.raises(InvalidScoresError, match="nobody judged 1 of the 20 results"):
        truncator.fit(lists).predict(lists)


def test_evaluate_refuses_lists_without_a_judgement() -> None:
    nothing = RankedLists([[2.0, 1.0]], [[None, None]])
    with pytest.raises(InvalidScoresError, match="evaluate: lists must hold at least one judged"):
        pc.evaluate(["fixed_k"], nothing)
    with pytest.raises(InvalidScoresError, match="evaluate: test must hold at least one judged"):
        pc.evaluate(["fixed_k"], partly(), test=nothing)


def test_judgements_can_be_replaced() -> None:
    lists = partly().with_relevance([[1, 1, 1], [0, 0], [None]])
    assert as_known(lists.relevance) == [[1.0, 1.0, 1.0], [0.0, 0.0], [None]]
    assert lists[0].num_relevant == 3
    with pytest.raises(InvalidScoresError, match="as long as scores in every list"):
        lists.with_relevance([[1], [0, 0], [1]])


def test_concatenated_and_selected_lists_keep_what_is_unknown() -> None:
    whole = RankedLists([[1.0]], [[True]], query_ids=["w"], doc_ids=[["g"]])
    both = RankedLists.concat([partly(), whole])
    assert as_known(both.relevance) == [*as_known(partly().relevance), [1.0]]
    assert both[[3, 1]].num_relevant.tolist() == [1, 1]


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lists.jsonl", "lists.csv", "lists.parquet", "lists.arrow"])
def test_unknown_results_survive_every_table(name: str, tmp_path: Path) -> None:
    if name.endswith(("parquet", "arrow")):
        pytest.importorskip("pyarrow")
    pc.io.write_lists(tmp_path / name, partly())
    again = pc.io.read_lists(tmp_path / name)
    assert as_known(again.relevance) == as_known(partly().relevance)
    assert [one.num_relevant for one in again] == [None, 1, None]


def test_an_empty_cell_of_a_row_per_result_is_unknown() -> None:
    text = b"query_id,score,relevance\nq,0.9,1\nq,0.5,\nq,0.2,0\n"
    assert as_known(pc.io.read_lists(io.BytesIO(text), "csv").relevance) == [[1.0, None, 0.0]]


@pytest.mark.parametrize("wrong", ['[1, "?"]', "[1, Infinity]", "[[1], null]", "[null]"])
def test_what_is_neither_a_grade_nor_null_is_refused(wrong: str) -> None:
    row = f'{{"query_id": "q", "scores": [2, 1], "relevance": {wrong}}}'.encode()
    with pytest.raises(DataFormatError, match="relevance must be a list of 2 finite numbers, or"):
        pc.io.read_lists(io.BytesIO(row), "jsonl")


def test_results_that_the_qrels_do_not_name_are_unknown_if_asked_for() -> None:
    run = b"q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\n"
    qrels = b"q 0 a 1\nq 0 c 0\nq 0 z 1\n"
    by_default = pc.read_trec(io.BytesIO(run), io.BytesIO(qrels))
    assert as_known(by_default.relevance) == [[1.0, 0.0, 0.0]]
    assert by_default.num_relevant.tolist() == [2]
    lists = pc.read_trec(io.BytesIO(run), io.BytesIO(qrels), unjudged="unknown")
    assert as_known(lists.relevance) == [[1.0, None, 0.0]]
    assert lists[0].num_relevant is None
    with pytest.raises(pc.errors.InvalidParameterError, match="unjudged must be one of"):
        pc.read_trec(io.BytesIO(run), io.BytesIO(qrels), unjudged="ignore")  # type: ignore[arg-type]


def test_known_grades_are_written_as_qrels_and_read_back(tmp_path: Path) -> None:
    pc.io.write_trec(tmp_path / "a.run", partly())
    assert pc.io.write_qrels(tmp_path / "a.qrels", partly()) == 4
    again = pc.read_trec(tmp_path / "a.run", tmp_path / "a.qrels", unjudged="unknown")
    assert as_known(again.relevance) == as_known(partly().relevance)  # with query "none"
    halves = partly().with_relevance([[0.5, 1, 0], [0, 0], [1]])
    with pytest.raises(pc.errors.InvalidParameterError, match=r"whole numbers, got 0\.5"):
        pc.io.write_qrels(tmp_path / "b.qrels", halves)
    assert not (tmp_path / "b.qrels").exists()


# --- fusion ---------------------------------------------------------------------------------------


def test_fused_lists_know_what_any_of_their_lists_knows() -> None:
    first = RankedLists([[3.0, 2.0, 1.0]], [[1, None, None]], doc_ids=[["a", "b", "c"]])
    second = RankedLists([[3.0, 2.0]], [[0, None]], doc_ids=[["b", "d"]])
    fused = pc.fuse([first, second])
    known = dict(zip(fused[0].doc_ids.tolist(), as_known(fused.relevance)[0], strict=True))
    assert known == {"a": 1.0, "b": 0.0, "c": None, "d": None}
    assert fused[0].num_relevant is None
