"""The normal-exponential mixture: known parameters, known optima, sane probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from paretocut.lists import Ragged, RankedLists
from paretocut.truncators import ScoreDistribution
from paretocut.truncators.distribution import (
    _STARTS,
    _log_likelihood,
    _run,
    _seen,
    _start,
)


def draw(seed: int, *, n: int, weight: float, mu: float, sd: float, rate: float) -> np.ndarray:
    """Return scaled scores of a mixture, best first, with the lowest at 0 and the best at 1."""
    rng = np.random.default_rng(seed)
    relevant = rng.random(n) < weight
    scores = np.where(relevant, rng.normal(mu, sd, n), rng.exponential(1 / rate, n))
    scores = np.sort(np.clip(scores, 0.0, 1.0))[::-1]
    scores[0], scores[-1] = 1.0, 0.0
    return scores


@pytest.mark.parametrize("truncated", [False, True])
def test_em_recovers_the_parameters_it_was_given(truncated: bool) -> None:
    truth = {"weight": 0.15, "mu": 0.6, "sd": 0.08, "rate": 9.0}
    scores = Ragged.from_any([draw(seed, n=20_000, **truth) for seed in range(3)])
    mixture = _start(scores, 0.1)
    _run(scores, mixture, 300, truncated)
    for row, (name, value) in zip(mixture, truth.items(), strict=True):
        np.testing.assert_allclose(row, value, rtol=0.06, err_msg=name)


@pytest.mark.parametrize("share", _STARTS)
@pytest.mark.parametrize("truncated", [False, True])
def test_the_likelihood_never_falls_from_step_to_step(share: float, truncated: bool) -> None:
    scores = Ragged.from_any([draw(1, n=400, weight=0.2, mu=0.55, sd=0.1, rate=8.0)])
    mixture = _start(scores, share)
    before = _log_likelihood(scores, mixture, truncated)
    for _ in range(20):
        _run(scores, mixture, 1, truncated)
        after = _log_likelihood(scores, mixture, truncated)
        assert (after >= before - 1e-8).all()
        before = after


def test_the_truncated_normal_is_normalised_above_the_lowest_score() -> None:
    scipy = pytest.importorskip("scipy.stats")
    mixture = np.array([[value] for value in (0.999999, 0.2, 0.3, 5.0)])
    density = np.exp(
        [_log_likelihood(Ragged.from_any([[x]]), mixture, True)[0] for x in (0.1, 0.5)]
    )
    expected = scipy.truncnorm.pdf([0.1, 0.5], -0.2 / 0.3, np.inf, loc=0.2, scale=0.3)
    np.testing.assert_allclose(density, expected, rtol=1e-4)
    assert _seen(mixture)[0] == pytest.approx(scipy.norm.cdf(0.2 / 0.3))


def test_probabilities_never_fall_with_the_score() -> None:
    rng = np.random.default_rng(0)
    scores = [np.sort(rng.gamma(rng.uniform(0.5, 3), size=100))[::-1] for _ in range(50)]
    for truncated in (False, True):
        for part in ScoreDistribution(truncated=truncated).result_values(RankedLists(scores)):
            assert (np.diff(part) <= 1e-12).all()
            assert ((part >= 0) & (part <= 1)).all()


def test_the_cut_maximises_expected_f1_under_the_probabilities() -> None:
    rng = np.random.default_rng(1)
    lists = RankedLists([np.sort(rng.gamma(1.0, size=60))[::-1] for _ in range(20)])
    truncator = ScoreDistribution()
    for cut, chances in zip(truncator.predict(lists), truncator.result_values(lists), strict=True):
        expected = [2 * chances[:k].sum() / (k + chances.sum()) for k in range(1, 61)]
        assert expected[cut - 1] == pytest.approx(max(expected))


def test_the_truncated_form_expects_relevant_results_below_the_list() -> None:
    # The left half of the bump is missing, so the same evidence calls for keeping more.
    rng = np.random.default_rng(2)
    lists = [np.sort(np.abs(rng.normal(0.2, 0.5, 300)))[::-1] for _ in range(20)]
    plain = ScoreDistribution().predict(lists)
    truncated = ScoreDistribution(truncated=True).predict(lists)
    assert truncated.mean() > plain.mean()


def test_planted_relevant_results_are_found() -> None:
    rng = np.random.default_rng(3)
    hits = [5, 20, 60]
    lists = [
        np.sort(np.append(rng.exponential(0.1, 400), rng.normal(1.5, 0.1, count)))[::-1]
        for count in hits
    ]
    for truncated in (False, True):
        assert ScoreDistribution(truncated=truncated).predict(lists).tolist() == hits


def test_cuts_do_not_change_with_shift_or_scale() -> None:
    rng = np.random.default_rng(4)
    lists = np.sort(rng.gamma(1.5, size=(10, 120)), axis=1)[:, ::-1]
    ours = ScoreDistribution().predict(lists)
    np.testing.assert_array_equal(ScoreDistribution().predict(lists * 64 + 1024), ours)
