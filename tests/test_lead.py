"""What the page on the lead over the field says, and the lists behind it."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import ROOT, importorskip

importorskip("faiss")
importorskip("matplotlib")
importorskip("scipy")
importorskip("torch")
importorskip("sklearn")

import paretocut as pc
from experiments.data import Run, load
from experiments.lead import collections, pretrain, report, runs
from paretocut import metrics
from paretocut.truncators import Oracle


@pytest.fixture(scope="module")
def content() -> Any:
    return json.loads((ROOT / "docs" / "lead.json").read_text())


def named(*rows: str) -> dict[Run, pc.RankedLists]:
    """Return one tiny run for each family named."""
    lists = pc.RankedLists([[2.0, 1.0]], [[True, False]])
    return {Run(f"run{i}", family, "file", "qrels"): lists for i, family in enumerate(rows)}


def test_the_page_is_made_of_the_measurements(content: Any) -> None:
    assert (ROOT / "docs" / "lead.md").read_text() == report.page(content)


def test_networks_have_the_values_of_the_comparison(content: Any) -> None:
    results = json.loads((ROOT / "docs" / "results.json").read_text())
    shown = {
        (run["run"], name, metric): mean
        for run in results["runs"]
        for metric, name, mean, *_ in run["rows"]
    }
    for name, run in content["runs"].items():
        for network in ("bicut", "choppy", "attncut"):
            for metric in ("f1", "dcg"):
                if network in run[metric]:
                    theirs = shown[name, network, metric]
                    assert run[metric][network] == pytest.approx(theirs, abs=1e-4)


def test_nothing_is_learned_from_the_corpus_it_is_tested_on() -> None:
    seen: list[str] = []

    def spy(groups: dict[str, Any]) -> str:
        seen.append(",".join(groups))
        return ""

    pairs = [("Robust04", None), ("Robust04, runs of TREC 2003", None)]
    pairs += [("Reuters titles", None), ("Reuters topics", None), ("SciFact", None)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrain, "pretrain", spy)
        for name in ("Robust04", "Reuters", "SciFact", None):
            pretrain.learned(pairs, without=name)  # type: ignore[arg-type]
    assert seen == [
        "Reuters titles,Reuters topics,SciFact",
        "Robust04,SciFact",
        "Robust04,Reuters titles,Reuters topics",
        "Robust04,Reuters titles,Reuters topics,SciFact",
    ]


def test_a_weight_is_chosen_on_other_corpora() -> None:
    lists = named("A", "A", "B", "C")
    rows = ["other collections worth 0 queries", "other collections worth 3 queries", runs.FULL]
    rows += ["other collections worth 12 queries", "other collections worth 25 queries"]
    found = {row: dict.fromkeys((run.name for run in lists), 0.5) for row in rows}
    # A weight of 12 is best for A by far, one of 25 a little for B and C.
    found[rows[3]] |= {"run0": 0.9, "run1": 0.9}
    found[rows[4]] |= {"run2": 0.6, "run3": 0.6}
    chosen = runs.nested(found, lists)
    assert chosen["weights"] == {"A": 25.0, "B": 12.0, "C": 12.0}
    assert chosen["f1"] == {"run0": 0.5, "run1": 0.5, "run2": 0.5, "run3": 0.5}


def test_bounds_know_what_other_systems_found() -> None:
    # The other system has three relevant results of query b, and all of them score above 0.5.
    mine = pc.RankedLists([[9.0, 8.0, 1.0, 0.0]], [[True, False, True, False]], ["b"])
    other = pc.RankedLists(
        [[4.0, 3.0], [9.0, 8.0, 7.0, 0.0]], [[False, False], [True, True, True, False]], ["a", "b"]
    )
    counts, thresholds = runs._told(mine, [other])
    assert counts.tolist() == [3.0]
    assert 7 / 9 >= runs._GRID[thresholds[0]] > 0
    families = {
        Run("one", "F", "x", "q"): mine,
        Run("two", "F", "y", "q"): other[1:],
        Run("three", "F", "z", "another"): other,
    }
    assert runs.bounds(families).keys() == {"one", "two"}


def test_digits_are_found_nearest_first() -> None:
    ((name, lists),) = collections._digits()
    assert name == "pixels"
    assert len(lists) == 150
    assert (lists.scores.lengths == 600).all()
    assert {int(part.sum()) for part in lists.relevant} == {60}
    assert np.mean([part[0] for part in lists.relevant]) > 0.95


def test_fresh_digits_have_an_index_of_their_own() -> None:
    ((_, lists),) = collections._cosine()
    found = sorted({int(part.sum()) for part in lists.relevant})
    assert found == [10 + 12 * digit for digit in range(10)]


def test_other_claims_are_judged_as_the_qrels_say(shared_data: Path) -> None:
    found = dict(collections._claims())
    assert found.keys() == {"bm25", "tfidf", "lsa"}
    assert {len(lists) for lists in found.values()} == {300}
    counts = np.array([part.sum() for part in found["lsa"].relevant])
    assert 0.5 < counts.mean() < 1.5


def test_a_title_has_one_right_story(shared_data: Path) -> None:
    found = dict(collections._titles())
    assert found.keys() == {"bm25", "tfidf", "lsa"}
    for lists in found.values():
        assert max(int(part.sum()) for part in lists.relevant) == 1
    assert metrics.f1(found["bm25"], Oracle("f1").predict(found["bm25"])).mean() > 0.6


@pytest.mark.slow
def test_what_is_shipped_was_learned_from_these_lists(shared_data: Path) -> None:
    lists = runs.all_lists()
    made = pretrain.learned((run.family, part) for run, part in lists.items())
    shipped = json.loads(pretrain.TARGET.read_text())
    for name in ("coef", "coef_without_raw", "center", "spread"):
        np.testing.assert_allclose(getattr(made, name), shipped[name], atol=0.01)
    for metric, rows in shipped["values"].items():
        assert rows.keys() == made.values[metric].keys()
        for family, values in rows.items():
            np.testing.assert_allclose(made.values[metric][family], values, atol=0.01)


def test_vaswani_in_miniature_goes_through_all_tables(shared_data: Path) -> None:
    from experiments.data import RUNS

    lists = {run: load(run)[:24] for run in RUNS if run.family in ("Vaswani", "TREC Deep Learning")}
    known = runs.elsewhere(lists)
    assert known.keys() == {"Vaswani", "TREC"}
    some = {run: part for run, part in lists.items() if run.family == "Vaswani"}
    found = runs.votes(some, known)
    assert found[runs.FULL].keys() == {run.name for run in some}
    best = metrics.f1(next(iter(some.values())), Oracle("f1").predict(next(iter(some.values()))))
    assert all(0 < value < best.max() for row in found.values() for value in row.values())
    assert runs.FULL in runs.probabilities(some, known)
    told = runs.calibration(some, known)
    assert 0 <= told["error, mean"] < 0.2
