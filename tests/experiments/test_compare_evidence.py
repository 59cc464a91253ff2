"""One page of evidence: lists of new domains, gains with intervals over collections, kept rows."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import pytest
from support import importorskip

importorskip("sklearn")
importorskip("torch")
importorskip("kneed")

import paretocut as pc
from experiments.compare import evidence, kinds
from experiments.compare.methods.choice import DOMAINS, methods
from experiments.compare.methods.measure import MOST, drawn
from experiments.data import COLLECTION_RUNS, DOMAIN_RUNS, judged
from experiments.results import read
from paretocut.truncators import Consensus


@pytest.mark.usefixtures("shared_data")
def test_new_domains_have_the_queries_that_have_an_answer() -> None:
    counts = {run.name: len(judged(run)) for run in DOMAIN_RUNS}
    assert counts["tar2017-amc"] == 15
    # A query without a known word has no lines in a BM25 run.
    expected = {"abt_buy": 1064, "dblp_acm": 2214, "locomo_a": 760, "banking77oos": 1000}
    for name, queries in expected.items():
        assert counts[f"{name}-minilm"] == queries
        assert queries - 5 <= counts[f"{name}-bm25"] <= queries
    assert {run.family for run in DOMAIN_RUNS} == DOMAINS.keys()
    assert len(drawn(judged(DOMAIN_RUNS[0]))) == MOST


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("name", ["time-bm25", "med-minilm"])
def test_rows_without_judgements_come_out_again(name: str) -> None:
    (run,) = (run for run in COLLECTION_RUNS if run.name == name)
    (kept,) = (entry for entry in read("compare", "methods")["runs"] if entry["run"] == name)
    lists = judged(run)
    rules = {"consensus_untrained": Consensus()} | {
        rule: methods(lists)[rule] for rule in ("adaptive_k", "max_80", "z_1")
    }
    for rule, truncator in rules.items():
        value = pc.metrics.f1(lists, truncator.predict(lists)).mean()
        assert kinds.mean_of(kept, rule) == pytest.approx(value, abs=1e-6)


def test_a_gain_counts_collections_alike_and_leaves_them_out_whole() -> None:
    means = {
        "a1": {"ours": 0.4, "rival": 0.2},
        "a2": {"ours": 0.2, "rival": 0.2},
        "b": {"ours": 0.1, "rival": 0.2},
    }
    found = evidence._gain(means, {"a1": "a", "a2": "a", "b": "b"}, "ours", "rival")
    # Collection a: 0.3 against 0.2; collection b: 0.1 against 0.2.
    assert found["means"] == pytest.approx([0.2, 0.2])
    assert found["gain"][0] == pytest.approx(0.0)
    # Without one of them the gain is -0.5 or 0.5: the jackknife's error is 0.5, Student's t 12.7.
    assert found["gain"][1:] == pytest.approx([-1.0, 0.5 * 12.706], rel=1e-3)
    assert (found["won"], found["collections"], found["worst"]) == (1, 2, "b")


def test_weights_of_runs_add_up() -> None:
    runs = read("compare", "methods")["runs"]
    for way in evidence.WAYS.values():
        assert way(runs).sum() == pytest.approx(1.0)
