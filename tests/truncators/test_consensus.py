"""The vote of simple rules, its probabilities and the expected metrics behind it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretocut import metrics
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists
from paretocut.relevance import Constants
from paretocut.truncators import Consensus, GlobalK, ScoreThreshold
from paretocut.truncators.consensus.expected import expected_curve
from paretocut.truncators.consensus.pretrained import Pretrained, shipped


def simulated(queries: int, seed: int, *, depth: int = 100) -> RankedLists:
    """Return lists whose relevance follows the min-max score with log-odds -3 + 5 x."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.gamma(2.0, size=(queries, depth)), axis=1)
    low, high = scores[:, -1:], scores[:, :1]
    logits = -3 + 5 * (scores - low) / (high - low)
    return RankedLists(scores, rng.random(scores.shape) < 1 / (1 + np.exp(-logits)))


def enumerated(p: list[float], metric: metrics.Metric) -> np.ndarray:
    """Return the expected metric of every cut, over all relevance lists there can be."""
    total = np.zeros(len(p) + 1)
    for relevant in itertools.product([False, True], repeat=len(p)):
        chance = np.prod([q if r else 1 - q for q, r in zip(p, relevant, strict=True)])
        total += chance * metric.curve(relevant)
    return total


@pytest.mark.parametrize("name", ["penalized_dcg", "utility(2,0.5)", "precision", "accuracy"])
def test_expected_metric_is_exact_where_it_says_so(name: str) -> None:
    p = [0.9, 0.6, 0.5, 0.2, 0.05]
    exact = enumerated(p, metrics.get(name))
    np.testing.assert_allclose(expected_curve(p, name), exact, atol=1e-12)


