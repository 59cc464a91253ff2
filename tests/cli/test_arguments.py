"""Arguments that commands share: the options of a decision, names of files, texts of queries."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from paretocut.cli import arguments, main
from paretocut.cli._main import build_parser
from paretocut.decisions.options import OPTIONS
from paretocut.errors import InvalidParameterError

COMMANDS = "demo score cut fuse evaluate fit judge calibrate explore serve report".split()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main([command, "--help"])
    assert raised.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: paretocut {command} ")


@pytest.mark.parametrize("command", ["cut", "fuse"])
def test_every_option_of_a_decision_is_an_option_with_its_help(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = "".join(capsys.readouterr().out.split())  # lines break within words at hyphens
    for name, option in OPTIONS.items():
        assert f"--{name.replace('_', '-')}" in shown
        assert "".join(option.help.split()) in shown


def test_an_option_that_is_not_given_is_none() -> None:
    args = build_parser().parse_args(["cut", "run.txt", "--min-k", "0", "--expect", "2.5"])
    assert arguments.given_options(args, OPTIONS) == {"min_k": 0, "expect": 2.5}


def test_runs_are_named_by_their_files_or_by_numbers() -> None:
    named = arguments.short_names(["a/words.run.gz", "vectors.jsonl"])
    assert named == {"words": "a/words.run.gz", "vectors": "vectors.jsonl"}
    assert arguments.short_names(["a/x.run", "b/x.run"]) == {"1": "a/x.run", "2": "b/x.run"}


def test_texts_may_be_in_several_files_that_agree(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.tsv", "b.jsonl")]
    files[0].write_text("q1\tfirst\nq2\tsecond\n")
    files[1].write_text('{"id": "q2", "text": "second"}\n{"id": "q3", "text": "third"}\n')
    paths = [str(file) for file in files]
    found = arguments.texts_of("--query-texts", paths, ["q3", "q1", "q2"])
    assert found == {"q1": "first", "q2": "second", "q3": "third"}
    with pytest.raises(InvalidParameterError, match="got none for 1 of 2, such as q4"):
        arguments.texts_of("--query-texts", paths, ["q4", "q1"])
    files[1].write_text('{"id": "q2", "text": "another"}\n')
    with pytest.raises(InvalidParameterError, match="--query-texts must give one text per id"):
        arguments.texts_of("--query-texts", paths, ["q1", "q2"])


def test_lexical_scores_need_texts() -> None:
    assert arguments.query_texts(Namespace(query_texts=None), lexical=False) is None
    with pytest.raises(InvalidParameterError, match="--query-texts must name a file"):
        arguments.query_texts(Namespace(query_texts=None), lexical=True)
