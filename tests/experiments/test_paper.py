"""The paper's experiments end to end at a small size, on real data."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import importorskip

importorskip("faiss")
importorskip("matplotlib")
importorskip("torch")
importorskip("sklearn")

import torch
from sklearn.neighbors import NearestNeighbors

import paretocut as pc
from experiments import cache
from experiments.paper import (
    authorship,
    draws,
    encoders,
    figures,
    networks,
    omniglot,
    omniglot_train,
    readings,
    robust04,
    same_document,
    tables,
)
from experiments.paper.draws import OMNIGLOT, Draw
from experiments.paper.retrieval import Task, ranked_lists, search
from experiments.paper.rows import (
    ORACLE,
    RIVALS,
    SURPRISE,
    Row,
    bicut_rows,
    table1_rows,
    table2_rows,
)
from experiments.paper.tables import Column
from experiments.results import read
from paretocut.truncators import (
    BiCut,
    GlobalK,
    Isotonic,
    LocalK,
    Oracle,
    Surprise,
    Training,
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


SMALL = (
    Row(ORACLE, Oracle),
    Row("Global-k", GlobalK),
    Row("Local-k", LocalK, {"neighbors": 5}),
    Row("Isotonic", Isotonic, {"neighbors": 5}),
    Row("Surprise, refit on window", Surprise, {"neighbors": 5}),
)


def column_of(tasks: list[Task], metric: str, monkeypatch: pytest.MonkeyPatch) -> Column:
    """Return a column whose draws are these tasks."""
    monkeypatch.setattr(draws, "_task", lambda draw, device: tasks[draw.seed])
    some = tuple(Draw(OMNIGLOT, i, stage=omniglot.STAGES[0]) for i in range(len(tasks)))
    return Column("column", "Omniglot", some, SMALL, (metric,))


def check_column(tasks: list[Task], metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is there, none is better than the ceiling, and differences are those of means."""
    column = tables.summarize(column_of(tasks, metric, monkeypatch))
    rows = {row["row"]: row["mean"] for row in column["metrics"][metric]["rows"]}
    assert rows.keys() == {row.name for row in SMALL}
    assert all(np.isfinite(mean) and mean <= rows[ORACLE] + 1e-12 for mean in rows.values())
    tests = column["metrics"][metric]["tests"]
    assert [test["rival"] for test in tests] == ["Global-k", "Local-k", "Isotonic"]
    for test in tests:
        gap = rows[test["surprise"]] - rows[test["rival"]]
        assert test["difference"] == pytest.approx(gap, abs=1e-12)
    json.dumps(column, allow_nan=False)