@pytest.mark.parametrize("name", ["f1", "f2", "f0.5"])
def test_expected_f_is_close_and_cuts_cost_next_to_nothing(name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = np.sort(rng.beta(1, 2, size=10))[::-1].tolist()
        exact = enumerated(p, metrics.get(name))
        ours = expected_curve(p, name)
        assert exact.max() - exact[np.argmax(ours)] < 0.01
        np.testing.assert_allclose(ours, exact, atol=0.12)


def test_any_metric_is_expected_by_drawing() -> None:
    def half_recall(relevant: np.ndarray, num_relevant: int) -> np.ndarray:
        return np.concatenate([[0.0], np.cumsum(relevant)]) >= num_relevant / 2

    p = [0.9, 0.6, 0.5, 0.2]
    exact = enumerated(p, metrics.get(half_recall))
    # 64 draws have a standard error of at most 0.0625.
    np.testing.assert_allclose(expected_curve(p, half_recall), exact, atol=0.2)


def test_probabilities_are_calibrated_on_new_lists_of_the_same_kind() -> None:
    train, test = simulated(100, 0), simulated(400, 1)
    p = Consensus().fit(train).predict_proba(test).values
    relevant = test.relevant.values
    for low, high in itertools.pairwise([0.0, 0.1, 0.2, 0.4, 0.7, 1.0]):
        inside = (p >= low) & (p < high)
        assert inside.sum() > 200
        assert relevant[inside].mean() == pytest.approx(p[inside].mean(), abs=0.04)


def test_prior_is_the_expected_number_of_relevant_results() -> None:
    lists = simulated(5, 0)
    p = Consensus(expect=7).predict_proba(lists)
    np.testing.assert_allclose([part.sum() for part in p], 7, rtol=1e-6)
    assert Consensus(expect=7).predict_proba([[3.0, 1.0]]).values.sum() == pytest.approx(1.8)


def test_a_larger_prior_keeps_more() -> None:
    lists = simulated(50, 0)
    cuts = [Consensus(expect=expect).predict(lists).mean() for expect in (1, 3, 10, 30)]
    assert cuts == sorted(cuts)
    assert cuts[0] < cuts[-1]


def test_unjudged_lists_and_a_prior_take_the_place_of_judgements() -> None:
    lists = simulated(200, 0)
    bare = RankedLists(lists.scores)
    expect = float(lists.num_relevant.mean())
    k = Consensus(expect=expect).fit(bare).predict(lists)
    half = metrics.f1(lists, Consensus().predict(lists)).mean()
    best = metrics.f1(lists, ScoreThreshold("minmax").fit(lists).predict(lists)).mean()
    told = metrics.f1(lists, k).mean()
    assert half < told
    assert told > best - 0.01
    with pytest.raises(InvalidScoresError, match="made without relevance"):
        Consensus("penalized_dcg").fit(bare)


def test_untrained_f1_keeps_the_upper_third_of_the_range() -> None:
    lists = np.sort(np.random.default_rng(0).gamma(2.0, size=(30, 250)))[:, ::-1]
    expected = ScoreThreshold("minmax", 2 / 3).predict(lists)
    np.testing.assert_array_equal(Consensus().predict(lists), expected)


def low_end(scores: Sequence[float], depth: int = 200) -> float:
    """Return where the score at rank `depth` would stand: the kernel's rule, spelt out."""
    n, last = len(scores), scores[-1]
    if n < 2 or n >= depth:
        return last
    falls = [
        (scores[i] - last) / math.log(n / (i + 1)) for i in ((0,) if n == 2 else (n // 4, n // 2))
    ]
    return last - min(abs(last), min(falls) * math.log(depth / n))


@given(st.lists(st.floats(-5, 5).map(lambda x: round(x, 3) or 1), min_size=1, max_size=250))
def test_the_range_of_a_short_list_goes_on_to_rank_200(values: list[float]) -> None:
    scores = sorted(values, reverse=True)
    least = scores[0] - (scores[0] - low_end(scores)) / 3
    kept = Consensus().cut(scores).k
    assert 1 <= kept <= len(scores)
    assert all(score >= least - 1e-9 for score in scores[:kept])
    assert all(score < least + 1e-9 for score in scores[kept:])


@pytest.mark.parametrize("hits", [0, 3, 8])
def test_the_same_answer_however_deep_was_fetched(hits: int) -> None:
    rng = np.random.default_rng(hits)
    kept = {10: [], 20: [], 50: [], 200: []}  # type: dict[int, list[int]]
    for _ in range(40):
        others = rng.normal(0.25, 0.06, 100_000)
        scores = np.sort(np.concatenate([others, rng.normal(0.6, 0.05, hits)]))[::-1]
        for depth, found in kept.items():
            found.append(Consensus().cut(scores[:depth]).k)
    means = {depth: np.mean(found) for depth, found in kept.items() if depth > 2 * hits}
    assert max(means.values()) < 1.5 * min(means.values())


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0.9], 1),
        ([0.9, 0.8], 2),
        ([0.9, 0.1], 1),
        ([5.0, -5.0], 1),  # logits of a reranker
        ([1.0, 0.93, 0.91, 0.2], 3),  # one score of exactly 1 made these logits once
        ([0.99, 0.93, 0.91, 0.2], 3),
        ([8.0, 7.5, -4.0, -5.0, -6.0, -6.5], 2),
        ([0.999, 0.998, 0.995, 0.97, 0.2, 0.05, 0.01, 0.001], 4),
        ([0.5] * 7, 7),
        ([0.62, 0.61, 0.6, 0.59, 0.58], 5),
    ],
)
def test_short_and_odd_lists_get_a_sensible_answer(scores: list[float], kept: int) -> None:
    assert Consensus().cut(scores).k == kept
    distances = [1.0 - score for score in scores]
    if min(scores) > 0 and kept < len(scores):
        assert Consensus().cut(distances, higher_is_better=False).k == kept


@pytest.mark.parametrize("metric", ["penalized_dcg", "utility(2,1)"])
def test_expected_cuts_are_near_the_rule_that_is_right_for_these_lists(metric: str) -> None:
    train, test = simulated(60, 0), simulated(400, 1)
    value = metrics.get(metric)
    rules = [ScoreThreshold("minmax", metric=metric), GlobalK(metric=metric)]
    model = Consensus(metric).fit(train)
    ours = value(test, model.predict(test)).mean()
    best = max(value(test, rule.fit(train).predict(test)).mean() for rule in rules)
    assert ours > 0.94 * best
    assert model.learned_.gain == pytest.approx(ours, rel=0.3)


def test_nothing_is_kept_where_cuts_lose() -> None:
    lists = simulated(40, 0)
    model = Consensus("penalized_dcg").fit(lists)
    assert model.learned_.gain > 0
    assert model.predict(lists).sum() > 0
    model.learned_ = dataclasses.replace(model.learned_, gain=-1.0, error=1.9)
    assert (model.predict(lists) == 0).all()
    # A loss that may be chance closes nothing.
    model.learned_ = dataclasses.replace(model.learned_, error=2.1)
    assert model.predict(lists).sum() > 0
    # One judged list has no other to be tested on.
    assert Consensus("penalized_dcg").fit(lists[:1]).predict(lists).shape == (40,)


