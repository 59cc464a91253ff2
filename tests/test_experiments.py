"""The paper's experiments end to end at a small size, on real data."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support import ROOT, importorskip

importorskip("faiss")
importorskip("matplotlib")
importorskip("torch")
importorskip("sklearn")

import torch
from sklearn.neighbors import NearestNeighbors

import paretocut as pc
from experiments.compare import networks
from experiments.compare.methods import NEURAL, PROTOCOL
from experiments.data import RUNS, Run, load
from experiments.paper import (
    authorship,
    cache,
    omniglot,
    omniglot_train,
    readings,
    report,
    robust04,
    same_document,
    tables,
)
from experiments.paper.retrieval import Task, ranked_lists, search
from experiments.paper.rows import ORACLE, Row, local_rows
from paretocut.truncators import BiCut, GlobalK, Isotonic, LocalK, Surprise


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


SMALL = [
    Row(ORACLE, local_rows()[0].make),
    Row("Global-k", GlobalK),
    Row("Local-k", lambda metric: LocalK(metric, neighbors=5)),
    Row("Isotonic", lambda metric: Isotonic(metric, neighbors=5)),
    Row("Surprise, refit on window", lambda metric: Surprise(metric, neighbors=5)),
]


def check_column(tasks: list[Task], metric: str) -> None:
    """Every row is there, none is better than the ceiling, and all queries are counted."""
    column = tables.summarize("column", "Omniglot", tasks, SMALL, [metric])
    rows = {row["row"]: row["mean"] for row in column["metrics"][metric]["rows"]}
    assert rows.keys() == {row.name for row in SMALL}
    assert all(np.isfinite(mean) and mean <= rows[ORACLE] + 1e-12 for mean in rows.values())
    assert {test["rival"] for test in column["metrics"][metric]["tests"]} == {
        "Global-k",
        "Local-k",
        "Isotonic",
    }
    json.dumps(column, allow_nan=False)


def test_same_document_keeps_the_match_of_half_of_the_test_queries(shared_data: Path) -> None:
    documents = same_document.read_documents(shared_data)
    assert len(documents) == 3343
    assert {len(text) for text in documents} == {800}
    features = same_document.featurize(documents[:120], "word")
    assert features.shape == (120, 2, 1024)
    (embeddings,) = same_document.train_encoder(features, epochs=[2], seed=0).values()
    tasks = [same_document.make_task(embeddings, seed) for seed in (0, 1)]
    for task in tasks:
        assert len(task.test) == 36
        assert (task.test.num_relevant == 1).sum() == 18
        assert (task.train.num_relevant == 1).all()
        assert len(task.train) == 2 * 84
    mismatch = same_document.make_task(embeddings, 0, training="half matched").train
    assert mismatch.num_relevant.mean() == 0.5
    assert [row.sum() for row in mismatch.relevant] == mismatch.num_relevant.tolist()
    check_column(tasks, "accuracy")


def test_authorship_indexes_ten_to_fifty_articles_of_an_author(shared_data: Path) -> None:
    articles = authorship.read_articles(shared_data)
    assert len(articles) == 48
    few = dict(list(articles.items())[:5])
    train, test, names = authorship.draw(few, seed=0)
    assert not set(train) & set(test)
    features = authorship.featurize(train, test)
    model = authorship.train_encoder(features[0], epochs=3, seed=0)
    parts = [authorship.encode(model, part) for part in features]
    tasks = [authorship.make_task(parts[0], parts[1], names, seed) for seed in (0, 1)]
    counts = np.unique(tasks[0].test.num_relevant)
    assert counts.tolist() == [10, 20, 30, 40, 50]
    # The extra dimension makes Euclidean neighbours those of the largest dot product.
    task = tasks[0]
    assert task.vectors is not None
    index = NearestNeighbors(n_neighbors=1).fit(task.train.query_embeddings)
    nearest = index.kneighbors(task.test.query_embeddings, return_distance=False)[:, 0]
    products = parts[1] @ task.vectors.T
    np.testing.assert_allclose(
        products[np.arange(len(nearest)), nearest], products.max(axis=1), rtol=1e-4
    )
    check_column(tasks, "f1")


def test_omniglot_reads_its_artifact_and_never_finds_the_query_itself() -> None:
    embeddings, train = omniglot.read_embeddings(omniglot.STAGES[0])
    assert embeddings.shape == (1623, 20, 64)
    assert (train.sum(axis=1) == 16).all()
    tasks = [omniglot.make_task(embeddings[:60], train[:60], seed) for seed in (0, 1)]
    task = tasks[0]
    assert np.unique(task.test.num_relevant, return_counts=True)[0].tolist() == [4, 7, 10, 13, 16]
    assert task.train.doc_ids is not None
    own = np.arange(len(task.train))[:, None] == task.train.doc_ids.values.reshape(-1, 200)
    assert not own.any()
    check_column([replace(task, test=task.test[::4]) for task in tasks], "dcg")


def test_omniglot_artifacts_are_those_their_provenance_describes() -> None:
    record = json.loads((omniglot.ARTIFACTS / "omniglot.json").read_text(encoding="utf-8"))
    known = {entry["file"]: entry["sha256"] for entry in record["checkpoints"]}
    files = [omniglot.artifact(stage) for stage in omniglot.STAGES]
    assert cache.hash_files(files) == {path.name: known[path.name] for path in files}
    assert sum(path.stat().st_size for path in files) < 10_000_000


def test_omniglot_encoder_trains_at_a_reduced_size(shared_data: Path, tmp_path: Path) -> None:
    options = "--characters 5 --size 16 --batch 16 --epochs 2 --checkpoints 1 --dimensions 8"
    arguments = omniglot_train.parser().parse_args(
        ["--data", str(shared_data / "omniglot"), "--out", str(tmp_path), *options.split()]
    )
    record = omniglot_train.train(arguments)
    assert [entry["epoch"] for entry in record["checkpoints"]] == [1, 2]
    with np.load(tmp_path / "omniglot_epoch002.npz") as arrays:
        assert arrays["embeddings"].shape == (5, 20, 8)
        assert arrays["embeddings"].dtype == np.float16
        assert (arrays["train"].sum(axis=1) == 16).all()


def test_contrastive_loss_is_the_textbook_formula() -> None:
    left = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    right = torch.tensor([[0.3, 0.4], [0.3, 0.4], [3.0, 4.0]])
    same = torch.tensor([True, False, False])
    # Distances 0.5, 0.5 and 5: 0.25 together, 0.25 too close, nothing beyond the margin.
    assert omniglot_train.contrastive_loss(left, right, same).item() == pytest.approx(0.5 / 3)


@pytest.mark.usefixtures("shared_data")
def test_robust04_splits_by_query() -> None:
    tasks = [robust04.make_task("drmm-trec8", seed) for seed in (0, 1)]
    assert [len(tasks[0].train), len(tasks[0].test)] == [40, 10]
    assert not set(tasks[0].train.query_ids) & set(tasks[0].test.query_ids)
    rows = [row for row in readings.whole_rows() if "Isotonic" not in row.name]
    column = tables.summarize("drmm-trec8", "DRMM", tasks, rows, ["f1"])
    assert {row["paper"] for row in column["metrics"]["f1"]["rows"]} == {0.263, 0.268, None}


def test_search_agrees_with_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    index, queries = (generator.normal(size=(n, 6)).astype(np.float32) for n in (80, 9))
    scores, found = search(queries, index, "euclidean", 5)
    distances, expected = NearestNeighbors(n_neighbors=5).fit(index).kneighbors(queries)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(-scores, distances, rtol=1e-6)
    scores, found = search(queries, index, "cosine", 1)
    cosines = (queries @ index.T) / np.linalg.norm(index, axis=1)
    np.testing.assert_array_equal(found[:, 0], cosines.argmax(axis=1))


def test_lists_leave_the_query_out_and_count_what_is_left() -> None:
    index = np.array([[0.0], [1.0], [1.0], [5.0]], dtype=np.float32)
    labels = np.array([0, 0, 0, 1])
    lists = ranked_lists(index, labels, index, labels, "euclidean", own=np.arange(4))
    assert lists.num_relevant.tolist() == [2, 2, 2, 0]
    assert lists.scores.lengths.tolist() == [3, 3, 3, 3]
    assert lists[3].relevant is not None
    assert not lists[3].relevant.any()


def test_results_are_made_once_for_the_same_inputs() -> None:
    calls: list[int] = []
    for value in (1, 1, 2):
        cache.remember("thing", {"value": value}, lambda value=value: calls.append(value))  # type: ignore[misc]
    assert calls == [1, 2]


def test_paired_tests_compare_the_same_queries() -> None:
    def draw(seed: int, shift: float) -> dict[str, object]:
        queries = np.random.default_rng(seed).permutation(30).astype(str)
        return {"queries": queries, "values": queries.astype(float) + shift}

    found = {
        "Surprise, refit on window": [draw(seed, 0.5) for seed in range(3)],
        "Global-k": [draw(seed, 0.0) for seed in range(3)],
    }
    (test,) = tables._tests(found)
    assert test["difference"] == pytest.approx(0.5)
    assert test["p"] < 0.001


def test_report_is_what_the_result_files_give() -> None:
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == report.text()
    assert pc.__version__


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_results_of_the_networks_follow_from_the_cuts_that_are_kept(run: Run) -> None:
    lists = load(run)
    page = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))
    (rows,) = [part["rows"] for part in page["runs"] if part["run"] == run.name]
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
        assert kept["values"][1].mean() == pytest.approx(published["dcg", name], abs=6e-5)


@pytest.mark.usefixtures("shared_data")
def test_networks_are_kept_for_their_settings_whatever_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = [run for run in RUNS if run.name == "tar2019-DTA"]
    lists = load(run)

    def make(name: str, **changed: object) -> BiCut:
        return BiCut(**{"width": 2, "layers": 1, "max_steps": 10, "max_epochs": 1} | changed)

    monkeypatch.setattr(networks, "FILE", tmp_path / "networks.npz")
    monkeypatch.setattr(networks.truncators, "make", make)
    assert networks.stored(run, lists, "bicut") is None
    trained = networks._train(run, "bicut", "cpu")
    networks._keep(run, "bicut", **trained)
    expected = pc.evaluate({"bicut": make("bicut")}, lists, **PROTOCOL)
    monkeypatch.setattr(networks.truncators, "make", lambda name: make(name, device="cuda"))
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
