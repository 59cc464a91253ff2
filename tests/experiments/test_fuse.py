"""Fusion: its measures are those of others, and its gains those of the means."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import numpy as np
import pytest
from support import ROOT, importorskip

importorskip("matplotlib")

import paretocut as pc
from experiments.fuse import methods, report
from experiments.results import read


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
    ours = {"nDCG@10": methods.ndcg(lists, ideal), "AP": methods.average_precision(lists)}
    for name, values in ours.items():
        one = ir_measures.parse_measure(name)
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc([one], qrels, run)}
        np.testing.assert_allclose(values, [theirs[str(q)] for q in range(8)], rtol=1e-6)


def test_gains_are_those_of_the_means_with_intervals_around_them() -> None:
    content = read("fuse")
    whole, low, high = report.gains_of(content)["rrf"][methods.UNJUDGED]["tuned"]
    means = [
        np.mean([own["means"][name]["tuned"] for own in content["pairs"].values()])
        for name in (methods.UNJUDGED, "rrf")
    ]
    assert whole == pytest.approx(means[0] / means[1] - 1)
    assert low < whole < high
    # Rivals without a tuned cut have no such gain.
    assert "tuned" not in report.gains_of(content)["rrf"]["DBSF"]


def test_the_guide_says_what_was_measured() -> None:
    content = read("fuse")
    gain, low, _ = report.gains_of(content)[methods.BETTER][methods.UNJUDGED]["tuned"]
    guide = " ".join((ROOT / "docs" / "fuse.md").read_text(encoding="utf-8").split())
    assert f"on {len(content['pairs'])} pairs of real runs: tuned F1 is {100 * gain:.1f} %" in guide
    assert low > 0
