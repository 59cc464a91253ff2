"""The rivals: Tail-Aware Adaptive-k and CAR against something independent, MtCut as a network."""

# ruff: noqa: F403, F405 - the tests that all networks share are imported

from __future__ import annotations

import pickle
import time
from pathlib import Path

import numpy as np
import pytest
import reference
from network_contract import *
from support import importorskip

import paretocut as pc
from experiments.rivals.cluster_gap import ClusterGap
from experiments.rivals.mtcut import MtCut, MtCutNetwork
from experiments.rivals.tail_aware import TailAware
from paretocut.errors import InvalidParameterError, NotFittedError
from paretocut.lists import FloatArray, RankedLists
from paretocut.tail.gpd import gof_pvalue
from paretocut.truncators import AttnCut, Truncator
from paretocut.truncators.neural.truncator import Batch, NeuralTruncator

RIVALS = [TailAware(0.2), ClusterGap(0.5), MtCut(experts=2, **SMALL)]


@pytest.fixture(params=[pytest.param(MtCut, marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> type[NeuralTruncator]:
    given: type[NeuralTruncator] = request.param
    return given


# The contract of all truncators.


@pytest.fixture(params=RIVALS, ids=lambda rival: type(rival).__name__)
def rival(request: pytest.FixtureRequest) -> Truncator:
    return request.param.clone()


def mixed_lists(seed: int) -> RankedLists:
    """Return judged lists, some of them empty, of one result, constant or tied."""
    rng = np.random.default_rng(seed)
    scores = [np.sort(rng.normal(size=size))[::-1] for size in rng.integers(2, 40, 12)]
    scores += [np.zeros(0), np.ones(1), np.full(7, 2.0), np.round(scores[0])]
    return RankedLists(scores, [np.arange(part.size) < part.size / 3 for part in scores])


def test_a_rival_decides_alike_on_one_list_and_on_many_and_within_bounds(rival: Truncator) -> None:
    lists = mixed_lists(2)
    assert rival.fit(mixed_lists(1)) is rival
    cuts = rival.cut_batch(lists)
    assert cuts.k.dtype == np.int64
    assert ((cuts.k >= 0) & (cuts.k <= lists.scores.lengths)).all()
    np.testing.assert_array_equal(rival.predict(lists), cuts.k)
    for scores, cut in zip(lists.scores, cuts, strict=True):
        one = rival.cut(scores)
        assert (one.k, one.reason, one.warnings) == (cut.k, cut.reason, cut.warnings)
        assert one.reason.startswith("kept ")
    bounded = rival.cut_batch(lists, min_k=2, max_k=4).k
    np.testing.assert_array_equal(bounded, np.clip(cuts.k, 2, 4).clip(max=lists.scores.lengths))


def test_a_rival_is_cloned_shown_pickled_and_saved(rival: Truncator, tmp_path: Path) -> None:
    test = mixed_lists(2)
    expected = rival.fit(mixed_lists(1)).predict(test)
    fresh = rival.clone()
    assert vars(fresh) == fresh.get_params(deep=False) == rival.get_params(deep=False)
    rival.save(tmp_path / "model.json")
    for again in (
        fresh.fit(mixed_lists(1)),
        pickle.loads(pickle.dumps(rival)),
        pc.load(tmp_path / "model.json"),
    ):
        assert repr(eval(repr(again))) == repr(again) == repr(rival)
        np.testing.assert_array_equal(again.predict(test), expected)


def test_a_rival_refuses_other_parameters(rival: Truncator) -> None:
    with pytest.raises(InvalidParameterError, match=r"must be among .*, got 'nonsense'"):
        rival.set_params(nonsense=1)


def test_mtcut_must_be_fitted_and_the_rules_need_not() -> None:
    with pytest.raises(NotFittedError, match=r"^MtCut: .*fit"):
        MtCut().cut([2.0, 1.0])
    assert TailAware().cut([2.0, 1.0]).k == 2
    assert ClusterGap().cut([2.0, 1.0]).k == 1


def test_rivals_are_not_among_the_methods_of_the_library() -> None:
    assert not {"tail_aware", "cluster_gap", "mtcut"} & set(pc.truncators.names())
    assert not {"TailAware", "ClusterGap", "MtCut"} & set(dir(pc.truncators))


# Tail-aware cuts.


def slowly(scores: FloatArray, level: float) -> int:
    """Return the tail-aware cut, one slow fit after the other."""
    n = scores.size
    chord = np.linspace(scores[0], scores[-1], n)
    knee = 1 + int(np.argmax(chord - scores))
    half = int(np.ceil(np.sqrt(n * np.log(n)) / 2))
    best = (np.inf, n)
    for k in range(max(1, knee - half), min(n - 5, knee + half) + 1):
        excess = (scores[k:] - scores[-1])[::-1].astype(np.longdouble)
        shape, scale = reference.fit_gpd(excess)
        cvm = float(reference.cvm(excess, shape, scale))
        if gof_pvalue(cvm, shape, excess.size) >= level:
            return k
        best = min(best, (cvm, k))
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


def test_huge_and_tiny_scores_are_scaled_without_overflow() -> None:
    huge = [1.7e308, 1.6e308, 0.0, -1.5e308, -1.6e308, -1.7e308, -1.7e308]
    tiny = [1e-323, 5e-324, 0.0, 0.0, 0.0, 0.0, 0.0]
    for rule in (TailAware(), ClusterGap()):
        k = rule.predict([huge, tiny])
        assert ((k >= 1) & (k <= 7)).all()
    assert ClusterGap(0.0).cut(huge).k == ClusterGap(0.0).cut(np.array(huge) * 1e-308).k


# MtCut.


def test_mtcut_loss_is_that_of_attncut_and_of_the_two_other_tasks() -> None:
    rng = np.random.default_rng(0)
    output = torch.tensor(rng.normal(size=(2, 4, 3)))
    cut = float(AttnCut(tau=0.5)._loss(output[:, :, 0], batch()))
    p = 1 / (1 + np.exp(-output[:, 1:, 1].numpy()))
    relevance = -np.log([p[0, 0], 1 - p[0, 1], p[0, 2]]), -np.log([1 - p[1, 0], p[1, 1]])
    order = output[:, 1:, 2].numpy()
    gaps = (order[0, 0] + order[0, 2]) / 2 - order[0, 1], order[1, 1] - order[1, 0]
    hinge = np.mean([max(0.0, 1 - gap) for gap in gaps])
    cross_entropy = np.mean([part.mean() for part in relevance])

    def loss(relevance_weight: float, order_weight: float) -> float:
        truncator = MtCut(tau=0.5, relevance_weight=relevance_weight, order_weight=order_weight)
        return float(truncator._loss(output, batch()))

    assert loss(0, 0) == pytest.approx(cut)
    assert loss(2, 0) == pytest.approx(cut + 2 * cross_entropy)
    assert loss(0, 3) == pytest.approx(cut + 3 * hinge)


def test_a_list_of_one_kind_teaches_mtcut_no_order() -> None:
    part = Batch(
        features=torch.zeros(1, 2, 1),
        lengths=torch.tensor([2]),
        relevant=torch.ones(1, 2),
        other=torch.zeros(1, 2),
        worth=torch.zeros(1, 3),
    )
    output = torch.zeros(1, 3, 3, dtype=torch.float64)
    cut = float(AttnCut()._loss(output[:, :, 0], part))
    assert float(MtCut(relevance_weight=0)._loss(output, part)) == pytest.approx(cut)


def test_one_expert_has_all_of_every_gate() -> None:
    network = MtCutNetwork(inputs=2, width=4, layers=1, heads=2, dropout=0.0, experts=1).eval()
    values, lengths = torch.randn(2, 5, 2), torch.tensor([5, 3])
    with torch.no_grad():
        before = network(values, lengths)
        for gate in network.gates:
            gate.bias += 3.0
        np.testing.assert_array_equal(before, network(values, lengths))
