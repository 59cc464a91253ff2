"""What every rule does along a running review, what is learned, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import paretocut as pc
from paretocut.errors import DataFormatError, InvalidParameterError, InvalidScoresError
from paretocut.stopping import Certificate, Quantile, Review, Target, plan

RULES = [Certificate(0.8, 0.9), Quantile(0.8, 0.9), Target(0.8), Target(0.7, seed=3)]


def made_up(count: int, total: int = 600, seed: int = 0) -> list[np.ndarray]:
    """Return reviews whose relevant documents get rarer down the ranking."""
    rng = np.random.default_rng(seed)
    reviews = []
    while len(reviews) < count:
        length = rng.uniform(30, 120)
        relevant = rng.random(total) < 0.5 * np.exp(-np.arange(total) / length) + 0.004
        reviews += [relevant] if relevant.any() else []
    return reviews


def read_by(rule: Any, relevant: np.ndarray) -> Review:
    review: Review = rule.review(total=relevant.size)
    for document in review.to_read():
        review.add(bool(relevant[document]))
    return review


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_replay_reads_as_much_as_the_running_review(rule: Any) -> None:
    for relevant in made_up(6):
        state = read_by(rule, relevant).state
        assert state.stop
        assert state.to_read == 0
        assert state.read == rule.replay(relevant) == rule.replay(relevant.astype(float))
        assert state.reason.startswith("stop: ")


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_state_is_in_order_all_along(rule: Any) -> None:
    relevant = made_up(1)[0]
    review = rule.review(total=relevant.size)
    for document in review.to_read():
        review.add(bool(relevant[document]))
        if document % 20:
            continue
        state = review.state
        assert state.read + state.to_read <= state.total
        assert state.stop == (state.to_read == 0) == (state.to_read_if_none == 0)
        if state.found:
            low, high = state.interval
            assert 0 <= low <= state.expected <= high <= 1
            assert state.at_least <= state.expected
        else:
            assert state.expected is None
            assert state.at_least == 0


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_without_a_find_nothing_is_promised(rule: Any) -> None:
    review = rule.review(total=50)
    for _ in range(49):
        review.add(False)
    assert not review.state.stop
    assert "Nothing can be said" in review.state.reason
    assert review.state.expected is None
    review.add(False)
    assert review.state.reason == "stop: all 50 documents read, 0 of them relevant"
    assert rule.replay(np.zeros(50)) == 50


def test_the_certificate_by_hand() -> None:
    # One find at the top of 100: it stops when one more among the 99 others would be unread with a
    # probability of at most z = 0.05 (1 - z), that is when at most 4 of them are unread.
    assert Certificate(0.95, 0.95).replay([True] + [False] * 99) == 96
    review = read_by(Certificate(0.95, 0.95), np.arange(100) < 1)
    assert review.state.at_least == 1.0
    assert "With 95 % confidence at least 95 % of" in review.state.reason
    assert "Recall: 95 % lower bound 1.00, best guess 1.00 (1.00 to 1.00)." in str(review.state)


@pytest.mark.parametrize("rule", [Certificate(0.9, 0.9), Quantile(0.8, 0.9)], ids=repr)
def test_looking_before_each_find_is_looking_after_every_document(rule: Any) -> None:
    for relevant in made_up(5, 200):
        finds = np.flatnonzero(relevant)
        looks = (
            read
            for read in range(1, 201)
            if (so_far := finds[finds < read]).size and rule.stops(so_far, read, 200)
        )
        assert rule.replay(relevant) == next(looks, 200)


def test_the_present_rate_is_played_on() -> None:
    review = Certificate(0.8).review(total=1000)
    for i in range(100):
        review.add(i % 10 == 9)
    ahead = np.arange(1000) % 10 == 9
    assert 100 + review.state.to_read == Certificate(0.8).replay(ahead)
    ahead[100:] = False
    assert 100 + review.state.to_read_if_none == Certificate(0.8).replay(ahead)


def test_after_its_sample_target_knows_how_far_to_read() -> None:
    relevant = made_up(1)[0]
    rule = Target(0.8)
    review = rule.review(total=relevant.size)
    while not review._sample_is_full:
        review.add(bool(relevant[review._next()]))
    assert review.state.read + review.state.to_read == rule.replay(relevant)


def test_the_rest_may_be_reordered_between_documents() -> None:
    relevant = made_up(1)[0]
    best = np.argsort(~relevant, kind="stable").tolist()
    review = Certificate(0.9).review(total=relevant.size)
    review.add(bool(relevant[0]))
    review.reorder(np.array(best))
    order = []
    for document in review.to_read():
        order.append(document)
        review.add(bool(relevant[document]))
    assert order == [one for one in best if one != 0][: len(order)]
    assert review.state.read < Certificate(0.9).replay(relevant)


def test_target_takes_only_an_order_made_without_its_sample() -> None:
    relevant = np.arange(400) % 4 == 0
    review = Target(0.8).review(total=400)
    while not review._sample_is_full:
        review.add(bool(relevant[review._next()]))
    drawn = review.state.read
    assert review.trainable == {}  # the sample's labels are not handed out
    best = np.argsort(~relevant, kind="stable").tolist()
    with pytest.raises(InvalidParameterError, match="without the labels of the sample"):
        review.reorder(best)
    unread = [document for document in best if document not in review._judged]
    with pytest.raises(InvalidParameterError, match=r"every document of review.unreached, those"):
        review.reorder(unread, only_from_trainable=True)
    # Whoever knows every label without having seen the sample's may put the relevant ones first.
    review.reorder(best, only_from_trainable=True)
    for document in review.to_read():
        review.add(bool(relevant[document]))
    assert drawn < review.state.read < Target(0.8).replay(relevant)
    assert review.state.found >= 80
    passed = review.trainable
    assert set(passed) == set(best[: len(passed)])
    assert all(relevant[document] == answer for document, answer in passed.items())


def test_other_rules_hand_out_all_judgements() -> None:
    review = Certificate().review(total=4)
    review.add(True)
    review.add(False)
    assert review.trainable == {0: True, 1: False}
    assert review.unreached == [2, 3]


def test_reading_what_one_wants_is_allowed_but_not_twice_with_two_answers() -> None:
    review = Certificate().review(total=5)
    review.add(True, document=3)
    review.add(True, document=3)
    assert review.state.read == 1
    with pytest.raises(InvalidParameterError, match="document 3 must have one judgement, got True"):
        review.add(False, document=3)
    with pytest.raises(InvalidParameterError, match="must be a number below 5, got 5"):
        review.add(True, document=5)
    for _ in range(4):
        review.add(False)
    with pytest.raises(
        InvalidParameterError, match=r"total must be the number of all .* got 5 and"
    ):
        review.add(False)


def test_a_document_must_be_judged_before_the_next_is_asked_for() -> None:
    with pytest.raises(InvalidParameterError, match="document 0 must be judged with add"):
        list(Certificate().review(total=3).to_read())
    with pytest.raises(InvalidParameterError, match="documents must be numbers below 3, got"):
        Certificate().review(total=3).reorder(["a"])


@pytest.mark.parametrize("bad", [[], [[True]], [0, 2], [0.0, np.nan], ["yes"], None])
def test_a_replay_refuses_what_is_no_review(bad: Any) -> None:
    for rule in RULES:
        with pytest.raises(InvalidScoresError, match="must be one True or False for each document"):
            rule.replay(bad)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Certificate(1.1), r"Certificate: recall must be in \(0, 1\], got 1.1"),
        (lambda: Certificate(confidence=1), r"Certificate: confidence must be in \(0, 1\)"),
        (lambda: Quantile(reliability=0), r"Quantile: reliability must be in \(0, 1\), got 0"),
        (lambda: Quantile(0.93).level, "recall must be one of 0.7, .* without fit, got 0.93"),
        (lambda: Quantile().fit(made_up(8)), "0.9 needs at least 9 earlier reviews, got 8"),
        (lambda: Quantile().fit([]), "earlier_reviews must hold reviews, got none"),
        (lambda: Certificate().review(total=0), "total must be an integer of at least 1, got 0"),
        (lambda: plan(100, 0.0), "prevalence must be in"),
    ],
)
def test_parameters_are_checked(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make()


def test_an_earlier_review_without_a_find_is_refused() -> None:
    with pytest.raises(InvalidScoresError, match="a relevant document, got none in number 9"):
        Quantile().fit([*made_up(9), np.zeros(5)])


def test_the_level_is_the_kth_lowest_that_earlier_reviews_needed() -> None:
    reviews = made_up(19)
    rule = Quantile(0.9, 0.9).fit(reviews)
    # (19 + 1) * 10 % = 2 reviews may fall short; the one that sets the level does not.
    reached = [one[: rule.replay(one)].sum() / one.sum() >= 0.9 for one in reviews]
    assert reached.count(False) == 1
    assert rule.level == pytest.approx(rule.earlier_.least[1])


def test_copies_of_a_review_count_once() -> None:
    reviews = made_up(9)
    with pytest.raises(InvalidParameterError, match="got 1 and 8 copies of them"):
        Quantile().fit(reviews[:1] * 9)
    once, twice = Quantile().fit(reviews), Quantile().fit(reviews * 2)
    assert twice.level == once.level
    assert (len(twice.earlier_.least), twice.earlier_.copies) == (9, 9)
    assert "like 9 rankings" in read_by(twice, reviews[0]).state.reason


def test_a_group_counts_once_by_its_hardest_review() -> None:
    reviews = made_up(18)
    groups = [i // 2 for i in range(18)]
    rule = Quantile(0.9, 0.9).fit(reviews, groups=groups)
    each = [Quantile(0.9, 0.5).fit([one]).earlier_.least[0] for one in reviews]
    assert rule.earlier_.least == sorted(np.minimum(each[::2], each[1::2]).tolist())
    with pytest.raises(InvalidParameterError, match="the group of each of 18, got 2 names"):
        Quantile().fit(reviews, groups=[1, 2])


def test_the_promise_holds_for_new_reviews_of_the_same_kind() -> None:
    # 400 new reviews after 39 earlier ones, ten times: the reliability is 0.9 on average, and its
    # standard error about 0.02.
    held = []
    for seed in range(10):
        rule = Quantile(0.9, 0.9).fit(made_up(39, 300, seed))
        for one in made_up(40, 300, 1000 + seed):
            held.append(one[: rule.replay(one)].sum() >= 0.9 * one.sum() - 1e-9)
    assert 0.85 < np.mean(held) < 0.96


def test_a_review_unlike_the_earlier_ones_gets_a_warning() -> None:
    rule = Quantile(0.9).fit(made_up(12))
    review = rule.review(total=601)
    review.add(True)
    assert review.state.warnings == (
        "unlike the earlier reviews: 601 documents, they had 600 to 600",
    )
    deep = rule.review(total=600)
    for i in range(400):
        deep.add(i % 20 == 19)
    assert "unlike the earlier reviews: finds at 35 % of the list on average" in str(
        deep.state.warnings
    )
    rich = read_by(rule, np.arange(600) < 400).state
    assert "about 67.83 % of the documents are relevant" in rich.warnings[-1]
    assert read_by(rule, made_up(1)[0]).state.warnings == ()
    assert "reviews like 12 rankings of finished reviews" in rich.reason
    shipped = read_by(Quantile(0.9), made_up(1)[0]).state.reason
    assert "58 rankings of medical reviews that paretocut has learned from" in shipped


def test_a_learned_rule_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    rule = Quantile(0.85, 0.8).fit(made_up(12))
    rule.save(path)
    again = pc.load(path)
    assert again == rule
    assert again.level == rule.level
    text = path.read_text()
    path.write_text(text.replace('"reliability": 0.8', '"reliability": 0.99'))
    with pytest.raises(DataFormatError, match=r"0\.99 needs at least 99 earlier reviews"):
        pc.load(path)
    path.write_text(text.replace('"least": [', '"least": [7,'))
    with pytest.raises(DataFormatError, match="least must be a list whose item 0 is in"):
        pc.load(path)


def test_the_sample_is_the_smallest_that_gives_the_binomial_bound() -> None:
    for recall, finds in ((0.8, 14), (0.9, 29), (0.95, 59)):
        assert Target(recall).sampled == finds
        # Lewis, Yang and Frieder: all of them are reached by chance in at most 5 % of samples.
        assert stats.binom.cdf(finds - 1, finds, recall) >= 0.95
        assert stats.binom.cdf(finds - 2, finds - 1, recall) < 0.95


def test_a_sample_keeps_its_promise_in_any_order() -> None:
    rng = np.random.default_rng(0)
    short = 0
    for seed in range(300):
        relevant = rng.permutation(np.arange(800) < 200)
        review = read_by(Target(0.8, seed=seed), relevant)
        short += review.state.found < 160
    assert short <= 15 + 3 * 4  # 5 % of 300, and three standard errors


def test_the_plan_prices_each_promise() -> None:
    prices = {repr(price.rule): price for price in plan(3000, 0.02, recall=0.9)}
    certificate, *promised, target = prices.values()
    assert [price.rule.reliability for price in promised] == [0.95, 0.9, 0.8]
    assert promised[0].read > promised[1].read >= promised[2].read
    assert certificate.read > promised[1].read
    for price in prices.values():
        assert 0 < price.interval[0] <= price.read <= price.interval[1] <= 3000
    assert target.rule == Target(0.9)
    (only,) = plan(200, 0.001, rules=[Certificate()])
    assert only.interval[1] <= 200
    assert len(plan(100, 0.1, recall=1.0)) == 4  # no sample can promise everything
    million = plan(1_000_000, 0.1, rules=[Certificate(0.9)])[0]
    assert 300_000 < million.read < 900_000
