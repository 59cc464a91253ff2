"""A few cells of every measured page once more, from the raw files, by code of their own.

Runs and judgements are read by plain loops, and metrics are worked out by hand: what is shared with
the library is the list of files, and, for the rows it says so of, the truncator.
"""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import gzip
import json
import lzma
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import ROOT, importorskip

importorskip("matplotlib")
importorskip("torch")
importorskip("sklearn")

from sklearn.neighbors import NearestNeighbors

import paretocut as pc
from experiments import cache
from experiments.compare.methods.choice import KINDS, PROTOCOL
from experiments.data import COLLECTION_RUNS, RUNS, Run, load
from experiments.fuse.pairs import PAIRS
from experiments.paper import omniglot, robust04, tables
from experiments.paper.draws import Draw
from experiments.paper.omniglot_train import choose_index
from experiments.paper.rows import table2_rows
from experiments.results import read as numbers

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("shared_data")]

Array = NDArray[np.float64]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")


def read(path: Path, run: str, qrels: str) -> tuple[dict[str, list[tuple[float, str]]], Any]:
    """Results of each judged query, best first, and the grades of its documents."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    with gzip.open(path / qrels, "rt") as lines:
        for line in lines:
            query, _, doc, grade = line.split()
            grades[query][doc] = int(grade)
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    with gzip.open(path / run, "rt") as lines:
        for line in lines:
            query, _, doc, _, score, _ = line.split()
            if query in grades:
                found[query].append((float(score), doc))
    return {query: sorted(found[query], reverse=True) for query in found}, grades


def judged(path: Path, run: Run) -> list[tuple[Array, NDArray[np.bool_]]]:
    """Scores and judgements of each list of a run, in the order of its file."""
    results, grades = read(path, run.run, run.qrels)
    return [
        (
            np.array([score for score, _ in rows]),
            np.array([grades[query].get(doc, 0) >= run.min_grade for _, doc in rows]),
        )
        for query, rows in results.items()
    ]


def f1_curve(relevant: NDArray[np.bool_]) -> Array:
    """F1 after 0, 1, ... results, with recall over the relevant results of the list."""
    hits = np.append(0, np.cumsum(relevant))
    return np.asarray(2 * hits / np.maximum(np.arange(len(hits)) + hits[-1], 1))


def dcg_curve(relevant: NDArray[np.bool_]) -> Array:
    """Return the paper's DCG: a result that is not relevant counts -1."""
    gains = np.where(relevant, 1, -1) / np.log2(np.arange(len(relevant)) + 2)
    return np.append(0.0, np.cumsum(gains))


def upper_half(scores: Array) -> int:
    """How many scores are in the upper half of their range."""
    return int(np.count_nonzero(scores >= (scores.min() + scores.max()) / 2))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_comparison_follows_from_the_raw_files(run: Run, shared_data: Path) -> None:
    (rows,) = [
        part["rows"] for part in numbers("compare", "methods")["runs"] if part["run"] == run.name
    ]
    published = {(row[0], row[1]): row[2] for row in rows}
    lists = judged(shared_data, run)
    for metric, curve in (("f1", f1_curve), ("penalized_dcg", dcg_curve)):
        curves = [(scores, curve(relevant)) for scores, relevant in lists]
        best = np.mean([values.max() for _, values in curves])
        half = np.mean([values[upper_half(scores)] for scores, values in curves])
        assert published[metric, "oracle"] == pytest.approx(best, abs=6e-5)
        assert published[metric, "minmax_half"] == pytest.approx(half, abs=6e-5)


def by_hand(
    lists: pc.RankedLists, split: NDArray[np.int64], query: NDArray[np.int64]
) -> dict[str, Array]:
    """Return the F1 of every test by truncator, in the order of the tests.

    A split trains on all lists that it does not test.
    """
    scores = [np.asarray(one, dtype=np.float64) for one in lists.scores]
    curves = [f1_curve(np.asarray(one, dtype=bool)) for one in lists.relevant]
    shapes = [(one - one.min()) / (np.ptp(one) or 1.0) for one in scores]
    found: dict[str, list[float]] = {"oracle": [], "global_k": [], "minmax": []}
    for number in np.unique(split):
        test = query[split == number]
        train = np.setdiff1d(np.arange(len(scores)), test)
        k = _best_cut([curves[i] for i in train])
        threshold = _best_threshold([shapes[i] for i in train], [curves[i] for i in train])
        for i in test:
            found["oracle"].append(curves[i].max())
            found["global_k"].append(curves[i][min(k, len(scores[i]))])
            found["minmax"].append(curves[i][np.count_nonzero(shapes[i] >= threshold)])
    # Tests come split by split, as they were gone through.
    order = np.argsort(np.argsort(split, kind="stable"), kind="stable")
    return {name: np.array(values)[order] for name, values in found.items()}


