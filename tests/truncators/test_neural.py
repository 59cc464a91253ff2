"""The neural truncators: losses, masks, learning, seeds, files and torch's own state."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut import metrics
from paretocut.errors import InvalidParameterError, InvalidScoresError, MissingExtraError
from paretocut.lists import RankedLists
from paretocut.truncators import Conformal, GlobalK, Truncator

torch = importorskip("torch")
importorskip("safetensors")

from paretocut.truncators.neural import AttnCut, BiCut, Choppy, MtCut, _networks  # noqa: E402
from paretocut.truncators.neural._train import Batch, NeuralTruncator, steps_of  # noqa: E402

KINDS = [BiCut, Choppy, AttnCut, MtCut]
SMALL: dict[str, Any] = {"width": 16, "max_epochs": 2}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Networks this small are slower with more threads, much slower on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[NeuralTruncator]:
    return request.param


def step_lists(seed: int, count: int = 60, *, longest: int = 40) -> RankedLists:
    """Return lists whose relevant results are those above a step in the scores."""
    rng = np.random.default_rng(seed)
    scores, relevance = [], []
    for length in rng.integers(longest // 2, longest, count):
        k = rng.integers(1, length // 2)
        part = np.sort(rng.normal(0, 0.3, length) + 3.0 * (np.arange(length) < k))[::-1]
        scores.append(part * rng.uniform(0.5, 5))
        relevance.append(np.arange(length) < k)
    return RankedLists(scores, relevance)


def barren_lists(seed: int) -> RankedLists:
    """Return lists in which nothing is relevant."""
    lists = step_lists(seed, 20)
    return RankedLists(lists.scores, lists.relevant.with_values(lists.relevant.values & False))


# What is learned.


def test_a_step_in_the_scores_is_found(kind: type[NeuralTruncator]) -> None:
    train, test = step_lists(1), step_lists(2)
    ours = kind(width=32, max_epochs=15).fit(train).predict(test)
    blind = GlobalK().fit(train).predict(test)
    assert metrics.f1(test, ours).mean() > metrics.f1(test, blind).mean() + 0.1
    assert len(np.unique(ours)) > 5


@pytest.mark.parametrize("metric", ["dcg", "utility(1,1)"])
def test_nothing_is_kept_where_nothing_was_ever_relevant(
    kind: type[NeuralTruncator], metric: str
) -> None:
    truncator = kind(metric, width=16, max_epochs=15, patience=15).fit(barren_lists(1))
    assert truncator.predict(barren_lists(2)).tolist() == [0] * 20


def test_the_best_epoch_is_kept_and_patience_ends_the_training() -> None:
    truncator = Choppy(width=16, max_epochs=30, patience=2).fit(step_lists(1, 20))
    values = truncator.history_
    assert values[truncator.epoch_] == max(values)
    assert max(values[truncator.epoch_ + 1 :], default=-1.0) < max(values)
    assert len(values) == min(30, truncator.epoch_ + 3)


def test_the_held_out_lists_judge_the_weights_that_are_kept(kind: type[NeuralTruncator]) -> None:
    lists = step_lists(1, 20)
    truncator = kind(width=16, max_epochs=4, seed=5).fit(lists)
    held = lists[np.random.default_rng(5).permutation(20)[:4]]
    value = metrics.f1(held, truncator.predict(held)).mean()
    assert value == pytest.approx(max(truncator.history_))


def noisy_lists(seed: int) -> RankedLists:
    """Return lists whose results are less and less likely to be relevant, whatever the scores."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(size=(40, 20)))[:, ::-1]
    return RankedLists(scores, rng.random((40, 20)) < 1 / (1 + np.arange(20) / 4))


def test_a_higher_alpha_cuts_earlier() -> None:
    train, test = noisy_lists(1), noisy_lists(2)
    few, some, many = (
        BiCut(alpha=alpha, width=16, max_epochs=10).fit(train).predict(test).mean()
        for alpha in (0.8, 0.5, 0.2)
    )
    assert few < some < many


