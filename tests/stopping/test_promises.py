"""Simulations that try to break each promise of `docs/promises.md`, with their error rates.

A promise of 95 % is refuted if more than 5 % of the reviews, and three standard errors, fall short.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from paretocut.stopping import Certificate, Quantile, Target

pytestmark = pytest.mark.slow

Relevant = NDArray[np.bool_]


def most_short(reviews: int, share: float = 0.05) -> float:
    return reviews * share + 3 * (reviews * share * (1 - share)) ** 0.5


def in_random_order(rng: np.random.Generator, total: int, relevant: int) -> Relevant:
    return rng.permutation(np.arange(total) < relevant)


def well_begun(rng: np.random.Generator, total: int, relevant: int) -> Relevant:
    """70 % of the relevant documents in the first fifth, the rest anywhere below."""
    early, cut = round(0.7 * relevant), total // 5
    return np.concatenate(
        [in_random_order(rng, cut, early), in_random_order(rng, total - cut, relevant - early)]
    )


def in_steps(rng: np.random.Generator, total: int, relevant: int) -> Relevant:
    """Each tenth of the list holds 40 % of the relevant documents left, or its fair share."""
    parts, left, size = [], relevant, total // 10
    for unread in range(10, 1, -1):
        here = min(math.ceil(max(0.4, 1 / unread) * left), size)
        parts.append(in_random_order(rng, size, here))
        left -= here
    return np.concatenate([*parts, in_random_order(rng, total - 9 * (total // 10), left)])


@pytest.mark.parametrize("order", [in_random_order, well_begun, in_steps])
@pytest.mark.parametrize("recall", [0.8, 0.9, 0.95])
@pytest.mark.parametrize(
    ("total", "relevant"), [(300, 12), (1000, 10), (1000, 200), (3000, 60), (3000, 300)]
)
def test_certificate(
    order: Callable[..., Relevant], recall: float, total: int, relevant: int
) -> None:
    rng, rule, short = np.random.default_rng(0), Certificate(recall), 0
    for _ in range(1000):
        review = order(rng, total, relevant)
        short += review[: rule.replay(review)].sum() < recall * relevant - 1e-9
    assert short <= most_short(1000)


def test_the_lower_bound_holds_at_all_looks_together() -> None:
    rng, rule, wrong = np.random.default_rng(0), Certificate(0.9), 0
    for _ in range(200):
        review = in_random_order(rng, 300, 20)
        running = rule.review(total=300)
        broken = False
        for i, answer in enumerate(review):
            running.add(bool(answer))
            if i % 20 == 19 and running._finds:
                broken |= running._recall()[0] > len(running._finds) / 20 + 1e-9
        wrong += broken
    assert wrong <= most_short(200)


def test_certificate_breaks_in_a_ranking_worse_than_random() -> None:
    # A group of relevant documents at the very end: the page says so.
    review = np.arange(2000) % 2000 < 50
    review[-50:] = True
    assert review[: Certificate(0.8).replay(review)].mean() < 0.5
    assert Certificate(0.8).replay(review) < 1000


class Model:
    """Scores of documents with features, learned from some labels by the difference of means."""

    def __init__(self, rng: np.random.Generator, relevant: Relevant, apart: float) -> None:
        self.features = rng.normal(size=(relevant.size, 5)) + apart * relevant[:, None]

    def scores(self, labels: dict[int, bool]) -> NDArray[np.float64]:
        known = np.fromiter(labels, dtype=np.int64)
        answers = np.fromiter(labels.values(), dtype=bool)
        if answers.all() or not answers.any():
            return np.zeros(len(self.features))
        found = self.features[known]
        return self.features @ (found[answers].mean(axis=0) - found[~answers].mean(axis=0))


def read_with(review: Any, relevant: Relevant, scores: Callable[[dict[int, bool]], Any]) -> Any:
    for i, document in enumerate(review.to_read()):
        review.add(bool(relevant[document]))
        if i % 50 == 49 and review.trainable:
            best = np.argsort(-scores(review.trainable), kind="stable")
            review.reorder(best.tolist(), only_from_trainable=True)
    return review.state


@pytest.mark.parametrize("apart", [0.2, 1.0, np.inf], ids=["weak", "good", "perfect"])
def test_target_with_a_model_that_reorders_every_50_documents(apart: float) -> None:
    rng, short, read, without = np.random.default_rng(0), 0, [], []
    for seed in range(1000):
        relevant = in_random_order(rng, 800, 120)
        rule = Target(0.8, seed=seed)
        model = Model(rng, relevant, 0 if np.isinf(apart) else apart)
        perfect = relevant.astype(float)
        state = read_with(
            rule.review(total=800),
            relevant,
            (lambda labels, best=perfect: best) if np.isinf(apart) else model.scores,
        )
        short += state.found < 96
        read.append(state.read)
        without.append(rule.replay(relevant))
    assert short <= 50
    assert np.mean(read) < np.mean(without)


def test_target_is_broken_by_a_model_that_saw_the_sample_so_it_is_refused() -> None:
    relevant = in_random_order(np.random.default_rng(0), 800, 120)
    review = Target(0.8).review(total=800)
    known: dict[int, bool] = {}
    while len(known) < 50:
        document = review._next()
        known[document] = bool(relevant[document])
        review.add(known[document])
    order = sorted(range(800), key=lambda j: -known.get(j, 0.5))
    with pytest.raises(ValueError, match="without the labels of the sample"):
        review.reorder(order)


def fading(rng: np.random.Generator, length: float) -> Relevant:
    while True:
        review = rng.random(400) < 0.5 * np.exp(-np.arange(400) / length) + 0.004
        if review.any():
            return review


def test_quantile_on_reviews_like_the_earlier_ones() -> None:
    # 40 new reviews after 39 earlier ones, 25 times; the standard error over fits is about 0.01.
    rng, held = np.random.default_rng(0), []
    for _ in range(25):
        rule = Quantile(0.9, 0.9).fit([fading(rng, rng.uniform(30, 120)) for _ in range(39)])
        for _ in range(40):
            new = fading(rng, rng.uniform(30, 120))
            held.append(new[: rule.replay(new)].sum() >= 0.9 * new.sum() - 1e-9)
    assert np.mean(held) >= 0.9 - 0.03


def test_quantile_notices_a_poorer_ranking() -> None:
    # Learned from good rankings, used on random orders: it falls short, and nearly always says so.
    rng = np.random.default_rng(0)
    rule = Quantile(0.9, 0.9).fit([fading(rng, rng.uniform(20, 40)) for _ in range(39)])
    short = noticed = 0
    for _ in range(100):
        review = in_random_order(rng, 400, 25)
        running = rule.review(total=400)
        for document in running.to_read():
            running.add(bool(review[document]))
        state = running.state
        if state.found < 0.9 * 25 - 1e-9:
            short += 1
            noticed += any("finds at" in warning for warning in state.warnings)
    assert short >= 10
    assert noticed >= 0.9 * short
