"""Who decides: the same words mean the same in Python, on the command line, and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import json_lines
from serving import simulated

import paretocut as pc
from paretocut.cli import main
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Consensus, FixedK, Gated, LargestGap, Surprise, Truncator
from paretocut.truncators.choose import Chosen

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from paretocut.web.app import create_app
from paretocut.web.deciders import Models
from paretocut.web.explorer.exploration import Exploration

SCORES = simulated(4, depth=120)
BACKGROUND = pc.Background.fit(simulated(60, depth=120, hits=0, seed=2))
FILES = {"fixed": FixedK(7), "gate": BACKGROUND}

# What is asked, in the words of the command line, and the truncator and bounds that it stands for.
ASKED: list[tuple[dict[str, Any], Truncator, dict[str, int]]] = [
    ({}, Consensus(), {}),
    ({"expect": "few"}, Consensus(expect="few"), {}),
    ({"expect": 2.5, "max_k": 2}, Consensus(expect=2.5), {"max_k": 2}),
    ({"alpha": 0.05, "min_k": 3}, Surprise(alpha=0.05), {"min_k": 3}),
    ({"evalue": 0.05, "refit": "all"}, Surprise(evalue=0.05, refit="all"), {}),
    ({"method": "largest_gap"}, LargestGap(), {}),
    ({"method": "fixed_k:k=3"}, FixedK(3), {}),
    ({"model": "fixed"}, FixedK(7), {}),
    ({"model": "gate"}, Gated(Consensus(), BACKGROUND), {}),
    ({"model": "gate", "expect": "few"}, Gated(Consensus(expect="few"), BACKGROUND), {}),
    ({"model": "gate", "evalue": 0.5}, Gated(Surprise(evalue=0.5), BACKGROUND), {}),
    ({"model": "gate", "method": "fixed_k:k=3"}, Gated(FixedK(3), BACKGROUND), {}),
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"expect": "few", "alpha": 0.05}, "got {expect} and {alpha}"),
    ({"alpha": 0.05, "fdr": 0.1}, "got {alpha} and {fdr}"),
    ({"model": "fixed", "expect": 3}, "got {model} and {expect}"),
    ({"method": "largest_gap", "evalue": 1}, "got {method} and {evalue}"),
    (
        {"expect": "few", "transform": "log"},
        "{transform} must come with one of the rules {alpha}, ",
    ),
    ({"min_k": 3, "max_k": 2}, "{min_k} must be at most {max_k}=2, got 3"),
    ({"fdr": 2}, "{fdr} must be in (0, 1), got 2"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, model in FILES.items():
        model.save(folder / f"{name}.json")
    rows = [{"query_id": f"q{i}", "scores": row.tolist()} for i, row in enumerate(SCORES)]
    (folder / "run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Any]:
    models = Models({name: str(folder / f"{name}.json") for name in FILES}, {})
    with TestClient(create_app(models)) as client:
        yield client


def in_python(asked: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the options as Python takes them; it has one word for a model and a method."""
    options = {name: value for name, value in asked.items() if name not in ("model", "method")}
    if "model" in asked:
        options["truncator"] = folder / f"{asked['model']}.json"
    elif "method" in asked:
        options["truncator"] = asked["method"]
    return options


def on_the_command_line(asked: dict[str, Any], folder: Path) -> list[str]:
    words = ["cut", str(folder / "run.jsonl"), "--json", "-q"]
    for name, value in asked.items():
        text = str(folder / f"{value}.json") if name == "model" else str(value)
        words += [f"--{name.replace('_', '-')}", text]
    return words