def test_alpha_is_chosen_by_the_metric_on_the_held_out_lists() -> None:
    hasty = BiCut("precision", width=16, max_epochs=10).fit(noisy_lists(1))
    thorough = BiCut("recall", width=16, max_epochs=10).fit(noisy_lists(1))
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
    with_them, without = (
        metrics.f1(test, BiCut(encodings=use, width=16, max_epochs=15).fit(train).predict(test))
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


def batch() -> Batch:
    """Return a list of three results and one of two, padded to three."""
    return Batch(
        features=torch.zeros(2, 3, 1),
        lengths=torch.tensor([3, 2]),
        relevant=torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        other=torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
        worth=torch.tensor([[0.0, 0.5, 0.4, 0.9], [0.2, -0.3, 0.1, 0.0]]),
    )


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
    network = _networks.MtCutNetwork(
        inputs=2, width=4, layers=1, heads=2, dropout=0.0, experts=1
    ).eval()
    values, lengths = torch.randn(2, 5, 2), torch.tensor([5, 3])
    with torch.no_grad():
        before = network(values, lengths)
        for gate in network.gates:
            gate.bias += 3.0
        np.testing.assert_array_equal(before, network(values, lengths))


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


# Padding.


def networks() -> dict[str, Any]:
    torch.manual_seed(0)
    sizes = {"inputs": 2, "width": 8, "layers": 2, "dropout": 0.5}
    return {
        "BiCut": _networks.BiCutNetwork(**sizes, outputs=3),
        "Choppy": _networks.ChoppyNetwork(**sizes, heads=2, positions=12),
        "AttnCut": _networks.AttnCutNetwork(**sizes, heads=2),
        "MtCut": _networks.MtCutNetwork(**sizes, heads=2, experts=2),
    }


@pytest.mark.parametrize("name", ["BiCut", "Choppy", "AttnCut", "MtCut"])
def test_padding_beside_a_longer_list_changes_no_output(name: str) -> None:
    network = networks()[name].double().eval()
    rng = np.random.default_rng(0)
    values = torch.tensor(rng.normal(size=(2, 9, 2)))
    own = 4 if name == "BiCut" else 5
    with torch.no_grad():
        alone = network(values[:1, :4], torch.tensor([4]))
        padded = network(values, torch.tensor([4, 9]))
    assert alone.shape[1] == own
    np.testing.assert_allclose(padded[:1, :own], alone, atol=1e-12)


def test_the_recurrent_layers_are_those_of_torch_over_packed_sequences() -> None:
    ours = _networks.BiLSTM(2, 5, 2, 0.0).double()
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


def test_a_cut_does_not_depend_on_the_lists_beside_it(kind: type[NeuralTruncator]) -> None:
    test = step_lists(2, 10)
    truncator = kind(**SMALL).fit(step_lists(1, 10))
    longer = RankedLists(np.linspace(9, 0, 400)[None])
    together = RankedLists([*test.scores, longer.scores[0], []])
    assert truncator.predict(together)[:10].tolist() == truncator.predict(test).tolist()
    assert truncator.predict(together)[-1] == 0


def test_other_devices_predict_in_batches_and_cut_alike(kind: type[NeuralTruncator]) -> None:
    train, test = step_lists(1, 20), step_lists(2, 30)
    one = kind(**SMALL).fit(train)
    # Torch takes this for the processor; the truncator, for something that is no plain "cpu".
    many = kind(**SMALL | {"device": "cpu:0"}).fit(train)
    assert many.predict(test).tolist() == one.predict(test).tolist()


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


def test_long_lists_are_cut_at_their_steps_and_learned_from(kind: type[NeuralTruncator]) -> None:
    train, test = step_lists(1, 40, longest=200), step_lists(2, 40, longest=200)
    truncator = kind(width=32, max_epochs=15, max_steps=30).fit(train)
    cuts = truncator.predict(test)
    for cut, length in zip(cuts, test.scores.lengths, strict=True):
        assert cut in steps_of(int(length), 30)
    blind = GlobalK().fit(train).predict(test)
    assert metrics.f1(test, cuts).mean() > metrics.f1(test, blind).mean()


def test_a_step_of_many_results_weighs_as_much_as_they_do() -> None:
    rng = np.random.default_rng(0)
    lists = RankedLists([np.arange(50.0, 0, -1), [1.0]], [rng.random(50) < 0.4, [True]])
    truncator = BiCut(max_steps=10)
    truncator.center_, truncator.spread_ = np.zeros(1), np.ones(1)
    part = next(next(truncator._batches(torch, lists, 2, rng)))
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


def test_a_seed_fixes_the_weights_to_the_last_bit(kind: type[NeuralTruncator]) -> None:
    lists = step_lists(1, 15)
    first, again, other = (kind(**SMALL, seed=seed).fit(lists).weights_ for seed in (3, 3, 4))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not all(np.array_equal(first[name], other[name]) for name in first)


def test_training_leaves_the_state_of_torch_alone(kind: type[NeuralTruncator]) -> None:
    lists = step_lists(1, 10)
    expected = kind(**SMALL).fit(lists)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            truncator = kind(**SMALL).fit(lists)
            assert not torch.is_grad_enabled()
        assert torch.get_default_dtype() == torch.float64
        assert truncator.predict(lists).tolist() == expected.predict(lists).tolist()
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert all(np.array_equal(expected.weights_[k], v) for k, v in truncator.weights_.items())


def test_files_hold_every_weight(kind: type[NeuralTruncator], tmp_path: Path) -> None:
    truncator = kind(**SMALL).fit(step_lists(1, 10))
    truncator.save(tmp_path / "model.json")
    again = pc.load(tmp_path / "model.json")
    assert isinstance(again, kind)
    assert again.weights_.keys() == truncator.weights_.keys()
    for name, value in truncator.weights_.items():
        assert np.array_equal(again.weights_[name], value)
    assert again.history_ == truncator.history_
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.json", "model.safetensors"]


def test_a_network_inside_another_truncator_is_saved_with_it(tmp_path: Path) -> None:
    truncator = Conformal(Choppy(**SMALL), level=0.3).fit(step_lists(1, 20))
    truncator.save(tmp_path / "model.json")
    test = step_lists(2, 10)
    again = pc.load(tmp_path / "model.json")
    assert again.predict(test).tolist() == truncator.predict(test).tolist()


def test_changed_parameters_wait_for_the_next_fit(kind: type[NeuralTruncator]) -> None:
    lists = step_lists(1, 10)
    truncator = kind(**SMALL).fit(lists)
    before = truncator.predict(lists).tolist()
    assert truncator.set_params(width=32, layers=1).predict(lists).tolist() == before


def test_a_bar_is_shown_on_request_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    importorskip("tqdm")
    lists = step_lists(1, 5)
    Choppy(**SMALL, progress=True).fit(lists)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Choppy(**SMALL).fit(lists)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Choppy(**SMALL, progress=True).fit(lists)
    assert "Choppy" in capsys.readouterr().err


def test_torch_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, paretocut as pc; pc.truncators.make('bicut', width=8); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_torch_fit_names_the_extra(
    kind: type[NeuralTruncator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"paretocut\[neural\]") as caught:
        kind().fit(step_lists(1, 5))
    assert caught.value.extra == "neural"


# What is refused.


def test_lists_without_any_result_teach_nothing(kind: type[NeuralTruncator]) -> None:
    with pytest.raises(InvalidParameterError, match="at least one result to learn from, got 0"):
        kind().fit(RankedLists([[], []], relevance=[[], []]))


@pytest.mark.parametrize(
    ("truncator", "message"),
    [
        (BiCut(alpha=1.0), r"^BiCut: alpha must be in \(0, 1\), got 1.0"),
        (BiCut(normalize="log"), r"^BiCut: normalize must be one of .*, got 'log'"),
        (Choppy(heads=5), r"^Choppy: heads must divide 128, got 5"),
        (Choppy(width=2, heads=2), r"^Choppy: width must be an integer of at least 3, got 2"),
        (Choppy(max_steps=1), r"^Choppy: max_steps must be an integer of at least 2, got 1"),
        (AttnCut(tau=0), r"^AttnCut: tau must be in \(0, inf\), got 0"),
        (AttnCut(heads=3), r"^AttnCut: heads must divide 256, twice the width, got 3"),
        (AttnCut(dropout=1.0), r"^AttnCut: dropout must be in \[0, 1\), got 1.0"),
        (AttnCut(held_out=0), r"^AttnCut: held_out must be in \(0, 1\), got 0"),
    ],
)
def test_parameters_out_of_range_are_refused(truncator: Truncator, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        truncator.fit(step_lists(1, 3))
