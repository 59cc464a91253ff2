"""Files from strangers and disks without room: bounded memory, and errors that name the file."""

from __future__ import annotations

import errno
import gzip
import io
import json
import lzma
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.errors import DataFormatError, InvalidParameterError, InvalidScoresError
from paretocut.io import read_lists, read_qrels, read_trec, write_lists

RUN = b"q1 Q0 d1 1 2.5 me\nq1 Q0 d2 2 1.5 me\n"

BLANK = """
import gzip, json, sys
from paretocut.io import read_qrels, read_trec

def peak():
    with open("/proc/self/status") as status:
        return int(status.read().partition("VmHWM:")[2].split()[0]) >> 10

before = peak()
try:
    (read_qrels if "qrels" in sys.argv[1] else read_trec)(sys.argv[1])
except Exception as error:
    print(json.dumps([str(error), peak() - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("name", ["blank.run", "blank.run.gz", "blank.run.xz", "blank.qrels.xz"])
def test_blank_lines_cost_no_memory(tmp_path: Path, name: str) -> None:
    # 64 MiB of them cost 530 MB.
    path = tmp_path / name
    text = b"\n" * (64 << 20) + b"q1 Q0\n"
    pack = {".gz": lambda: gzip.compress(text, 1), ".xz": lambda: lzma.compress(text, preset=0)}
    path.write_bytes(pack.get(path.suffix, lambda: text)())
    done = subprocess.run(
        [sys.executable, "-c", BLANK, path], capture_output=True, text=True, check=True
    )
    problem, megabytes = json.loads(done.stdout)
    assert f":{(64 << 20) + 1}: expected {4 if 'qrels' in name else 6} fields" in problem
    assert megabytes < 40


@pytest.mark.parametrize("name", ["a.run", "a.run.gz", "a.jsonl", "a.jsonl.xz", "a.csv"])
def test_a_file_larger_than_allowed_is_refused_and_one_as_large_is_read(
    tmp_path: Path, name: str
) -> None:
    lists = read_trec(io.BytesIO(RUN))
    write_lists(tmp_path / name, lists)
    plain = tmp_path / name.removesuffix(".gz").removesuffix(".xz")
    write_lists(plain, lists)
    size = plain.stat().st_size
    read = read_lists(tmp_path / name, max_bytes=size)
    assert read.scores.values.tolist() == [2.5, 1.5]
    for less in (size - 1, 10, 0):
        with pytest.raises(DataFormatError, match=r"expected at most [\d,]+ bytes of text, decom"):
            read_lists(tmp_path / name, max_bytes=less)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_judgements_larger_than_allowed_are_refused(pack: Callable[[bytes], bytes]) -> None:
    text = b"q1 0 d1 1\n" * 1
    assert len(read_qrels(io.BytesIO(pack(text)), max_bytes=len(text)).query_ids) == 1
    calls: list[Callable[[], object]] = [
        lambda: read_qrels(io.BytesIO(pack(text)), max_bytes=5),
        lambda: read_trec(io.BytesIO(b""), io.BytesIO(pack(text)), max_bytes=5),
    ]
    for call in calls:
        with pytest.raises(DataFormatError, match="expected at most 5 bytes of text"):
            call()


def test_a_limit_that_is_no_number_is_refused(tmp_path: Path) -> None:
    for limit in (-1, 1.5, "many", 2**70):
        with pytest.raises(InvalidParameterError, match="max_bytes must be an integer"):
            read_trec(io.BytesIO(RUN), max_bytes=limit)  # type: ignore[arg-type]


def test_a_small_archive_of_much_text_is_refused_by_the_command(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.run.gz"
    bomb.write_bytes(gzip.compress(b"\n" * (8 << 20), 9))
    assert bomb.stat().st_size < 20_000
    done = subprocess.run(
        [sys.executable, "-m", "paretocut", "score", bomb, "--max-bytes", "1000000"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "bomb.run.gz" in done.stderr
    assert "expected at most 1,000,000 bytes of text" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_names_the_file() -> None:
    lists = read_trec(io.BytesIO(RUN * 1))
    with pytest.raises(OSError, match="No space left") as caught:
        write_lists("/dev/full", lists, "trec")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == "/dev/full"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_names_the_model_file() -> None:
    background = pc.Background.fit(np.arange(20.0))
    for model in (pc.truncators.FixedK(3), background):
        with pytest.raises(OSError, match="No space left") as caught:
            model.save("/dev/full")
        assert caught.value.filename == "/dev/full"


def test_a_score_too_small_for_a_double_is_zero() -> None:
    lists = read_trec(io.BytesIO(b"q1 Q0 d1 1 1e-400 me\nq1 Q0 d2 2 -1e-400 me\n"))
    assert lists.scores.values.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "huge", [2**63, 10**400, 10**5000, -(10**5000)], ids=["63", "400", "5000", "-5000"]
)
def test_integers_beyond_what_arrays_hold_are_refused_by_name(huge: int) -> None:
    scores = np.arange(20.0)
    with pytest.raises(
        InvalidParameterError, match="fit_tail: min_window must be an integer of at"
    ):
        pc.fit_tail(scores, min_window=huge)
    with pytest.raises(InvalidParameterError, match="fit_tails: threads must be an integer of at"):
        pc.fit_tails([scores], threads=huge)
    with pytest.raises(InvalidParameterError, match="alpha must be in"):
        pc.cut(scores, alpha=huge)


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_array(np.arange(20.0), mask=np.arange(20) > 15)
    for call in (
        lambda: pc.fit_tail(masked),
        lambda: pc.cut(masked),
        lambda: pc.fit_tails([masked]),
        lambda: pc.fit_tails(masked.reshape(2, 10)),
        lambda: pc.RankedLists([masked]),
    ):
        with pytest.raises(InvalidScoresError, match=r"must not be masked.*compressed"):
            call()


@pytest.mark.parametrize("name", ["t.arrow", "t.parquet"])
def test_a_damaged_table_is_a_format_error_or_read(tmp_path: Path, name: str) -> None:
    # Of 3,000 such Arrow files 66 killed the process; 1,304 Parquet files raised OSError.
    importorskip("pyarrow")
    ids = [["a", "b", "c"], ["é"], []]
    lists = pc.RankedLists([[3.0, 2.0, 1.0], [5.0], []], [[1, None, 0], [1], []], doc_ids=ids)
    write_lists(tmp_path / name, lists)
    whole = (tmp_path / name).read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(600):
        data = np.frombuffer(whole, np.uint8).copy()
        for at in rng.integers(len(data), size=rng.choice([1, 2, 8])):
            data[at : at + rng.choice([1, 4, 8])] = rng.choice([rng.integers(256), 0, 255])
        try:
            found = read_lists(io.BytesIO(data.tobytes()), name[2:])  # type: ignore[arg-type]
        except DataFormatError:
            refused += 1
        else:
            assert np.isfinite(found.scores.values).all()
    assert refused > 300


@pytest.mark.parametrize("end", [4, 10**9])
def test_lists_that_reach_beyond_their_values_are_refused(tmp_path: Path, end: int) -> None:
    # With 4 foreign memory came back as a score; with 10**9 the process died.
    importorskip("pyarrow")
    write_lists(tmp_path / "a.arrow", pc.RankedLists([[3.0, 2.0, 1.0]]))
    data = (tmp_path / "a.arrow").read_bytes()
    ends = struct.pack("<qq", 0, 3)
    assert ends in data
    (tmp_path / "b.arrow").write_bytes(data.replace(ends, struct.pack("<qq", 0, end)))
    with pytest.raises(DataFormatError, match=r"b\.arrow:1: expected a readable table, got"):
        read_lists(tmp_path / "b.arrow")
