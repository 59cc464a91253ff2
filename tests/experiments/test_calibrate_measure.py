"""Calibration without judgements: the goals it was measured against hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import ROOT

from experiments.calibrate import report
from experiments.results import read


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
    assert max(over.values()) < 0.03
    lost = {name: report.rates(row, "log")[0] for name, row in part.items()}
    assert max(lost.values()) < 0.13


def test_the_guide_says_what_was_measured(content: Any) -> None:
    excess = report._excess(content["whether"]["MiniLM"], "log")["log_excess"]
    guide = " ".join((ROOT / "docs" / "calibrate.md").read_text(encoding="utf-8").split())
    assert f"On dense scores this is {excess} points of error from the threshold" in guide
