"""The probability that a list holds any relevant result."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretocut.lists import Ragged
from paretocut.truncators.consensus.accuracy import AnswerModel


def best_first(scores: np.ndarray) -> Ragged:
    """Return the rows as lists, each in order."""
    return Ragged.from_any(-np.sort(-scores, axis=1))


def shifted(queries: int, seed: int, *, by: float = 2.0) -> tuple[Ragged, np.ndarray]:
    """Return lists of one score, of variance 1, higher on average where there is an answer.

    The probability of an answer is then logistic in the score, with slope ``by``.
    """
    rng = np.random.default_rng(seed)
    answered = rng.random(queries) < 0.5
    return Ragged.from_any((rng.normal(size=queries) + by * answered)[:, None]), answered


def levelled(queries: int, seed: int) -> tuple[Ragged, np.ndarray]:
    """Return lists whose level tells nothing, and an answer stands out from its own list."""
    rng = np.random.default_rng(seed)
    answered = rng.random(queries) < 0.5
    scores = rng.normal(size=(queries, 100))
    scores[answered, 0] = scores[answered].max(axis=1) + 1.5
    return best_first(scores + 10 * rng.normal(size=(queries, 1))), answered


def accuracy(model: AnswerModel, lists: Ragged, answered: np.ndarray) -> float:
    """Return how often the more likely of answer and none is the truth."""
    return float(np.mean((model.probability(lists) > 0.5) == answered))


def test_probabilities_are_right_where_the_truth_is_known() -> None:
    model = AnswerModel.fit(*shifted(2000, 0))
    lists, _ = shifted(500, 1)
    true = 1 / (1 + np.exp(-2.0 * (lists.values - 1.0)))
    assert np.abs(model.probability(lists) - true).mean() < 0.02


def test_an_answer_may_show_against_its_own_list_only() -> None:
    model = AnswerModel.fit(*levelled(300, 0))
    assert accuracy(model, *levelled(1000, 1)) > 0.9


def test_on_twenty_lists_it_does_not_fall_behind_the_best_threshold() -> None:
    # The best score is all there is, and the best threshold on it right in 0.841 of all cases.
    test, truth = shifted(2000, 99)
    ours, rival = [], []
    for seed in range(30):
        lists, answered = shifted(20, seed)
        ours.append(accuracy(AnswerModel.fit(lists, answered), test, truth))
        limits = np.append(lists.values, np.inf)
        right = [np.mean((lists.values >= limit) == answered) for limit in limits]
        rival.append(np.mean((test.values >= limits[np.argmax(right)]) == truth))
    assert np.mean(ours) > max(0.81, float(np.mean(rival)))


def test_noise_gets_no_certain_answers() -> None:
    rng = np.random.default_rng(0)
    scores, answered = best_first(rng.normal(size=(400, 50))), rng.random(400) < 0.3
    p = AnswerModel.fit(scores, answered).probability(best_first(rng.normal(size=(400, 50))))
    assert 0.05 < np.quantile(p, 0.05) < 0.3 < np.quantile(p, 0.95) < 0.6


@settings(max_examples=20, deadline=None)
@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3), seed=st.integers(0, 99))
def test_unit_and_origin_of_scores_do_not_matter(scale: float, shift: float, seed: int) -> None:
    lists, answered = levelled(40, seed)
    moved = lists.with_values(scale * lists.values + shift)
    np.testing.assert_allclose(
        AnswerModel.fit(moved, answered).probability(moved),
        AnswerModel.fit(lists, answered).probability(lists),
        atol=1e-3,
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.lists(st.integers(-3, 3), max_size=12), st.booleans()), max_size=30))
def test_any_lists_give_probabilities(judged: list[tuple[list[int], bool]]) -> None:
    lists = Ragged.from_any([sorted(map(float, row), reverse=True) for row, _ in judged])
    answered = np.array([yes and len(row) > 0 for row, yes in judged], dtype=bool)
    p = AnswerModel.fit(lists, answered).probability(lists)
    assert p.shape == (len(judged),)
    assert np.all((p >= 0) & (p <= 1))
    assert np.all(p[lists.lengths == 0] == 0)


@pytest.mark.parametrize(("answer", "expected"), [(True, 11 / 12), (False, 1 / 12)])
def test_lists_of_one_kind_give_one_probability(answer: bool, expected: float) -> None:
    lists, _ = levelled(10, 0)
    model = AnswerModel.fit(lists, np.full(10, answer))
    np.testing.assert_allclose(model.probability(levelled(5, 1)[0]), expected)


def test_extreme_scores_are_no_further_than_those_seen() -> None:
    model = AnswerModel.fit(*shifted(200, 0))
    far, farther = model.probability(Ragged.from_any([[1e3], [1e6]]))
    assert far == farther < 1


def test_the_input_is_left_alone_and_the_model_survives_json() -> None:
    lists, answered = levelled(60, 0)
    values, kinds = lists.values.copy(), answered.copy()
    model = AnswerModel.fit(lists, answered)
    again = AnswerModel.from_dict(json.loads(json.dumps(asdict(model))))
    assert again == model
    np.testing.assert_array_equal(again.probability(lists), model.probability(lists))
    np.testing.assert_array_equal(lists.values, values)
    np.testing.assert_array_equal(answered, kinds)
