"""The neural truncators: losses, learning, long lists, files and what is refused."""

# ruff: noqa: F403, F405 - the tests that all networks share are imported

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_contract import *

import paretocut as pc
from paretocut import metrics
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists
from paretocut.truncators import AttnCut, BiCut, Choppy, Conformal, Training, Truncator
from paretocut.truncators.neural import networks
from paretocut.truncators.neural.truncator import NeuralTruncator, steps_of


# One of the three stands for the others in the quick tests.
@pytest.fixture(
    params=[BiCut, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (Choppy, AttnCut))],
    ids=lambda kind: kind.__name__,
)
def kind(request: pytest.FixtureRequest) -> type[NeuralTruncator]:
    return request.param


# What is learned.


def test_the_best_epoch_is_kept_and_patience_ends_the_training() -> None:
    hasty = Training(max_epochs=30, patience=2)
    truncator = Choppy(width=16, training=hasty).fit(step_lists(1, 20))
    values = truncator.history_
    assert values[truncator.epoch_] == max(values)
    assert max(values[truncator.epoch_ + 1 :], default=-1.0) < max(values)
    assert len(values) == min(30, truncator.epoch_ + 3)


def noisy_lists(seed: int) -> RankedLists:
    """Return lists whose results are less and less likely to be relevant, whatever the scores."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(size=(40, 20)))[:, ::-1]
    return RankedLists(scores, rng.random((40, 20)) < 1 / (1 + np.arange(20) / 4))


def test_a_higher_alpha_cuts_earlier() -> None:
    train, test = noisy_lists(1), noisy_lists(2)
    ten = Training(max_epochs=10)
    few, some, many = (
        BiCut(alpha=alpha, width=16, training=ten).fit(train).predict(test).mean()
        for alpha in (0.8, 0.5, 0.2)
    )
    assert few < some < many


def test_alpha_is_chosen_by_the_metric_on_the_held_out_lists() -> None:
    ten = Training(max_epochs=10)
    hasty = BiCut("precision", width=16, training=ten).fit(noisy_lists(1))
    thorough = BiCut("recall", width=16, training=ten).fit(noisy_lists(1))
    assert hasty.alpha_ > thorough.alpha_
    assert BiCut(alpha=0.4, **SMALL).fit(noisy_lists(1)).alpha_ == 0.4


def test_encodings_tell_what_scores_do_not() -> None:
    rng = np.random.default_rng(0)

    def lists() -> RankedLists:
        relevant = np.arange(20) < rng.integers(1, 15, 40)[:, None]
        vectors = rng.normal(size=(40, 20, 3)) + relevant[:, :, None]
        scores = np.tile(np.linspace(1, 0, 20), (40, 1))
        return RankedLists(scores, relevant, doc_embeddings=vectors.reshape(-1, 3))

    train, test = lists(), lists()
    long = Training(max_epochs=15)
    with_them, without = (
        metrics.f1(test, BiCut(encodings=use, width=16, training=long).fit(train).predict(test))
        for use in (True, False)
    )
    assert with_them.mean() > without.mean() + 0.1


def test_missing_or_other_encodings_are_refused() -> None:
    lists = step_lists(1, 5)
    truncator = BiCut(encodings=True, **SMALL)
    with pytest.raises(InvalidScoresError, match=r"^BiCut: lists must have doc_embeddings .*none"):
        truncator.fit(lists)
    size = lists.scores.values.size
    truncator.fit(RankedLists(lists.scores, lists.relevance, doc_embeddings=np.ones((size, 2))))
    with pytest.raises(InvalidScoresError, match=r"must have 2 dimensions, as in training, got 3"):
        truncator.predict(RankedLists(lists.scores, doc_embeddings=np.ones((size, 3))))


# Losses, against sums written out by hand.


def test_bicut_loss_is_the_weighted_distance_to_the_labels() -> None:
    truncator = BiCut(alpha=0.6)
    truncator.balance_ = [[2.0, 5.0]]
    p = np.array([[0.9, 0.4, 0.3], [0.2, 0.7, 0.5]])
    output = torch.tensor(np.log(p / (1 - p)))[:, :, None]
    first = 5 * 0.1 + 2 * 0.4 + 5 * 0.7
    second = 2 * 0.2 + 5 * 0.3
    assert float(truncator._loss(output, batch())) == pytest.approx((first + second) / 2)


def test_choppy_loss_is_minus_the_expected_metric() -> None:
    chances = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.25, 0.25, 0.6]])  # the last is padding
    output = torch.tensor(np.log(chances))
    expected = [0.2 * 0.5 + 0.3 * 0.4 + 0.4 * 0.9, 0.5 * 0.2 - 0.25 * 0.3 + 0.25 * 0.1]
    assert float(Choppy()._loss(output, batch())) == pytest.approx(-np.mean(expected))


def test_attncut_loss_is_least_where_probabilities_follow_the_metric() -> None:
    part, tau = batch(), 0.3
    best = (part.worth / tau).double().requires_grad_()
    loss = AttnCut(tau=tau)._loss(best, part)
    loss.backward()
    np.testing.assert_allclose(best.grad.numpy(), 0, atol=1e-7)
    q = np.exp(part.worth[0].double().numpy() / tau)
    r = np.exp(part.worth[1, :3].double().numpy() / tau)
    entropy = [-(x / x.sum() * np.log(x / x.sum())).sum() for x in (q, r)]
    assert float(loss.detach()) == pytest.approx(np.mean(entropy))


def test_cuts_are_read_within_each_list() -> None:
    lengths = np.array([3, 2])
    output = np.array([[0.0, 3.0, 1.0, 2.0], [0.0, -1.0, 1.0, 9.0]])
    assert Choppy()._steps(output, lengths).tolist() == [[1], [2]]
    decisions = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, 5.0], [2.0, -1.0, 1.0]])
    assert BiCut()._steps(decisions[:, :, None], np.array([3, 3, 2, 3])).tolist() == [
        [3],
        [0],
        [2],
        [1],
    ]


def test_the_recurrent_layers_are_those_of_torch_over_packed_sequences() -> None:
    ours = networks.BiLSTM(2, 5, 2, 0.0).double()
    theirs = torch.nn.LSTM(2, 5, 2, batch_first=True, bidirectional=True).double()
    for layer in range(2):
        for suffix, side in (("", ours.ahead), ("_reverse", ours.back)):
            for name, value in side[layer].named_parameters():
                getattr(theirs, f"{name[:-1]}{layer}{suffix}").data = value.data
    values, lengths = torch.randn(3, 7, 2, dtype=torch.float64), torch.tensor([3, 7, 1])
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        values, lengths, batch_first=True, enforce_sorted=False
    )
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    output = ours(values, lengths)
    for i, length in enumerate(lengths):
        np.testing.assert_allclose(
            output[i, :length].detach(), expected[i, :length].detach(), atol=1e-12
        )


# Long lists.


@pytest.mark.parametrize("length", [1, 9, 10, 11, 15, 1000, 100_000])
def test_steps_are_every_rank_of_a_short_list_and_ever_fewer_of_a_long_one(length: int) -> None:
    steps = steps_of(length, 10)
    assert steps[0] == 0
    assert steps[-1] == length
    assert len(steps) <= 11
    assert (np.diff(steps) > 0).all()
    assert steps[: min(length, 5) + 1].tolist() == list(range(min(length, 5) + 1))
    if length <= 10:
        assert len(steps) == length + 1


def test_a_step_of_many_results_weighs_as_much_as_they_do() -> None:
    rng = np.random.default_rng(0)
    lists = RankedLists([np.arange(50.0, 0, -1), [1.0]], [rng.random(50) < 0.4, [True]])
    truncator = BiCut(max_steps=10)
    truncator.center_, truncator.spread_ = np.zeros(1), np.ones(1)
    part = next(truncator._batches(torch, lists, 2, rng)())
    row = int(part.lengths.argmax())
    steps = steps_of(50, 10)
    relevant = lists.relevant[0]
    sums = [relevant[a:b].sum() for a, b in pairwise(steps)]
    assert part.relevant[row].tolist() == sums
    assert (part.relevant + part.other)[row].tolist() == np.diff(steps).tolist()
    np.testing.assert_allclose(
        part.worth[row], metrics.f1.curve(relevant)[steps], rtol=0, atol=1e-7
    )
    assert part.relevant[1 - row].tolist() == [1.0] + [0.0] * (len(steps) - 2)


# Seeds, files and the process around.


def test_a_network_inside_another_truncator_is_saved_with_it(tmp_path: Path) -> None:
    truncator = Conformal(Choppy(**SMALL), level=0.3).fit(step_lists(1, 20))
    truncator.save(tmp_path / "model.json")
    test = step_lists(2, 10)
    again = pc.load(tmp_path / "model.json")
    assert again.predict(test).tolist() == truncator.predict(test).tolist()


def test_torch_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, paretocut as pc; pc.truncators.make('bicut', width=8); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# The parameters of the training.


def test_parameters_of_the_training_are_reached_by_nested_names() -> None:
    truncator = BiCut(training=Training(max_epochs=3))
    assert truncator.get_params()["training__max_epochs"] == 3
    assert "training__max_epochs" not in truncator.get_params(deep=False)
    again = truncator.clone().set_params(training__seed=4, width=8)
    assert repr(again) == "BiCut(width=8, training=Training(max_epochs=3, seed=4))"
    assert truncator.training == Training(max_epochs=3)
    assert again.set_params(**truncator.get_params()).training == truncator.training
    assert pc.truncators.from_text("choppy:training__patience=2").training == Training(
        max_epochs=20, patience=2
    )
    with pytest.raises(InvalidParameterError, match=r"^Training: .*among max_epochs, .*'epochs'"):
        truncator.set_params(training__epochs=3)


# What is refused.


@pytest.mark.parametrize(
    ("truncator", "message"),
    [
        (BiCut(alpha=1.0), r"^BiCut: alpha must be in \(0, 1\), got 1.0"),
        (BiCut(normalize="log"), r"^BiCut: normalize must be one of .*, got 'log'"),
        (Choppy(heads=5), r"^Choppy: heads must divide 128, got 5"),
        (Choppy(width=2, heads=2), r"^Choppy: width must be an integer .*, got 2"),
        (Choppy(max_steps=1), r"^Choppy: max_steps must be an integer .*, got 1"),
        (AttnCut(tau=0), r"^AttnCut: tau must be in \(0, inf\), got 0"),
        (AttnCut(heads=3), r"^AttnCut: heads must divide 256, twice the width, got 3"),
        (AttnCut(dropout=1.0), r"^AttnCut: dropout must be in \[0, 1\), got 1.0"),
        (AttnCut(training=30), r"^AttnCut: training must be a Training, got 30"),
    ],
)
def test_parameters_out_of_range_are_refused(truncator: Truncator, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        truncator.fit(step_lists(1, 3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_epochs": 0}, r"^Training: max_epochs must be an integer of at least 1, got 0"),
        ({"patience": 1.5}, r"^Training: patience must be an integer of at least 1, got 1.5"),
        ({"batch_size": -1}, r"^Training: batch_size must be an integer of at least 1, got -1"),
        ({"learning_rate": 0}, r"^Training: learning_rate must be in \(0, inf\), got 0"),
        ({"held_out": 0}, r"^Training: held_out must be in \(0, 1\), got 0"),
        ({"seed": -1}, r"^Training: seed must be an integer of at least 0, got -1"),
        ({"device": 0}, r"^Training: device must be a text, got 0"),
    ],
)
def test_a_training_out_of_range_is_refused_at_once(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Training(**given)
    with pytest.raises(InvalidParameterError, match=message):
        BiCut().set_params(**{f"training__{name}": value for name, value in given.items()})


def test_a_device_that_torch_does_not_find_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^Choppy: device must be one .*got 'abacus'"):
        Choppy(training=Training(device="abacus")).fit(step_lists(1, 3))
