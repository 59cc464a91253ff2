"""What the page on fusion says is what was measured, and its measures are those of others."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support import ROOT, importorskip

importorskip("matplotlib")

import paretocut as pc
from experiments.fusion import measure, report


@pytest.fixture(scope="module")
def content() -> Any:
    return json.loads((ROOT / "docs" / "fusion.json").read_text())


def test_the_pages_are_made_of_the_measurements(content: Any) -> None:
    assert (ROOT / "docs" / "fusion.md").read_text() == report.page(content)
    assert (ROOT / "docs" / "fusion-tables.md").read_text() == report.tables(content)


def test_no_number_of_the_page_is_left_open(content: Any) -> None:
    words = (ROOT / "experiments" / "fusion" / "page.md").read_text()
    for name in report._numbers(content):
        assert f"{{{name}}}" in words, f"{name} is worked out and not used"
    prose = report.page(content).split("```")[::2]
    assert not any("{" in part for part in prose)


def test_measures_are_those_of_ir_measures() -> None:
    ir_measures = importorskip("ir_measures")
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 3, size=(8, 30))
    names = [f"d{i}" for i in range(30)]
    lists = pc.RankedLists(
        rng.normal(size=(8, 30)),
        relevance=grades,
        num_relevant=np.sum(grades > 0, axis=1),
        doc_ids=[names] * 8,
    )
    qrels = [
        ir_measures.Qrel(str(q), name, int(grades[q, i]))
        for q in range(8)
        for i, name in enumerate(names)
    ]
    run = [
        ir_measures.ScoredDoc(one.query_id, name, score)
        for one in lists
        for name, score in zip(one.doc_ids.tolist(), one.scores.tolist(), strict=True)
    ]
    ideal = -np.sort(-grades, axis=1)[:, :10].astype(float)
    ours = {"nDCG@10": measure.ndcg(lists, ideal), "AP": measure.average_precision(lists)}
    for name, values in ours.items():
        one = ir_measures.parse_measure(name)
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc([one], qrels, run)}
        np.testing.assert_allclose(values, [theirs[str(q)] for q in range(8)], rtol=1e-6)


def test_gains_are_those_of_the_means_with_intervals_around_them() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"a": {"f1": x + 0.1, "map": x}, "b": {"f1": x}} for x in (rng.random(50), rng.random(20))
    ]
    whole, low, high = report._gain(rows, "a", "b", "f1") or []
    means = [np.mean([row[name]["f1"].mean() for row in rows]) for name in "ab"]
    assert whole == pytest.approx(means[0] / means[1] - 1)
    assert low < whole < high
    assert report._gain(rows, "a", "b", "map") is None
