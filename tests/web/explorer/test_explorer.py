"""The explorer's numbers are the engine's, and its server gives away nothing else."""

from __future__ import annotations

import contextlib
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import count_fits
from samples import planted

import paretocut as pc
from paretocut.calibration import calibrated, nonsense_queries
from paretocut.cli import main
from paretocut.cli._main import build_parser
from paretocut.cli.serving import exploration
from paretocut.metrics.significance import exact_interval
from paretocut.truncators import Gated, ScoreThreshold
from paretocut.web.explorer import report, views
from paretocut.web.explorer.copied import copy_view, gate_code, qrels_view
from paretocut.web.explorer.exploration import Exploration, Source
from paretocut.web.explorer.pasted import example_run, pasted_lists
from paretocut.web.explorer.query import query_view


def plain(view: Any) -> Any:
    """Return a view after a way through strict JSON."""
    return json.loads(json.dumps(view, allow_nan=False))


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["scores", "distances"])
def test_every_number_of_a_query_is_the_librarys(sign: float) -> None:
    lists = planted(sign=sign)
    view = plain(query_view(Exploration(lists), 2))
    ranked = lists[2]
    fit = pc.fit_tail(ranked.scores, higher_is_better=sign > 0)
    assert view["ks"] == list(range(len(ranked) + 1))
    for name, values in [
        ("surprise", fit.surprise),
        ("pvalue", fit.pvalues),
        ("evalue", fit.evalues),
    ]:
        np.testing.assert_allclose(view[name], values, rtol=1e-6)
    np.testing.assert_allclose(view["picture"]["values"], ranked.scores, rtol=1e-6)
    assert ranked.relevant is not None
    hits = np.concatenate([[0], np.cumsum(ranked.relevant)])
    k = np.arange(len(ranked) + 1)
    np.testing.assert_allclose(view["curves"]["recall"], hits / ranked.num_relevant, rtol=1e-6)
    np.testing.assert_allclose(view["curves"]["precision"], hits / np.maximum(k, 1), rtol=1e-6)
    np.testing.assert_allclose(
        view["curves"]["value"], 2 * hits / (k + ranked.relevant.sum()), rtol=1e-6
    )
    assert view["picture"]["judgements"] == ranked.relevant.astype(int).tolist()
    own = pc.cut(ranked.scores, higher_is_better=sign > 0)
    assert (view["methods"]["default"]["k"], view["methods"]["default"]["reason"]) == (
        own.k,
        own.reason,
    )
    assert view["methods"]["first10"]["k"] == 10
    half = ScoreThreshold("minmax", 0.5).cut(ranked.scores, higher_is_better=sign > 0)
    assert view["methods"]["upper-half"]["k"] == half.k
    assert view["results"][0]["id"] == str(ranked.doc_ids[0])


def test_a_query_is_shown_without_fitting_the_tails_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One look at one query fitted the tails of all of them.
    session = Exploration(planted())
    views.run_view(session)  # by now every method has decided
    fits = count_fits(monkeypatch)
    query_view(session, 2)
    assert fits == ["fit_list"]


def test_expected_surprise_is_that_of_a_sample_of_chance() -> None:
    rng = np.random.default_rng(5)
    view = query_view(Exploration(pc.RankedLists([rng.exponential(size=2000)])), 0)
    qq = view["tail"]["qq"]
    # Under the null the points lie on the diagonal; the last few scatter.
    middle = [i for i, rank in enumerate(qq["rank"]) if rank >= 50]
    observed, expected = (np.array(qq[name])[middle] for name in ("observed", "expected"))
    np.testing.assert_allclose(observed, expected, atol=0.35)
    assert sum(view["tail"]["counts"]) == view["tail"]["tests"]


def test_a_long_list_is_thinned_but_keeps_its_head_and_all_cuts() -> None:
    rng = np.random.default_rng(0)
    session = Exploration(pc.RankedLists([rng.exponential(size=200_000)]))
    view = query_view(session, 0, most_cuts=1000)
    ks = view["ks"]
    assert len(ks) < 1100
    assert ks[:500] == list(range(500))
    assert ks[-1] == 200_000
    assert ks == sorted(set(ks))
    assert {method["k"] for method in view["methods"].values()} <= set(ks)
    fit = pc.fit_tail(session.lists[0].scores)
    np.testing.assert_allclose(view["surprise"], fit.surprise[np.array(ks[1:]) - 1], rtol=1e-6)


@pytest.mark.parametrize(
    "scores", [[], [0.5], [1.0] * 30, [3.0, 2.0, 1.0]], ids=["empty", "one", "constant", "three"]
)
def test_strange_lists_have_views(scores: list[float]) -> None:
    session = Exploration(pc.RankedLists([scores, [0.9, 0.1]]))
    view = plain(query_view(session, 0))
    assert view["n"] == len(scores)
    assert len(view["ks"]) == len(scores) + 1
    assert plain(views.run_view(session))["lists"] == 2
    assert plain(views.frontier_view(session)) == {"kept": [], "recall": [], "precision": []}


def test_the_run_in_numbers() -> None:
    lists = planted(6)
    session = Exploration(lists)
    run = plain(views.run_view(session))
    k = {key: np.array(values) for key, values in run["queries"]["k"].items()}
    np.testing.assert_array_equal(k["default"], pc.cut_batch(lists).k)
    for method in run["methods"]:
        assert sum(method["histogram"]) == len(lists)
        assert method["kept"] == pytest.approx(k[method["key"]].mean())
        assert method["value"] == pytest.approx(pc.metrics.f1(lists, k[method["key"]]).mean())
        assert method["recall"] == pytest.approx(pc.metrics.recall(lists, k[method["key"]]).mean())
    for i in range(len(lists)):
        of_list = [int(values[i]) for values in k.values()]
        apart = math.log2((1 + max(of_list)) / (1 + min(of_list)))
        assert run["queries"]["disagreement"][i] == pytest.approx(apart, abs=0.01)
    assert run["bins"][:5] == [0, 1, 2, 3, 5]