@pytest.mark.parametrize(("asked", "truncator", "bounds"), ASKED, ids=lambda value: str(value)[:60])
def test_the_same_words_decide_the_same_everywhere(
    asked: dict[str, Any],
    truncator: Truncator,
    bounds: dict[str, int],
    folder: Path,
    client: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    expected = [cut.to_dict() for cut in truncator.cut_batch(SCORES, **bounds)]
    if not {"model", "method"} <= asked.keys():
        options = in_python(asked, folder)
        assert [pc.cut(row, **options).to_dict() for row in SCORES] == expected
        assert [cut.to_dict() for cut in pc.cut_batch(SCORES, **options)] == expected
        ids = np.tile(np.arange(SCORES.shape[1]), (len(SCORES), 1))
        found = pc.keep((SCORES, ids), higher_is_better=True, **options)
        assert [cut.to_dict() for cut in found.cuts] == expected
    assert main(on_the_command_line(asked, folder)) == 0
    for row, want in zip(json_lines(capsys.readouterr().out), expected, strict=True):
        assert (row["k"], row["reason"], row["method"]) == (
            *(want[name] for name in ("k", "reason", "method")),
        )
    answer = client.post("/v1/cut", json={"lists": SCORES.tolist(), **asked})
    assert answer.json() == expected
    if asked.keys() == {"model"}:
        model = pc.load(folder / f"{asked['model']}.json")
        shown = Exploration(pc.RankedLists(SCORES), models={"mine": model}).cuts("model-mine")
        assert [cut.to_dict() for cut in shown] == expected


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=str)
def test_everybody_refuses_in_the_words_of_the_caller(
    asked: dict[str, Any],
    message: str,
    folder: Path,
    client: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {*asked, "alpha"}
    words = {name: "truncator" if name in ("model", "method") else name for name in names}
    with pytest.raises(InvalidParameterError) as caught:
        pc.cut(SCORES[0], **in_python(asked, folder))
    assert message.format(**words) in str(caught.value)
    assert str(caught.value).startswith("cut: ")
    assert main(on_the_command_line(asked, folder)) == 2
    flags = {name: f"--{name.replace('_', '-')}" for name in names}
    told = capsys.readouterr().err
    assert told.startswith("paretocut cut: error: ")
    assert message.format(**flags) in told
    answer = client.post("/v1/cut", json={"lists": SCORES.tolist(), **asked})
    assert answer.status_code == 422
    if asked != {"fdr": 2}:  # the body of a request is checked before that
        assert message.format(**{name: name for name in names}) in answer.json()["error"]["message"]


def test_a_background_has_an_option_of_its_own_on_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["cut", str(folder / "run.jsonl"), "--json", "-q"]
    gate = ["--background", str(folder / "gate.json")]
    for words, base in ((["--method", "fixed_k:k=3"], FixedK(3)), ([], Consensus())):
        assert main([*call, *words, *gate, "--gate-alpha", "0.2"]) == 0
        found = [row["k"] for row in json_lines(capsys.readouterr().out)]
        assert found == Gated(base, BACKGROUND, alpha=0.2).predict(SCORES).tolist()
    for words, message in (
        (["--gate-alpha", "0.2"], "--gate-alpha must come with --background, got none"),
        ([*gate, "--gate-alpha", "2"], "--gate-alpha must be in (0, 1), got 2"),
        (["--background", str(folder / "fixed.json")], "--background must be a background or the "),
        ([*gate, "--model", str(folder / "gate.json")], "got --model and --background"),
    ):
        assert main([*call, *words]) == 2
        assert message in capsys.readouterr().err


def test_a_word_that_is_neither_a_method_nor_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"one of the methods .*, got 'consensu'"):
        pc.cut(SCORES[0], truncator="consensu")
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: .*model\.json"):
        pc.cut(SCORES[0], truncator=tmp_path / "model.json")


@pytest.mark.parametrize(
    ("wrong", "right"), [("k", "max_k"), ("top_k", "max_k"), ("e_value", "evalue")]
)
def test_a_misspelt_option_gets_the_right_one(wrong: str, right: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"got {wrong}; did you mean {right}"):
        pc.cut(SCORES[0], **{wrong: 5})


def test_options_that_are_no_models_are_chosen_once() -> None:
    one, two = (Chosen.of("cut", {"evalue": 0.05}) for _ in range(2))
    assert one is two
    assert Chosen.of("cut", {"max_k": 1}).max_k == 1
    with pytest.raises(InvalidParameterError, match="got True"):
        Chosen.of("cut", {"max_k": True})