def test_accuracy_keeps_lists_that_hold_an_answer() -> None:
    rng = np.random.default_rng(0)

    def lists(seed: int) -> RankedLists:
        rng = np.random.default_rng(seed)
        scores, answered = rng.normal(size=(200, 60)), np.arange(200) % 2 == 0
        scores[answered, 0] += 6.0
        relevant = np.zeros((200, 60), dtype=bool)
        relevant[answered, 0] = True
        return RankedLists(scores, relevant)

    train, test = lists(0), lists(1)
    cuts = Consensus("accuracy").fit(train).predict(test)
    assert set(cuts.tolist()) == {0, 60}
    assert metrics.accuracy(test, cuts).mean() > 0.95
    assert Consensus("accuracy").fit(train).predict([[], rng.normal(size=60)])[0] == 0


def test_accuracy_learns_nothing_from_lists_that_miss_all_there_is_to_find() -> None:
    lists = simulated(40, 0)
    missed = RankedLists(lists.scores, np.zeros((40, 100)), num_relevant=np.full(40, 2))
    alone = Consensus("accuracy").fit(lists).learned_.answer
    assert Consensus("accuracy").fit(RankedLists.concat([lists, missed])).learned_.answer == alone


@pytest.mark.parametrize("metric", ["f1", "penalized_dcg", "accuracy", "utility(1,1)", "f2"])
def test_a_list_is_cut_alike_alone_and_among_others(metric: str) -> None:
    model = Consensus(metric).fit(simulated(30, 0))
    lists = simulated(20, 1)
    alone = [int(model.predict(lists[[i]])[0]) for i in range(20)]
    np.testing.assert_array_equal(model.predict(lists), alone)


@pytest.mark.parametrize("seed", range(3))
def test_vote_is_not_far_from_the_best_simple_rule_on_new_lists(seed: int) -> None:
    train, test = simulated(40, seed), simulated(300, seed + 100)
    rules = [ScoreThreshold("minmax"), ScoreThreshold("z"), GlobalK()]
    ours = metrics.f1(test, Consensus().fit(train).predict(test)).mean()
    best = max(metrics.f1(test, rule.fit(train).predict(test)).mean() for rule in rules)
    assert ours > best - 0.01


def test_a_subclass_may_have_other_constants() -> None:
    class Fewer(Consensus):
        constants = Constants(share=0.1, number_spread=0.0)

    flat = np.linspace(1.0, 0.4, 400)
    k = Fewer().cut(flat).k
    assert k == Fewer().predict([flat])[0] < Consensus().cut(flat).k
    beliefs = [kind(expect=20.0).predict([flat])[0] for kind in (Fewer, Consensus)]
    assert beliefs[0] != beliefs[1]


@pytest.mark.parametrize(
    "metric", ["f1", "f2", "penalized_dcg", "accuracy", "recall", "utility(1,0.2)"]
)
@pytest.mark.parametrize("expect", [None, 2.5])
def test_every_metric_has_an_untrained_cut(metric: str, expect: float | None) -> None:
    lists = [[5.0, 4.0, 1.0, 0.5], [], [1.0], [2.0, 2.0, 2.0]]
    cuts = Consensus(metric, expect=expect).predict(lists)
    assert ((cuts >= 0) & (cuts <= [4, 0, 1, 3])).all()


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidParameterError, match=r"expect must be in \(0, inf\), got -1"):
        Consensus(expect=-1).predict([[1.0]])


def test_a_collection_can_be_left_out_of_the_prior() -> None:
    class Elsewhere(Consensus):
        def prior(self) -> Pretrained:
            return shipped().without("Reuters titles")

    known, without = shipped(), Elsewhere().prior()
    # Both searches in Reuters go, and the values of all others stay.
    assert set(known.values["f1"]) - set(without.values["f1"]) == {
        "Reuters titles",
        "Reuters topics",
    }
    for metric, values in without.values.items():
        assert values == {name: known.values[metric][name] for name in values}
    assert len(without.coef) == len(known.coef)
    assert without.coef != known.coef
    for name in known.values["f1"]:
        assert name not in known.without(name).values["f1"]
    lists = simulated(40, 0)
    assert Elsewhere("penalized_dcg").fit(lists).predict(lists).size == len(lists)
    with pytest.raises(InvalidParameterError, match="collection must be one of 'Robust04'"):
        known.without("nope")