def test_lists_judged_in_part_are_estimated_as_evaluate_does() -> None:
    """They once left the mean; a list without any judgement still does."""
    lists, truth = planted(12, 60, judged=False), planted(12, 60)
    grades = np.where(np.random.default_rng(0).random((12, 60)) < 0.5, np.nan, 1.0)
    grades *= np.array(truth.relevance.values.reshape(12, 60))
    grades[11] = np.nan
    session = Exploration(lists.with_relevance(grades))
    run = plain(views.run_view(session))
    assert (run["measured"], run["estimated"]) == (11, 11)
    assert run["queries"]["state"] == ["judged in part"] * 11 + ["not judged"]
    known = lists[:11].with_relevance(grades[:11])
    first = {"first": pc.truncators.FixedK(10)}
    expected = pc.evaluate(first, known, ["f1"], test=known)["f1", "first"]
    row = next(m for m in run["methods"] if m["key"] == "first10")
    assert row["value"] == pytest.approx(expected.mean, abs=1e-9)
    assert session.evaluation is not None
    own = session.evaluation["f1", "first10"]
    assert (own.low, own.high) == pytest.approx((expected.low, expected.high), abs=0.01)
    assert row["value"] == pytest.approx(pc.metrics.f1(truth[:11], 10).mean(), abs=0.1)
    view = plain(query_view(session, 0))
    assert view["picture"]["judgements"][:9] == [None if np.isnan(x) else x for x in grades[0][:9]]
    low, high = np.array(view["ends"]["value"])
    middle = np.array(view["curves"]["value"])
    assert ((low <= middle + 1e-3) & (middle <= high + 1e-3)).all()
    assert (high - low).max() > 0.02
    assert plain(query_view(session, 11))["curves"] is None


def test_deep_results_are_sent_when_they_are_judged_or_asked_for() -> None:
    lists = planted(1, 500, judged=False)
    grades: list[Any] = [None] * 500
    grades[300] = 1
    session = Exploration(lists.with_relevance([grades]))
    results = query_view(session, 0, also=450)["results"]
    assert [row["rank"] for row in results] == [*range(200), 300, 450]
    assert results[200] == {
        "rank": 300, "id": str(lists[0].doc_ids[300]), "relevant": 1,
        "score": pytest.approx(lists[0].scores[300]),
    }  # fmt: skip


def test_fused_lists_show_what_each_retriever_said() -> None:
    words = pc.RankedLists([[7.0, 2.0]], doc_ids=[["a", "b"]])
    vectors = pc.RankedLists([[0.9, 0.5]], doc_ids=[["b", "c"]])
    session = Exploration(pc.fuse({"words": words, "vectors": vectors}))
    assert views.run_view(session)["retrievers"] == ["words", "vectors"]
    results = {row["id"]: row["parts"] for row in plain(query_view(session, 0))["results"]}
    assert results["b"] == [{"score": 2.0, "rank": 2}, {"score": 0.9, "rank": 1}]
    assert results["c"] == [{"score": None, "rank": 0}, {"score": 0.5, "rank": 2}]


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["scores", "distances"])
def test_the_gate_shows_where_the_best_score_lies_among_nonsense(sign: float) -> None:
    rng = np.random.default_rng(1)
    up = sign > 0
    background = pc.Background.fit(sign * rng.normal(0.4, 0.05, 200), higher_is_better=up)
    lists = planted(sign=sign)
    session = Exploration(lists, models={"mine": background})
    (gate,) = plain(query_view(session, 1))["gates"]
    assert gate["pvalue"] == pytest.approx(float(background.pvalue(lists[1:2])[0]), rel=1e-6)
    assert gate["threshold"] == pytest.approx(background.limit(0.05), rel=1e-6)
    assert gate["best"] == pytest.approx(float(lists[1].scores[0]), rel=1e-6)
    assert gate["answers"]
    assert sum(gate["share"]) == pytest.approx(1.0, abs=0.01)
    gated = Gated(pc.truncators.Consensus(), background)
    np.testing.assert_array_equal(session.cuts("model-mine").k, gated.predict(lists))


def lexical_model() -> pc.truncators.Calibrated:
    texts = ["ferns grow in the shade of trees", "roses like full sun and rich soil"] * 20
    scale = pc.background.QueryScale.from_texts(texts)
    asked = nonsense_queries(texts, 40, lexical=True)
    scores = np.random.default_rng(0).exponential(1.0, (40, 60))
    return calibrated(scores, scale=scale, texts=asked)


def test_a_model_of_word_scores_needs_the_texts() -> None:
    model = lexical_model()
    lists = planted(2)
    with pytest.raises(
        pc.errors.InvalidParameterError, match="text of every query, got none for 2"
    ):
        Exploration(lists, models={"words": model})
    known = {"q0": "rich soil for roses", "q1": "trees in the shade"}
    session = Exploration(lists, models={"words": model}, query_texts=known)
    cuts = model.cut_batch(lists, queries=list(known.values()))
    np.testing.assert_array_equal(session.cuts("model-words").k, cuts.k)
    (gate,) = plain(query_view(session, 1))["gates"]
    assert model.scale_ is not None
    best = float(lists[1].scores[0]) / float(model.scale_([known["q1"]])[0])
    assert gate["best"] == pytest.approx(best, rel=1e-6)
    assert len(gate["nonsense"]) == 40


def run_command(command: str) -> list[int]:
    """Return the cuts that a copied command makes."""
    own = f"{sys.executable} -m paretocut "
    shell = re.sub("^paretocut ", lambda _: own, command.strip(), flags=re.M) + " --json -q"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=True)
    return [json.loads(line)["k"] for line in done.stdout.splitlines()]


