"""Tail-aware cuts, groups of scores and confidences, each against something independent."""

from __future__ import annotations

import time

import numpy as np
import pytest
from support import importorskip

from paretocut import metrics
from paretocut.errors import InvalidParameterError, NotFittedError
from paretocut.lists import FloatArray, RankedLists
from paretocut.tail.gpd import fit_gpd
from paretocut.truncators import ClusterGap, Confidence, FixedK, TailAware

# Tail-aware cuts.


def slowly(scores: FloatArray, level: float) -> int:
    """Return the tail-aware cut, one public fit after the other."""
    n = scores.size
    chord = np.linspace(scores[0], scores[-1], n)
    knee = 1 + int(np.argmax(chord - scores))
    half = int(np.ceil(np.sqrt(n * np.log(n)) / 2))
    best = (np.inf, n)
    for k in range(max(1, knee - half), min(n - 5, knee + half) + 1):
        fit = fit_gpd(scores[k:] - scores[-1])
        if fit.gof_pvalue >= level:
            return k
        best = min(best, (fit.cvm, k))
    return best[1]


@pytest.mark.parametrize("level", [0.05, 0.1, 0.5])
def test_the_tail_aware_cut_is_the_first_near_the_knee_that_passes(level: float) -> None:
    rng = np.random.default_rng(0)
    for n in (12, 50, 200):
        for hits in (0, 3, 8):
            noise, found = rng.normal(0.2, 0.06, n - hits), rng.normal(0.7, 0.03, hits)
            scores = np.sort(np.concatenate([noise, found]))[::-1]
            assert TailAware(level).cut(scores).k == slowly(scores, level)


def test_a_stricter_level_cuts_at_the_same_place_or_later() -> None:
    rng = np.random.default_rng(1)
    lists = np.sort(np.hstack([rng.exponential(1, (30, 95)), rng.normal(9, 1, (30, 5))]))[:, ::-1]
    loose, strict = (TailAware(level).predict(lists) for level in (0.01, 0.3))
    assert (loose <= strict).all()
    assert (loose < strict).any()


def test_lists_without_a_tail_to_test_are_kept_whole() -> None:
    lists = [[3.0, 2.0, 1.0], [5.0] + [1.0] * 9, [2.0] * 8]
    assert TailAware().predict(lists).tolist() == [3, 10, 8]
    assert "too few" in TailAware().cut([3.0, 2.0, 1.0]).reason


def test_distances_are_cut_as_the_scores_they_mirror() -> None:
    scores = np.sort(np.random.default_rng(2).gamma(2, size=60))[::-1]
    for rule in (TailAware(), ClusterGap()):
        near = rule.cut(10 - scores, higher_is_better=False)
        assert near.k == rule.cut(scores).k
    assert TailAware().cut(10 - scores, higher_is_better=False).reason == (
        TailAware().cut(scores).reason
    )


def test_the_level_must_be_a_probability() -> None:
    with pytest.raises(InvalidParameterError, match=r"TailAware: level must be .*, got 1.5"):
        TailAware(1.5).cut([1.0, 2.0])


# Groups of scores.


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_those_of_scikit_learn(seed: int) -> None:
    cluster = importorskip("sklearn.cluster")
    silhouette = importorskip("sklearn.metrics").silhouette_score
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(size=int(rng.integers(12, 60))))[::-1]
    values = ((scores - scores[-1]) / (scores[0] - scores[-1]))[:, None]
    labels = [
        cluster.AgglomerativeClustering(count, linkage="ward").fit_predict(values)
        for count in range(2, 11)
    ]
    best = max(labels, key=lambda own: silhouette(values, own))
    borders = np.flatnonzero(np.diff(best)) + 1
    gaps = values[borders - 1, 0] - values[borders, 0]
    for weight in (0.0, 1.0):
        expected = borders[np.argmax(gaps / gaps.max() + weight * borders / scores.size)]
        assert ClusterGap(weight).cut(scores).k == expected


def test_a_later_border_wins_by_the_weight_of_its_position() -> None:
    # Three groups; the gaps are 0.30 and 0.28 wide, after 2 and 4 of 6 results.
    scores = [1.0, 0.99, 0.69, 0.68, 0.4, 0.39]
    assert ClusterGap(0.0).cut(scores).k == 2
    assert ClusterGap(1.0).cut(scores).k == 4  # 0.28 / 0.30 + 4 / 6 is over 1 + 2 / 6


def test_a_long_list_is_grouped_in_a_second() -> None:
    scores = np.sort(np.random.default_rng(0).exponential(size=40_000))[::-1]
    began = time.process_time()
    assert 0 < ClusterGap().cut(scores).k < scores.size
    assert time.process_time() - began < 10  # joining the groups one search at a time took 16 s


def test_equal_scores_stay_in_one_group() -> None:
    assert ClusterGap().predict([[2.0, 2.0, 1.0, 1.0, 1.0]]).tolist() == [2]
    assert ClusterGap(0.0).predict([[2.0, 1.0], [1.0, 1.0]]).tolist() == [1, 2]


# Confidences.


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
    with pytest.raises(InvalidParameterError, match=r"base must be a truncator or None, got 3"):
        Confidence("max", 3).fit(questions(0))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="at least one result"):
        Confidence("max").fit(RankedLists([[], []], [[], []]))


def test_huge_and_tiny_scores_are_scaled_without_overflow() -> None:
    huge = [1.7e308, 1.6e308, 0.0, -1.5e308, -1.6e308, -1.7e308, -1.7e308]
    tiny = [1e-323, 5e-324, 0.0, 0.0, 0.0, 0.0, 0.0]
    for rule in (TailAware(), ClusterGap()):
        k = rule.predict([huge, tiny])
        assert ((k >= 1) & (k <= 7)).all()
    assert ClusterGap(0.0).cut(huge).k == ClusterGap(0.0).cut(np.array(huge) * 1e-308).k