def _best_cut(curves: list[Array]) -> int:
    depth = max(len(curve) for curve in curves)
    means = np.mean([np.append(c, np.full(depth - len(c), c[-1])) for c in curves], axis=0)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def _best_threshold(shapes: list[Array], curves: list[Array]) -> float:
    """Return the middle of the highest stretch of thresholds with the best mean F1."""
    points = np.unique(np.concatenate(shapes))[::-1]
    total = np.zeros(len(points))
    for shape, curve in zip(shapes, curves, strict=True):
        total += curve[np.searchsorted(-shape, -points, side="right")]
    best = int(np.flatnonzero(total >= total.max() - 1e-12)[0])
    return float(points[best : best + 2].mean())


@pytest.mark.parametrize("name", ["bm25-top150", "dl2020-ance"])
def test_tuned_rows_agree_with_plain_code_query_by_query(name: str) -> None:
    (run,) = [run for run in RUNS if run.name == name]
    lists = load(run)
    (rows,) = [
        part["rows"] for part in numbers("compare", "methods")["runs"] if part["run"] == name
    ]
    published = {row[1]: row[2] for row in rows if row[0] == "f1"}
    done = pc.evaluate(["oracle", "global_k", "minmax"], lists, **PROTOCOL)
    again = by_hand(lists, done.split, done.query)
    for i, method in enumerate(done.truncators):
        np.testing.assert_allclose(done.values[0, i], again[method], atol=1e-12)
        assert published[method] == pytest.approx(again[method].mean(), abs=6e-5)


def answerable(path: Path, run: Run) -> set[str]:
    """Names of the queries of a collection that have an answer."""
    assert run.topics is not None
    with lzma.open(path / run.topics, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["id"] for row in rows if row.get("answerable", True)}


def test_the_table_by_kind_follows_from_the_raw_files(shared_data: Path) -> None:
    by_kind: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for run in (*RUNS, *COLLECTION_RUNS):
        results, grades = read(shared_data, run.run, run.qrels)
        if run in COLLECTION_RUNS:
            results = {q: results[q] for q in answerable(shared_data, run) & results.keys()}
        values = []
        for query, rows in results.items():
            curve = f1_curve(
                np.array([grades[query].get(doc, 0) >= run.min_grade for _, doc in rows])
            )
            values.append((curve[min(10, len(curve) - 1)], curve.max()))
        by_kind[KINDS[run.family]][run.family.partition(",")[0]].append(np.mean(values, axis=0))
    kinds = [
        np.mean([np.mean(runs, axis=0) for runs in collections.values()], axis=0)
        for collections in by_kind.values()
    ]
    expected = np.array([*kinds, np.mean(kinds, axis=0)])
    page = (ROOT / "docs/evidence/compare.md").read_text(encoding="utf-8")
    head = re.search(r"\| method \| (.*) \| all \|", page)
    assert head is not None
    assert head[1].split(" | ") == list(by_kind)
    for i, name in enumerate(("first ten", "oracle")):
        (row,) = re.findall(rf"^\| {name} \| (.*) \|$", page, re.MULTILINE)
        shown = [float(cell) for cell in row.split(" | ")]
        np.testing.assert_allclose(shown, expected[:, i], atol=6e-4)


def test_consensus_on_lists_follows_from_the_raw_files(shared_data: Path) -> None:
    published = numbers("compare", "consensus")["runs"]
    for run in RUNS[::4]:
        lists = judged(shared_data, run)
        f1 = published[run.name]["f1"]
        ten = np.mean([f1_curve(relevant)[:11][-1] for _, relevant in lists])
        half = np.mean([f1_curve(relevant)[upper_half(scores)] for scores, relevant in lists])
        assert f1["fixed_10"] == pytest.approx(ten, abs=6e-5)
        assert f1["minmax_half"] == pytest.approx(half, abs=6e-5)


def test_fusion_follows_from_the_raw_files(shared_data: Path) -> None:
    published = numbers("fuse")["pairs"]
    for pair in PAIRS[:2]:
        own = published[pair.name]
        results, grades = read(shared_data, pair.runs[own["better"]], pair.qrels)
        ndcg, precision = [], []
        for query, rows in results.items():
            known = grades[query]
            top = [max(known.get(doc, 0), 0) for _, doc in rows[:10]]
            ideal = sorted((max(grade, 0) for grade in known.values()), reverse=True)[:10]
            discount = 1 / np.log2(np.arange(2, 12))
            ndcg.append(top @ discount[: len(top)] / (ideal @ discount[: len(ideal)]))
            relevant = [known.get(doc, 0) >= pair.min_grade for _, doc in rows]
            total = sum(grade >= pair.min_grade for grade in known.values())
            hits = np.flatnonzero(relevant)
            precision.append(np.sum(np.arange(1, len(hits) + 1) / (hits + 1)) / total)
        assert len(ndcg) == own["queries"]
        means = own["means"]["better single run"]
        assert means["ndcg"] == pytest.approx(np.mean(ndcg), abs=6e-5)
        assert means["map"] == pytest.approx(np.mean(precision), abs=6e-5)