@pytest.mark.slow
def test_same_document_keeps_the_match_of_half_of_the_test_queries(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = same_document.read_documents(shared_data)
    assert len(documents) == 3343
    assert {len(text) for text in documents} == {800}
    features = same_document.featurize(documents[:120], "word")
    assert features.shape == (120, 2, 1024)
    (half,) = same_document.train_encoder(features, epochs=[2], seed=0).values()
    assert half.dtype == np.float16
    embeddings = half.astype(np.float32)
    tasks = [same_document.make_task(embeddings, seed) for seed in (0, 1)]
    for task in tasks:
        assert len(task.test) == 36
        assert (task.test.num_relevant == 1).sum() == 18
        assert (task.train.num_relevant == 1).all()
        assert len(task.train) == 2 * 84
    mismatch = same_document.make_task(embeddings, 0, training="half matched").train
    assert mismatch.num_relevant.mean() == 0.5
    assert [row.sum() for row in mismatch.relevant] == mismatch.num_relevant.tolist()
    check_column(tasks, "accuracy", monkeypatch)
    # By which features and epochs are chosen: test documents have no part in it.
    rest = np.delete(embeddings, same_document.choose_split(120, 1)[0], axis=0)
    flat = rest.reshape(2 * len(rest), -1)
    nearest = NearestNeighbors(n_neighbors=2).fit(flat).kneighbors(return_distance=False)
    share = np.mean(nearest[:, 0] // 2 == np.arange(len(flat)) // 2)
    assert same_document.nearest_share(embeddings, 1) == pytest.approx(share)
    # The library's rule for ties is the first of those that are compared.
    ties = readings.by_tie(tasks[0], neighbors=5)
    for row in (*SMALL[1:4], Row(SURPRISE[1], Surprise, {"neighbors": 5, "refit": "all"})):
        options = row.options | ({"bounds": (0.0, 8.0)} if row.of is Surprise else {})
        cuts = row.of(metric="accuracy", **options).fit(tasks[0].train).predict(tasks[0].test)
        accuracy = pc.metrics.accuracy(tasks[0].test, cuts).mean()
        assert ties[row.name]["keeps least"] == pytest.approx(accuracy)


@pytest.mark.slow
def test_authorship_indexes_ten_to_fifty_articles_of_an_author(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    index = NearestNeighbors(n_neighbors=1).fit(task.train.query_embeddings)
    nearest = index.kneighbors(task.test.query_embeddings, return_distance=False)[:, 0]
    products = parts[1] @ parts[0].T
    np.testing.assert_allclose(
        products[np.arange(len(nearest)), nearest], products.max(axis=1), rtol=1e-4
    )
    check_column(tasks, "f1", monkeypatch)
    # All training articles teach, as in the paper, or those of the index alone.
    indexed = authorship.make_task(parts[0], parts[1], names, 0, "indexed")
    assert (len(task.train), len(indexed.train)) == (5 * 50, 10 + 20 + 30 + 40 + 50)
    check_taught(task, indexed)


def check_taught(every: Task, indexed: Task) -> None:
    """Check that index and tests are the same, and that what is outside finds all of the index."""
    np.testing.assert_array_equal(every.vectors, indexed.vectors)
    np.testing.assert_array_equal(every.test.scores.values, indexed.test.scores.values)
    inside = every.train.num_relevant.sum() - indexed.train.num_relevant.sum()
    outside = len(every.train) - len(indexed.train)
    counts = every.test.num_relevant
    assert outside * counts.min() <= inside <= outside * counts.max()
    # Each indexed query teaches the same list in both, and never finds itself.
    first = {tuple(row) for row in every.train.scores}
    assert all(tuple(row) in first for row in indexed.train.scores)


def test_omniglot_reads_its_artifact_and_never_finds_the_query_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embeddings, train = omniglot.read_embeddings(omniglot.STAGES[0])
    assert embeddings.shape == (1623, 20, 64)
    assert (train.sum(axis=1) == 16).all()
    tasks = [omniglot.make_task(embeddings[:60], train[:60], seed, "indexed") for seed in (0, 1)]
    task = tasks[0]
    assert np.unique(task.test.num_relevant, return_counts=True)[0].tolist() == [4, 7, 10, 13, 16]
    assert task.train.doc_ids is not None
    found = task.train.doc_ids.values.reshape(-1, 200).astype(np.int64)
    own = np.arange(len(task.train))[:, None] == found
    assert not own.any()
    every = omniglot.make_task(embeddings[:60], train[:60], 0)
    assert (len(every.train), len(task.train)) == (16 * 60, 10 * 60)
    check_taught(every, task)
    check_column(
        [replace(task, test=task.test[::4]) for task in tasks], "penalized_dcg", monkeypatch
    )


def test_omniglot_artifacts_are_those_their_provenance_describes() -> None:
    files = {stage: omniglot.artifact(stage) for stage in omniglot.STAGES}
    found = list(cache.hash_files(files.values()).values())
    assert found == [omniglot.known_hash(stage) for stage in omniglot.STAGES]
    assert sum(path.stat().st_size for path in files.values()) < 10_000_000
    # Of the other encoders there is the record of the training, and the seed differs.
    for encoder in omniglot.ENCODERS:
        assert omniglot.record(encoder)["seed"] == encoder
        assert len(omniglot.known_hash(omniglot.STAGES[0], encoder)) == 64
    with pytest.raises(FileNotFoundError, match=r"--data DATA/omniglot --out .*encoder7 --seed 7"):
        omniglot.read_embeddings(10, 7)


@pytest.mark.slow
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
def test_robust04_tests_every_query_equally_often() -> None:
    tasks = [robust04.make_task("drmm-trec8", seed) for seed in tables.SPLITS]
    assert {(len(task.train), len(task.test)) for task in tasks} == {(40, 10)}
    tested = [name for task in tasks for name in task.test.query_ids.tolist()]
    names, counts = np.unique(tested, return_counts=True)
    assert len(names) == 50
    assert set(counts) == {tables.DIVISIONS}
    for task in tasks:
        assert not set(task.train.query_ids) & set(task.test.query_ids)
    some = tuple(Draw("drmm-trec8", seed) for seed in (0, 6))
    rows = (Row(ORACLE, Oracle), *(row for row in readings.whole_rows() if row.of is not Isotonic))
    column = tables.summarize(Column("drmm-trec8", "DRMM", some, rows, ("f1",)))
    shown = {row["row"]: row["paper"] for row in column["metrics"]["f1"]["rows"]}
    assert {shown[name] for name in SURPRISE} == {0.268}
    assert shown["Global-k"] == 0.263


def test_bicut_is_the_papers_and_min_max_is_an_extra() -> None:
    for rows in (table1_rows(bicut_rows()), table2_rows()):
        made = [row.make("f1") for row in rows if row.neural and row.paper]
        assert {network.normalize for network in made} == {"raw"}
        assert {network.layers for network in made} == {2}
        (extra,) = [row.make("f1") for row in rows if row.neural and not row.paper]
        assert extra.normalize == "minmax"


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
    # Equal scores come in the order of the index.
    again = np.concatenate([index[:3], index[:3]])
    found = search(index[:1], again, "euclidean", 2)[1]
    assert found.tolist() == [[0, 3]]


def test_lists_leave_the_query_out_and_count_what_is_left() -> None:
    index = np.array([[0.0], [1.0], [1.0], [5.0]], dtype=np.float32)
    labels = np.array([0, 0, 0, 1])
    lists = ranked_lists(index, labels, index, labels, "euclidean", own=np.arange(4))
    assert lists.num_relevant.tolist() == [2, 2, 2, 0]
    assert lists.scores.lengths.tolist() == [3, 3, 3, 3]
    assert lists[3].relevant is not None
    assert not lists[3].relevant.any()


def test_paired_tests_flip_a_query_with_all_its_draws() -> None:
    def draw(seed: int, shift: float, size: int = 30) -> dict[str, object]:
        queries = np.random.default_rng(seed).permutation(40).astype(str)[:size]
        return {"queries": queries, "values": queries.astype(float) + shift}

    found = {
        SURPRISE[0]: [draw(seed, 0.5) for seed in range(3)],
        "Global-k": [draw(seed, 0.0) for seed in range(3)],
    }
    (test,) = tables._tests(found)
    assert test["difference"] == pytest.approx(0.5)
    assert test["p"] < 0.001
    # Ten queries in a hundred draws are ten pieces of evidence, not a thousand.
    gaps = np.where(np.arange(10) < 7, 1.0, -1.0)
    names = np.arange(10).astype(str)
    many = {
        SURPRISE[0]: [{"queries": names, "values": gaps}] * 100,
        "Global-k": [{"queries": names, "values": 0 * gaps}] * 100,
    }
    (test,) = tables._tests(many)
    # Seven or more heads of ten, or three or fewer: 352 of 1024.
    assert test["p"] == pytest.approx(352 / 1024)


def test_figures_say_which_points_they_leave_out() -> None:
    facts = read("paper", "figures")["figures"]
    assert facts.keys() == figures.FIGURES.keys()
    # Bins end at the quantiles 0.001 and 0.999.
    for part in facts["paper-figure-1"].values():
        assert part["outside the bins"] == pytest.approx(0.002, abs=2e-4)
    one = facts["paper-figure-2"]
    assert abs(one["best F1"] - one["mean best F1"]) < 0.01


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("name", robust04.COLUMNS)
def test_rows_of_bicut_follow_from_the_cuts_that_are_kept(name: str) -> None:
    (column,) = [c for c in read("paper", "table2")["columns"] if c["column"] == name]
    shown = {row["row"]: row for row in column["metrics"]["f1"]["rows"]}
    for row in bicut_rows(encodings=False):
        for seed in (0, 9):
            draw = Draw(name, seed)
            cuts = networks.stored(draw, row, "f1")
            assert cuts is not None
            f1 = [
                2 * part[:k].sum() / max(k + part.sum(), 1)
                for part, k in zip(draw.task().test.relevant, cuts, strict=True)
            ]
            assert shown[row.name]["by_draw"][seed] == pytest.approx(np.mean(f1))
    # Other settings are other networks.
    (first, *_) = bicut_rows(encodings=False)
    other = replace(first, options=first.options | {"layers": 3})
    assert networks.stored(Draw(name, 0), other, "f1") is None


@pytest.mark.usefixtures("shared_data")
def test_networks_of_the_paper_are_kept_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "FILE", tmp_path / "networks.npz")
    networks._read.cache_clear()
    small = {"width": 2, "layers": 2, "max_steps": 10, "normalize": "raw"}
    small["training"] = Training(max_epochs=1)
    row, draw = Row(RIVALS[3], BiCut, small), Draw("drmm-trec8", 3)
    assert networks.stored(draw, row, "f1") is None
    found = tables.values_of(draw, row, "f1")
    networks.keep([(draw, row, "f1", found)])
    kept = networks.stored(draw, row, "f1")
    assert kept is not None
    np.testing.assert_array_equal(kept, found["k"])
    assert networks.origins() == [f"cpu, torch {torch.__version__}"]
    # From an empty cache the values come out of the kept cuts, without training.
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "empty")
    again = tables.values_of(draw, row, "f1")
    assert "made" not in again
    np.testing.assert_array_equal(again["values"], found["values"])
    networks._read.cache_clear()


def test_same_document_chooses_among_all_candidates() -> None:
    (column,) = [c for c in read("paper", "table1")["columns"] if c["column"] == "Same Document"]
    assert len(column["choice"]) == column["draws"]
    names = {
        encoders.name_of((*features, epoch))
        for features in encoders.FEATURES
        for epoch in encoders.EPOCHS
    }
    for shares in column["choice"]:
        assert shares.keys() == names
    assert column["facts"]["encoder"] == max(column["choice"][0], key=column["choice"][0].get)
