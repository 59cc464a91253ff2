"""``paretocut fit``: a model learned from judgements, or from a number to expect."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import json_lines

import paretocut as pc
from paretocut.cli import main
from paretocut.truncators import Conformal, Consensus, Gated, from_text


def test_fit_then_cut_is_fit_then_predict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["fit", "run.txt", "qrels.txt", "--metric", "penalized_dcg", "-o", "model.json"]) == 0
    )
    assert "learned from 3 queries: penalized_dcg" in capsys.readouterr().err
    assert main(["cut", "run.txt", "--model", "model.json", "--json"]) == 0
    decisions = json_lines(capsys.readouterr().out)
    lists = pc.read_trec("run.txt", "qrels.txt")
    truncator = pc.truncators.Consensus("penalized_dcg").fit(lists)
    cuts = truncator.cut_batch(lists)
    assert [row["k"] for row in decisions] == cuts.k.tolist()
    assert [row["reason"] for row in decisions] == list(cuts.reasons)
    assert {row["method"] for row in decisions} == {"Consensus(metric='penalized_dcg')"}
    assert decisions[0]["reason"].endswith("by probabilities learned from 3 judged queries")


def test_fit_reports_what_it_learned_as_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", "run.txt", "qrels.txt", "--method", "minmax", "-o", "model.json", "--json"]
    assert main(command) == 0
    (learned,) = json_lines(capsys.readouterr().out)
    lists = pc.read_trec("run.txt", "qrels.txt")
    k = pc.load("model.json").predict(lists)
    assert learned["training_value"] == pytest.approx(pc.metrics.f1(lists, k).mean())
    assert learned["mean_k"] == pytest.approx(k.mean())
    assert (learned["queries"], learned["metric"]) == (3, "f1")


def test_a_method_may_carry_parameters() -> None:
    method = from_text("surprise:refit=all,min_window=10", "penalized_dcg")
    assert method.get_params() == (
        pc.truncators.Surprise("penalized_dcg", refit="all", min_window=10).get_params()
    )


def test_queries_without_judgements_are_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [line for line in Path("qrels.txt").read_text().splitlines() if line[:2] != "q2"]
    Path("qrels.txt").write_text("\n".join(kept) + "\n")
    assert main(["fit", "run.txt", "qrels.txt", "-o", "model.json"]) == 0
    assert "warning: queries without judgements, left out: 1 ('q2')" in capsys.readouterr().err


def test_a_grade_that_nothing_reaches_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", "run.txt", "qrels.txt", "-o", "model.json", "--min-grade", "2"]
    assert main(command) == 0
    assert "warning: no result has grade 2 or more" in capsys.readouterr().err


def test_a_model_that_cannot_be_written_is_named_as_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "run.txt", "qrels.txt", "-q", "-o", "nowhere/model.json"]) == 1
    assert capsys.readouterr().err == "paretocut: nowhere/model.json: No such file or directory\n"


def test_fit_takes_a_word_unanswered_queries_and_a_promise(
    folder: Path, unanswered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lists = pc.read_trec("run.txt", "qrels.txt")
    gate = pc.Background.fit(pc.read_trec(unanswered))
    for options, expected in (
        (["--expect", "few"], Consensus(expect="few").fit(pc.read_trec("run.txt"))),
        (["qrels.txt", "--unanswered", unanswered], Gated(Consensus().fit(lists), gate)),
        (["qrels.txt", "--keep-recall", "0.6"], Conformal(Consensus(), level=0.4).fit(lists)),
    ):
        assert main(["fit", "run.txt", *options, "-o", "model.json"]) == 0
        assert "learned from 3 queries" in capsys.readouterr().err
        model = pc.load("model.json")
        assert isinstance(model, type(expected))
        assert model.predict(lists).tolist() == expected.predict(lists).tolist()
        assert model.cut_batch(lists).reasons == expected.cut_batch(lists).reasons


def test_a_promise_that_cannot_be_kept_is_said_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", "run.txt", "qrels.txt", "--keep-recall", "0.9", "-o", "model.json"]
    assert main(command) == 0
    said = capsys.readouterr().err
    assert "--keep-recall 0.9 cannot be promised from 3 queries, so everything is kept" in said
    assert "level=0.0999" not in said
    lists = pc.read_trec("run.txt")
    assert pc.load("model.json").predict(lists).tolist() == lists.scores.lengths.tolist()


def test_the_oracle_is_not_offered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    assert "oracle" not in capsys.readouterr().out
    assert main(["fit", "run.txt", "qrels.txt", "--method", "oracle", "-o", "model.json"]) == 2
    assert "got oracle, which looks at the judgements" in capsys.readouterr().err
    assert not Path("model.json").exists()