ODD = 'a run\'s $HOME "2".txt'


@pytest.mark.parametrize(
    "form",
    [
        *("one", "fused", "odd"),
        *(
            pytest.param(form, marks=pytest.mark.slow)
            for form in ("folder", "distances", "fused distances")
        ),
    ],
)
def test_copied_code_cuts_as_the_page_does(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut of fused runs once became a threshold on the first of them, and kept nothing."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    sign = -1.0 if "distances" in form else 1.0
    first = {"folder": "folder/run.txt", "odd": ODD}.get(form, "run.txt")
    runs = [first, "-b.txt"] if form in ("fused", "odd", "fused distances") else [first]
    for seed, file in enumerate(runs):
        pc.io.write_trec(Path(file), planted(sign=sign, seed=seed))
    gate, model = "folder/bg of mine.json", "model it's.json"
    up = form != "distances"  # what is fused has scores
    best = np.random.default_rng(3).normal(0.5, 0.06, 200)
    pc.Background.fit(best if up else -best, higher_is_better=up).save(gate)
    pc.truncators.Consensus(expect="few").save(model)
    given = [first, "--model", f"gate={gate}", f"--model=mine={model}"]
    given += ["--fuse=./-b.txt"] if len(runs) > 1 else []
    given += ["--distances"] if sign < 0 else []
    session = exploration(build_parser().parse_args(["explore", *given, "-q"]))
    assert {"model-gate", "model-mine"} <= session.methods.keys()
    eye = {("eye", k): (None, 1, k) for k in (0, 7)}
    for name, asked in {**{key: (key, 0, 0) for key in session.methods}, **eye}.items():
        code = copy_view(session, *asked)
        scope: dict[str, Any] = {}
        exec(code["python"], scope)
        if isinstance(name, str):
            expected = session.cuts(name).k
        else:
            expected = scope["cuts"].k
            assert expected[1] == name[1]
        np.testing.assert_array_equal(scope["cuts"].k, expected)
        Path("model.json").write_text(json.dumps(code["model"]))
        loaded = pc.load("model.json")
        np.testing.assert_array_equal(loaded.predict(session.lists), expected)
        assert run_command(code["command"]) == expected.tolist()


def with_unanswered(folder: Path, *, sign: float = 1.0) -> pc.RankedLists:
    """Write a run of 30 queries, of which the last 14 have no answer, and its judgements."""
    judged, noise = planted(16, sign=sign), np.random.default_rng(1).exponential(0.16, (14, 120))
    lists = pc.RankedLists(
        [*judged.scores, *(sign * noise)],
        query_ids=[*judged.query_ids, *(f"n{i}" for i in range(14))],
        doc_ids=[*judged.doc_ids, *([f"x{j}" for j in range(120)] for _ in range(14))],
        higher_is_better=sign > 0,
    )
    pc.io.write_trec(folder / "run.txt", lists)
    pc.io.write_qrels(folder / "qrels.txt", judged)
    return lists


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["scores", "distances"])
def test_a_gate_chosen_by_eye_is_copied_with_its_threshold(
    sign: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = with_unanswered(tmp_path, sign=sign)
    words = ["run.txt", "qrels.txt", "--unanswered", "-q", *(["--distances"] if sign < 0 else [])]
    session = exploration(build_parser().parse_args(["explore", *words]))
    view = plain(views.run_view(session))["gate"]
    best = np.array([own[0] for own in lists.scores])
    np.testing.assert_allclose(view["answered"], sign * np.sort(sign * best[:16]))
    np.testing.assert_allclose(view["unanswered"], sign * np.sort(sign * best[16:]))
    t = sign * view["threshold"]  # the best division there is, of those that refuse something
    kept, refused = np.mean(sign * best[:16] >= t), np.mean(sign * best[16:] < t)
    tops = np.sort(sign * best)[1:]
    every = [np.mean(sign * best[:16] >= x) + np.mean(sign * best[16:] < x) for x in tops]
    assert kept + refused == pytest.approx(max(every))
    good, none = lists[:16], lists[16:]
    gated = Gated(pc.truncators.Consensus(), pc.Background.fit(none))
    checked = gated.evaluate(good, none)
    assert checked.balanced == view["threshold"]
    assert checked.left_empty.total == view["check"]["left_empty"]["total"] == 16
    told = views.gate_check(session, sign * 0.7)["refused"]
    assert told["count"] == np.sum(sign * best[16:] < 0.7)
    assert told["interval"] == [float(x) for x in exact_interval(told["count"], 14)]
    for key, threshold in (("default", 0.61), ("first10", 0.75), ("learned", 0.61)):
        code = gate_code(session, key, sign * threshold)
        Path("model.json").write_text(json.dumps(code["model"]), encoding="utf-8")
        model = pc.load("model.json")
        assert model.threshold() == sign * threshold
        scope: dict[str, Any] = {}
        exec(code["python"], scope)
        base = session.methods[key].truncator.predict(lists)
        np.testing.assert_array_equal(scope["cuts"].k, np.where(sign * best >= threshold, base, 0))
        assert run_command(code["command"]) == scope["cuts"].k.tolist()
    with pytest.raises(pc.errors.InvalidParameterError, match="method must be one of"):
        gate_code(session, "nobody", 0.6)
    few = Exploration(lists[:20], unanswered={f"n{i}" for i in range(4)})
    with pytest.raises(pc.errors.InvalidParameterError, match="at least 10, got 4"):
        gate_code(few, "default", 0.6)


def test_copied_code_of_lexical_models_and_pasted_scores_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = pasted_lists("0.9 0.8 0.3 0.2 0.1")
    session = Exploration(lists, source=Source(runs=()))
    code = copy_view(session, "upper-half", 0, 0)
    scope: dict[str, Any] = {}
    exec(code["python"], scope)
    assert scope["cuts"].k.tolist() == session.cuts("upper-half").k.tolist() == [2]
    assert code["command"] is None

    Path("texts.tsv").write_text("".join(f"q{i}\troses in soil {i}\n" for i in range(4)))
    pc.io.write_trec(Path("run.txt"), planted())
    lexical_model().save("words.json")
    given = ["explore", "run.txt", "--model=words=words.json", "--query-texts=texts.tsv", "-q"]
    session = exploration(build_parser().parse_args(given))
    code = copy_view(session, "model-words", 0, 0)
    scope = {}
    exec(code["python"], scope)
    expected = session.cuts("model-words").k
    np.testing.assert_array_equal(scope["cuts"].k, expected)
    assert run_command(code["command"]) == expected.tolist()


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["scores", "distances"])
@pytest.mark.parametrize("k", [0, 1, 7, 120])
def test_a_cut_by_eye_becomes_a_threshold_that_gives_it_back(k: int, sign: float) -> None:
    session = Exploration(planted(sign=sign))
    scope: dict[str, Any] = {"lists": session.lists, "pc": pc}
    code = copy_view(session, None, 1, k)["python"].splitlines()[-1]
    exec(code, scope)
    assert scope["cuts"].k[1] == k


