"""``paretocut example``: its files agree with each other, and nothing of the user's is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import paretocut as pc
from paretocut.cli import main
from paretocut.io import read_texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files") / "new"
    assert main(["example", str(folder), "-q"]) == 0
    return folder


def test_the_files_fit_together(folder: Path) -> None:
    corpus = read_texts(folder / "corpus.jsonl")
    queries = read_texts(folder / "queries.tsv")
    assert list(corpus.values()) == (folder / "texts.txt").read_text("utf-8").splitlines()
    judged = [line.split()[2] for line in (folder / "qrels.txt").read_text("utf-8").splitlines()]
    assert set(judged) <= corpus.keys()
    for name in ("run.txt", "words.txt"):
        lists = pc.read_trec(folder / name, folder / "qrels.txt")
        assert lists.query_ids.tolist() == list(queries)
        assert lists.scores.lengths.tolist() == [200] * len(queries)
        assert lists.num_relevant.sum() == len(judged)


def test_the_searches_find_what_was_judged(folder: Path) -> None:
    """The right answer is first for most questions, and seldom so by chance."""
    for name in ("run.txt", "words.txt"):
        lists = pc.read_trec(folder / name, folder / "qrels.txt")
        assert pc.metrics.precision(lists, 1).mean() > 0.6


def test_the_program_in_the_folder_makes_the_same_runs(folder: Path) -> None:
    for name, options in (("run.txt", []), ("words.txt", ["--words"])):
        done = subprocess.run(
            [sys.executable, "notes.py", *options, "queries.tsv"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        assert done.stdout.splitlines() == (folder / name).read_bytes().splitlines()


def test_needs_numpy_only(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules.update(dict.fromkeys(('sklearn', 'scipy', 'tqdm')));"
        "from paretocut.cli import main; sys.exit(main(['example', sys.argv[1]]))"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    row = json.loads((tmp_path / "corpus.jsonl").read_text("utf-8").splitlines()[0])
    assert row.keys() == {"id", "text"}


def test_never_overwrites_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.txt").write_text("mine")
    assert main(["example", str(tmp_path)]) == 2
    assert "FOLDER must not hold files of these names yet, got run.txt" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.txt"]