@pytest.mark.parametrize("name", robust04.COLUMNS)
def test_table_2_follows_from_the_raw_files(name: str, shared_data: Path) -> None:
    (column,) = [c for c in numbers("paper", "table2")["columns"] if c["column"] == name]
    lists = judged(shared_data, robust04.run_of(name))
    for metric, curve in (("f1", f1_curve), ("penalized_dcg", dcg_curve)):
        curves = [curve(relevant) for _, relevant in lists]
        depth = max(len(values) for values in curves)
        padded = np.stack([np.append(c, np.full(depth - len(c), c[-1])) for c in curves])
        fixed, best = [], []
        for seed in tables.SPLITS:
            order = np.random.default_rng(seed // 5).permutation(len(lists))
            test = order[seed % 5 :: 5]
            means = np.delete(padded, test, axis=0).mean(axis=0)
            k = int(np.flatnonzero(means >= means.max() - 1e-12)[0])
            fixed.append(padded[test, k])
            best.append(padded[test].max(axis=1))
        shown = {row["row"]: row["mean"] for row in column["metrics"][metric]["rows"]}
        assert shown["Oracle"] == pytest.approx(np.concatenate(best).mean(), abs=1e-9)
        assert shown["Global-k"] == pytest.approx(np.concatenate(fixed).mean(), abs=1e-9)


def test_table_2_is_what_the_library_gives_now() -> None:
    name = "drmm-trec8"
    (column,) = [c for c in numbers("paper", "table2")["columns"] if c["column"] == name]
    shown = {row["row"]: row for row in column["metrics"]["f1"]["rows"]}
    rows = [row for row in table2_rows() if not row.neural and row.name != "Oracle"]
    for row in rows:
        for seed in (0, 7):
            found = tables.values_of(Draw(name, seed), row, "f1")["values"].mean()
            assert found == pytest.approx(shown[row.name]["by_draw"][seed], abs=1e-9)


@pytest.mark.parametrize("stage", omniglot.STAGES)
def test_omniglot_follows_from_its_embeddings(stage: int) -> None:
    """The first draw, by scikit-learn's neighbours: Oracle, Global-k, and a tuned threshold."""
    embeddings, train = omniglot.read_embeddings(stage)
    index = choose_index(train, 0)
    labels = np.broadcast_to(np.arange(len(train))[:, None], train.shape)
    own, test = labels[index], labels[~train]
    model = NearestNeighbors(n_neighbors=201).fit(embeddings[index].astype(np.float64))
    taught = labels[train]  # all training items teach, whether the index holds them or not
    nearest = model.kneighbors(embeddings[train].astype(np.float64), return_distance=False)
    position = np.full(train.shape, -1)
    position[index] = np.arange(len(own))
    # A query never finds itself; where it is not among its nearest, the last one goes.
    others = nearest != position[train][:, None]
    others[others.all(axis=1), -1] = False
    learn = own[nearest[others].reshape(len(taught), 200)] == taught[:, None]
    found = model.kneighbors(embeddings[~train].astype(np.float64), 200, return_distance=False)
    means = np.mean([f1_curve(row) for row in learn], axis=0)
    k = int(np.flatnonzero(means >= means.max() - 1e-12)[0])
    curves = np.stack([f1_curve(row) for row in own[found] == test[:, None]])
    (column,) = [
        c
        for c in numbers("paper", "table1")["columns"]
        if c["column"] == f"Omniglot, {stage} epochs"
    ]
    shown = {row["row"]: row["by_draw"][0] for row in column["metrics"]["f1"]["rows"]}
    # Equal distances may come in another order.
    assert shown["Oracle"] == pytest.approx(curves.max(axis=1).mean(), abs=1e-4)
    assert shown["Global-k"] == pytest.approx(curves[:, k].mean(), abs=1e-4)


def test_calibration_follows_from_the_raw_files() -> None:
    """The estimate without knowledge, on TREC Deep Learning, by the library's own upper third."""
    from paretocut.relevance import Scale
    from paretocut.truncators.consensus.strategies import upper_third

    means = []
    for run in RUNS:
        if run.family == "TREC Deep Learning":
            lists = load(run)
            cuts, _ = upper_third(lists, Scale.of(lists.merit))
            values = [f1_curve(row)[k] for row, k in zip(lists.relevant, cuts, strict=True)]
            means.append(np.mean(values))
    assert numbers("calibrate")["number"]["default"]["dl"] == pytest.approx(
        np.mean(means), abs=6e-5
    )