@pytest.mark.parametrize("up", [True, False], ids=["scores", "distances"])
@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.5]], ids=["one", "constant"])
def test_nothing_is_kept_of_a_flat_list_by_the_threshold_for_none(
    up: bool, scores: list[float]
) -> None:
    session = Exploration(pc.RankedLists([scores], higher_is_better=up))
    scope: dict[str, Any] = {"lists": session.lists, "pc": pc}
    exec(copy_view(session, None, 0, 0)["python"].splitlines()[-1], scope)
    assert scope["cuts"].k.tolist() == [0]


def test_pasted_texts_are_told_apart() -> None:
    assert pasted_lists("0.9, 0.5\n[0.7]; 1e-3")[0].scores.tolist() == [
        0.9, 0.7, 0.5, 0.001,
    ]  # fmt: skip
    run = "q1 Q0 d1 1 0.5 me\nq1 Q0 d2 2 0.4 me\n"
    judged = pasted_lists(run, "q1 0 d2 1\n")
    assert judged[0].relevance is not None
    assert judged[0].relevance.tolist() == [0, 1]
    jsonl = '{"query_id": "a", "scores": [3, 2]}\n'
    assert pasted_lists(jsonl).query_ids.tolist() == ["a"]
    csv = "query_id,score,doc_id\na,3,x\na,2,y\n"
    assert pasted_lists(csv)[0].scores.tolist() == [3, 2]
    for text, told in [("", "no text"), ("1.2.3 4", "'1.2.3'"), ("a b c", "expected 6 fields")]:
        with pytest.raises(pc.errors.ParetocutError, match=re.escape(told)):
            pasted_lists(text)


def test_two_pasted_lists_stay_two() -> None:
    for text in ("[0.9, 0.5] [0.7]", "[[0.9, 0.5],\n [0.7]]", "[0.9, 0.5]\n[0.7]\n"):
        assert [one.scores.tolist() for one in pasted_lists(text)] == [[0.9, 0.5], [0.7]]
    assert len(pasted_lists("[0.9, 0.5, 0.7]")) == 1
    csv = "score,doc_id,query_id\n3,x,a\n2,y,a\n"  # in another order
    for text in (csv, csv.replace(",", "\t")):
        assert pasted_lists(text)[0].scores.tolist() == [3, 2]


@pytest.mark.parametrize(
    "ending", ["run", "run.gz", "run.xz", "jsonl", "csv", "tsv", "parquet", "arrow"]
)
def test_uploaded_files_are_read_as_the_command_line_reads_them(
    ending: str, tmp_path: Path
) -> None:
    lists, file = planted(3, judged=False), tmp_path / f"my.{ending}"
    pc.io.write_lists(file, lists)
    found = pasted_lists(file.read_bytes(), name=file.name)
    np.testing.assert_array_equal(found.scores.values, pc.io.read_lists(file).scores.values)
    with pytest.raises(pc.errors.InvalidParameterError, match="must end in one of"):
        pasted_lists(file.read_bytes(), name="my.xlsx")


@pytest.mark.slow
def test_a_report_of_20_000_queries_is_written(tmp_path: Path) -> None:
    """It once failed, with an option that nobody had given."""
    scores = np.random.default_rng(0).exponential(size=(20_000, 12))
    page = report.render(Exploration(pc.RankedLists(scores), name="large"))
    assert len(page) < 1_900_000
    (tmp_path / "report.html").write_bytes(page)
    told = embedded(tmp_path / "report.html")
    assert told["run"]["lists"] == 20_000
    assert 10 < len(told["run"]["queries"]["id"]) <= 2000
    assert "of 20,000 queries" in told["note"]
    for i, view in told["queries"].items():
        assert told["run"]["queries"]["id"][int(i)] == view["id"]


# Judgements.


def test_judgements_of_the_page_teach_what_they_teach_the_library() -> None:
    lists, truth = planted(12, 100, judged=False), planted(12, 100)
    session = Exploration(lists)
    grades: list[list[Any]] = [[None] * 100 for _ in range(12)]
    asked = set()
    for _ in range(20):
        question = session.session.next()
        assert question is not None
        i, rank = question.list_index, question.rank
        asked.add((i, rank))
        grades[i][rank] = bool(truth.relevant[i][rank])
        session.judge(i, rank, grades[i][rank])
    session.learn(session.learned(session.lists))
    assert len(asked) == 20
    assert len({rank for _, rank in asked}) > 8  # all over the list, not one corner of it
    learned = pc.truncators.Consensus().fit(lists.with_relevance(grades))
    np.testing.assert_array_equal(session.cuts("learned").k, learned.predict(lists))
    view = plain(views.judging_view(session, 3))
    hits = sum(map(sum, ([grade is True for grade in row] for row in grades)))
    assert (view["judged"], view["relevant"]) == (20, hits)
    assert view["learned"]["k"] == [int(pc.cut_batch(lists).k[3]), int(learned.predict(lists)[3])]
    assert "learned" in plain(views.run_view(session))["queries"]["k"]
    model = copy_view(session, "learned", 0, 0)["model"]
    assert model["class"] == "Consensus"


