"""``paretocut evaluate``: the table of `evaluate`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from samples import write_two_runs

import paretocut as pc
from paretocut.cli import main
from paretocut.evaluation import evaluate
from paretocut.truncators import FixedK, GlobalK, from_text


def test_evaluate_prints_the_table_of_evaluate(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ["global_k", "minmax", "surprise:evalue=0.05"]
    command = ["evaluate", "run.txt", "qrels.txt", "--methods", *methods, "--metrics", "f1"]
    command += ["--folds", "3", "--splits", "1", "--seed", "5"]
    expected = evaluate(
        {"default": "default", **{text: from_text(text, "f1") for text in methods}},
        pc.io.read_trec("run.txt", "qrels.txt"),
        ["f1"],
        folds=3,
        splits=1,
        seed=5,
        baseline="default",
    )
    assert main(command) == 0
    lists = pc.io.read_trec("run.txt", "qrels.txt")
    default = pc.metrics.f1(lists, pc.cut_batch(lists).k)
    assert expected["f1", "default"].mean == pytest.approx(default.mean())
    out = capsys.readouterr().out
    assert out == f"{expected}\n\n{expected.verdict('f1')}\n"
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected.to_dict()
    for flag, text in (("--markdown", expected.to_markdown()), ("--latex", expected.to_latex())):
        assert main([*command, flag]) == 0
        assert capsys.readouterr().out == text + "\n"


def test_judgements_of_other_queries_are_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.txt").write_text("x1 0 d1 1\n")
    assert main(["evaluate", "run.txt", "other.txt"]) == 1
    assert "run.txt and other.txt must have queries in common, got none" in capsys.readouterr().err


def test_bad_words_of_evaluate_are_found_before_any_file_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for word in (["--metrics", "ndcg"], ["--methods", "first"]):
        assert main(["evaluate", "nowhere.txt", "qrels.txt", *word]) == 2
        assert f"got '{word[1]}'" in capsys.readouterr().err


def test_evaluate_shows_single_runs_fusions_and_cuts_in_one_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = write_two_runs(tmp_path)
    words, near = (str(file) for file in runs["files"].values())
    # Both as distances would be wrong for one of them, so evaluate takes runs of one direction.
    lists = pc.read_trec(near, higher_is_better=False)
    pc.io.write_trec(
        near,
        pc.RankedLists(
            lists.scores.with_values(-lists.scores.values),
            doc_ids=lists.doc_ids,
            query_ids=lists.query_ids,
        ),
    )
    metrics = ["f1/collection", "recall"]
    arguments = ["--fuse", near, "--methods", "minmax", "--metrics", *metrics, "--json"]
    assert main(["evaluate", words, str(runs["qrels"]), *arguments, "-q"]) == 0
    rows = json.loads(capsys.readouterr().out)["summary"]
    means = {row["truncator"]: row["mean"] for row in rows if row["metric"] == "f1/collection"}
    assert len(rows) == 2 * len(means)
    assert list(means) == [
        f"{run}: {method}"
        for run in ("words", "near", "fused, rrf", "fused, z", "fused, fitted")
        for method in ("default", "minmax", "oracle")
    ]
    single = pc.read_trec(words, runs["qrels"])
    alone = pc.evaluate({"minmax": "minmax"}, single, ["f1/collection"], folds=5, splits=1)
    assert means["words: minmax"] == pytest.approx(alone["f1/collection", "minmax"].mean)
    assert means["fused, z: minmax"] > means["words: minmax"]


def test_values_of_every_query_are_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "run.txt", "qrels.txt", "--methods", "minmax", "--metrics", "f1"]
    assert main([*command, "--folds", "2", "--json", "--values", "values.csv"]) == 0
    (_, row, *_) = json.loads(capsys.readouterr().out)["summary"]
    with (folder / "values.csv").open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["truncator"] == "minmax"]
    assert row["mean"] == pytest.approx(np.mean([float(line["value"]) for line in lines]))


# --- re-ranking ---


@pytest.fixture
def reranked(folder: Path) -> Path:
    """Write second.txt, the same results re-ranked."""
    rng = np.random.default_rng(0)
    lists = pc.read_trec("run.txt")
    second = pc.RankedLists(
        [rng.normal(size=part.size) for part in lists.scores],
        query_ids=lists.query_ids,
        doc_ids=list(lists.doc_ids),
    )
    pc.io.write_trec("second.txt", second)
    return folder


def test_evaluate_shows_the_value_of_each_depth(
    reranked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "run.txt", "qrels.txt", "--reranked", "second.txt", "--cost", "0.001"]
    command += ["--methods", "fixed_k:k=10", "global_k", "--folds", "3", "--splits", "1", "-q"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    qrels = pc.io.read_qrels("qrels.txt")
    metric = pc.metrics.reranked_ndcg(
        pc.read_trec("second.txt"),
        cost=0.001,
        grades=dict(zip(qrels.query_ids.tolist(), qrels.grades, strict=True)),
    )
    expected = evaluate(
        {"fixed_k:k=10": FixedK(10), "global_k": GlobalK()},
        pc.read_trec("run.txt", "qrels.txt"),
        [metric],
        folds=3,
        splits=1,
        baseline="fixed_k:k=10",
    )
    assert found == json.loads(expected.to_json())


def test_some_depths_are_compared_without_naming_any(
    reranked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "run.txt", "qrels.txt", "--reranked", "second.txt", "-q"]
    assert main([*command, "--folds", "3", "--splits", "1"]) == 0
    out = capsys.readouterr().out
    assert "reranked_ndcg@10(0)" in out
    assert all(name in out for name in ("fixed_k:k=200", "global_k", "consensus", "oracle"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cost", "0.1"], "--cost needs --reranked, got 0.1 alone"),
        (["--reranked", "b", "--metrics", "f1"], "--metrics must be left out with --reranked"),
        (["--reranked", "b", "--fuse", "c"], "--fuse must be left out with --reranked"),
        (["--fuse", "c", "--metrics", "f1"], "with --fuse, because each run finds other ones"),
        (["--fuse", "c", "--metrics", "f2e0"], "with --fuse, because each run finds other ones"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "nowhere.txt", "qrels.txt", *words]) == 2
    assert message in capsys.readouterr().err
