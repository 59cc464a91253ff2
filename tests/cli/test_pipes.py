"""Pipes and files of any size: bounded memory, results that leave as they are made, inputs kept."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from paretocut.cli import main

COMMAND = [sys.executable, "-m", "paretocut"]
linux = pytest.mark.skipif(sys.platform != "linux", reason="pipes and memory as Linux has them")


def run_of(queries: int, depth: int = 100) -> str:
    return "".join(
        f"q{q} Q0 d{rank} {rank} {1000 - 1.37 * rank:.2f} t\n"
        for q in range(queries)
        for rank in range(depth)
    )


@linux
@pytest.mark.slow
def test_a_run_from_a_pipe_takes_the_memory_of_one_block(tmp_path: Path) -> None:
    # 30 MB of text in 8,000 lists; in memory at once they would take over 100 MB more.
    text = run_of(8000).encode()
    peak = "import sys, resource; from paretocut.cli import main; code = main(sys.argv[1:]); "
    peak += "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)); exit(code)"
    memory = {}
    for size in (text[: text.index(b"q100 ")], text):
        done = subprocess.run(
            [sys.executable, "-c", peak, "cut", "-", "-q"], input=size, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        memory[len(size)] = int(done.stderr) / 1024
    few, many = memory.values()
    assert many < few + 60  # MB; the block of text, its columns, and the lines written


@linux
@pytest.mark.parametrize("format", ["trec", "jsonl"])
def test_results_leave_a_pipe_before_it_ends_and_head_stops_the_work(format: str) -> None:
    def query(i: int) -> bytes:
        if format == "trec":
            return run_of(1, 500).replace("q0 ", f"q{i} ").encode()
        scores = ", ".join(map(str, range(500, 0, -1)))
        return f'{{"query_id": "q{i}", "scores": [{scores}]}}\n'.encode()

    with subprocess.Popen(
        [*COMMAND, "cut", "-", "--format", format, "-q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        written = 0
        with suppress(BrokenPipeError):
            while written < 20_000:
                if written == 4:
                    assert b"q0" in process.stdout.readline()  # the pipe has not ended
                    process.stdout.close()  # as head does
                process.stdin.write(query(written))
                written += 1
        assert written < 20_000  # the command has ended
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""


@linux
def test_scattered_queries_in_a_long_pipe_are_refused_with_the_remedy() -> None:
    text = run_of(1, 10) + run_of(1, 200_000).replace("q0", "q1") + run_of(1, 10)
    done = subprocess.run([*COMMAND, "cut", "-", "-q"], input=text.encode(), capture_output=True)
    assert done.returncode == 1
    assert b"results in a pipe must be grouped by query; sort them, or name a file" in done.stderr


@linux
@pytest.mark.slow
@pytest.mark.parametrize("command", ["cut", "score"])
def test_a_file_without_end_is_refused_in_bounded_memory(command: str, tmp_path: Path) -> None:
    endless = tmp_path / "run.jsonl.gz"
    with gzip.open(endless, "wb", 1) as file:
        for _ in range(36):
            file.write(b"1" * 4_000_000)
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31)); "
    limit += "from paretocut.cli import main; sys.exit(main(sys.argv[1:]))"
    bound = "expected at most 134,217,728 bytes in one line or list (max_list_bytes), got more"
    for path, said in ((str(endless), bound), ("/dev/zero", "line is longer than 65536 bytes")):
        done = subprocess.run(
            [sys.executable, "-c", limit, command, path], capture_output=True, timeout=120
        )
        assert done.returncode == 1
        assert said in done.stderr.decode()


def test_the_bound_on_one_list_is_an_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.jsonl").write_text('{"query_id": "q", "scores": [3, 2, 1]}\n')
    assert main(["cut", str(tmp_path / "run.jsonl"), "--max-list-bytes", "20"]) == 1
    assert "at most 20 bytes in one line or list (max_list_bytes)" in capsys.readouterr().err
    assert main(["cut", str(tmp_path / "run.jsonl"), "--max-list-bytes", "200"]) == 0


@pytest.mark.parametrize(
    "call",
    [
        "fit run.txt qrels.txt -o qrels.txt",
        "cut run.txt -o run.txt",
        "cut run.txt -o ./run.txt",
        "fuse run.txt other.txt -o other.txt",
        "score run.txt -o run.txt",
        "cut run.txt --background qrels.txt -o qrels.txt",
        "report run.txt qrels.txt -o qrels.txt",
        "evaluate run.txt qrels.txt --values qrels.txt",
        "stop run.txt --judged qrels.txt --report qrels.txt",
    ],
)
def test_no_command_writes_onto_its_input(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = {
        "run.txt": run_of(2, 20),
        "other.txt": run_of(2, 20),
        "qrels.txt": "q0 0 d1 1\nq1 0 d2 1\n",
    }
    for name, text in contents.items():
        Path(name).write_text(text)
    assert main(call.split()) == 2
    assert "must not name a file that is read, got " in capsys.readouterr().err
    assert {name: Path(name).read_text() for name in contents} == contents


def test_cut_in_place_replaces_the_run_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.txt").write_text(run_of(2, 20))
    assert main(["cut", "run.txt", "--method", "fixed_k:k=3", "--in-place", "-q"]) == 0
    assert len(Path("run.txt").read_text().splitlines()) == 6
    assert main(["cut", "run.txt", "--in-place", "-o", "other.txt"]) == 2
    assert main(["cut", "-", "--in-place"]) == 2
    assert capsys.readouterr().err.count("--in-place must come with a file as RUN and without -o")


@linux
def test_sigterm_leaves_no_unfinished_file(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "cut", "-", "-o", str(tmp_path / "out.run"), "-q"], stdin=subprocess.PIPE
    ) as process:
        assert process.stdin
        process.stdin.write(run_of(2000).encode())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".*.part")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(tmp_path.glob(".*.part"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert os.listdir(tmp_path) == []


@linux
def test_closed_standard_streams_are_named(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(run_of(2, 20))
    for which, call in (("output", "run.txt -q >&-"), ("input", "- -q <&-")):
        done = subprocess.run(
            f"{sys.executable} -m paretocut cut {call}",
            shell=True,
            cwd=tmp_path,
            capture_output=True,
        )
        assert done.returncode == 2
        assert f"standard {which} must be open, got a closed one".encode() in done.stderr
