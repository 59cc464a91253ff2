"""Conformal risk control: its guarantee by simulation, its families of cuts, its edges."""

from __future__ import annotations

import numpy as np
import pytest

from paretocut.background import Background, QueryScale
from paretocut.errors import InvalidParameterError
from paretocut.lists import RankedLists
from paretocut.truncators import (
    Calibrated,
    Conformal,
    FixedK,
    GlobalK,
    LargestGap,
    ScoreThreshold,
    Surprise,
)
from paretocut.truncators.base import Truncator
from paretocut.truncators.promises import _fdr, _fnr

DEPTH = 25


def draw(rng: np.random.Generator, count: int) -> RankedLists:
    """Return lists in which the chance of relevance falls with the score, at a query's own rate."""
    scores = np.sort(rng.normal(size=(count, DEPTH)) + rng.normal(size=(count, 1)), axis=1)
    steepness = rng.uniform(0.5, 3.0, size=(count, 1))
    relevant = rng.random((count, DEPTH)) < 1 / (1 + np.exp(-steepness * (scores - 1)))
    return RankedLists(scores, relevant)


def losses(lists: RankedLists, cuts: np.ndarray, loss: str) -> np.ndarray:
    function = {"fnr": _fnr, "fdr": _fdr}[loss]
    parts = zip(lists.relevant, cuts, strict=True)
    return np.array([function(part, 0)[k] for part, k in parts])


def mean_risk(base: Truncator, loss: str, level: float, *, n: int, draws: int) -> np.ndarray:
    """Return the risk on fresh lists after each of many calibrations."""
    rng = np.random.default_rng(n)
    risks = []
    for _ in range(draws):
        truncator = Conformal(base, loss=loss, level=level).fit(draw(rng, n))
        fresh = draw(rng, 50)
        risks.append(losses(fresh, truncator.predict(fresh), loss).mean())
    return np.array(risks)


@pytest.mark.parametrize("level", [0.1, 0.3])
@pytest.mark.parametrize("n", [pytest.param(12, marks=pytest.mark.slow), 60])
@pytest.mark.parametrize(
    "base",
    [
        ScoreThreshold("minmax"),
        GlobalK(),
        pytest.param(ScoreThreshold("raw"), marks=pytest.mark.slow),
        pytest.param(LargestGap(), marks=pytest.mark.slow),
        pytest.param(Surprise(), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_expected_fnr_stays_below_the_level_over_calibration_draws(
    base: Truncator, n: int, level: float
) -> None:
    risks = mean_risk(base, "fnr", level, n=n, draws=300)
    # Four standard errors: false alarms in about 1 of 30,000 runs if the risk is at the level.
    assert risks.mean() <= level + 4 * risks.std() / np.sqrt(risks.size)
    # The guarantee is tight up to 1 / n and the steps of the family: not met by keeping it all.
    if n == 60:
        assert risks.mean() >= level - 0.05


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.2, 0.4])
def test_expected_fdr_stays_near_the_level_with_many_calibration_lists(level: float) -> None:
    risks = mean_risk(ScoreThreshold("raw"), "fdr", level, n=200, draws=200)
    assert level - 0.06 <= risks.mean() <= level + 4 * risks.std() / np.sqrt(risks.size)


def test_the_losses_equal_hand_computed_shares() -> None:
    relevant = np.array([True, False, True])
    np.testing.assert_allclose(_fnr(relevant, 9), [1, 1 / 2, 1 / 2, 0])
    np.testing.assert_allclose(_fdr(relevant, 9), [0, 0, 1 / 2, 1 / 3])
    assert _fnr(np.array([False]), 0).tolist() == [0, 0]
    assert _fdr(np.zeros(0, dtype=bool), 0).tolist() == [0]


def test_the_threshold_equals_the_definition() -> None:
    # 19 lists lose 1, 1/2, 0 at cuts 0, 1, 2; (19 L + 1) / 20 <= 0.53 allows L <= 0.505.
    documents = [[f"{i}-{rank}" for rank in range(3)] for i in range(19)]  # so none is a copy
    scores, relevance = np.tile([3.0, 2.0, 1.0], (19, 1)), np.tile([1, 1, 0], (19, 1))
    lists = RankedLists(scores, relevance, doc_ids=documents)
    assert Conformal(ScoreThreshold(), level=0.53).fit(lists).threshold_ == 3.0
    assert Conformal(ScoreThreshold(), level=0.52).fit(lists).threshold_ == 2.0
    # fdr is 0, 0, 0, 1/3: everything passes at 1/3 * 19/20 + 1/20 = 0.3667.
    strict = Conformal(ScoreThreshold(), loss="fdr", level=0.36).fit(lists)
    assert strict.threshold_ == 2.0
    assert Conformal(ScoreThreshold(), loss="fdr", level=0.37).fit(lists).threshold_ == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 5, 20])
