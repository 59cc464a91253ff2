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
    draws,
    encoders,
    figures,
    omniglot,
    omniglot_train,
    readings,
    report,
    robust04,
    same_document,
    tables,
)
from experiments.paper import networks as paper_networks
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
from experiments.results import sources, stamp
from paretocut.truncators import (
    BiCut,
    Conformal,
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
    assert task.vectors is not None
    index = NearestNeighbors(n_neighbors=1).fit(task.train.query_embeddings)
    nearest = index.kneighbors(task.test.query_embeddings, return_distance=False)[:, 0]
    products = parts[1] @ task.vectors.T
    np.testing.assert_allclose(
        products[np.arange(len(nearest)), nearest], products.max(axis=1), rtol=1e-4
    )
    check_column(tasks, "f1", monkeypatch)


def test_omniglot_reads_its_artifact_and_never_finds_the_query_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embeddings, train = omniglot.read_embeddings(omniglot.STAGES[0])
    assert embeddings.shape == (1623, 20, 64)
    assert (train.sum(axis=1) == 16).all()
    tasks = [omniglot.make_task(embeddings[:60], train[:60], seed) for seed in (0, 1)]
    task = tasks[0]
    assert np.unique(task.test.num_relevant, return_counts=True)[0].tolist() == [4, 7, 10, 13, 16]
    assert task.train.doc_ids is not None
    found = task.train.doc_ids.values.reshape(-1, 200).astype(np.int64)
    own = np.arange(len(task.train))[:, None] == found
    assert not own.any()
    check_column([replace(task, test=task.test[::4]) for task in tasks], "dcg", monkeypatch)


def test_omniglot_artifacts_are_those_their_provenance_describes() -> None:
    files = {stage: omniglot.artifact(stage) for stage in omniglot.STAGES}
    found = list(cache.hash_files(files.values()).values())
    assert found == [omniglot.known_hash(stage) for stage in omniglot.STAGES]
    assert sum(path.stat().st_size for path in files.values()) < 10_000_000
    # Of the other encoders there is the record of the training, and the seed differs.
    for encoder in omniglot.ENCODERS:
        assert omniglot.record(encoder)["seed"] == encoder
        assert len(omniglot.known_hash(omniglot.STAGES[0], encoder)) == 64
    with pytest.raises(FileNotFoundError, match="--seed 7"):
        omniglot.read_embeddings(10, 7)


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
        networks_ = [row.make("f1") for row in rows if row.neural and row.paper]
        assert {network.normalize for network in networks_} == {"raw"}
        assert {network.layers for network in networks_} == {2}
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


def test_results_are_made_once_for_the_same_inputs() -> None:
    calls: list[int] = []
    for value in (1, 1, 2):
        cache.remember("thing", {"value": value}, lambda value=value: calls.append(value))  # type: ignore[misc]
    assert calls == [1, 2]


def test_results_depend_on_every_source_that_matters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = {path.name for path in sources(Surprise())}
    needed = "curves.py ranked.py ragged.py gpd.py fitting.py fits.py search.py rules.py"
    assert names >= {*needed.split(), "protocol.py", "engine.cpp", "trec.py", "transforms.py"}
    assert not names & {"plots.py", "choppy.py"}
    assert "isotonic.py" in {path.name for path in sources(Isotonic())}
    inside = {path.name for path in sources(Conformal(Surprise()))}
    assert {"conformal.py", "surprise.py"} <= inside
    assert {"bicut.py", "training.py", "networks.py"} <= {path.name for path in sources(BiCut())}
    made = {path.name for path in Path(draws.__file__).parent.glob("*.py")}
    assert {name.split("/")[1] for name in draws.code()} - {"data.py"} <= made
    # Another content gives another key.
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.py").write_text("2")
    hashes = cache.hash_files([tmp_path / "a.py", tmp_path / "b" / "a.py"])
    assert len(hashes) == len(set(hashes.values())) == 2


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


def test_pages_are_what_the_result_files_give() -> None:
    for page, text in report.pages().items():
        assert (ROOT / "docs" / page).read_text(encoding="utf-8") == text


def test_no_number_of_the_pages_is_left_open_or_unused() -> None:
    results = {name: tables.need(name) for name in report.PARTS}
    folder = Path(report.__file__).parent
    facts = {"page.md": report._short(results), "tables.md": report._long(results)}
    for words, numbers in facts.items():
        text = (folder / words).read_text(encoding="utf-8")
        for name in numbers:
            assert f"{{{name}" in text, f"{words}: {name} is worked out and not used"


def test_result_files_say_which_clean_commit_and_versions_made_them() -> None:
    for name in report.PARTS:
        content = tables.need(name)
        assert content["commit"].isalnum(), f"{name}: {content['commit']}"
        assert content["versions"].keys() >= {"python", "numpy", "paretocut"}
    assert stamp()["versions"]["numpy"] == np.__version__


def test_the_short_page_is_short() -> None:
    words = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").split()
    assert len(words) < 1300


def test_figures_say_which_points_they_leave_out() -> None:
    facts = tables.need("figures")["figures"]
    assert facts.keys() == figures.FIGURES.keys()
    # Bins end at the quantiles 0.001 and 0.999.
    for part in facts["paper-figure-1"].values():
        assert part["outside the bins"] == pytest.approx(0.002, abs=2e-4)
    one = facts["paper-figure-2"]
    assert abs(one["best F1"] - one["mean best F1"]) < 0.01


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("name", robust04.COLUMNS)
def test_rows_of_bicut_follow_from_the_cuts_that_are_kept(name: str) -> None:
    (column,) = [c for c in tables.need("table2")["columns"] if c["column"] == name]
    shown = {row["row"]: row for row in column["metrics"]["f1"]["rows"]}
    for row in bicut_rows(encodings=False):
        for seed in (0, 9):
            draw = Draw(name, seed)
            cuts = paper_networks.stored(draw, row, "f1")
            assert cuts is not None
            f1 = [
                2 * part[:k].sum() / max(k + part.sum(), 1)
                for part, k in zip(draw.task().test.relevant, cuts, strict=True)
            ]
            assert shown[row.name]["by_draw"][seed] == pytest.approx(np.mean(f1))
    # Other settings are other networks.
    (first, *_) = bicut_rows(encodings=False)
    other = replace(first, options=first.options | {"layers": 3})
    assert paper_networks.stored(Draw(name, 0), other, "f1") is None


@pytest.mark.usefixtures("shared_data")
def test_networks_of_the_paper_are_kept_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_networks, "FILE", tmp_path / "networks.npz")
    paper_networks._read.cache_clear()
    small = {"width": 2, "layers": 2, "max_steps": 10, "normalize": "raw"}
    small["training"] = Training(max_epochs=1)
    row, draw = Row(RIVALS[3], BiCut, small), Draw("drmm-trec8", 3)
    assert paper_networks.stored(draw, row, "f1") is None
    found = tables.values_of(draw, row, "f1")
    paper_networks.keep([(draw, row, "f1", found)])
    kept = paper_networks.stored(draw, row, "f1")
    assert kept is not None
    np.testing.assert_array_equal(kept, found["k"])
    assert paper_networks.origins() == [f"cpu, torch {torch.__version__}"]
    # From an empty cache the values come out of the kept cuts, without training.
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "empty")
    again = tables.values_of(draw, row, "f1")
    assert "made" not in again
    np.testing.assert_array_equal(again["values"], found["values"])
    paper_networks._read.cache_clear()


def test_same_document_chooses_among_all_candidates() -> None:
    (column,) = [c for c in tables.need("table1")["columns"] if c["column"] == "Same Document"]
    assert len(column["choice"]) == column["draws"]
    names = {
        encoders.name_of((*features, epoch))
        for features in encoders.FEATURES
        for epoch in encoders.EPOCHS
    }
    for shares in column["choice"]:
        assert shares.keys() == names
    assert column["facts"]["encoder"] == max(column["choice"][0], key=column["choice"][0].get)


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
