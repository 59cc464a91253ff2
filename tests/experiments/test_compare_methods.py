"""Every method on judged runs: means by kind of search, and networks whose cuts are kept."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import importorskip

importorskip("sklearn")
importorskip("torch")

import torch

import paretocut as pc
from experiments.compare import kinds
from experiments.compare.methods import networks
from experiments.compare.methods.choice import NEURAL, PROTOCOL
from experiments.data import RUNS, Run, load
from experiments.results import read
from paretocut.truncators import BiCut, GlobalK, Training

CONTENT = read("compare", "methods")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def test_a_kind_is_the_mean_of_its_collections_and_a_collection_that_of_its_runs() -> None:
    means = kinds.by_kind(CONTENT)
    news: dict[str, list[float]] = {}
    for run in CONTENT["runs"]:
        if run["kind"] == "news":
            (value,) = [row[2] for row in run["rows"] if row[:2] == ["f1", "minmax"]]
            news.setdefault(run["family"].partition(",")[0], []).append(value)
    assert set(news) == {"Robust04", "time"}
    expected = np.mean([np.mean(values) for values in news.values()])
    assert means["minmax"]["news"] == pytest.approx(expected)
    assert means["minmax"]["all"] == pytest.approx(
        np.mean([means["minmax"][kind] for kind in kinds.ORDER])
    )


def test_weights_sum_to_one_and_treat_kinds_alike() -> None:
    runs = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "z")]
    assert kinds.weights(runs).tolist() == [0.125, 0.125, 0.25, 0.5]


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_results_of_the_networks_follow_from_the_cuts_that_are_kept(run: Run) -> None:
    lists = load(run)
    (rows,) = [part["rows"] for part in CONTENT["runs"] if part["run"] == run.name]
    published = {(row[0], row[1]): row[2] for row in rows}
    query = pc.evaluate([GlobalK()], lists, **PROTOCOL).query
    relevant = [np.asarray(part) for part in lists.relevant]
    for name in NEURAL:
        kept = networks.stored(run, lists, name)
        assert kept is not None
        assert kept["k"].shape == kept["values"].shape == (2, 1, len(query))
        # Every query is tested five times, so the mean over tests is the mean over queries.
        f1 = [
            2 * relevant[i][:k].sum() / max(k + relevant[i].sum(), 1)
            for i, k in zip(query, kept["k"][0, 0], strict=True)
        ]
        np.testing.assert_allclose(kept["values"][0, 0], f1)
        assert np.mean(f1) == pytest.approx(published["f1", name], abs=6e-5)
        assert kept["values"][1].mean() == pytest.approx(published["penalized_dcg", name], abs=6e-5)


@pytest.mark.usefixtures("shared_data")
@pytest.mark.slow
def test_networks_are_kept_for_their_settings_whatever_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = [run for run in RUNS if run.name == "tar2019-DTA"]
    lists = load(run)

    def make(name: str, **changed: object) -> BiCut:
        small = BiCut(width=2, layers=1, max_steps=10, training=Training(max_epochs=1))
        return small.set_params(**changed)

    monkeypatch.setattr(networks, "FILE", tmp_path / "networks.npz")
    monkeypatch.setattr(networks.truncators, "make", make)
    assert networks.stored(run, lists, "bicut") is None
    trained = networks._train(run, "bicut", "cpu")
    networks._keep(run, "bicut", **trained)
    expected = pc.evaluate({"bicut": make("bicut")}, lists, **PROTOCOL)
    elsewhere = {"training__device": "cuda"}
    monkeypatch.setattr(networks.truncators, "make", lambda name: make(name, **elsewhere))
    kept = networks.stored(run, lists, "bicut")
    assert kept is not None
    np.testing.assert_array_equal(kept["k"], expected.k[:, :1])
    np.testing.assert_array_equal(kept["values"], expected.values[:, :1])
    assert networks.origins() == [
        f"cpu, torch {torch.__version__}, commit {trained['made']['commit']}"
    ]
    assert networks.stored(run, lists, "choppy") is None
    monkeypatch.setattr(networks.truncators, "make", lambda name: make(name, width=3))
    assert networks.stored(run, lists, "bicut") is None
