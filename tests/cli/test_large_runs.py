"""Large runs are read in blocks: the same output, memory that does not grow, or a note why not."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import COMMAND
from hypothesis import given
from hypothesis import strategies as st
from support import importorskip

import paretocut as pc
from paretocut.cli import main
from paretocut.errors import TrecFormatError
from paretocut.io import read_lists, read_trec, write_lists
from paretocut.io.tables import read_blocks
from paretocut.lists import RankedLists


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretocut.io.trec.CHUNK_BYTES", 700)
    monkeypatch.setattr("paretocut.io.formats.BLOCK_RESULTS", 40)


def lists_of(queries: int, depth: int = 20, seed: int = 0) -> RankedLists:
    rng = np.random.default_rng(seed)
    ids = [[f"d{i}" for i in rng.permutation(40)[:depth]] for _ in range(queries)]
    names = [f"q{i}" for i in range(queries)]
    scores, truth = rng.exponential(size=(queries, depth)), rng.integers(0, 2, (queries, depth))
    return RankedLists(scores, truth, query_ids=names, doc_ids=ids)


FORMATS = ["run", "jsonl", "csv", "parquet", "arrow", "run.gz", "jsonl.xz"]
CALLS = [
    ["cut", "a"],
    ["cut", "a", "--json"],
    ["cut", "a", "--evalue", "0.5"],
    ["score", "a"],
    ["score", "a", "--json"],
    ["fuse", "a", "b"],
    ["fuse", "a", "b", "--json", "--cut", "--expect", "few"],
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_blocks_give_what_the_whole_gives(
    call: list[str],
    format: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    request: pytest.FixtureRequest,
) -> None:
    if format in ("parquet", "arrow"):
        importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 0), ("b", 1)):
        write_lists(f"{name}.{format}", lists_of(23, seed=seed))
    call = [f"{one}.{format}" if one in ("a", "b") else one for one in call]
    output = [] if "--json" in call else ["-o", f"out.{'tsv' if 'score' in call else format}"]

    def done() -> tuple[bytes, list[bytes]]:
        assert main([*call, *output]) == 0
        out, err = capfdbinary.readouterr()
        assert b"memory" not in err
        written = [] if format == "parquet" else [Path(output[1]).read_bytes()] if output else []
        if format in ("parquet", "arrow") and "score" not in call and output:  # other row groups
            rows = read_lists(output[1])
            written = [
                json.dumps([(*map(list, (one.scores, one.doc_ids)),) for one in rows]).encode()
            ]
        return out, written

    whole = done()
    request.getfixturevalue("small_blocks")
    assert done() == whole


def test_a_run_is_read_in_several_blocks(small_blocks: None, tmp_path: Path) -> None:
    lists = lists_of(23)
    for format in ("trec", "jsonl"):
        write_lists(tmp_path / "x", lists, format)  # type: ignore[arg-type]
        with (tmp_path / "x").open("rb") as file:
            blocks = list(read_blocks(file, format))  # type: ignore[arg-type]
        assert len(blocks) > 5
        whole = RankedLists.concat(blocks)
        assert whole.query_ids.tolist() == lists.query_ids.tolist()
        assert whole.scores.values.tolist() == lists.scores.values.tolist()


@given(
    st.lists(st.lists(st.integers(0, 99), unique=True, min_size=1, max_size=9), max_size=9),
    st.integers(1, 200),
    st.sampled_from(["\n", "\r\n", "\n\n \t\n"]),
)
def test_blocks_of_any_size_hold_whole_queries(
    queries: list[list[int]], size: int, end: str
) -> None:
    lines = [f"q{i} Q0 d{d} 1 {d / 7} t" for i, own in enumerate(queries) for d in own]
    text = end.join(lines).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paretocut.io.trec.CHUNK_BYTES", size)
        blocks = list(read_blocks(io.BytesIO(text), "trec"))
    found = RankedLists.concat(blocks)
    whole = read_trec(io.BytesIO(text))
    assert found.query_ids.tolist() == whole.query_ids.tolist()
    assert found.scores.values.tolist() == whole.scores.values.tolist()
    assert found.doc_ids is not None
    assert whole.doc_ids is not None
    assert found.doc_ids.values.tolist() == whole.doc_ids.values.tolist()


def test_scattered_queries_are_noted_and_read_as_a_whole(
    small_blocks: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = lists_of(12)
    write_lists("a.run", lists)
    lines = Path("a.run").read_text().splitlines(keepends=True)
    Path("b.run").write_text("".join(lines[1:] + lines[:1]))
    told = "b.run has query 'q0' in two places, "
    for name in ("a.run", "b.run"):
        assert main(["cut", name, "-o", f"cut-{name}"]) == 0
        said = capsys.readouterr().err
        assert (f"{told}so the whole run is read into memory" in said) == (name == "b.run")
    one, other = (Path(f"cut-{name}.run").read_text().splitlines() for name in "ab")
    assert sorted(one) == sorted(other)
    for options in ([], ["--json"]):  # what has left cannot be taken back
        assert main(["cut", "b.run", *options]) == 1
        printed = capsys.readouterr()
        assert f"{told}and results have left already; -o FILE writes them at the end" in printed.err
        assert printed.out


def test_scattered_queries_at_the_start_are_read_as_a_whole(
    small_blocks: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lists("a.run", lists_of(12))
    lines = Path("a.run").read_text().splitlines(keepends=True)
    by_rank = sorted(lines, key=lambda line: int(line.split()[3]))
    Path("b.run").write_text("".join(by_rank))
    for name in ("a.run", "b.run"):
        assert main(["cut", name]) == 0
        printed = capsys.readouterr()
        assert ("memory" in printed.err) == (name == "b.run")
        assert len(printed.out.splitlines()) > 12


@pytest.mark.parametrize("other", [slice(None, None, -1), slice(0, 11), slice(0, 8)])
def test_runs_with_other_queries_are_fused_as_a_whole(
    other: slice,
    small_blocks: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    a, b = lists_of(12), lists_of(12, seed=1)[other]
    write_lists("a.run", a)
    write_lists("b.run", b)
    assert main(["fuse", "a.run", "b.run", "-o", "f.run"]) == 0
    said = capsys.readouterr().err
    assert (
        "the runs do not have the same queries in the same order, so the whole run is read" in said
    )
    assert said.count("without a list from b") == (len(b) < 12)
    with pytest.warns() if len(b) < 12 else pytest.MonkeyPatch.context():  # type: ignore[call-overload]
        expected = pc.fuse({"a": a, "b": b})
    found = read_trec("f.run")
    np.testing.assert_array_equal(found.scores.values, expected.scores.values)


def test_an_error_in_a_later_block_names_its_line(small_blocks: None, tmp_path: Path) -> None:
    write_lists(tmp_path / "a.run", lists_of(12))
    lines = (tmp_path / "a.run").read_text().splitlines(keepends=True)
    for bad, problem in (("q9 Q0\n", "expected 6 fields"), (lines[190], "first on line 191")):
        (tmp_path / "b.run").write_text("".join([*lines[:197], bad, *lines[197:]]))
        with (
            (tmp_path / "b.run").open("rb") as file,
            pytest.raises(TrecFormatError, match=rf"b\.run:198: .*{problem}"),
        ):
            list(read_blocks(file, "trec"))


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    write_lists(tmp_path / "a.run", lists_of(12))
    text = (tmp_path / "a.run").read_bytes()
    file = subprocess.run([*COMMAND, "cut", "a.run"], cwd=tmp_path, capture_output=True, check=True)
    piped = subprocess.run([*COMMAND, "cut", "-"], input=text, capture_output=True, check=True)
    assert piped.stdout == file.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("command", ["cut", "score", "fuse"])
def test_memory_does_not_grow_with_the_file(command: str, tmp_path: Path) -> None:
    # Before, 189 MB cost 372 MB, and 2.0 GB cost 3.1 GB.
    peaks = []
    for copies in (8, 20):
        with (tmp_path / "a.run").open("w") as run:
            for query in range(300 * copies):
                rows = (f"q{query} Q0 document{r} {r} {9 - r / 500} t\n" for r in range(1000))
                run.writelines(rows)
        runs = ["a.run"]
        if command == "fuse":
            (tmp_path / "b.run").write_bytes((tmp_path / "a.run").read_bytes())
            runs.append("b.run")
        watched = (
            "import sys; from paretocut.cli import main; main(sys.argv[1:]); "
            "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0], "
            "file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", watched, command, *runs, "-q"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
        peaks.append(int(done.stderr.split()[-1]) >> 10)
    assert peaks[1] < peaks[0] + 25  # the whole larger run would take hundreds more