def test_judgements_that_come_with_the_run_are_learned_from_at_the_start(tmp_path: Path) -> None:
    run, qrels, out = (str(tmp_path / name) for name in ("run.txt", "qrels.txt", "out.html"))
    lists = planted(6)
    pc.io.write_trec(run, lists)
    Path(qrels).write_text(
        "".join(f"q{i} 0 d{i}-{j} {int(j < 2)}\n" for i in range(6) for j in (0, 9))
    )
    assert main(["report", run, qrels, "--unjudged", "unknown", "-o", out, "-q"]) == 0
    told = embedded(Path(out))["run"]["queries"]["k"]["learned"]
    known = pc.read_trec(run, qrels, unjudged="unknown")
    assert told == pc.truncators.Consensus().fit(known).predict(known).tolist()


def test_what_is_learned_is_measured_on_queries_that_it_has_not_seen() -> None:
    """It was once not there on a judged run, and once scored on what it had learned from."""
    lists = planted(23)
    session = Exploration(lists)
    cuts = session.cuts("learned")
    values = session.values("learned")
    np.testing.assert_allclose(values, pc.metrics.f1(lists, cuts.k))
    # What a query's own judgements say changes nothing about its own cut.
    for i in (0, 7, 22):
        other = lists.relevance.values.reshape(23, -1).copy()
        other[i] = other[i][::-1]
        again = Exploration(lists.with_relevance(other))
        assert again.cuts("learned").k[i] == cuts.k[i]
        assert again.cuts("learned")[i].reason == cuts[i].reason
    # The model to take away has learned from all.
    whole = pc.truncators.Consensus().fit(lists)
    taken = session.methods["learned"].truncator
    np.testing.assert_array_equal(taken.predict(lists), whole.predict(lists))
    few = plain(views.run_view(Exploration(lists[:4])))["methods"]
    assert "value" not in next(m for m in few if m["key"] == "learned")  # too few to divide


@pytest.mark.parametrize("judged", ["all", "in part"])
def test_the_numbers_of_the_page_are_those_of_evaluate(judged: str) -> None:
    """The page once divided the lists by itself, and named a protocol that had not run."""
    lists = planted(11, 60)
    if judged == "in part":
        grades = np.array(lists.relevance.values.reshape(11, 60), dtype=float)
        grades[:6, 5::2] = np.nan
        lists = lists.with_relevance(grades)
    session = Exploration(lists)
    methods = {"default": "default", "learned": "consensus", "first10": pc.truncators.FixedK(10)}
    expected = pc.evaluate(methods, lists, ["f1"], splits=1, folds=5)
    run = plain(views.run_view(session))
    assert run["protocol"] == expected.protocol
    assert run["protocol"].startswith("1 x 5-fold cross-validation")
    if judged == "all":
        np.testing.assert_array_equal(
            session.cuts("learned").k[expected.query], expected.cuts("f1", "learned")
        )
        missed = lists.num_relevant - lists.relevant.count(lists.relevant.values)
        assert (missed > 0).all()
    rows = {row["key"]: row for row in run["methods"]}
    for key in methods:
        assert rows[key]["value"] == pytest.approx(expected["f1", key].mean, abs=1e-12)
    few = Exploration(lists[6:10])
    assert plain(views.run_view(few))["protocol"] == "no method learned"
    assert views.run_view(Exploration(planted(6, judged=False)))["protocol"] is None


def test_a_judgement_can_be_taken_back() -> None:
    session = Exploration(planted(3, judged=False))
    session.judge(1, 4, True)
    session.judge(1, 4, None)
    assert "learned" not in session.methods
    assert views.judging_view(session, 1)["judged"] == 0


def test_a_judgement_of_a_judged_run_changes_that_query_and_no_other() -> None:
    """One click once hid the metrics of the whole run, and the next one changed its recall."""
    lists = planted()  # one more relevant document than was retrieved
    session = Exploration(lists)
    before = {name: session.values("first10", name) for name in ("f1", "recall")}
    place = int(np.flatnonzero(lists.relevant[1])[0])
    session.judge(1, place, None)
    session.learn(session.learned(session.lists))
    after = session.values("first10", "recall")
    np.testing.assert_array_equal(np.delete(after, 1), np.delete(before["recall"], 1))
    assert after[1] == pytest.approx(before["recall"][1], abs=0.2)  # estimated
    assert plain(views.run_view(session))["queries"]["state"][1] == "judged in part"
    assert plain(query_view(session, 1))["ends"] is not None
    assert plain(query_view(session, 0))["ends"] is None
    session.judge(1, place, True)
    session.learn(session.learned(session.lists))
    for name, known in before.items():
        np.testing.assert_array_equal(session.values("first10", name), known)
    session.judge(1, place, False)
    session.learn(session.learned(session.lists))
    number = int(lists.num_relevant[1]) - 1
    expected = pc.metrics.get("recall").curve(session.lists.relevant[1], number)[10]
    assert session.values("first10", "recall")[1] == pytest.approx(expected)
    with pytest.raises(pc.errors.InvalidParameterError, match=r"rank must be .* at most 119, got"):
        session.judge(1, 120, True)


def test_what_learned_on_the_page_is_not_measured_there() -> None:
    session = Exploration(planted(2, 12, judged=False))
    for rank in range(12):
        session.judge(0, rank, rank < 2)
    session.learn(session.learned(session.lists))
    rows = {m["key"]: m for m in plain(views.run_view(session))["methods"]}
    assert "value" in rows["default"]
    assert "value" not in rows["learned"]
    assert "value" not in plain(query_view(session, 0))["methods"]["learned"]


