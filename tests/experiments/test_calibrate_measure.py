"""Calibration without judgements: the goals it was measured against hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import ROOT

from experiments.calibrate import report
from experiments.results import read
from paretocut.truncators.gated import SEEN


@pytest.fixture(scope="module")
def content() -> Any:
    return read("calibrate")


def test_the_number_needs_no_label(content: Any) -> None:
    mean = {kind: np.mean(list(part.values())) for kind, part in content["number"].items()}
    assert mean["many"] >= 0.37
    assert mean["word"] >= 0.96 * mean["number"]
    below = [content["number"]["default"][n] - f1 for n, f1 in content["number"]["many"].items()]
    assert max(below) < 0.025


def test_a_log_takes_the_place_of_labels_for_dense_scores(content: Any) -> None:
    part = content["whether"]["MiniLM"]
    over = {
        n: report.rates(row, "log")[1] - report.rates(row, "tuned")[1] for n, row in part.items()
    }
    assert max(over.values()) < 0.05
    assert np.mean(list(over.values())) < 0.01
    lost = {name: report.rates(row, "log")[0] for name, row in part.items()}
    assert max(lost.values()) < 0.17


def test_the_guide_says_what_was_measured(content: Any) -> None:
    excess = report._excess(content["whether"]["MiniLM"], "log")["log_excess"]
    guide = " ".join((ROOT / "docs" / "calibrate.md").read_text(encoding="utf-8").split())
    assert f"dense scores its error is {excess} points above that of the threshold learned" in guide


def test_lexical_scores_are_noticed(content: Any) -> None:
    missed = [name for name, found in content["noticed"]["BM25"].items() if not found]
    assert missed == ["contractnli"]  # four words find nothing in most contracts
    assert not any(content["noticed"]["MiniLM"].values())


def test_small_indexes_answer_good_questions(content: Any) -> None:
    small = content["small"]
    for size in ("5", "20", "100"):
        plain = np.mean([rates[size]["8"] for rates in small["rates"].values() if size in rates], 0)
        ships = np.mean([row[size] for row in small["ships"].values() if size in row], 0)
        assert ships[0] > plain[0] + 0.1
        assert ships[1] > 0.92


def test_the_report_of_a_gate_states_what_was_measured(content: Any) -> None:
    for kind, system in (("dense", "MiniLM"), ("lexical", "BM25")):
        assert pytest.approx(report.seen(content["whether"][system]), abs=0.006) == SEEN[kind]


def test_a_gate_knows_its_own_scores_from_others(content: Any) -> None:
    for row in content["strange"].values():
        assert row["right"] <= 0.06
        assert row["wrong"] >= 0.75


def test_scripts_without_spaces_are_answered(content: Any) -> None:
    for row in content["scripts"].values():
        assert min(row["pairs answered"], row["pairs refused"]) >= 0.9
