"""Re-ranking: the numbers agree with the published ones, and come out again."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import gzip
import re
from typing import Any

import numpy as np
import pytest
from support import importorskip

importorskip("matplotlib")

from experiments.data import data_dir
from experiments.rerank.measure import LIST, TABLE, Bench, published
from experiments.results import read


@pytest.fixture(scope="module")
def content() -> Any:
    return read("rerank")


@pytest.fixture(scope="module")
def bench() -> Bench:
    try:
        data_dir()
    except FileNotFoundError:
        pytest.skip("needs the judged runs")
    return Bench.load()


def test_published_depths_have_the_published_means(bench: Bench, content: Any) -> None:
    with gzip.open(data_dir() / "rlt4reranking" / "results.txt.gz", "rt") as file:
        part = file.read().partition(f"## {TABLE}/result.{LIST}")[2].partition("##")[0]
    means = sorted(float(found) for found in re.findall(r"'avg. k': ([\d.]+)", part))
    depths = published(bench)
    assert sorted(round(float(k.mean()), 2) for k, _ in depths.values()) == pytest.approx(
        means, abs=0.011
    )
    for name, (k, value) in depths.items():
        if not name.startswith("fixed"):
            row = content["rows"][f"published {name}"]
            assert row["calls"] == pytest.approx(float(k.mean()), abs=1e-3)
            assert row["rankllama"] == value


def test_the_list_as_it_came_has_the_published_value(bench: Bench) -> None:
    # Re-ranking one result changes nothing, so "fixed-1" of the paper is plain BM25.
    _, theirs = published(bench)["fixed-1"]
    assert bench.values["bert"][:, 0].mean() == pytest.approx(theirs, abs=5e-4)
    np.testing.assert_array_equal(bench.values["bert"][:, 0], bench.values["bert"][:, 1])


def test_some_rows_come_out_again(bench: Bench, content: Any) -> None:
    for k in (20, 100):
        depth = np.full(len(bench.lists), k)
        row = content["rows"][f"fixed {k}"]
        assert bench.at(depth).mean() == pytest.approx(row["bert"], abs=1e-4)
        assert bench.at(depth, "perfect").mean() == pytest.approx(row["perfect"], abs=1e-4)
