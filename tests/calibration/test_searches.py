"""Searches are run with threads, in batches, and from a file that keeps their answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from paretocut.calibration.calibrating import run_searches, scores_of
from paretocut.errors import DataFormatError, InvalidParameterError, ParetocutError


@pytest.mark.parametrize(
    "given",
    [
        [0.9, 0.5],
        np.array([0.9, 0.5]),
        [("a", 0.9), ("b", 0.5)],
        [{"id": 1, "score": 0.9}, {"id": 2, "score": 0.5}],
        [SimpleNamespace(score=0.9), SimpleNamespace(score=0.5)],
    ],
)
def test_scores_are_found_in_what_searches_give(given: object) -> None:
    np.testing.assert_array_equal(scores_of(given), [0.9, 0.5])


def test_a_search_without_scores_is_refused() -> None:
    with pytest.raises(
        InvalidParameterError, match="calibrate: search: a result must have one score"
    ):
        scores_of(["a text"])


def test_batch_and_threads_give_what_one_by_one_gives() -> None:
    queries = [f"query {i}" for i in range(70)]

    def search(query: str) -> list[float]:
        return [len(query) / 3, int(query.split()[1]) / 100]

    plain = run_searches(search, queries)
    threads = run_searches(search, queries, threads=4)
    batch = run_searches(lambda block: [search(q) for q in block], queries, batch=True)
    np.testing.assert_array_equal(plain, threads)
    np.testing.assert_array_equal(plain, batch)
    with pytest.raises(InvalidParameterError, match="each of 32 queries, got 1"):
        run_searches(lambda block: [[1.0]], queries, batch=True)


def test_searches_go_on_where_they_stopped(tmp_path: Path) -> None:
    seen: list[str] = []
    file = tmp_path / "kept.jsonl"
    queries = [f"query {i}" for i in range(10)]

    def search(query: str) -> list[float]:
        if len(seen) == 6:
            raise ConnectionError("the engine went away")
        seen.append(query)
        return [float(query.split()[1])]

    with pytest.raises(ConnectionError):
        run_searches(search, queries, resume=file)
    # A process that is killed may leave half a line.
    with file.open("a") as out:
        out.write('{"query": "query 6", "sc')
    again: list[str] = []

    def better(query: str) -> list[float]:
        again.append(query)
        return [float(query.split()[1])]

    found = run_searches(better, queries, resume=file)
    assert again == queries[:3] + queries[6:]  # some are searched again, to compare
    np.testing.assert_array_equal(np.concatenate(found), np.arange(10.0))
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert kept[0] == {"format": "paretocut-searches", "version": 1}
    assert [row["query"] for row in kept[1:]] == queries
    with file.open("a") as out:
        out.write('{"scores": [1]}\n')
    with pytest.raises(DataFormatError, match=r"kept\.jsonl:12: expected a search"):
        run_searches(better, queries, resume=file)


@pytest.mark.parametrize("content", [b"nonsense\n", b"my notes", b'{"format": "other"}\n{"a'])
def test_a_file_of_something_else_is_refused_and_left_as_it_is(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "kept.jsonl"
    file.write_bytes(content)
    with pytest.raises(DataFormatError, match=r"kept\.jsonl:1: this is not a paretocut-searches"):
        run_searches(lambda query: [1.0], ["query"], resume=file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("given", [[10**400], [(1, 10**400)], [{"score": 10**400}], [1, 10**400]])
def test_a_score_beyond_all_floats_is_refused(given: list[object], tmp_path: Path) -> None:
    with pytest.raises(ParetocutError, match=r"calibrate: search: .*(numbers|one score)"):
        run_searches(lambda query: given, ["query"])
    file = tmp_path / "kept.jsonl"
    run_searches(lambda query: [1.0], ["query"], resume=file)
    for value in ("1" + "0" * 400, "[" * 100_000):
        kept = file.read_text()
        file.write_text(kept.replace("1.0", value))
        with pytest.raises(DataFormatError, match=r"kept\.jsonl:2: "):
            run_searches(lambda query: [1.0], ["query"], resume=file)
        file.write_text(kept)


@pytest.mark.parametrize(
    "content",
    [
        '{"query": "q", "scores": 5}',
        '{"query": "q", "scores": [[1, 2]]}',
        '{"query": "q", "scores": [NaN]}',
        '{"query": "q", "scores": [1e999]}',
        '{"query": "q", "scores": ["1"]}',
        '{"query": "q"}',
        '{"scores": [1]}',
    ],
)
def test_odd_content_of_a_file_to_resume_is_refused_with_its_line(
    content: str, tmp_path: Path
) -> None:
    file = tmp_path / "searches.jsonl"
    run_searches(lambda query: [1.0], ["query"], resume=file)
    with file.open("a") as out:
        out.write(content + "\n")
    with pytest.raises(DataFormatError, match=r"searches.jsonl:3: expected a search: its query"):
        run_searches(lambda query: [1.0], ["query"], resume=file)


@pytest.mark.skipif(sys.platform == "win32", reason="sends the signal of Ctrl-C")
def test_ctrl_c_gives_up_asynchronous_searches_at_once() -> None:
    # Searches of 30 s were waited for.
    code = """
import asyncio, os, signal, threading, time
from paretocut.calibration.calibrating import run_searches

async def search(query):
    begun.set()
    await asyncio.sleep(30)

def interrupt():
    begun.wait()
    time.sleep(1)  # all threads wait for their searches
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

begun = threading.Event()
threading.Thread(target=interrupt).start()
try:
    run_searches(search, [str(i) for i in range(50)])
except KeyboardInterrupt:
    print(time.monotonic() - sent)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert float(done.stdout) < 1
