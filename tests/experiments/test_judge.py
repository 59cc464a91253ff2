"""Judging: two hundred answers are worth what the page claims, and simulated judges err as said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paretocut as pc
from experiments.judge import measure, prior, report
from experiments.results import read
from paretocut.relevance import shipped_judged


@pytest.fixture(scope="module")
def content() -> Any:
    return read("judge")


def test_two_hundred_answers_are_worth_what_the_page_claims(content: Any) -> None:
    full = np.mean(list(report.by_collection(content, lambda half: half["full"]).values()))
    word = np.mean(list(report.by_collection(content, lambda half: half["word"]).values()))
    assert report.mean_f1(content, "clean", "200") > 0.97 * full
    for judge in measure.JUDGES:
        assert report.mean_f1(content, judge, "200") > 0.96 * full
        # More answers never cost more than the noise of the simulation.
        curve = [report.mean_f1(content, judge, str(budget)) for budget in measure.BUDGETS]
        assert np.diff(curve).min() > -0.005
    assert report.mean_f1(content, "clean", "200") > word
    plain = report.by_collection(content, lambda half: half["judges"]["80 %, 3 %"]["plain"])
    assert report.mean_f1(content, "80 %, 3 %", "200") > 1.2 * np.mean(list(plain.values()))


def test_a_simulated_judge_errs_as_often_as_he_is_said_to() -> None:
    truth = np.arange(200_000) % 5 == 0
    said = measure.said_by(truth, (0.8, 0.03), 1)
    # Standard errors: 0.002 and 0.0004.
    assert said[truth].mean() == pytest.approx(0.8, abs=0.01)
    assert said[~truth].mean() == pytest.approx(0.03, abs=0.002)


def test_the_plain_sum_is_worked_out_by_hand() -> None:
    lists = pc.RankedLists([[5.0, 4.0, 3.0, 2.0], [4.0, 3.0]])
    said = np.array([True, True, False, True, False, False])
    # Rank 1: one of two, two results. Ranks 2 and 3: one of one, three results. Rank 4: none of
    # none is asked. So 1 + 3 relevant results in two lists.
    assert measure.plain_number(lists, [0, 4, 1], said) == pytest.approx(2.0)


def test_a_session_asks_the_half_that_is_judged() -> None:
    rng = np.random.default_rng(0)
    lists = pc.RankedLists(-np.sort(-rng.normal(size=(20, 50)), axis=1), rng.random((20, 50)) < 0.2)
    first, second, *_ = measure.halves(lists)
    assert set(first.judge.query_ids) == set(second.test.query_ids)
    assert not set(first.judge.query_ids) & set(first.test.query_ids)
    places, said = measure.answered(first, (1.0, 0.0), 60)
    assert len(places) == len(set(places)) == 60
    np.testing.assert_array_equal(said, first.judge.relevant.values)


def test_the_prior_counts_collections_alike_and_has_the_form_that_ships() -> None:
    coefs = np.array([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [4.0, 0, 0, 0]])
    made = prior.prior_of(coefs, ["a", "a", "b"])
    assert made["mean"] == [2.5, 0, 0, 0]
    assert made["covariance"][0][0] == pytest.approx(2.25 + 0.05)
    assert made.keys() == shipped_judged().keys()
    assert np.linalg.eigvalsh(shipped_judged()["covariance"]).min() > 0
