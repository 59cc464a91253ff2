"""``paretocut report``: which files it takes; tests/web/explorer looks at the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from samples import planted, write_two_runs

import paretocut as pc
from paretocut.cli import main


def test_a_fusion_is_no_model_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = write_two_runs(tmp_path)
    pc.fusion.Fusion().fit(runs["lists"]).save(tmp_path / "fusion.json")
    options = ["--model", f"mine={tmp_path / 'fusion.json'}", "-o", str(tmp_path / "report.html")]
    assert main(["report", str(runs["files"]["words"]), *options]) == 2
    expected = "paretocut report: error: --model must name a saved truncator or background, got "
    assert capsys.readouterr().err.startswith(f"{expected}Fusion in ")


def test_models_and_texts_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pc.io.write_trec(tmp_path / "run.txt", planted(2))
    pc.truncators.FixedK(3).save(tmp_path / "three.json")
    pc.Background.fit(np.linspace(0.1, 0.4, 50)).save(tmp_path / "gate.json")
    for name in ("q0", "q1"):
        (tmp_path / f"{name}.tsv").write_text(f"{name}\tthe question of {name}\n")
    options = [f"--model={name}={tmp_path / name}.json" for name in ("three", "gate")]
    options += [f"--query-texts={tmp_path / name}.tsv" for name in ("q0", "q1")]
    out = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "run.txt"), *options, "-o", str(out)]) == 0
    assert capsys.readouterr().err.startswith(f"paretocut: {out}: ")
    page = out.read_text(encoding="utf-8")
    for text in ("model-three", "model-gate", "the question of q0", "the question of q1"):
        assert text in page
