"""``compare --reranked``: how deep to re-rank, from three files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from samples import write_example_run

import paretocut as pc
from paretocut.cli import main
from paretocut.evaluation import evaluate
from paretocut.truncators import FixedK, GlobalK


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with run.txt, qrels.txt and second.txt, the same results re-ranked."""
    write_example_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lists = pc.read_trec("run.txt")
    second = pc.RankedLists(
        [rng.normal(size=part.size) for part in lists.scores],
        query_ids=lists.query_ids,
        doc_ids=list(lists.doc_ids),
    )
    pc.write_trec("second.txt", second)
    return tmp_path


def test_compare_shows_the_value_of_each_depth(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", "run.txt", "qrels.txt", "--reranked", "second.txt", "--cost", "0.001"]
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
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", "run.txt", "qrels.txt", "--reranked", "second.txt", "-q"]
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
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "nowhere.txt", "qrels.txt", *words]) == 2
    assert message in capsys.readouterr().err
