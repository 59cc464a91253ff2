"""``paretocut fuse``: the runs that the library fuses, cut or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import write_two_runs

import paretocut as pc
from paretocut.cli import main


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Any]:
    return write_two_runs(tmp_path)


def fuse(runs: dict[str, Any], *options: str) -> int:
    files = [str(file) for file in runs["files"].values()]
    return main(["fuse", *files, "--distances", files[1], *options])


@pytest.mark.parametrize(
    ("options", "method", "more"),
    [
        ([], "z", {}),
        (["--method", "rrf", "--depth", "20"], "rrf", {"depth": 20}),
        (["--method", "minmax", "--weights", "2", "1"], "minmax", {"weights": [2, 1]}),
    ],
)
def test_the_command_writes_what_fuse_returns(
    runs: dict[str, Any], options: list[str], method: str, more: dict[str, Any]
) -> None:
    target = runs["folder"] / "fused.run"
    assert fuse(runs, "-o", str(target), *options) == 0
    written, want = pc.read_trec(target), pc.fuse(runs["lists"], method=method, **more)
    assert written.doc_ids is not None
    assert want.doc_ids is not None
    assert written.scores.values.tolist() == want.scores.values.tolist()
    assert written.doc_ids.values.tolist() == want.doc_ids.values.tolist()


@pytest.mark.parametrize(
    ("how", "choice"),
    [
        ([], {}),
        (["--expect", "few"], {"expect": "few"}),
        (["--expect", "3"], {"expect": 3}),
        (["--evalue", "0.05"], {"evalue": 0.05}),
        (["--evalue", "0.05", "--refit", "all"], {"evalue": 0.05, "refit": "all"}),
        (["surprise:evalue=0.05"], {"evalue": 0.05}),
        (["--max-k", "2"], {"max_k": 2}),
    ],
)
def test_the_command_cuts_what_it_fused(
    runs: dict[str, Any], how: list[str], choice: dict[str, Any], capsys: Any
) -> None:
    assert fuse(runs, "--json", "--cut", *how) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    fused = pc.fuse(runs["lists"])
    cuts = pc.cut_batch(fused, **choice)
    assert [row["k"] for row in rows] == cuts.k.tolist()
    assert [row["reason"] for row in rows] == list(cuts.reasons)
    assert "near: " in rows[0]["reason"]
    first = rows[0]["results"]
    assert len(first) == rows[0]["k"]
    assert fused.parts is not None
    for place, result in enumerate(first):
        said = [float(scores[0][place]) for scores in fused.parts.scores]
        shown = [result["parts"].get(name, {}).get("score") for name in ("words", "near")]
        assert shown == [None if np.isnan(score) else score for score in said]


def test_the_command_takes_a_saved_model_and_a_saved_fusion(runs: dict[str, Any]) -> None:
    folder = runs["folder"]
    fusion = pc.fusion.Fusion().fit(runs["lists"])
    fusion.save(folder / "fusion.json")
    pc.truncators.FixedK(3).save(folder / "model.json")
    target = folder / "cut.run"
    options = ["--fusion", str(folder / "fusion.json"), "--cut"]
    options += ["--model", str(folder / "model.json")]
    assert fuse(runs, "-o", str(target), *options) == 0
    written, want = pc.read_trec(target), fusion.fuse(runs["lists"]).truncate(3)
    assert written.scores.values.tolist() == want.scores.values.tolist()


def test_queries_that_one_run_lacks_are_named(runs: dict[str, Any], capsys: Any) -> None:
    lists = pc.read_trec(runs["files"]["words"])
    pc.io.write_trec(runs["files"]["words"], lists[:-1])
    assert fuse(runs, "-o", str(runs["folder"] / "fused.run")) == 0
    assert "without a list from words ('q23')" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--distances", "other.run"], "--distances must name one of the runs"),
        (["--weights", "1"], "weights must be 2 numbers"),
        (["--cut", "nonsense"], "name must be one of surprise, "),
        (["--cut", "--expect", "0"], "expect must be in (0, inf)"),
        (["--cut", "largest_gap", "--expect", "few"], "got --cut and --expect"),
        (["--expect", "few", "--max-k", "3"], "--expect, --max-k must come with --cut, got none"),
        (["--fusion", "f.json", "--depth", "9"], "fusion must come without depth"),
    ],
)
def test_bad_usage_of_the_command_is_told(
    runs: dict[str, Any], options: list[str], message: str, capsys: Any
) -> None:
    assert fuse(runs, *options) == 2
    assert message in capsys.readouterr().err
