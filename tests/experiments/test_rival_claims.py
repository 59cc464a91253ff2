"""Newer rules: a row comes out again, and lists without an answer have no relevant result."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import data_dir, importorskip, missing

importorskip("kneed")
importorskip("scipy")
importorskip("torch")

from experiments.results import read
from experiments.rivals import measure
from experiments.rivals.confidence import Confidence
from experiments.rivals.tail_aware import TailAware
from paretocut import metrics


@pytest.fixture(scope="module")
def content() -> Any:
    return read("rivals")


def test_a_row_comes_out_again(content: Any) -> None:
    if data_dir() is None:
        missing("needs the judged runs")
    lists = measure.read("hotpotqa500", "minilm")
    row = content["cuts"]["hotpotqa500, MiniLM"]
    found = metrics.f1(lists, TailAware().predict(lists)).mean()
    assert found == pytest.approx(row["TailAware()"]["f1"], abs=1e-4)


def test_questions_without_an_answer_have_lists_without_a_relevant_result() -> None:
    if data_dir() is None:
        missing("needs the judged runs")
    lists = measure.read("clinc150", "minilm")
    answered = np.array([own.any() for own in lists.relevant])
    assert len(lists) == 2500
    assert (lists.num_relevant == 0).sum() == 1000
    assert answered.sum() == pytest.approx(1500, abs=5)
    gate = Confidence("max").fit(lists)
    assert metrics.accuracy(lists, gate.predict(lists)).mean() > 0.85
