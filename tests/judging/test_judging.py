"""Which results are planned, and that no answer of a judge is ever lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paretocut as pc
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.judging import JudgingSession, session
from paretocut.truncators import Consensus


def lists_of(count: int = 60, depth: int = 300, seed: int = 0) -> tuple[pc.RankedLists, Any]:
    """Return lists and their relevance, which falls with the rank."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.gumbel(size=(count, depth)), axis=1)
    relevant = rng.random(scores.shape) < 1 / (1 + np.exp(4 - 1.5 * scores))
    ids = [[f"{i}-{j}" for j in range(depth)] for i in range(count)]
    return pc.RankedLists(scores, doc_ids=ids), relevant


LISTS, RELEVANT = lists_of()


def truth(query: str, doc: str) -> bool:
    i, rank = map(int, doc.split("-"))
    assert str(i) == query
    return bool(RELEVANT[i, rank])


# --- the plan -------------------------------------------------------------------------------------


def undated(path: Path) -> list[dict[str, object]]:
    """Return the lines of a file of answers without their dates."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(line.pop("date") for line in lines)
    return lines


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 80), st.integers(0, 5))
@settings(deadline=None, max_examples=60)
def test_each_plan_is_the_beginning_of_every_longer_one(
    sizes: list[int], budget: int, seed: int
) -> None:
    lists = pc.RankedLists([np.arange(size, 0.0, -1) for size in sizes])
    plan = pc.judging.plan_judgements(lists, budget, seed=seed)
    longer = pc.judging.plan_judgements(lists, budget + 50, seed=seed)
    assert longer[:budget] == plan
    assert len(set(plan)) == len(plan) == min(budget, sum(sizes))
    assert all(0 <= rank < sizes[i] for i, rank in plan)


def test_the_plan_depends_on_the_seed_alone() -> None:
    plan = pc.judging.plan_judgements(LISTS)
    assert plan == pc.judging.plan_judgements(LISTS) != pc.judging.plan_judgements(LISTS, seed=1)
    assert len(plan) == 200
    with pytest.raises(TypeError):
        plan[0] = (0, 0)  # type: ignore[index]


def test_a_visit_has_one_result_in_each_fifth_of_the_log_ranks() -> None:
    plan = pc.judging.plan_judgements(LISTS, 300)
    for start in range(0, 300, 5):
        visit = plan[start : start + 5]
        assert len({i for i, _ in visit}) == 1
        fifths = np.log([rank + 1 for _, rank in visit]) / np.log(301) * 5
        # A rank stands for the stretch of logarithms from itself to the next one.
        assert np.all(np.abs(np.sort(fifths) - np.arange(5) - 0.5) < 1.01)
    assert Counter(i for i, _ in plan) == dict.fromkeys(range(60), 5)


def test_results_that_are_judged_are_not_planned_and_their_lists_come_later() -> None:
    relevance = np.full((60, 300), np.nan)
    relevance[:30, ::60] = 0.0
    plan = pc.judging.plan_judgements(LISTS.with_relevance(relevance), 1000)
    assert all(np.isnan(relevance[pair]) for pair in plan)
    assert {i for i, _ in plan[:150]} == set(range(30, 60))


def test_later_visits_look_where_relevance_is_uncertain() -> None:
    judged = pc.judge(LISTS, truth, 300)
    known = Consensus().fit(judged).predict_proba(judged)
    plan = pc.judging.plan_judgements(judged, 300)
    chances = np.array([known[i][rank] for i, rank in plan])
    assert np.mean(np.abs(chances - 0.5) < 0.4) > 2 * np.mean(np.abs(known.values - 0.5) < 0.4)
    even = pc.judging.plan_judgements(LISTS, 300)
    before = np.array([known[i][rank] for i, rank in even])
    assert np.mean(chances * (1 - chances)) > np.mean(before * (1 - before))


@pytest.mark.parametrize(("name", "value"), [("budget", -1), ("budget", 2.5), ("seed", "x")])
def test_the_plan_refuses_nonsense(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"plan_judgements: {name} must be"):
        pc.judging.plan_judgements(LISTS, **{name: value})
    with pytest.raises(InvalidParameterError, match="lists must be RankedLists, got list"):
        pc.judging.plan_judgements([[1.0, 2.0]])  # type: ignore[arg-type]


# --- the judge ------------------------------------------------------------------------------------


def test_answers_are_where_they_belong_and_the_rest_is_unknown() -> None:
    asked = []

    def ask(query: str, doc: str) -> bool:
        asked.append((query, doc))
        return truth(query, doc)

    judged = pc.judge(LISTS, ask, 120)
    assert len(asked) == len(set(asked)) == 120
    assert judged.judged.values.sum() == 120
    for _, doc in asked:
        i, rank = map(int, doc.split("-"))
        assert judged.relevance[i][rank] == RELEVANT[i, rank]
    assert LISTS.relevance is None


def test_the_judge_is_asked_what_was_planned() -> None:
    asked = []
    pc.judge(LISTS, lambda query, doc: asked.append(doc) or True, 50)
    assert len({doc.split("-")[0] for doc in asked}) == 10


def test_texts_are_handed_in_place_of_ids() -> None:
    seen: list[tuple[str, str]] = []
    texts = {f"{i}-{j}": f"text {i}-{j}" for i in range(60) for j in range(300)}
    queries = {str(i): f"query {i}" for i in range(60)}
    pc.judge(LISTS, lambda q, d: seen.append((q, d)), 5, texts=texts, queries=queries)
    assert all(q.startswith("query ") and d.startswith("text ") for q, d in seen)
    with pytest.raises(InvalidParameterError, match="judge: texts must hold every id"):
        pc.judge(LISTS, truth, 5, texts={})


def test_unsure_results_stay_unknown_and_are_not_asked_again() -> None:
    lists = LISTS[:2]
    asked: list[str] = []
    judged = pc.judge(lists, lambda q, d: asked.append(d), 10_000)  # answers None
    assert len(asked) == len(set(asked)) == 600
    assert not judged.judged.values.any()


@pytest.mark.parametrize(
    "answer", ["yes", float("nan"), float("inf"), 10**400, 0.9, [1], ["no grade"]]
)
def test_an_answer_that_is_none_is_refused_and_not_kept(answer: Any, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with pytest.raises(InvalidParameterError, match="an answer must be True, False, None or a"):
        pc.judge(LISTS, lambda q, d: answer, 5, path=path)
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"query": "zzz"}, "query must be '.*', got 'zzz'"),
        ({"doc": "other"}, "doc must be '.*', got 'other'"),
        ({"answer": "NaN"}, "an answer must be True, False, None or a grade"),
        ({"answer": float("inf")}, "an answer must be True, False, None or a grade"),
        ({"rank": 10**6}, r"rank must be .* got 1000000"),
        ({"list": -1}, r"list_index must be .* got -1"),
    ],
)
def test_a_file_with_answers_about_something_else_is_refused_by_line(
    change: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "answers.jsonl"
    pc.judge(LISTS, truth, 3, path=path)
    lines = path.read_text().splitlines()
    lines[2] = json.dumps(json.loads(lines[2]) | change)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataFormatError, match=problem) as caught:
        JudgingSession(LISTS, 9, path=path)
    assert caught.value.line == 3


def test_yes_counts_as_relevant_whatever_the_smallest_relevant_grade() -> None:
    lists = pc.RankedLists([[3.0, 2.0]], doc_ids=[["a", "b"]], min_grade=2)
    judged = pc.judge(lists, lambda q, d: d == "a", 2)
    assert judged.relevant[0].tolist() == [True, False]
    assert pc.judge(lists, lambda q, d: 1, 2).relevant.values.tolist() == [False, False]


def test_lists_without_names_and_judges_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="lists must have doc_ids"):
        pc.judge(pc.RankedLists([[1.0]]), truth)
    with pytest.raises(InvalidParameterError, match="ask must be a function, got 'x'"):
        pc.judge(LISTS, "x")  # type: ignore[arg-type]


def test_it_stops_when_the_loss_is_small_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    judged = pc.judge(LISTS, truth, 600, tolerance=0.02, progress=True)
    count = int(judged.judged.values.sum())
    assert 50 <= count < 600
    said = capsys.readouterr().err
    assert f"after {count} answers" in said
    assert "lose at most 0.0" in said
    session = JudgingSession(judged, 0)
    assert session.loss is not None
    assert session.loss <= 0.02


@pytest.mark.parametrize("unit", [1.7e305, 1e-300, 5e-324])
def test_the_unit_of_the_scores_says_nothing(unit: float) -> None:
    # Denormal scores gave "about nan relevant results", and it stopped at once.
    scores = LISTS.scores
    sizes = np.rint(1000 * scores.values / np.abs(scores.values).max())
    session, usual = (
        JudgingSession(LISTS.like(scores=scores.with_values(column)), 40)
        for column in (sizes * unit, sizes)
    )
    for one in (session, usual):
        while (question := one.next()) is not None:
            one.answer(question.rank < 3)
    assert session.answers == usual.answers == 40
    assert session.summary() == usual.summary()


# --- files ----------------------------------------------------------------------------------------


def test_a_judge_who_gives_up_again_and_again_leaves_the_same_file(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    expected = pc.judge(LISTS, truth, 130, path=whole)
    left = 0

    def ask(query: str, doc: str) -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return truth(query, doc)

    while True:
        left = 17
        try:
            found = pc.judge(LISTS, ask, 130, path=parts)
            break
        except KeyboardInterrupt:
            pass
    assert undated(parts) == undated(whole)
    np.testing.assert_array_equal(found.relevance.values, expected.relevance.values)


def test_a_file_that_breaks_off_anywhere_is_taken_up(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    pc.judge(LISTS, truth, 12, path=whole)
    data = whole.read_bytes()
    for size in range(0, len(data), 7):
        cut.write_bytes(data[:size])
        pc.judge(LISTS, truth, 12, path=cut)
        assert undated(cut) == undated(whole), f"cut at {size}"


def test_a_killed_process_loses_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import paretocut as pc
from test_judging import LISTS, truth
count = 0
def ask(query, doc):
    global count
    count += 1
    if count == 38:
        os.kill(os.getpid(), signal.SIGKILL)
    return truth(query, doc)
pc.judge(LISTS, ask, 60, path={str(path)!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(path.read_text().splitlines()) == 1 + 37
    count = 0

    def ask(query: str, doc: str) -> bool:
        nonlocal count
        count += 1
        return truth(query, doc)

    judged = pc.judge(LISTS, ask, 60, path=path)
    assert count == 23
    fresh = pc.judge(LISTS, truth, 60)
    np.testing.assert_array_equal(judged.relevance.values, fresh.relevance.values)


def test_a_file_of_other_lists_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    pc.judge(LISTS, truth, 3, path=path)
    data = path.read_bytes()
    with pytest.raises(InvalidParameterError, match="which holds judgements of other lists"):
        pc.judge(LISTS[:5], truth, 3, path=path)
    with pytest.raises(InvalidParameterError, match="judgements of seed 0, not 1"):
        pc.judge(LISTS, truth, 3, path=path, seed=1)
    assert path.read_bytes() == data


@pytest.mark.parametrize("content", [b"my notes", b"a\nb", b'{"a": 1}', b"\xff\xfe", b"[1]\n"])
def test_a_file_of_something_else_is_refused_and_left_as_it_is(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(DataFormatError, match="not a paretocut-judgements file"):
        pc.judge(LISTS, truth, 3, path=path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "line", [b"no json\n", b'{"list": 999, "rank": 0, "answer": 1}\n', b'{"list": 0}\n']
)
def test_a_broken_line_in_the_middle_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "answers.jsonl"
    pc.judge(LISTS, truth, 3, path=path)
    head, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + line + b"".join(rest))
    with pytest.raises(
        DataFormatError, match=r"answers\.jsonl:2: (not a judgement|expected a JSON object)"
    ):
        pc.judge(LISTS, truth, 5, path=path)


def test_a_file_that_cannot_be_written_stops_before_the_first_question(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        pc.judge(LISTS, truth, 3, path=tmp_path / "missing" / "answers.jsonl")


# --- the session ----------------------------------------------------------------------------------


def test_undo_takes_back_and_asks_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    session = JudgingSession(LISTS, 20, path=path)
    assert session.undo() is None
    first = session.next()
    session.answer(True)
    second = session.next()
    assert second != first
    assert session.undo() == first
    session.answer(False)
    assert session.next() == second
    assert session.answers == 1
    assert session.lists.relevance[first.list_index][first.rank] == 0.0
    again = JudgingSession(LISTS, 20, path=path)
    assert again.next() == second
    np.testing.assert_array_equal(again.lists.relevance.values, session.lists.relevance.values)


def test_judgements_nobody_asked_for_are_kept_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    scores = np.tile([3.0, 2.0, 1.0], (700, 1))  # more lists than are asked about
    lists = pc.RankedLists(scores, doc_ids=[[f"{i}a", f"{i}b", f"{i}c"] for i in range(700)])
    session = JudgingSession(lists, path=path)
    session.answer(True)
    outside = min(set(range(700)) - set(session._pool[1].tolist()))
    session.judge(outside, 1, True)
    session.judge(outside, 1, False)
    session.judge(outside, 2, None)
    first, grades = session.lists.relevance[outside].tolist(), session.lists.relevance.values
    assert first[:2] == [pytest.approx(float("nan"), nan_ok=True), 0.0]
    assert np.count_nonzero(~np.isnan(grades)) == 2
    assert session.summary().startswith("2 judged, 1 relevant")
    again = JudgingSession(lists, path=path)
    np.testing.assert_array_equal(again.lists.relevance.values, grades)
    assert again.next() == session.next()
    session.undo()
    session.undo()
    assert session.lists.relevance[outside].tolist()[1] == 1.0
    for i, rank, problem in ((700, 0, "list_index must be"), (0, 3, "rank must be")):
        with pytest.raises(InvalidParameterError, match=problem):
            session.judge(i, rank, True)


def test_judgements_outside_the_pool_cost_the_same_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each of them once replayed all answers before it.
    lists = pc.RankedLists(np.tile([3.0, 2.0, 1.0], (2000, 1)))
    session = JudgingSession(lists)
    taken = []
    take = JudgingSession._take
    monkeypatch.setattr(JudgingSession, "_take", lambda self, e: (taken.append(e), take(self, e)))
    for i in range(2000):
        session.judge(i, 1, i % 2 == 0)
    assert len(taken) == 2000
    assert session.lists.judged.values.sum() == 2000
    assert session.summary().startswith("2000 judged, 1000 relevant")


def test_a_skipped_query_is_not_asked_about_until_it_is_taken_back() -> None:
    session = JudgingSession(LISTS[:4], 1000)
    question = session.next()
    session.answer(True)
    session.skip_query()
    seen = set()
    while (one := session.next()) is not None:
        seen.add(one.query_id)
        session.answer(False)
        if session.answers == 40:
            break
    assert question.query_id not in seen
    assert len(seen) == 3
    session = JudgingSession(LISTS[:4], 1000)
    question = session.next()
    session.skip_query()
    assert session.next() != question
    assert session.undo() == question


def test_the_summary_tells_number_interval_and_loss() -> None:
    session = JudgingSession(LISTS, 100)
    assert session.summary() == "nothing judged yet"
    while (question := session.next()) is not None:
        session.answer(truth(question.query_id, str(question.doc_id)))
    number = RELEVANT.sum(axis=1).mean()
    low, high = Consensus().fit(session.lists).interval_
    assert low < number < high
    assert session.summary().startswith("100 judged, ")
    assert f"(95 %: {low:.2g} to {high:.2g})" in session.summary()
    with pytest.raises(InvalidParameterError, match="answer must follow a question"):
        session.answer(True)


def test_of_very_many_lists_some_hundred_are_asked_about() -> None:
    rng = np.random.default_rng(0)
    scores = -np.sort(-rng.normal(size=(3000, 10)), axis=1)
    relevance = np.full(scores.shape, np.nan)
    relevance[2999, 0] = 1
    session = JudgingSession(pc.RankedLists(scores, relevance), 10_000)
    seen = set()
    while (question := session.next()) is not None:
        seen.add(question.list_index)
        session.answer(question.rank == 0)
    assert len(seen) == 500
    assert 2999 in seen
    judged = session.lists
    assert judged.judged.values.sum() == 5000
    assert all(judged.relevance[i][0] == 1 for i in seen)


def test_what_was_judged_before_is_kept() -> None:
    relevance = np.full((60, 300), np.nan)
    relevance[0, :5] = 2
    judged = pc.judge(LISTS.with_relevance(relevance), truth, 10)
    assert judged.relevance[0][:5].tolist() == [2.0] * 5
    assert judged.judged.values.sum() == 15


def test_each_round_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []

    def counted(*args: Any) -> Any:
        planned.append(args[3])
        return plan(*args)

    plan = session.planned
    monkeypatch.setattr(session, "planned", counted)
    pc.judge(LISTS, truth, 120)
    assert planned == [50, 50, 50]


@pytest.mark.parametrize(
    "value", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "NaN", "[" * 100_000]
)
def test_an_answer_that_is_no_finite_number_is_refused_by_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "answers.jsonl"
    pc.judge(LISTS, truth, 1, path=path)
    head, answer = path.read_text().splitlines()
    start = answer.partition('"answer": ')[0]
    broken = f'{head}\n{start}"answer": {value}}}\n'
    path.write_text(broken)
    with pytest.raises(DataFormatError, match=r"answers\.jsonl:2: "):
        pc.judge(LISTS, truth, 3, path=path)
    assert path.read_text() == broken


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
def test_a_full_disk_is_named_and_no_answer_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import paretocut as pc
from test_judging import LISTS, truth
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    pc.judge(LISTS, truth, 60, path={str(path)!r})
except OSError as error:
    print(error.filename)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(path)
    assert path.read_bytes().endswith(b"}\n")  # nothing of the line that did not fit
    judged = pc.judge(LISTS, truth, 60, path=path)
    fresh = pc.judge(LISTS, truth, 60)
    np.testing.assert_array_equal(judged.relevance.values, fresh.relevance.values)


def test_a_reading_that_was_not_begun_or_has_ended_knows_its_list() -> None:
    lists = pc.RankedLists([[], [3.0, 2.0], [2.0]])
    reading = session.Reading(JudgingSession(lists), pc.stopping.Certificate(recall=0.9))
    assert (reading.answers, reading.budget, reading.summary()) == (0, 2, "nothing judged yet")
    while reading.next() is not None:
        reading.answer(True)
    again = session.Reading(reading.session, pc.stopping.Certificate(recall=0.9))
    assert (again.answers, again.budget) == (reading.answers, reading.budget) == (1, 1)
    assert again.next() is None
