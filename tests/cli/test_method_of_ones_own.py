"""A method of one's own on the command line: ``--method MODULE:NAME``, and its saved model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import json_lines

import paretocut as pc
from paretocut.cli import main

MODULE = """
from paretocut.truncators import FixedK, GlobalK

class Three(FixedK):
    def __init__(self, k=3):
        super().__init__(k)

class Learned(GlobalK):
    pass

five = FixedK(5)
number = 7
"""


@pytest.fixture
def own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write mine.py into the current directory; nothing of it is left after the test."""
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (folder / "mine.py").write_text(MODULE)
    (folder / "broken.py").write_text("import no_such_package\n")
    return folder


@pytest.mark.parametrize(
    ("text", "k"),
    [("mine:Three", 3), ("mine:Three:k=2", 2), ("mine:five", 5), ("mine:five:k=4", 4)],
)
def test_a_class_or_an_object_of_a_module_decides(
    own: Path, text: str, k: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cut", "run.txt", "--method", text, "--json", "-q"]) == 0
    assert {row["k"] for row in json_lines(capsys.readouterr().out)} == {k}
    assert main(["fuse", "run.txt", "run.txt", "--cut", text, "--json", "-q"]) == 0
    assert {row["k"] for row in json_lines(capsys.readouterr().out)} == {k}


def test_it_is_evaluated_beside_ours(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = ["mine:Three", "fixed_k:k=3", "mine:Learned", "global_k"]
    call = ["evaluate", "run.txt", "qrels.txt", "--metrics", "f1", "--folds", "3", "--splits", "1"]
    assert main([*call, "--methods", *methods, "--json", "-q"]) == 0
    rows = json.loads(capsys.readouterr().out)["summary"]
    means = {row["truncator"]: row["mean"] for row in rows}
    assert means["mine:Three"] == means["fixed_k:k=3"]
    assert means["mine:Learned"] == means["global_k"]


def test_its_model_is_used_by_another_process_that_imports_the_module(own: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "paretocut", *words]
        return subprocess.run(call, capture_output=True, text=True, cwd=own)

    fitted = run("fit", "run.txt", "qrels.txt", "--method", "mine:Learned", "-o", "model.json")
    assert fitted.returncode == 0, fitted.stderr
    cut = ("cut", "run.txt", "--model", "model.json", "--json", "-q")
    told = run(*cut)
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1
    assert "model.json" in told.stderr
    assert "--import " in told.stderr
    decided = run(*cut, "--import", "mine")
    assert decided.returncode == 0, decided.stderr
    lists = pc.read_trec(own / "run.txt", own / "qrels.txt")
    expected = pc.truncators.GlobalK().fit(lists).predict(pc.read_trec(own / "run.txt"))
    assert [row["k"] for row in json_lines(decided.stdout)] == expected.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minee:Three", "--method must name a module, got minee, which is neither installed nor"),
        ("mine:Four", "got Four, which is not there in mine"),
        ("mine:number", "object of one, got number, which is of type int in mine"),
        ("mine:Three:depth=9", "--method mine:Three:depth=9: "),
        ("mine:Three:k", "parameters of a method must have the form name=value, got 'k'"),
        ("mine:Three:k=-1", "k must be"),
    ],
)
def test_what_is_no_method_is_refused(
    own: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cut", "run.txt", "--method", text]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_an_error_of_the_module_itself_is_shown_as_it_is(own: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        main(["cut", "run.txt", "--method", "broken:Three"])


def test_a_request_cannot_import(own: Path) -> None:
    pytest.importorskip("msgspec")
    from paretocut.web.deciders import method_of

    with pytest.raises(pc.errors.InvalidParameterError, match="method must be one of"):
        method_of("mine:Three")
    assert "mine" not in sys.modules
