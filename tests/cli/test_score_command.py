"""``paretocut score``: the numbers of the library, for every result."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import json_lines
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import paretocut as pc
from paretocut import _kernel
from paretocut.cli import main


def test_score_prints_the_numbers_of_the_library(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", "run.txt", "--json"]) == 0
    rows = json_lines(capsys.readouterr().out)
    lists = pc.read_trec("run.txt")
    assert len(rows) == 600
    for i, query_id in enumerate(["q1", "q2", "q3"]):
        fit = pc.fit_tail(lists[i].scores)
        mine = [row for row in rows if row["query_id"] == query_id]
        assert [row["rank"] for row in mine] == list(range(1, 201))
        assert [row["doc_id"] for row in mine] == lists[i].doc_ids.tolist()
        assert [row["score"] for row in mine] == lists[i].scores.tolist()
        assert [row["surprise"] for row in mine] == fit.surprise.tolist()
        np.testing.assert_allclose([row["pvalue"] for row in mine], fit.pvalues, rtol=1e-15)
        np.testing.assert_allclose([row["evalue"] for row in mine], fit.evalues, rtol=1e-15)


def test_score_as_tsv_has_a_header_and_six_digits(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", "run.txt"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split("\t") == [
        "query_id", "rank", "doc_id", "score", "surprise", "pvalue", "evalue",
    ]  # fmt: skip
    surprise = [float(line.split("\t")[4]) for line in lines]
    expected = pc.fit_tails(pc.read_trec("run.txt")).surprise.values
    np.testing.assert_allclose(surprise, expected, rtol=5e-6, atol=1e-12)


def test_score_takes_lists_without_document_ids(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bare.jsonl").write_text('{"query_id": "q", "scores": [3, 2, 1, 0.5, 0.25, 0.2]}\n')
    assert main(["score", "bare.jsonl", "-q", "--json"]) == 0
    assert [row["doc_id"] for row in json_lines(capsys.readouterr().out)] == [None] * 6
    assert main(["score", "bare.jsonl", "-q"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[:4] == ["q", "1", "", "3.0"]


def test_document_ids_with_tabs_do_not_break_the_columns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"query_id": "q", "scores": [2, 1], "doc_ids": ["a\tb", 'say "é"\n']}
    Path("odd.jsonl").write_text(json.dumps(row))
    assert main(["score", "odd.jsonl", "-q"]) == 0
    records = list(csv.reader(io.StringIO(capsys.readouterr().out), delimiter="\t"))
    assert [record[2] for record in records] == ["doc_id", *row["doc_ids"]]  # type: ignore[misc]
    assert {len(record) for record in records} == {7}


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (["--transform", "log"], {"transform": "log"}),
        (["--selection", "gof"], {"selection": "gof"}),
        (["--refit", "all"], {"refit": "all"}),
        (["--min-window", "150"], {"min_window": 150}),
        (["--threads", "2"], {"threads": 2}),
    ],
    ids=lambda value: str(value),
)
def test_options_of_the_fit_reach_the_library(
    options: list[str],
    keywords: dict[str, Any],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["score", "run.txt", "--json", *options]) == 0
    rows = json_lines(capsys.readouterr().out)
    expected = pc.fit_tails(pc.read_trec("run.txt"), **keywords).surprise.values
    assert [row["surprise"] for row in rows] == expected.tolist()


@pytest.mark.parametrize("transform", ["identity", "log"])
def test_distances_are_what_higher_is_better_false_makes_of_them(
    transform: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    distances = 1.0 - pc.read_trec("run.txt")[1].scores
    Path("d.jsonl").write_text(json.dumps({"query_id": "q", "scores": distances.tolist()}))
    assert main(["score", "d.jsonl", "--json", "--distances", "--transform", transform]) == 0
    rows = json_lines(capsys.readouterr().out)
    fit = pc.fit_tail(distances, higher_is_better=False, transform=transform)
    assert [row["score"] for row in rows] == distances.tolist()
    assert [row["surprise"] for row in rows] == fit.surprise.tolist()


@settings(max_examples=200, deadline=None)
@given(arrays(np.float64, (2, 20), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_are_written_as_python_writes_them(numbers: np.ndarray) -> None:
    written = _kernel.lines(["é "] * 20, numbers, [0, 6], [" ", "\n"]).decode()
    expected = [f"é {whole!r} {short:.6g}\n" for whole, short in numbers.T.tolist()]
    assert written == "".join(expected)