def test_a_click_costs_the_same_in_a_large_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It once took seconds: it measured all lists again."""
    work: list[str] = []
    curve, fit = pc.metrics.Metric.curve, pc.truncators.Consensus.fit
    monkeypatch.setattr(
        pc.metrics.Metric, "curve", lambda self, *x: work.append("curve") or curve(self, *x)
    )
    monkeypatch.setattr(
        pc.truncators.Consensus, "fit", lambda self, *x: work.append("fit") or fit(self, *x)
    )
    needed = []
    for lists in (planted(6), planted(60)):
        session = Exploration(lists)
        work.clear()
        session.judge(1, 9, None)
        query_view(session, 1)
        views.judging_view(session, 1)
        needed.append(len(work))
    assert needed == [3 * 64] * 2  # draws of three metrics, of one list


@pytest.mark.parametrize("unanswered", [True, False])
def test_queries_without_judgements_stay(unanswered: bool, tmp_path: Path) -> None:
    """They were once left out, so that a gate, which is there for them, looked harmful."""
    run, qrels = str(tmp_path / "run.txt"), str(tmp_path / "qrels.txt")
    judged, noise = planted(6), np.random.default_rng(1).exponential(0.08, (4, 120))
    lists = pc.RankedLists(
        [*judged.scores, *noise],
        query_ids=[*judged.query_ids, "n0", "n1", "n2", "n3"],
        doc_ids=[*judged.doc_ids, *([f"x{j}" for j in range(120)] for _ in range(4))],
    )
    pc.io.write_trec(run, lists)
    pc.io.write_qrels(qrels, judged)
    best = np.random.default_rng(2).exponential(0.08, (200, 120)).max(axis=1)
    pc.Background.fit(best).save(tmp_path / "bg.json")
    given = ["explore", run, qrels, f"--model=gate={tmp_path / 'bg.json'}", "-q"]
    given += ["--unanswered"] if unanswered else []
    view = plain(views.run_view(exploration(build_parser().parse_args(given))))
    assert (view["lists"], view["measured"]) == (10, 6)
    word = "no answer" if unanswered else "not judged"
    assert view["queries"]["state"] == [""] * 6 + [word] * 4
    rows = {m["key"]: m for m in view["methods"]}
    if unanswered:
        assert (rows["model-gate"]["answered"], rows["first10"]["refused"]) == (6, 0)
        assert rows["model-gate"]["refused"] >= 3
        assert "4 of the 10 queries have no relevant result: the default keeps" in view["verdict"]
    else:
        assert "refused" not in rows["model-gate"]
    known = np.mean([curve[10] for curve in pc.metrics.get("f1").curves(judged)])
    assert rows["first10"]["value"] == pytest.approx(known)  # as `evaluate` says


def test_the_verdict_of_the_page_is_that_of_evaluate() -> None:
    lists = planted(20)
    session = Exploration(lists)
    found = session.evaluation
    assert found is not None
    labels = {key: method.label for key, method in session.methods.items() if key != "default"}
    assert views.verdict(session) == found.verdict("f1", labels)
    ceiling = np.mean([curve.max() for curve in pc.metrics.get("f1").curves(lists)])
    assert f"would give {ceiling:.3f}" in found.verdict()
    assert views.verdict(Exploration(planted(2, judged=False))) is None


def test_a_model_fitted_on_these_judgements_is_shown_apart_and_wins_nothing(tmp_path: Path) -> None:
    """It was once declared the best, by its value on the queries that had taught it."""
    run, qrels, model = (str(tmp_path / name) for name in ("run.txt", "qrels.txt", "mine.json"))
    lists = planted(20)
    pc.io.write_trec(run, lists)
    pc.io.write_qrels(qrels, lists)
    assert main(["fit", run, qrels, "-o", model]) == 0
    given = ["explore", run, qrels, f"--model=mine={model}", "-q"]
    session = exploration(build_parser().parse_args(given))
    assert session.evaluation is not None
    assert session.evaluation.fitted == ("model-mine",)
    said = views.verdict(session)
    assert said is not None
    assert " mine was fitted on judgements of these queries: " in said
    row = next(m for m in plain(views.run_view(session))["methods"] if m["key"] == "model-mine")
    assert row["fitted"]
    unjudged = exploration(build_parser().parse_args(["explore", run, given[3], "-q"]))
    assert not unjudged.methods["model-mine"].fitted


@pytest.mark.parametrize("metric", ["penalized_dcg", "f2"])
def test_another_metric_is_measured_and_learned_for(metric: str) -> None:
    lists = planted(12, 60)
    session = Exploration(lists)
    session.measure_by(metric)
    assert session.unlearned
    session.learn(session.learned(lists))
    expected = pc.evaluate(["default", "consensus"], lists, [metric], splits=1, folds=5)
    run = plain(views.run_view(session))
    assert run["metric"]["name"] == metric
    rows = {row["key"]: row for row in run["methods"]}
    for key, name in (("default", "default"), ("learned", "consensus")):
        assert rows[key]["value"] == pytest.approx(expected[metric, name].mean)
    curve = pc.metrics.get(metric).curve(lists[3].relevant, lists[3].num_relevant)
    np.testing.assert_allclose(plain(query_view(session, 3))["curves"]["value"], curve, 1e-5)
    with pytest.raises(pc.errors.InvalidParameterError, match="ndcg"):
        session.measure_by("ndcg")


def test_fused_runs_have_the_numbers_of_evaluate(tmp_path: Path) -> None:
    """`evaluate --fuse` once compared with the default on the first run alone."""
    runs, qrels = [str(tmp_path / name) for name in ("a.txt", "b.txt")], str(tmp_path / "qrels.txt")
    for seed, file in enumerate(runs):
        pc.io.write_trec(file, planted(12, seed=seed))
    pc.io.write_qrels(qrels, planted(12))
    words = [runs[0], qrels, "--fuse", runs[1], "-q"]
    session = exploration(build_parser().parse_args(["explore", *words]))
    out = tmp_path / "table.json"
    with out.open("w") as file, contextlib.redirect_stdout(file):
        assert main(["evaluate", *words, "--json"]) == 0
    lines = json.loads(out.read_text())["summary"]
    means = {line["truncator"]: line["mean"] for line in lines if line["metric"] == session.metric}
    rows = {row["key"]: row["value"] for row in views.run_view(session)["methods"]}
    for key, name in (("default", "default"), ("first10", "fixed_k"), ("learned", "consensus")):
        assert rows[key] == pytest.approx(means[f"fused, z: {name}"])


def test_two_runs_are_compared_query_by_query() -> None:
    lists, worse = planted(30), planted(30, seed=3)
    grades = np.array(worse.relevance.values).reshape(30, -1)[:, ::-1]
    other = worse.with_relevance(grades, worse.num_relevant)
    found = plain(views.compared_view(Exploration(lists), Exploration(other), "first10"))
    metric = pc.metrics.get("f1/collection")
    a, b = (metric(one, np.full(30, 10)) for one in (lists, other))
    np.testing.assert_allclose(found["values"], [a, b], atol=1e-4)
    wins, losses = np.sum(a - b > 5e-4), np.sum(a - b < -5e-4)
    assert f"The first wins on {wins} queries and loses on {losses};" in found["verdict"]
    assert f"The mean difference is {(a - b).mean():+.3f} (95 % interval" in found["verdict"]
    same = views.compared_view(Exploration(lists), Exploration(lists), "default")["verdict"]
    assert same.endswith("p = 1.000): 30 queries are too few to tell them apart.")
    with pytest.raises(pc.errors.InvalidParameterError, match="one that cuts both runs alike"):
        views.compared_view(Exploration(lists), Exploration(lists), "learned")
    with pytest.raises(pc.errors.InvalidParameterError, match="queries in common, got none"):
        views.compared_view(Exploration(lists), Exploration(planted(3, judged=False)), "default")


def test_what_was_learned_is_copied_whole_and_says_how_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code once loaded a model.json that nobody had saved."""
    monkeypatch.chdir(tmp_path)
    lists = planted(24, 80, seed=2)
    pc.io.write_trec("run.txt", lists)
    session = Exploration(lists)
    code = copy_view(session, "learned", 0, 0)
    whole = pc.truncators.Consensus().fit(lists).predict(lists)
    scope: dict[str, Any] = {}
    exec(code["python"], scope)
    np.testing.assert_array_equal(scope["cuts"].k, whole)
    assert run_command(code["command"]) == whole.tolist()
    different = int(np.sum(whole != session.cuts("learned").k))
    assert different
    assert f"keeps another number for {different} of these queries" in code["note"]
    assert code["python"].startswith("# On the page, each judged query is cut by a model")


