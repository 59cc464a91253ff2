"""``paretocut cut``: the decisions of the library, and the shortened run."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import COMMAND, json_lines
from support import importorskip

import paretocut as pc
from paretocut.cli import cutting, main
from paretocut.truncators import LargestGap, ScoreThreshold


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ([], {}),
        (["--alpha", "0.01"], {"alpha": 0.01}),
        (["--evalue", "0.05"], {"evalue": 0.05}),
        (["--min-surprise", "4"], {"min_surprise": 4.0}),
        (["--expect", "few"], {"expect": "few"}),
        (["--expect", "2.5"], {"expect": 2.5}),
        (["--method", "minmax:threshold=0.7"], {"truncator": ScoreThreshold("minmax", 0.7)}),
        (["--method", "largest_gap"], {"truncator": LargestGap()}),
        (["--alpha", "0.05", "--refit", "all"], {"alpha": 0.05, "refit": "all"}),
        (["--fdr", "0.2"], {"fdr": 0.2}),
        (["--evalue", "0.05", "--min-k", "2", "--max-k", "5"],
         {"evalue": 0.05, "min_k": 2, "max_k": 5}),
    ],
    ids=lambda value: str(value),
)  # fmt: skip
def test_cut_decides_as_the_library(
    options: list[str],
    keywords: dict[str, Any],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["cut", "run.txt", "--json", "-o", "cut.txt", *options]) == 0
    decisions = json_lines(capsys.readouterr().out)
    lists = pc.read_trec("run.txt")
    for i, decision in enumerate(decisions):
        expected = pc.cut(lists[i].scores, **keywords).to_dict()
        del expected["indices"], expected["nearest"]
        assert decision == {"query_id": str(lists.query_ids[i]), **expected}
    k = [decision["k"] for decision in decisions]
    kept = lists.truncate(k)
    written = pc.read_trec("cut.txt")
    assert written.scores.values.tolist() == kept.scores.values.tolist()
    assert written.doc_ids.values.tolist() == kept.doc_ids.values.tolist()  # type: ignore[union-attr]


def test_cut_writes_the_run_to_standard_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cut", "run.txt", "--evalue", "0.05"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + 8
    assert lines[0].split()[:4] == ["q1", "Q0", "d001", "1"]


def test_emptied_queries_are_named_on_standard_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cut", "run.txt", "--evalue", "0.05", "-o", "cut.txt"]) == 0
    told = capsys.readouterr().err
    assert "paretocut: 1 of 3 queries have no results left and are not in the run: q3\n" in told
    assert main(["cut", "run.txt", "--evalue", "0.05", "-o", "cut.txt", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_table_keeps_emptied_queries(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cut", "run.txt", "--evalue", "0.05", "-o", "cut.jsonl"]) == 0
    rows = json_lines(Path("cut.jsonl").read_text())
    assert [len(row["scores"]) for row in rows] == [3, 8, 0]
    assert "keep no result" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["lists.jsonl", "lists.csv", "lists.parquet", "lists.jsonl.xz"])
def test_the_output_has_the_format_of_the_input(
    name: str, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    if name.endswith("parquet"):
        importorskip("pyarrow")
    pc.io.write_lists(name, pc.read_trec("run.txt"))
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [*COMMAND, "cut", name, "--evalue", "0.05"],
        env=environment,
        capture_output=True,
        check=True,
    )
    plain = name.removesuffix(".xz").partition(".")[2]
    cut = pc.io.read_lists(io.BytesIO(done.stdout), plain)  # type: ignore[arg-type]
    assert cut.scores.lengths.tolist() == [3, 8, 0]


def test_distances_stay_distances_in_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line.split() for line in Path("run.txt").read_text().splitlines()]
    flipped = [" ".join([*line[:4], f"{1 - float(line[4]):.6f}", line[5]]) for line in lines]
    Path("distances.txt").write_text("\n".join(flipped) + "\n")
    assert main(["cut", "distances.txt", "--distances", "--evalue", "0.05"]) == 0
    written = [line.split() for line in capsys.readouterr().out.splitlines()]
    given = {(line.split()[0], line.split()[2]): float(line.split()[4]) for line in flipped}
    assert len(written) == 3 + 8
    for query_id, _, doc_id, _, score, _ in written:
        assert float(score) == given[query_id, doc_id]


def test_many_blocks_give_what_one_block_gives(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cut", "run.txt", "--json"]) == 0
    whole = capsys.readouterr()
    for size in (1, 200, 399, 400):
        monkeypatch.setattr(cutting, "RESULTS_PER_BLOCK", size)
        assert main(["cut", "run.txt", "--json"]) == 0
        assert capsys.readouterr() == whole


def test_warnings_of_the_lists_are_summed_up_with_their_remedy(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"q Q0 d{r} {r} {1 / (60 + r)} fused\n" for r in range(1, 201)]
    Path("fused.run").write_text("".join(lines))
    assert main(["cut", "fused.run", "--json"]) == 0
    captured = capsys.readouterr()
    assert "rank_only_scores" in json_lines(captured.out)[0]["warnings"]
    expected = (
        f"warning: rank_only_scores in 1 of 1 queries: {pc.decisions.WARNINGS['rank_only_scores']}"
    )
    assert expected in captured.err


def test_bounds_hold_for_a_model_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method = ["--method", "surprise"]
    assert main(["fit", "run.txt", "qrels.txt", "-q", "-o", "model.json", *method]) == 0
    bounds = ["--min-k", "1", "--max-k", "5"]
    assert main(["cut", "run.txt", "--model", "model.json", "--json", *bounds]) == 0
    assert [row["k"] for row in json_lines(capsys.readouterr().out)] == [3, 5, 1]


def test_cut_says_how_much_it_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cut", "run.txt", "-o", "out.run"]) == 0
    before, after = (pc.read_trec(name).scores.values.size for name in ("run.txt", "out.run"))
    lists = len(pc.read_trec("run.txt"))
    said = capsys.readouterr().err
    assert f"out.run: kept {after:,} of {before:,} results of {lists} queries" in said


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["cut", "run.txt", "-o", "out.xlsx"], "must end in one of .run, .trec"),
        (["cut", "run.txt", "--method", "minmax"], "must come with its threshold (minmax:thresh"),
    ],
    ids=["ending", "threshold"],
)
def test_what_cannot_work_is_told(
    given: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given) == 2
    assert told in capsys.readouterr().err
    assert not Path("out.xlsx").exists()


def test_no_parquet_is_written_to_a_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    importorskip("pyarrow")
    assert main(["cut", "run.txt", "-o", "run.parquet", "-q"]) == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["cut", "run.parquet"]) == 2
    assert "-o must name a file for parquet" in capsys.readouterr().err