def test_the_mean_loss_is_kept_however_often_a_list_is_repeated(copies: int) -> None:
    rng, risks = np.random.default_rng(copies), []
    for _ in range(400):
        calibrating = draw(rng, 200 // copies)
        repeated = calibrating[np.repeat(np.arange(len(calibrating)), copies)]
        truncator = Conformal(ScoreThreshold("raw"), level=0.15).fit(repeated)
        assert truncator.queries_ == len(calibrating)
        fresh = draw(rng, 50)
        risks.append(losses(fresh, truncator.predict(fresh), "fnr").mean())
    # The mean of 400 risks, three standard errors above: a false alarm in 1 of 700.
    assert np.mean(risks) <= 0.15 + 3 * np.std(risks) / 20


def test_groups_that_the_caller_names_count_once() -> None:
    lists = draw(np.random.default_rng(0), 60)
    assert Conformal(ScoreThreshold("raw")).fit(lists, groups=np.arange(60) // 3).queries_ == 20


def test_too_few_lists_for_the_level_give_the_safe_end() -> None:
    lists = RankedLists([[2.0, 1.0]] * 4, [[1, 0]] * 4)
    assert Conformal(ScoreThreshold(), level=0.1).fit(lists).predict(lists).tolist() == [2] * 4
    nothing = Conformal(ScoreThreshold(), loss="fdr", level=0.1).fit(lists)
    assert nothing.predict(lists).tolist() == [0] * 4


def test_a_users_loss_decides_which_end_is_safe() -> None:
    rng = np.random.default_rng(0)
    lists, fresh = draw(rng, 300), draw(rng, 1000)

    def length(relevant: np.ndarray, num_relevant: int) -> np.ndarray:
        return np.arange(relevant.size + 1) / DEPTH

    cuts = Conformal(ScoreThreshold(), loss=length, level=0.2).fit(lists).predict(fresh)
    assert cuts.mean() / DEPTH == pytest.approx(0.2, abs=0.03)
    same = Conformal(ScoreThreshold(), loss=_fnr, level=0.2).fit(lists)
    assert same.threshold_ == Conformal(ScoreThreshold(), level=0.2).fit(lists).threshold_
    with pytest.raises(InvalidParameterError, match=r"within \[0, 1\], got values from 0 to 25"):
        Conformal(ScoreThreshold(), loss=lambda r, _: np.arange(r.size + 1)).fit(lists)


def test_the_family_of_a_fixed_cut_is_every_fixed_cut() -> None:
    rng = np.random.default_rng(1)
    lists = draw(rng, 100)
    cuts = Conformal(FixedK(7), level=0.3).fit(lists).predict(lists)
    assert len(set(cuts.tolist())) == 1
    means = [losses(lists, np.full(100, k), "fnr").mean() for k in range(DEPTH + 1)]
    expected = next(k for k, mean in enumerate(means) if (100 * mean + 1) / 101 <= 0.3)
    assert cuts[0] == expected


def test_a_base_that_learns_is_trained_on_other_lists_than_those_that_calibrate() -> None:
    lists = draw(np.random.default_rng(2), 40)
    base = GlobalK()
    truncator = Conformal(base).fit(lists)
    train, _ = lists.split(0.5, seed=0)
    assert truncator.base_.k_ == GlobalK().fit(train).k_
    assert not hasattr(base, "k_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "minmax"}, "Conformal: base must be a truncator, got 'minmax'"),
        ({"loss": "recall"}, "Conformal: loss must be one of 'fnr', 'fdr', got 'recall'"),
        ({"level": 1.0}, r"Conformal: level must be in \(0, 1\), got 1.0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    lists = draw(np.random.default_rng(3), 4)
    with pytest.raises(InvalidParameterError, match=message):
        Conformal(**{"base": ScoreThreshold(), **options}).fit(lists)
    with pytest.raises(InvalidParameterError, match=r"must be at least 2.* got 1"):
        Conformal(GlobalK()).fit(lists[:1])


def test_a_base_that_needs_the_texts_of_queries_is_refused() -> None:
    # Its scores were taken as they are, not divided by the weight of the query.
    best = np.random.default_rng(0).normal(5.0, 1.0, 60)
    lexical = Calibrated(FixedK(2), Background.fit(best)).record(
        scale=QueryScale.from_texts(["red moss", "green moss"])
    )
    lists = RankedLists([[9.0, 1.0]] * 4, relevance=[[1, 0]] * 4)
    assert lexical.needs_queries
    with pytest.raises(InvalidParameterError, match=r"^Conformal: base must .* no texts"):
        Conformal(lexical).fit(lists)
