"""``paretocut stop``: the states of the library, from qrels, spreadsheets and ASReview exports."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from commands import json_lines

import paretocut as pc
from paretocut.cli import main
from paretocut.stopping import Certificate, Quantile, plan

RELEVANT = np.isin(np.arange(300), [0, 1, 2, 4, 7, 9, 12, 30])


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with run.txt, a ranking of 300 documents, and part.txt, the first 150 read."""
    monkeypatch.chdir(tmp_path)
    Path("run.txt").write_text("".join(f"r Q0 d{i} {i + 1} {300 - i} t\n" for i in range(300)))
    # Not in the order of the ranking: the run says what that is.
    lines = [f"r 0 d{i} {int(RELEVANT[i])}\n" for i in range(149, -1, -1)]
    Path("part.txt").write_text("".join(lines))
    return tmp_path


def state_after(rule: Certificate | Quantile, read: int) -> pc.stopping.State:
    running = rule.review(total=300)
    for relevant in RELEVANT[:read]:
        running.add(bool(relevant))
    return running.state


def as_json(state: pc.stopping.State) -> dict[str, object]:
    return {**vars(state), "interval": list(state.interval), "warnings": list(state.warnings)}


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ([], Certificate(0.95)),
        (["--recall", "0.8", "--confidence", "0.8"], Certificate(0.8, 0.8)),
        (["--recall", "0.9", "--reliability", "0.8"], Quantile(0.9, 0.8)),
    ],
)
def test_stop_says_what_the_library_says(
    review: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    rule: Certificate | Quantile,
) -> None:
    assert main(["stop", "run.txt", "--judged", "part.txt", "--json", *options]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    assert row == {"query_id": "r", **as_json(state_after(rule, 150))}
    assert main(["stop", "run.txt", "--judged", "part.txt", *options]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"r: {row['reason']}. Recall: at least {row['at_least']:.2f}")


def test_a_saved_rule_decides(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    earlier = rng.random((30, 300)) < 0.5 * np.exp(-np.arange(300) / 20) + 0.01
    rule = Quantile(0.85, 0.8).fit(earlier)
    rule.save("rule.json")
    assert main(["stop", "run.txt", "--judged", "part.txt", "--rule", "rule.json", "--json"]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    assert row == {"query_id": "r", **as_json(state_after(rule, 150))}


@pytest.mark.parametrize("kind", ["spreadsheet", "asreview", "with a run"])
def test_a_csv_in_the_order_of_reading_will_do(
    review: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    rows = [f"d{i},{'yes' if RELEVANT[i] else 'no'}" for i in range(150)]
    if kind == "spreadsheet":
        lines = ["doc_id,relevant", *rows, *(f"d{i}," for i in range(150, 300))]
    elif kind == "with a run":
        lines = ["doc_id,relevant", *rows]
    else:
        # ASReview keeps the order of the import; the times say what was read when.
        at = [f"2026-01-31 12:{i // 60:02}:{i % 60:02}.5" for i in range(150)]
        read = [f"{i},Title,{int(RELEVANT[i])},{at[i]}" for i in range(150)]
        rest = [f"{i},Title,," for i in range(150, 300)]
        lines = ["record_id,title,asreview_label,asreview_time", *rest, *reversed(read)]
    Path("judged.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    run = ["run.txt"] if kind == "with a run" else []
    assert main(["stop", *run, "--judged", "judged.csv.gz", "--json"]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    name = "r" if run else ""
    assert row == {"query_id": name, **as_json(state_after(Certificate(), 150))}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,title\n1,a\n", "judged.csv:1: expected a column asreview_label or relevant"),
        ("id,label\n1,maybe\n", "judged.csv:2: label must be 1, 0 or empty, or yes or no"),
        ("id,label\n1,1\n2,0\n1,0\n", "judged.csv:4: 1 must have one judgement, got yes and no"),
        ("id,label,asreview_time\n1,1,noon\n", "judged.csv:2: asreview_time must be a time"),
        ("included,asreview_ranking\n1,1\n", "does not have it; export from ASReview 2"),
        ("id,label\nd999,1\n", "must judge documents of run.txt, got 1 others, such as d999"),
    ],
)
def test_bad_judgements_are_refused_with_their_line(
    review: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    Path("judged.csv").write_text(content)
    assert main(["stop", "run.txt", "--judged", "judged.csv"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run.txt"], "one of --judged and --plan must be given"),
        (["--judged", "part.txt"], "RUN must be given with judgements in TREC format"),
        (["--judged", "part.csv", "--total", "1"], "--total must be at least the 2 documents of"),
        (["--judged", "part.csv", "--rule", "x", "--recall", "0.9"], "--recall must be left out"),
        (["--plan", "0.1"], "--plan must come with RUN or --total, got neither"),
        (["run.txt", "--judged", "part.txt", "--recall", "1.5"], "recall must be in (0, 1]"),
        (["run.txt", "--judged", "part.txt", "--recall", "0.93", "--reliability", "0.9"], "0.93;"),
    ],
)
def test_bad_usage_is_refused(
    review: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("part.csv").write_text("label\n1\n0\n")
    assert main(["stop", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_contradictions_and_what_the_run_does_not_have_are_named(
    review: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, message in (
        ("r 0 d999 1\n", "got 1 others, such as d999"),
        ("s 0 d1 1\n", "must judge queries of RUN, got s"),
        ("r 0 d1 1\nr 0 d1 0\n", "qrels.txt:2: "),
    ):
        Path("qrels.txt").write_text(line)
        assert main(["stop", "run.txt", "--judged", "qrels.txt"]) == 1
        assert message in capsys.readouterr().err


def test_gaps_in_the_reading_are_told(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("qrels.txt").write_text("r 0 d0 1\nr 0 d9 0\n")
    assert main(["stop", "run.txt", "--judged", "qrels.txt"]) == 0
    assert "warning: r: 8 documents above the last one judged" in capsys.readouterr().err


def test_nothing_found_is_no_promise(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("judged.csv").write_text("label\n" + "0\n" * 99 + '""\n')
    assert main(["stop", "--judged", "judged.csv"]) == 0
    said = capsys.readouterr().out
    assert said == (
        "go on: 99 of 100 documents read, 0 of them relevant. Nothing can be said about the "
        "recall before the first relevant document.\n"
    )


def test_the_plan_is_that_of_the_library(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "run.txt", "--plan", "0.05", "--recall", "0.9", "--json"]) == 0
    rows = json_lines(capsys.readouterr().out)
    prices = plan(300, 0.05, recall=0.9)
    assert [row["read"] for row in rows] == [price.read for price in prices]
    assert main(["stop", "--total", "300", "--plan", "0.05", "--recall", "0.9"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"read {prices[0].read} (")
    assert first.endswith("of 300: Certificate, confidence 0.95")
