"""The whole command line: exit codes, whole files or none, the manual."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import COMMAND, json_lines

import paretocut as pc
from paretocut.cli import main
from paretocut.cli._main import _EPILOG, build_parser


def test_standard_input_is_a_run_or_what_format_says(folder: Path) -> None:
    run = Path("run.txt").read_bytes()
    expected = subprocess.run([*COMMAND, "cut", "run.txt"], capture_output=True, check=True).stdout
    assert len(expected.splitlines()) > 11
    for given in (run, gzip.compress(run)):
        done = subprocess.run([*COMMAND, "cut", "-"], input=given, capture_output=True, check=True)
        assert done.stdout == expected
    pc.io.write_lists("lists.jsonl", pc.read_trec("run.txt"))
    done = subprocess.run(
        [*COMMAND, "cut", "-", "--format", "jsonl"],
        input=Path("lists.jsonl").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert len(json_lines(done.stdout.decode())) == 3


def test_compressed_files_are_read_and_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run.txt.gz").write_bytes(gzip.compress(Path("run.txt").read_bytes()))
    assert main(["cut", "run.txt.gz", "-o", "cut.run.gz"]) == 0
    assert main(["cut", "run.txt"]) == 0
    assert gzip.decompress(Path("cut.run.gz").read_bytes()).decode() == capsys.readouterr().out


def test_a_broken_line_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.txt").write_text("q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 0.4\n")
    assert main(["cut", "bad.txt"]) == 1
    expected = "paretocut: bad.txt:2: expected 6 fields (qid Q0 docno rank score tag), got 5\n"
    assert capsys.readouterr() == ("", expected)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["cut", "absent.txt"], 1, "absent.txt: No such file or directory"),
        (["cut", "run.txt", "-o", "no/folder.txt"], 1, "no/folder.txt: No such file or directory"),
        (["cut", "."], 1, "Is a directory"),
        (["cut", "run.txt", "--alpha", "1.3"], 2, "alpha must be in (0, 1), got 1.3"),
        (
            ["cut", "run.txt", "--min-k", "3", "--max-k", "2"],
            2,
            "--min-k must be at most --max-k=2",
        ),
        (["cut", "run.txt", "--min-window", "1"], 2, "--min-window must be"),
        (["score", "run.txt", "--min-window", "1"], 2, "--min-window must be"),
        (["cut", "run.txt", "--alpha", "0.1", "--evalue", "1"], 2, "got --alpha and --evalue"),
        (["cut", "run.txt", "--model", "absent.json"], 1, "absent.json: No such file"),
        (["cut", "run.txt", "--model", "qrels.txt"], 1, "qrels.txt:1: not JSON"),
        (["cut", "run.txt", "--model", "m.json", "--refit", "all"], 1, "m.json: No such"),
        (["cut", "run.txt", "--refit", "all"], 2, "refit must come with one of the rules"),
        (
            ["cut", "run.txt", "--expect", "some"],
            2,
            "expect must be 'one', 'few', 'dozens', 'hundreds' or a number, got 'some'",
        ),
        (["cut", "run.txt", "--method", "global_k"], 1, "GlobalK: it must be fitted"),
        (["cut", "run.txt", "--background", "qrels.txt"], 1, "qrels.txt:1: not JSON"),
        (
            ["calibrate", "--background", "run.txt", "-o", "bg.json"],
            1,
            "at least 10 queries with a result",
        ),
        (["fit", "run.txt", "-o", "m.json"], 2, "QRELS) or --expect must be given"),
        (["fit", "run.txt", "-o", "m", "--expect", "2", "--keep-recall", "0.9"], 2, "with QRELS"),
        (["fit", "run.txt", "qrels.txt", "-o", "m", "--keep-recall", "9"], 2, "in (0, 1), got 9"),
        (["cut", "run.xyz"], 2, "the name must end in one of"),
        (["cut", "run.txt", "--alpha", "0.1", "--transform", "logit", "--distances"], 1, None),
        (["fit", "run.txt", "qrels.txt", "--method", "magic", "-o", "m.json"], 2, "got 'magic'"),
        (["fit", "run.txt", "qrels.txt", "--metric", "joy", "-o", "m.json"], 2, "got 'joy'"),
        (["fit", "run.txt", "qrels.txt", "--method", "surprise:x=1", "-o", "m"], 2, "got 'x'"),
        (["fit", "run.txt", "qrels.txt", "--method", "surprise:x", "-o", "m"], 2, "name=value"),
        (["evaluate", "run.txt", "absent.txt"], 1, "absent.txt: No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_errors_are_one_line_and_have_an_exit_code(
    arguments: list[str],
    code: int,
    message: str | None,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if message is None:
        # A cosine distance is no probability: one of them is above 1.
        Path("run.txt").write_text("".join(f"q Q0 d{r} 1 {r / 5} t\n" for r in range(20)))
        message = "needs scores in [0, 1]"
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(
        f"paretocut {arguments[0]}: error: " if code == 2 else "paretocut: "
    )
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["cut"],
        ["cut", "run.txt", "--alpha", "much"],
        ["cut", "run.txt", "--threads", "0"],
        ["fit", "run.txt", "qrels.txt"],
        ["explode"],
    ],
    ids=lambda value: " ".join(value) or "nothing",
)
def test_bad_usage_exits_with_2(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert "usage: paretocut" in capsys.readouterr().err


def test_a_file_without_permission_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("run.txt").chmod(0)
    if os.access("run.txt", os.R_OK):  # the superuser may read anything

        def refuse(*args: object, **kwargs: object) -> None:
            raise PermissionError(13, "Permission denied", "run.txt")

        monkeypatch.setattr("paretocut.cli.cutting.read_blocks", refuse)
    assert main(["cut", "run.txt"]) == 1
    assert capsys.readouterr().err == "paretocut: run.txt: Permission denied\n"


def test_a_failure_leaves_the_old_file_as_it_was(folder: Path) -> None:
    Path("cut.txt").write_text("precious\n")
    Path("spaced.jsonl").write_text(
        json.dumps({"query_id": "q", "scores": [2, 1], "doc_ids": ["a", "b c"]})
    )
    # The second document id cannot be written to a run, which shows only while writing.
    assert main(["cut", "spaced.jsonl", "-q", "--min-k", "2", "-o", "cut.txt"]) == 2
    assert Path("cut.txt").read_text() == "precious\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "cut.txt", "qrels.txt", "run.txt", "spaced.jsonl",
    ]  # fmt: skip


def test_an_interrupt_exits_with_130_and_leaves_no_half_written_file(folder: Path) -> None:
    os.mkfifo("endless.run")
    process = subprocess.Popen(
        [*COMMAND, "score", "endless.run", "-o", "scores.tsv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Opening a pipe waits for its reader, so from here on the command is certain to be at work.
    with open("endless.run", "wb") as pipe:
        pipe.write(Path("run.txt").read_bytes())
        pipe.flush()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=300)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert errors == b""
    assert sorted(path.name for path in folder.iterdir()) == [
        "endless.run",
        "qrels.txt",
        "run.txt",
    ]


@pytest.mark.parametrize("name", ["empty.run", "empty.jsonl"])
@pytest.mark.parametrize(
    "command",
    [
        "cut {}", "score {}", "score {} --json", "fuse {} run.txt", "fuse run.txt {}",
        "fit {} qrels.txt -o out", "evaluate {} qrels.txt", "report {} qrels.txt -o out",
        "calibrate --background {} -o out", "stop {} --plan 0.1",
    ],
)  # fmt: skip
def test_an_empty_run_is_an_error_for_every_command(
    command: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).touch()
    assert main(command.format(name).split()) == 1
    told = capsys.readouterr()
    assert f"{name} must hold at least one query, got none" in told.err
    assert told.out.count("\n") == 0
    assert not Path("out").exists()


def test_an_interrupt_while_writing_leaves_the_old_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("scores.tsv").write_text("precious\n")

    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("paretocut.cli.cutting._tsv", interrupt)
    assert main(["score", "run.txt", "-o", "scores.tsv"]) == 130
    assert Path("scores.tsv").read_text() == "precious\n"
    assert len(list(folder.iterdir())) == 3


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    many = "".join(f"q{i} Q0 d{r} {r} {r} t\n" for i in range(40) for r in range(1, 501))
    Path("many.run").write_text(many)
    script = 'set -o pipefail; "$0" -m paretocut score many.run --quiet | head -n 2'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("buffered", [True, False])
def test_a_full_disk_is_an_error(folder: Path, buffered: bool) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "score", "run.txt"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"},
        )
    assert (done.returncode, done.stderr) == (1, b"paretocut: <stdout>: No space left on device\n")


def test_every_example_of_the_manual_parses() -> None:
    examples = [line for line in _EPILOG.splitlines() if "paretocut " in line]
    assert len(examples) >= 8
    for line in examples:
        words = line.partition("paretocut ")[2].partition("  ")[0].partition(" |")[0].split()
        assert callable(build_parser().parse_args(words).run_command)


def test_version_and_help_come_from_the_module(folder: Path) -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "paretocut"
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    for word in ("demo", "score", "cut", "evaluate", "fit", "exit codes", "examples"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines()[6:])) <= 100


def test_the_command_line_needs_numpy_only(folder: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('scipy', 'sklearn', 'pyarrow', 'tqdm', 'kneed', 'torch', 'matplotlib'):\n"
        "    sys.modules[name] = None\n"
        "from paretocut.cli import main\n"
        "assert main(['score', 'run.txt']) == 0\n"
        "assert main(['cut', 'run.txt', '-o', 'cut.txt']) == 0\n"
        "assert main(['evaluate', 'run.txt', 'qrels.txt', '--folds', '3', '--splits', '1']) == 0\n"
        "assert main(['fit', 'run.txt', 'qrels.txt', '-o', 'model.json']) == 0\n"
        "assert main(['demo']) == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
