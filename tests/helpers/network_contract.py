"""What every neural truncator must do; a test module imports these tests and names its ``kind``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut import metrics
from paretocut.errors import InvalidParameterError, MissingExtraError
from paretocut.lists import RankedLists
from paretocut.truncators import BiCut, GlobalK, Training
from paretocut.truncators.neural.truncator import Batch, NeuralTruncator, steps_of

torch = importorskip("torch")

SMALL: dict[str, Any] = {"width": 16, "training": Training(max_epochs=2)}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Networks this small are slower with more threads, much slower on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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


def batch() -> Batch:
    """Return a list of three results and one of two, padded to three."""
    return Batch(
        features=torch.zeros(2, 3, 1),
        lengths=torch.tensor([3, 2]),
        relevant=torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        other=torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
        worth=torch.tensor([[0.0, 0.5, 0.4, 0.9], [0.2, -0.3, 0.1, 0.0]]),
    )


def test_a_step_in_the_scores_is_found(kind: type[NeuralTruncator]) -> None:
    train, test = step_lists(1), step_lists(2)
    ours = kind(width=32, training=Training(max_epochs=15)).fit(train).predict(test)
    blind = GlobalK().fit(train).predict(test)
    assert metrics.f1(test, ours).mean() > metrics.f1(test, blind).mean() + 0.1
    assert len(np.unique(ours)) > 5


@pytest.mark.parametrize("metric", ["penalized_dcg", "utility(1,1)"])
def test_nothing_is_kept_where_nothing_was_ever_relevant(
    kind: type[NeuralTruncator], metric: str
) -> None:
    patient = Training(max_epochs=15, patience=15)
    truncator = kind(metric, width=16, training=patient).fit(barren_lists(1))
    assert truncator.predict(barren_lists(2)).tolist() == [0] * 20


def test_the_held_out_lists_judge_the_weights_that_are_kept(kind: type[NeuralTruncator]) -> None:
    lists = step_lists(1, 20)
    truncator = kind(width=16, training=Training(max_epochs=4, seed=5)).fit(lists)
    held = lists[np.random.default_rng(5).permutation(20)[:4]]
    value = metrics.f1(held, truncator.predict(held)).mean()
    assert value == pytest.approx(max(truncator.history_))


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
    many = kind(**SMALL).set_params(training__device="cpu:0").fit(train)
    assert many.predict(test).tolist() == one.predict(test).tolist()


def test_long_lists_are_cut_at_their_steps_and_learned_from(kind: type[NeuralTruncator]) -> None:
    train, test = step_lists(1, 40, longest=200), step_lists(2, 40, longest=200)
    truncator = kind(width=32, training=Training(max_epochs=15), max_steps=30).fit(train)
    cuts = truncator.predict(test)
    for cut, length in zip(cuts, test.scores.lengths, strict=True):
        assert cut in steps_of(int(length), 30)
    blind = GlobalK().fit(train).predict(test)
    assert metrics.f1(test, cuts).mean() > metrics.f1(test, blind).mean()


def test_a_seed_fixes_the_weights_to_the_last_bit(kind: type[NeuralTruncator]) -> None:
    lists = step_lists(1, 15)
    first, again, other = (
        kind(**SMALL).set_params(training__seed=seed).fit(lists).weights_ for seed in (3, 3, 4)
    )
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
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_changed_parameters_wait_for_the_next_fit(kind: type[NeuralTruncator]) -> None:
    lists = step_lists(1, 10)
    truncator = kind(**SMALL).fit(lists)
    before = truncator.predict(lists).tolist()
    assert truncator.set_params(width=32, layers=1).predict(lists).tolist() == before


def test_without_torch_fit_names_the_extra(
    kind: type[NeuralTruncator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"paretocut\[neural\]") as caught:
        kind().fit(step_lists(1, 5))
    assert caught.value.extra == "neural"


def test_lists_without_any_result_teach_nothing(kind: type[NeuralTruncator]) -> None:
    with pytest.raises(InvalidParameterError, match="at least one result to learn from, got 0"):
        kind().fit(RankedLists([[], []], relevance=[[], []]))


def test_padding_beside_a_longer_list_changes_no_output(kind: type[NeuralTruncator]) -> None:
    torch.manual_seed(0)
    network = untrained(kind(width=8, layers=2, dropout=0.5), inputs=2).double().eval()
    values = torch.tensor(np.random.default_rng(0).normal(size=(2, 9, 2)))
    with torch.no_grad():
        alone = network(values[:1, :4], torch.tensor([4]))
        padded = network(values, torch.tensor([4, 9]))
    own = 4 if kind is BiCut else 5
    assert alone.shape[1] == own
    np.testing.assert_allclose(padded[:1, :own], alone, atol=1e-12)


def untrained(truncator: NeuralTruncator, inputs: int) -> Any:
    """Return the network of a truncator with random weights."""
    return truncator._network(truncator._settings(inputs))
