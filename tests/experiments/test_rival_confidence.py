"""Confidences, each against something independent."""

from __future__ import annotations

import numpy as np
import pytest
from support import importorskip

from experiments.rivals.confidence import Confidence
from paretocut import metrics
from paretocut.errors import InvalidParameterError, NotFittedError
from paretocut.lists import FloatArray, RankedLists
from paretocut.truncators import FixedK


def questions(seed: int, answered: int = 30, others: int = 30) -> RankedLists:
    """Return lists with one relevant result at the top, and lists of noise with none."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(0.3, 0.05, (answered + others, 20)))[:, ::-1]
    scores[:answered, 0] = rng.normal(0.7, 0.05, answered)
    relevance = np.zeros(scores.shape, dtype=bool)
    relevance[:answered, 0] = True
    return RankedLists(scores, relevance)


def test_confidences_are_what_their_names_say() -> None:
    lists = RankedLists([[0.9, 0.5, 0.1], [0.6, 0.6, 0.6], []], [[1, 0, 0], [0, 0, 0], []])
    expected = {"max": [0.9, 0.6], "std": [np.std([0.9, 0.5, 0.1]), 0.0], "gap": [0.4, 0.0]}
    for by, values in expected.items():
        found = Confidence(by).fit(lists)._confidence(lists)
        np.testing.assert_allclose(found, [*values, -np.inf])


def test_the_linear_confidence_is_scikit_learns_ridge_of_average_precision() -> None:
    ridge = importorskip("sklearn.linear_model").Ridge
    precision = importorskip("sklearn.metrics").average_precision_score
    rng = np.random.default_rng(3)
    scores = np.sort(rng.normal(size=(40, 15)))[:, ::-1]
    relevance = rng.random((40, 15)) < 0.3
    relevance[:5] = False
    target = [precision(r, s) if r.any() else 0.0 for r, s in zip(relevance, scores, strict=True)]
    theirs = ridge(alpha=0.1).fit(scores[:, :10], target)
    lists = RankedLists(scores, relevance)
    ours = Confidence().fit(lists)
    np.testing.assert_allclose(ours.coef_, theirs.coef_)
    np.testing.assert_allclose(ours._confidence(lists), theirs.predict(scores[:, :10]))


@pytest.mark.parametrize("by", ["max", "std", "gap", "linear"])
def test_lists_without_an_answer_are_told_apart(by: str) -> None:
    gate = Confidence(by, FixedK(1)).fit(questions(0))
    test = questions(1)
    k = gate.predict(test)
    assert metrics.accuracy(test, k).mean() > 0.95
    assert set(k.tolist()) == {0, 1}


def test_the_threshold_is_the_best_of_all() -> None:
    train = questions(2)
    gate = Confidence("max").fit(train)
    best = metrics.accuracy(train, gate.predict(train)).mean()
    for limit in train.scores.values[train.scores.offsets[:-1]]:
        k = np.where(train.scores.values[train.scores.offsets[:-1]] >= limit, 20, 0)
        assert metrics.accuracy(train, k).mean() <= best


def test_a_share_of_the_training_lists_is_left_without_an_answer() -> None:
    rng = np.random.default_rng(4)
    lists = RankedLists(np.sort(rng.normal(size=(100, 12)))[:, ::-1])
    for share in (0.1, 0.5):
        gate = Confidence("gap", abstain=share).fit(lists)
        assert (gate.predict(lists) == 0).mean() == pytest.approx(share)
    assert "unjudged" in gate.cut_batch(lists).reasons[0]


@pytest.mark.parametrize(("relevant", "which"), [(1, "every"), (0, "no")])
def test_a_threshold_without_bound_is_told_in_words(relevant: int, which: str) -> None:
    lists = RankedLists([[5.9, 2.0], [4.0, 3.0], [3.0, 1.0]], [[relevant, 0]] * 3)
    cut = Confidence("max").fit(lists).cut([5.9, 1.0])
    assert cut.k == (2 if relevant else 0)
    assert cut.reason.endswith(f"to answer {which} list was best, learned from 3 judged queries")


def test_a_distance_is_told_as_a_distance() -> None:
    lists = questions(5)
    far = RankedLists(mirrored(lists), lists.relevance, higher_is_better=False)
    gate = Confidence("max").fit(far)
    reason = gate.cut(np.linspace(0.65, 0.9, 20), higher_is_better=False).reason
    assert "its best score, 0.65, is above 0." in reason


def mirrored(lists: RankedLists) -> list[FloatArray]:
    return [1 - part for part in lists.scores]


def test_a_confidence_must_be_fitted_and_its_options_checked() -> None:
    with pytest.raises(NotFittedError, match="Confidence"):
        Confidence("max").cut([0.3, 0.2])
    with pytest.raises(InvalidParameterError, match=r"by must be .*, got 'median'"):
        Confidence("median").fit(questions(0))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"base must be a truncator, got 3"):
        Confidence("max", 3).fit(questions(0))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="at least one result"):
        Confidence("max").fit(RankedLists([[], []], [[], []]))
