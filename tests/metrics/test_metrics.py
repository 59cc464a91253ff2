"""Metrics against ir-measures, hand-computed values and their own definitions."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretocut import metrics
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists

flags = st.lists(st.booleans(), max_size=12)
BUILT_IN = [
    metrics.f1,
    metrics.f_beta(0.5),
    metrics.f_beta(2, recall_base="collection"),
    metrics.penalized_dcg,
    metrics.dcg,
    metrics.accuracy,
    metrics.precision,
    metrics.recall,
    metrics.utility(2, 0.5),
]


def judged(relevant: list[list[bool]], missed: list[int]) -> RankedLists:
    """Return lists with these relevance flags, and so many relevant documents not retrieved."""
    return RankedLists(
        [[float(len(part) - j) for j in range(len(part))] for part in relevant],
        relevance=relevant,
        num_relevant=[sum(part) + extra for part, extra in zip(relevant, missed, strict=True)],
    )


@given(st.lists(st.tuples(flags, st.integers(0, 4)), min_size=1, max_size=4))
def test_set_and_cutoff_measures_equal_ir_measures(
    cases: list[tuple[list[bool], int]],
) -> None:
    ir = pytest.importorskip("ir_measures")
    lists = judged([part for part, _ in cases], [missed for _, missed in cases])
    ours = {
        ir.SetP: metrics.precision,
        ir.SetR: metrics.recall,
        ir.SetF: metrics.get("f1/collection"),
        # trec_eval's set_F, which computes this, does not square its parameter.
        ir.SetF(beta=0.25): metrics.get("f0.5/collection"),
        ir.SetF(beta=4.0): metrics.get("f2/collection"),
    }
    for i, (part, missed) in enumerate(cases):
        qrels = [ir.Qrel("q", f"d{j}", int(flag)) for j, flag in enumerate(part)]
        qrels += [ir.Qrel("q", f"missed{j}", 1) for j in range(missed)]
        if not any(qrel.relevance for qrel in qrels):
            continue  # ir-measures leaves such a query out
        for k in range(1, len(part) + 1):
            run = [ir.ScoredDoc("q", f"d{j}", float(-j)) for j in range(k)]
            for theirs, metric in ours.items():
                expected = ir.calc_aggregate([theirs], qrels, run)[theirs]
                assert metric.curves(lists)[i][k] == pytest.approx(expected), (theirs, k)
            whole = [ir.ScoredDoc("q", f"d{j}", float(-j)) for j in range(len(part))]
            at_k = ir.calc_aggregate([ir.P @ k, ir.R @ k, ir.nDCG @ k], qrels, whole)
            ideal = metrics.dcg.curve([True] * min(k, sum(qrel.relevance for qrel in qrels)))[-1]
            assert metrics.dcg.curves(lists)[i][k] == pytest.approx(at_k[ir.nDCG @ k] * ideal)
            assert metrics.precision.curves(lists)[i][k] == pytest.approx(at_k[ir.P @ k])
            assert metrics.recall.curves(lists)[i][k] == pytest.approx(at_k[ir.R @ k])


def test_penalized_dcg_equals_the_sum_written_by_hand() -> None:
    # The paper's DCG: rel_i / log2(i + 1) with rel = +1 or -1.
    expected = [0, 1, 1 - 1 / math.log2(3), 1 - 1 / math.log2(3) + 1 / 2]
    np.testing.assert_allclose(metrics.penalized_dcg.curve([True, False, True]), expected)


def test_f1_equals_the_fractions_written_by_hand() -> None:
    # Two of four relevant documents retrieved, at ranks 1 and 3.
    collection = metrics.f_beta(1, recall_base="collection").curve([True, False, True], 4)
    np.testing.assert_allclose(collection, [0, 2 / 5, 2 / 6, 4 / 7])
    retrieved = metrics.f1.curve([True, False, True], 4)
    np.testing.assert_allclose(retrieved, [0, 2 / 3, 2 / 4, 4 / 5])


@pytest.mark.parametrize(
    ("relevant", "num_relevant", "expected"),
    [
        ([False, False], 0, [1, 0, 0]),
        ([False, True, False], 1, [0, 0, 1, 1]),
        ([False, False], 1, [0, 0, 0]),
        ([], 0, [1]),
        ([], 1, [0]),
    ],
    ids=["no answer", "match at 2", "match not retrieved", "empty, no answer", "empty, missed"],
)
def test_accuracy_wants_silence_or_the_match(
    relevant: list[bool], num_relevant: int, expected: list[float]
) -> None:
    assert metrics.accuracy.curve(relevant, num_relevant).tolist() == expected


@given(flags, st.integers(0, 5))
def test_utility_counts_gains_and_costs(relevant: list[bool], missed: int) -> None:
    curve = metrics.utility(3, 2).curve(relevant, sum(relevant) + missed)
    for k, value in enumerate(curve):
        assert value == 3 * sum(relevant[:k]) - 2 * (k - sum(relevant[:k]))


@pytest.mark.parametrize("metric", BUILT_IN, ids=lambda metric: metric.name)
@given(relevant=flags, missed=st.integers(0, 4))
def test_a_curve_has_a_finite_value_for_every_cut(
    metric: metrics.Metric, relevant: list[bool], missed: int
) -> None:
    curve = metric.curve(relevant, sum(relevant) + missed)
    assert curve.shape == (len(relevant) + 1,)
    assert np.isfinite(curve).all()
    if "dcg" not in metric.name and not metric.name.startswith("utility"):
        assert ((curve >= 0) & (curve <= 1)).all()


@given(flags, st.integers(0, 4), st.floats(0.1, 5))
def test_f_beta_lies_between_precision_and_recall(
    relevant: list[bool], missed: int, beta: float
) -> None:
    total = sum(relevant) + missed
    value = metrics.f_beta(beta, recall_base="collection").curve(relevant, total)
    both = np.stack([m.curve(relevant, total) for m in (metrics.precision, metrics.recall)])
    assert (value >= both.min(axis=0) - 1e-12).all()
    assert (value <= both.max(axis=0) + 1e-12).all()


def test_calling_a_metric_looks_up_its_curves() -> None:
    lists = judged([[True, False], [False, True, True], []], [0, 1, 0])
    for metric in BUILT_IN:
        curves = metric.curves(lists)
        assert curves.lengths.tolist() == [3, 4, 1]
        assert metric(lists, [1, 3, 0]).tolist() == [curves[0][1], curves[1][3], curves[2][0]]
        assert metric(lists, 2).tolist() == [curves[0][2], curves[1][2], curves[2][0]]


def test_get_finds_metrics_by_name_and_the_name_is_stable() -> None:
    for metric in [*BUILT_IN, metrics.f_beta(1 / 3)]:
        found = metrics.get(metric.name)
        assert found == metric
        np.testing.assert_array_equal(
            found.curve([True, False, True], 5), metric.curve([True, False, True], 5)
        )
    assert metrics.get(metrics.penalized_dcg) is metrics.penalized_dcg
    assert metrics.get("f1") is metrics.f1


def test_a_users_function_is_a_metric() -> None:
    def kept(relevant: np.ndarray, num_relevant: int) -> list[float]:
        return [float(k) for k in range(len(relevant) + 1)]

    metric = metrics.get(kept)
    assert metric.name == "kept"
    assert metric(judged([[True, False]], [0]), 2).tolist() == [2.0]
    broken = metrics.get(lambda relevant, num_relevant: [1.0])
    with pytest.raises(InvalidParameterError, match=r"3 finite values, one for each cut 0\.\.2"):
        broken.curve([True, False])


@pytest.mark.parametrize("metric", BUILT_IN, ids=lambda metric: metric.name)
def test_metrics_survive_pickle(metric: metrics.Metric) -> None:
    again = pickle.loads(pickle.dumps(metric))
    assert again == metric
    assert again.curve([True], 2).tolist() == metric.curve([True], 2).tolist()


def test_bad_metrics_and_cuts_are_refused() -> None:
    for bad in ("f", "F1", "utility(a,b)", "ndcg", 3):
        with pytest.raises(
            InvalidParameterError, match=r"one of f1, penalized_dcg, dcg, accuracy.*got"
        ):
            metrics.get(bad)
    with pytest.raises(InvalidParameterError, match=r"beta must be in \(0, 1e\+100\), got 0"):
        metrics.f_beta(0)
    with pytest.raises(InvalidParameterError, match="'retrieved', 'collection', got 'all'"):
        metrics.f_beta(1, recall_base="all")
    with pytest.raises(InvalidParameterError, match=r"cost must be in \[0, 1e\+100\), got -1"):
        metrics.utility(1, -1)
    lists = judged([[True]], [0])
    for bad in (-1, [1, 1], 0.5):
        with pytest.raises(InvalidParameterError, match="k must be one integer or 1 of them"):
            metrics.f1(lists, bad)
    with pytest.raises(InvalidScoresError, match="made without relevance"):
        metrics.f1(RankedLists([[1.0]]), 1)