def test_warnings_are_those_of_the_method_that_decides() -> None:
    """`poor_fit` once stood beside cuts of the default, which fits no tail."""
    rng = np.random.default_rng(0)
    lists = pc.RankedLists([np.sort(rng.integers(0, 5, 60) / 4)[::-1] for _ in range(8)])
    run = plain(views.run_view(Exploration(lists)))
    rows = {row["key"]: row["warnings"] for row in run["methods"]}
    assert rows["surprise"]
    for key, counts in rows.items():
        cuts = Exploration(lists).cuts(key)
        assert sum(counts.values()) == sum(map(len, cuts.warnings))
    assert not {"poor_fit", "tied_scores"} & rows["default"].keys()


def test_the_example_opens_without_a_file() -> None:
    run = plain(views.run_view(example_run()))
    assert (run["lists"], run["measured"], run["queries_without"]) == (74, 50, 24)
    assert "24 of the 74 queries have no relevant result" in run["verdict"]


def test_saved_judgements_are_qrels(tmp_path: Path) -> None:
    session = Exploration(planted(3, judged=False))
    with pytest.raises(pc.errors.InvalidParameterError, match="got none"):
        qrels_view(session)
    session.judge(1, 0, True)
    session.judge(2, 3, False)
    (tmp_path / "qrels.txt").write_text(qrels_view(session), encoding="utf-8")
    pc.io.write_trec(tmp_path / "run.txt", session.lists)
    again = pc.read_trec(tmp_path / "run.txt", tmp_path / "qrels.txt", unjudged="unknown")
    assert again.judged.values.sum() == 2
    assert again.relevance is not None
    assert (again.relevance[1][0], again.relevance[2][3]) == (1, 0)


# The report.


def test_the_report_is_one_file_of_its_own_and_says_what_it_leaves_out() -> None:
    lists = planted(250, 1000)
    page = report.render(Exploration(lists, name="a <b> run"))
    assert len(page) < 2_000_000
    text = page.decode()
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"(?:src|href)=\"(?!data:,|#main)", text)
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.S)
    assert found is not None
    content = json.loads(found[1])
    assert len(content["run"]["queries"]["id"]) == 250
    assert 20 <= len(content["queries"]) < 250
    assert f"{len(content['queries'])} of them with their lists" in content["note"]
    assert content["run"]["name"] == "a <b> run"
    some = next(iter(content["queries"].values()))
    fit = pc.fit_tail(lists[some["index"]].scores)
    np.testing.assert_allclose(some["surprise"][:200], fit.surprise[:200], rtol=1e-4)


