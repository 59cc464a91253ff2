"""The leaderboard on files of a stranger, which need not be ours."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import importorskip

importorskip("sklearn")

from experiments.compare import board, kinds
from experiments.data import COLLECTION_RUNS, sha256

OURS, OTHER = (run for run in COLLECTION_RUNS if run.family == "adi")


@pytest.fixture
def folder(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder with both runs of one collection, one of them packed anew."""
    shutil.copytree(shared_data / "adi", tmp_path / "adi")
    path = tmp_path / OTHER.run
    packed = gzip.compress(gzip.decompress(path.read_bytes()), 1)
    path.unlink()
    path.write_bytes(packed)
    monkeypatch.setenv("PARETOCUT_DATA", str(tmp_path))
    sha256.cache_clear()
    yield tmp_path
    sha256.cache_clear()


def test_methods_are_measured_where_files_are_not_ours(folder: Path) -> None:
    """Our numbers once stood beside a method measured on whatever bore the name of our file."""
    said = board.check().splitlines()
    assert f"{OURS.name}: there" in said
    assert (
        f"{OTHER.name}: there, but not our {OTHER.run}: all methods will be measured on it" in said
    )
    kept = {name: kinds.mean_of(board._kept()[OTHER.name], name) for name in board.BESIDE}
    assert board._beside(OTHER) == pytest.approx(kept, abs=1e-4)  # its scores are ours
    rows = [
        line.split() for line in gzip.decompress((folder / OTHER.run).read_bytes()).splitlines()
    ]
    fewer = b"\n".join(b" ".join(row) for row in rows if int(row[3]) <= 5)
    (folder / OTHER.run).write_bytes(gzip.compress(fewer))
    sha256.cache_clear()
    assert board._beside(OTHER)["fixed_k"] != pytest.approx(kept["fixed_k"], abs=1e-2)


def test_a_method_may_have_the_name_of_ours_and_a_neighbour(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function called minmax took the place of ours; a dataclass with annotations failed."""
    (folder / "beside_it.py").write_text("most = 2\n")
    (folder / "entered.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import beside_it\n"
        "@dataclass\n"
        "class Most:\n"
        "    number: int = beside_it.most\n"
        "def minmax(lists):\n"
        "    return lists.scores.lengths.clip(0, Most().number)\n"
    )
    monkeypatch.setattr(board, "SETS", {"one run": (OURS,)})
    text = board.enter(f"{folder / 'entered.py'}:minmax")
    assert "| **minmax** |" in text
    assert "| min-max threshold, learned |" in text
    assert "Gain, no interval, with one collection:" in text
    assert "inf" not in text
