"""A journal loses nothing that was written, and leaves other files alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from paretocut.callbacks import Journal
from paretocut.errors import DataFormatError, InvalidParameterError


def journal(path: Path, **head: object) -> Journal:
    return Journal(path, holds="notes", head=head, who="test", name="path", note={"date": "today"})


def test_entries_come_back_and_half_a_line_goes(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    book = journal(path, seed=1)
    book.add({"a": 1})
    whole = path.read_bytes()
    assert json.loads(whole.splitlines()[0])["date"] == "today"
    path.write_bytes(whole + b'{"a"')
    assert journal(path, seed=1).entries == [{"a": 1}]
    assert path.read_bytes() == whole
    path.write_bytes(whole[:-1])
    assert journal(path, seed=1).entries == [{"a": 1}]
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 5, 45, 60])
def test_a_first_line_that_was_cut_off_is_written_again(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "notes.jsonl"
    journal(path, seed=1)
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    journal(path, seed=1)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("end", [b'{"a"', b'{"a": 1}'])
def test_a_journal_of_another_run_is_left_exactly_as_it_was(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "notes.jsonl"
    journal(path, seed=1)
    before = path.read_bytes() + end
    path.write_bytes(before)
    with pytest.raises(InvalidParameterError, match="notes of seed 1, not 2"):
        journal(path, seed=2)
    assert path.read_bytes() == before
    for foreign in (b'{"format": "other"}\nx', b"text", b'{"format": "paretocut-notes", "vers\n'):
        path.write_bytes(foreign)
        with pytest.raises(DataFormatError, match="not a paretocut-notes file"):
            journal(path, seed=1)
        assert path.read_bytes() == foreign


FULL_DISK = """
import resource, sys
from paretocut.callbacks import Journal
book = Journal(sys.argv[1], holds="notes", head={}, who="test", name="path")
book.add({"answer": 1})
size = len(open(sys.argv[1], "rb").read())
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 9, hard))
try:
    book.add({"answer": 2})
except OSError as error:
    print("refused")
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
book.add({"answer": 3})
"""


def test_a_full_disk_does_not_ruin_the_file(tmp_path: Path) -> None:
    # A limit on the size of files plays the full disk.
    pytest.importorskip("resource")
    path = tmp_path / "notes.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused\n"
    assert Journal(path, holds="notes", head={}, who="test", name="path").entries == [
        {"answer": 1},
        {"answer": 3},
    ]