def test_the_report_says_what_was_found_and_shows_it_on_three_queries() -> None:
    lists = planted(9, 60)
    texts = {name: f"question {name} " * 90 for name in lists.query_ids.tolist()}
    summary = plain(report.summary_view(Exploration(lists, query_texts=texts)))
    k = pc.cut_batch(lists).k
    f1 = np.array(pc.metrics.f1(lists, k))
    best = np.array([pc.metrics.get("f1").curves(lists)[i].max() for i in range(9)])
    ids = [example["id"] for example in summary["examples"]]
    order = [np.argmax(f1), np.argmax(best - f1), np.argsort(f1, kind="stable")[4]]
    assert ids == list(dict.fromkeys(f"q{i}" for i in order))
    assert "the best cut of every list would give" in summary["finding"]
    assert f"Default keeps {k.mean():.3g} of 60 results on average" in summary["finding"]
    assert summary["chart"]["value"]["default"][0] == pytest.approx(f1.mean(), abs=1e-4)
    assert summary["chart"]["ceiling"] == pytest.approx(best.mean(), abs=1e-4)
    first = summary["examples"][0]
    assert f"F1 is {f1[int(first['id'][1:])]:.3f}" in first["said"]
    assert len(first["text"]) < 610
    assert {0, first["k"] - 1, first["k"]} <= {row["rank"] for row in first["results"]}


def test_the_report_of_an_unjudged_run_has_examples_too() -> None:
    lists = planted(9, 60, judged=False)
    gated = pc.truncators.Gated(pc.truncators.Consensus(), pc.Background.fit(np.linspace(9, 10)))
    summary = plain(report.summary_view(Exploration(lists, models={"strict": gated})))
    assert summary["finding"].startswith("strict keeps 0 of 60 results on average, and nothing")
    assert (summary["measure"], summary["chart"]) == (None, None)
    assert summary["examples"][-1]["title"] == "Nothing is kept"
    for few in (planted(1, judged=False), pc.RankedLists([]), pc.RankedLists([[], [1.0]])):
        assert len(report.summary_view(Exploration(few))["examples"]) == len(few)


def test_a_text_cannot_leave_its_place_in_the_report() -> None:
    bad = "</script><script>alert(1)</script>"
    lists = pc.RankedLists([[0.9, 0.2]], query_ids=[bad], doc_ids=[[bad, "d"]])
    text = report.render(Exploration(lists, name=bad, query_texts={bad: bad})).decode()
    assert "alert(1)</script>" not in text
    assert text.count("<script") == 2


def test_a_report_that_is_too_small_is_refused() -> None:
    with pytest.raises(pc.errors.InvalidParameterError, match="max_size must leave room"):
        report.render(Exploration(planted()), max_size=80_000)


def test_modules_of_the_page_have_no_name_in_common() -> None:
    # In a report they share one scope.
    names: list[str] = []
    folder = Path(report.__file__).parent / "static"
    for path in folder.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        names += re.findall(
            r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", text, re.M
        )
        assert not re.search(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|eval)\b", text), path
    assert len(names) == len(set(names)), sorted(names)


def test_the_command_writes_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, qrels, out = (tmp_path / name for name in ("run.txt", "qrels.txt", "report.html"))
    lists = planted()
    pc.io.write_trec(run, lists)
    pc.io.write_qrels(qrels, lists)
    assert main(["report", str(run), str(qrels), "-o", str(out)]) == 0
    assert b'"measured":4' in out.read_bytes()
    assert main(["report", str(run), "-o", str(out), "--model", "x", "-q"]) == 2
    assert "--model must have the form NAME=FILE, got 'x'" in capsys.readouterr().err


def embedded(path: Path) -> dict[str, Any]:
    """Return the data of a report."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.S)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_the_command_fuses_runs_and_reads_texts(tmp_path: Path) -> None:
    words, vectors, queries, corpus, qrels, out = (
        str(tmp_path / name)
        for name in ("words.run", "vectors.run", "queries.tsv", "corpus.jsonl", "qrels", "out.html")
    )
    pc.io.write_trec(words, planted(3, seed=1))
    pc.io.write_trec(vectors, planted(3, seed=2))
    Path(queries).write_text("q0\tfirst question\n", encoding="utf-8")
    Path(corpus).write_text('{"id": "d0-0", "text": "a text"}\n', encoding="utf-8")
    Path(qrels).write_text("q0 0 d0-0 1\nq1 0 d1-1 0\nq2 0 d2-0 1\n", encoding="utf-8")
    options = ["--fuse", vectors, "--query-texts", queries, "--corpus", corpus, "-o", out, "-q"]
    assert main(["report", words, qrels, "--unjudged", "unknown", *options]) == 0
    content = embedded(Path(out))
    assert content["run"]["retrievers"] == ["words", "vectors"]
    assert content["run"]["name"] == "words.run + vectors.run, judged by qrels"
    view = content["queries"]["0"]
    assert view["text"] == "first question"
    assert {row.get("text") for row in view["results"]} == {None, "a text"}
    known = {row["id"]: row["relevant"] for row in view["results"]}
    assert known.pop("d0-0") == 1
    assert set(known.values()) == {None}


def test_a_model_for_scores_is_refused_for_distances_before_anything_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, model = str(tmp_path / "run.txt"), str(tmp_path / "background.json")
    pc.io.write_trec(run, planted())
    pc.Background.fit(np.linspace(0.1, 0.4, 50)).save(model)
    options = ["--model", f"mine={model}", "-o", str(tmp_path / "out.html")]
    assert main(["report", run, "--distances", *options]) == 1
    assert "lists must hold scores" in capsys.readouterr().err


def test_decimal_commas_are_read_as_they_are_meant() -> None:
    """`0,9 0,8 0,2` was once six scores."""
    assert pasted_lists("0,9 0,8 0,2")[0].scores.tolist() == [0.9, 0.8, 0.2]
    assert pasted_lists("0.9,0.8,0.2")[0].scores.tolist() == [0.9, 0.8, 0.2]
    assert pasted_lists("9,8")[0].scores.tolist() == [9.0, 8.0]
