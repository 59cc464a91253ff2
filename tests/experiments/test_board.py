"""A stranger's method in the table of methods."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, importorskip

importorskip("sklearn")

from experiments.compare import board, kinds
from experiments.data import COLLECTION_RUNS
from experiments.results import read
from paretocut.truncators import make


@pytest.mark.usefixtures("shared_data")
def test_a_method_of_ours_gets_its_kept_number() -> None:
    (run,) = (run for run in COLLECTION_RUNS if run.name == "adi-bm25")
    (kept,) = (one for one in read("compare", "methods")["runs"] if one["run"] == run.name)
    for name in ("minmax", "fixed_k"):
        found = board._measured(run, "mine", make(name))
        assert found == pytest.approx(kinds.mean_of(kept, name), abs=1e-4)


@pytest.mark.usefixtures("shared_data")
def test_a_function_stands_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "def two(lists):\n    return lists.scores.lengths.clip(0, 2)\n"
    )
    runs = tuple(run for run in COLLECTION_RUNS if run.family in ("adi", "med"))
    monkeypatch.setattr(board, "SETS", {"some runs": runs})
    text = board.enter(f"{tmp_path / 'mine.py'}:two")
    assert "| **two** |" in text
    assert text.index("| oracle |") < text.index("| **two** |")
    assert "against the default: " in text


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(
        SystemExit, match=r"must be FILE\.py:NAME of a file that exists, got no.py:x"
    ):
        board.named("no.py:x")


@pytest.mark.usefixtures("shared_data")
def test_it_needs_no_torch() -> None:
    code = "import sys; import experiments.compare.board; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
