"""What lists judged in part teach: against SciPy, by hand, and by simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut import relevance as module
from paretocut.errors import InvalidParameterError, NotFittedError
from paretocut.lists import Ragged, RankedLists
from paretocut.relevance import Relevance, learn, shape, shipped_judged
from paretocut.truncators import Consensus

DEPTH = 200


def drawn(count: int, seed: int, coef: Any = None) -> tuple[RankedLists, Any]:
    """Return unjudged lists, and relevance drawn from the model itself."""
    rng = np.random.default_rng(seed)
    lists = RankedLists(-np.sort(-rng.gumbel(size=(count, DEPTH)), axis=1))
    used = np.array(shipped_judged()["mean"]) if coef is None else coef
    p = 1 / (1 + np.exp(-shape(lists.merit) @ used))
    return lists, rng.random(p.size) < p


def asked(lists: RankedLists, relevant: Any, budget: int, errors: Any = (0.0, 0.0), seed: int = 0):
    """Return which results a plan asks about, and what a judge with errors says."""
    known = np.zeros(relevant.size, dtype=bool)
    for i, rank in pc.judging.plan_judgements(lists, budget, seed=seed):
        known[lists.scores.offsets[i] + rank] = True
    luck = np.random.default_rng(seed).random(relevant.size)
    return known, np.where(relevant, luck >= errors[0], luck < errors[1])


def partly(lists: RankedLists, known: Any, said: Any) -> RankedLists:
    return lists.with_relevance(lists.scores.with_values(np.where(known, said, np.nan)))


def test_the_shape_is_worked_out_by_hand() -> None:
    merit = Ragged.from_any([[8.0, 4.0, 0.0], [2.0], [1.0, 1.0]])
    # The range of the first list ends at its lowest score, 0: nothing is below nothing. One of a
    # single result, or of equal ones, is no range, and everything is at its top.
    expected = [[1, 0, 1], [1, np.log(2) / 3, 0.5], [1, np.log(3) / 3, 0]]
    expected += [[1, 0, 1], [1, 0, 1], [1, np.log(2) / 3, 1]]
    np.testing.assert_allclose(shape(merit)[:, :3], expected, atol=1e-12)
    np.testing.assert_allclose(shape(merit)[:, 3], np.array(expected)[:, 1] ** 2)


@pytest.mark.parametrize("errors", [(0.0, 0.001), (0.05, 0.01), (0.2, 0.05)])
def test_the_mode_is_that_of_scipy(errors: tuple[float, float]) -> None:
    optimize = importorskip("scipy.optimize")
    lists, relevant = drawn(40, 1)
    known, said = asked(lists, relevant, 200, errors)
    design, yes = shape(lists.merit)[known], said[known]
    prior = shipped_judged()
    mean, covariance = np.array(prior["mean"]), np.array(prior["covariance"])

    def loss(coef: Any) -> float:
        p = 1 / (1 + np.exp(-design @ coef))
        q = errors[1] * (1 - p) + (1 - errors[0]) * p
        away = np.linalg.solve(np.linalg.cholesky(covariance), coef - mean)
        return float(-np.log(np.where(yes, q, 1 - q)).sum() + 0.5 * away @ away)

    best = optimize.minimize(loss, mean, method="BFGS", options={"gtol": 1e-7})
    model = learn(lists.merit, known, said, errors=errors)
    np.testing.assert_allclose(model.coef, best.x, atol=2e-3)
    assert loss(model.coef) == pytest.approx(best.fun, abs=1e-6)
    assert model.false == pytest.approx(errors[1])


def test_the_number_is_the_sum_of_the_probabilities() -> None:
    lists, relevant = drawn(40, 2)
    known, said = asked(lists, relevant, 300)
    model = learn(lists.merit, known, said, errors=(0.0, 0.001))
    p = model.probabilities(lists.merit)
    assert model.number == pytest.approx(p.values.sum() / 40)
    # Its standard error, by draws of the coefficients instead of a derivative.
    rng = np.random.default_rng(0)
    coefs = rng.multivariate_normal(model.coef, model.covariance, 2000)
    logits = shape(lists.merit) @ coefs.T
    totals = np.log((1 / (1 + np.exp(-logits))).sum(axis=0) / 40)
    assert model.spread == pytest.approx(totals.std(), rel=0.15)
    low, high = model.interval
    assert np.log(high / low) == pytest.approx(2 * 1.96 * model.spread, rel=1e-3)


def test_probabilities_never_rise_down_a_list() -> None:
    lists, _ = drawn(5, 3)
    # Rising at deep ranks, if nothing were done.
    model = Relevance(np.array([1.0, -6.0, 0.5, 2.5]), np.eye(4), 0.0, 0.0, 1.0, 1e9)
    raw = lists.merit.with_values(shape(lists.merit) @ model.coef)
    assert any((np.diff(part) > 0).any() for part in raw)
    assert all((np.diff(part) <= 0).all() for part in model.probabilities(lists.merit))


def test_one_false_yes_deep_in_a_list_does_not_stand_for_hundreds() -> None:
    rng = np.random.default_rng(0)
    lists = RankedLists(-np.sort(-rng.gumbel(size=(20, 1000)), axis=1))
    relevance = np.full((20, 1000), np.nan)
    relevance[:, [0, 1, 4, 10, 30, 90, 200, 400, 600, 900]] = 0
    relevance[:, 0] = 1
    clean = Consensus().fit(lists.with_relevance(relevance))
    relevance[7, 900] = 1
    wrong = Consensus().fit(lists.with_relevance(relevance))
    # One of 20 answers in the last stratum: a plain sum makes it 489 / 20 = 24 results a list.
    assert wrong.number_ - clean.number_ < 3
    assert wrong.learned_.relevance.false > clean.learned_.relevance.false
    assert wrong.interval_[1] > clean.interval_[1]


def test_stated_errors_are_taken_for_what_they_are() -> None:
    lists, relevant = drawn(60, 4)
    number = relevant.sum() / 60
    known, said = asked(lists, relevant, 2500, (0.4, 0.0))
    naive = Consensus(judge_errors=(0.0, 0.0)).fit(partly(lists, known, said))
    told = Consensus(judge_errors=(0.4, 0.0)).fit(partly(lists, known, said))
    assert naive.number_ == pytest.approx(0.6 * number, rel=0.15)
    assert told.number_ == pytest.approx(number, rel=0.15)


def test_lists_judged_in_full_teach_what_they_did() -> None:
    lists, relevant = drawn(30, 5)
    whole = lists.with_relevance(lists.scores.with_values(relevant))
    grades = lists.with_relevance(lists.scores.with_values(relevant.astype(float)))
    for metric in ("f1", "penalized_dcg", "accuracy"):
        expected = Consensus(metric).fit(whole)
        found = Consensus(metric).fit(grades)
        assert found.strategy_ == expected.strategy_ != "partly_judged"
        assert found.predict(lists).tolist() == expected.predict(lists).tolist()


def test_twenty_lists_judged_in_full_are_worth_more_than_the_others() -> None:
    lists, relevant = drawn(30, 6)
    grades = relevant.reshape(30, DEPTH).astype(float)
    grades[20:, 3:] = np.nan
    found = Consensus().fit(lists.with_relevance(grades))
    expected = Consensus().fit(lists[:20].with_relevance(grades[:20]))
    assert found.strategy_ == "vote"
    assert found.queries_ == 20
    assert found.predict(lists).tolist() == expected.predict(lists).tolist()
    grades[19, 3:] = np.nan
    assert Consensus().fit(lists.with_relevance(grades)).strategy_ == "partly_judged"


@pytest.mark.parametrize(
    "metric", ["f1", "f0.5", "penalized_dcg", "accuracy", "precision", "utility(1,1)"]
)
def test_every_metric_has_its_cut(metric: str, tmp_path: Path) -> None:
    lists, relevant = drawn(30, 7)
    known, said = asked(lists, relevant, 200)
    model = Consensus(metric).fit(partly(lists, known, said))
    cuts = model.cut_batch(lists)
    assert ((cuts.k >= 0) & (cuts.k <= DEPTH)).all()
    assert "learned from 30 judged queries" in cuts[0].reason
    assert f"about {model.number_:.2g} relevant results" in cuts[0].reason
    model.save(tmp_path / "model.json")
    again = pc.load(tmp_path / "model.json")
    assert again.predict(lists).tolist() == cuts.k.tolist()
    assert again.interval_ == model.interval_
    assert np.all(model.predict_proba(lists).values <= 1)


def test_cuts_are_nearly_those_of_the_true_number() -> None:
    lists, relevant = drawn(60, 8)
    known, said = asked(lists, relevant, 200)
    cuts = Consensus().fit(partly(lists, known, said)).predict(lists)
    truth = Consensus(expect=float(relevant.sum() / 60)).predict(lists)
    assert np.abs(np.log((cuts + 1) / (truth + 1))).mean() < 0.35


def test_a_word_counts_as_one_more_estimate() -> None:
    lists, relevant = drawn(30, 15)
    known, said = asked(lists, relevant, 60)
    part = partly(lists, known, said)
    alone, both = Consensus().fit(part), Consensus(expect="dozens").fit(part)
    # Two estimates of a logarithm, weighed by their precisions: that of a word is 1 / 0.6^2.
    spread = np.log(alone.interval_[1] / alone.number_) / 1.959964
    expected = (np.log(alone.number_) / spread**2 + np.log(25) / 0.36) / (spread**-2 + 1 / 0.36)
    assert np.log(both.number_) == pytest.approx(expected, rel=1e-6)
    assert alone.number_ < both.number_ < 25
    low, high = both.interval_
    assert high / low < alone.interval_[1] / alone.interval_[0]
    assert both.predict_proba(lists).values.sum() > alone.predict_proba(lists).values.sum()


def test_nothing_judged_and_impossible_errors_are_refused() -> None:
    lists, relevant = drawn(5, 9)
    nothing = lists.with_relevance(np.full((5, DEPTH), np.nan))
    with pytest.raises(InvalidParameterError, match="at least one judged result to learn from"):
        Consensus().fit(nothing)
    known, said = asked(lists, relevant, 20)
    with pytest.raises(InvalidParameterError, match="fully judged if there is a base"):
        Consensus("accuracy", base=Consensus()).fit(partly(lists, known, said))
    for errors in ((0.5, 0.5), (-0.1, 0.1), 0.1, (0.1,), ("a", 0)):
        with pytest.raises(InvalidParameterError, match="judge_errors must be two shares"):
            Consensus(judge_errors=errors).fit(partly(lists, known, said))  # type: ignore[arg-type]
    with pytest.raises(NotFittedError, match="come from fit on lists judged in part"):
        Consensus().number_  # noqa: B018


def test_the_loss_falls_with_what_is_known() -> None:
    lists, relevant = drawn(60, 10)
    losses = []
    for budget in (25, 200, 3000):
        known, said = asked(lists, relevant, budget)
        losses.append(learn(lists.merit, known, said).loss(lists.merit))
    assert losses[0] > losses[1] > losses[2] >= 0
    sure = Relevance(np.zeros(4), np.eye(4), 0.0, 1.0, 0.0, 1e9)
    # What is left is the tenth of the belief that stays with the upper third.
    assert sure.loss(lists.merit) < 0.003


def test_the_loss_is_that_of_the_cuts_under_the_number_at_either_end() -> None:
    lists, _ = drawn(4, 11)
    model = Relevance(np.zeros(4), np.eye(4), 0.0, np.log(5.0), 0.4, 1e9)
    now = Consensus(expect=5.0).predict(lists)
    best = Consensus(expect=model.interval[1]).predict(lists)
    values = module._expected(lists.merit, np.log(model.interval[1]), best, now)
    assert values[0].mean() >= values[1].mean() - 1e-9
    assert model.loss(lists.merit) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "errors"), [(50, (0.0, 0.0)), (200, (0.0, 0.0)), (200, (0.2, 0.03))]
)
def test_intervals_cover_what_they_promise(budget: int, errors: tuple[float, float]) -> None:
    """Systems drawn from the prior; 300 intervals of 95 %.

    With 300 draws the share has a standard error of 1.3 %. Below 90 %, the model would be wrong.
    A judge who misses 20 % is taken to miss 5 %, which the interval does not know of.
    """
    prior = shipped_judged()
    rng = np.random.default_rng(budget)
    inside = []
    for seed in range(300):
        coef = rng.multivariate_normal(prior["mean"], prior["covariance"])
        lists, relevant = drawn(60, seed + 1000, coef)
        known, said = asked(lists, relevant, budget, errors, seed)
        low, high = learn(lists.merit, known, said).interval
        inside.append(low <= max(relevant.sum() / 60, 0.02) <= high)
    assert np.mean(inside) > 0.9


# --- evaluation -----------------------------------------------------------------------------------


def test_estimates_are_near_the_values_of_full_judgements() -> None:
    lists, relevant = drawn(80, 12)
    known, said = asked(lists, relevant, 400)
    chosen = {"ten": pc.truncators.FixedK(10), "half": Consensus()}
    found = pc.evaluate(chosen, partly(lists, known, said), ("f1", "penalized_dcg"), folds=2)
    whole = lists.with_relevance(lists.scores.with_values(relevant))
    truth = pc.evaluate(chosen, whole, ("f1", "penalized_dcg"), folds=2)
    assert found.ceiling == ()
    assert "estimated from 400 judged of 16000 results" in str(found)
    for metric in ("f1", "penalized_dcg"):
        own, true = found[metric, "ten"], truth[metric, "ten"]
        # Within three standard errors.
        assert abs(own.mean - true.mean) < 3 / 3.92 * (own.high - own.low)
        assert own.mean_k == true.mean_k == 10


def test_estimates_of_lists_that_lack_one_judgement_are_nearly_exact() -> None:
    lists, relevant = drawn(30, 13)
    grades = relevant.reshape(30, DEPTH).astype(float)
    whole = pc.evaluate(["fixed_k"], lists.with_relevance(grades), ("f1",), folds=2)
    grades[0, 100] = np.nan
    found = pc.evaluate(["fixed_k"], lists.with_relevance(grades), ("f1",), folds=2)
    own, true = found["f1", "fixed_k"], whole["f1", "fixed_k"]
    assert own.mean == pytest.approx(true.mean, abs=1e-3)
    assert (own.low, own.high) == pytest.approx((true.low, true.high), abs=2e-3)


def test_estimates_make_no_tests_and_truncators_that_need_all_judgements_refuse() -> None:
    lists, relevant = drawn(10, 14)
    known, said = asked(lists, relevant, 100)
    part = partly(lists, known, said)
    with pytest.raises(InvalidParameterError, match="baseline must be None for lists judged in"):
        pc.evaluate(["fixed_k", "consensus"], part, baseline="fixed_k")
    with pytest.raises(pc.errors.ParetocutError, match=r"'global_k' failed .* nobody judged"):
        pc.evaluate(["global_k"], part)
    learned = pc.evaluate(["consensus"], part, ("f1",), folds=2)
    assert 0 < learned["f1", "consensus"].low < learned["f1", "consensus"].high <= 1


@pytest.mark.slow
def test_intervals_of_estimates_cover_what_they_promise() -> None:
    """Systems drawn from the prior, 30 of 300 lists, 150 judged results, 100 intervals of 95 %.

    The truth is the mean over all lists of the system. The judge makes no errors and is taken to
    miss 5 %, so estimates are a third of a standard error too high: 93 % are expected to cover,
    with a standard error of 2.5 %.
    """
    prior = shipped_judged()
    rng = np.random.default_rng(5)
    inside: dict[str, list[bool]] = {"f1": [], "penalized_dcg": []}
    for seed in range(100):
        coef = rng.multivariate_normal(prior["mean"], prior["covariance"])
        lists, relevant = drawn(300, seed, coef)
        whole = lists.with_relevance(lists.scores.with_values(relevant))
        truth = {name: pc.metrics.get(name)(whole, 10).mean() for name in inside}
        part = lists[:30]
        known, said = asked(part, relevant[: 30 * DEPTH], 150, seed=seed)
        judged = partly(part, known, said)
        found = pc.evaluate(
            ["fixed_k"], judged, ("f1", "penalized_dcg"), test=judged, resamples=500
        )
        for name, value in truth.items():
            line = found[name, "fixed_k"]
            inside[name].append(line.low <= value <= line.high)
    assert np.mean(inside["f1"]) > 0.87
    assert np.mean(inside["penalized_dcg"]) > 0.87


def test_short_lists_that_are_soon_complete_do_not_stand_for_the_long_ones() -> None:
    rng = np.random.default_rng(0)
    sizes = [5] * 22 + [200] * 40
    scores = [-np.sort(-rng.gumbel(size=size)) for size in sizes]
    relevant = [np.arange(size) < (1 if size == 5 else 40) for size in sizes]
    docs = [[f"{i}-{j}" for j in range(size)] for i, size in enumerate(sizes)]
    good = {
        name: bool(yes)
        for part, own in zip(docs, relevant, strict=True)
        for name, yes in zip(part, own, strict=True)
    }
    judged = pc.judge(pc.RankedLists(scores, doc_ids=docs), lambda q, d: good[d], 320)
    truncator = Consensus().fit(judged)
    assert truncator.strategy_ == "partly_judged"
    assert 10 < truncator.number_ < 60
    whole = pc.RankedLists(scores, relevance=relevant)
    grades = [list(own) if i < 50 else [None] * len(own) for i, own in enumerate(relevant)]
    assert Consensus().fit(whole.with_relevance(grades)).strategy_ == "vote"


def test_no_estimate_goes_beyond_the_lists() -> None:
    rng = np.random.default_rng(0)
    scores = -np.sort(-rng.gumbel(size=(30, 20)), axis=1)
    docs = [[f"{i}-{j}" for j in range(20)] for i in range(30)]
    judged = pc.judge(pc.RankedLists(scores, doc_ids=docs), lambda q, d: True, 60)
    truncator = Consensus().fit(judged)
    assert truncator.number_ <= truncator.interval_[1] <= 20


@pytest.mark.parametrize("share", [0.0, 0.15])
def test_whether_there_is_an_answer_keeps_all_or_nothing(share: float) -> None:
    rng = np.random.default_rng(0)
    scores = -np.sort(-rng.gumbel(size=(40, 100)), axis=1)
    docs = [[f"{i}-{j}" for j in range(100)] for i in range(40)]
    lists = pc.RankedLists(scores, doc_ids=docs)
    judged = pc.judge(lists, lambda q, d: int(d.split("-")[1]) < 100 * share, 300)
    cuts = Consensus("accuracy").fit(judged).predict(lists)
    assert set(cuts.tolist()) == {100 if share else 0}
