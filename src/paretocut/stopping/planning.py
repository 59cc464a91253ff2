"""The price of each promise, before the first document is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from paretocut.lists import IntArray
from paretocut.schema.parameters import check_positive_int, check_probability
from paretocut.stopping.review import Rule
from paretocut.stopping.rules import Certificate, Quantile, learned
from paretocut.stopping.target import Target

_DRAWS = 3
_MOST = 500  # relevant documents of a simulated review


@dataclass(frozen=True)
class Price:
    """The cost of one rule.

    Attributes
    ----------
    rule
        The rule.
    read
        Documents to read with a ranking of medium quality.
    interval
        The same with a good and with a poor ranking: the better and the worse quarter of the
        rankings that the package has seen.
    """

    rule: Rule
    read: int
    interval: tuple[int, int]


def plan(
    total: int, prevalence: float, *, recall: float = 0.95, rules: Iterable[Rule] | None = None
) -> list[Price]:
    """Return the cost of each promise, in documents to read.

    Reviews are simulated, with as many relevant documents as guessed, spread over the ranking as in
    58 rankings of 43 medical reviews. With more than 500 relevant documents a smaller review is
    simulated instead, which makes the prices a little too high.

    Parameters
    ----------
    total
        Number of documents.
    prevalence
        The guessed share of relevant ones.
    recall
        Share of the relevant documents to find, for the usual rules.
    rules
        Rules to compare. By default `Certificate`, `Quantile` with a reliability of 0.95, 0.9 and
        0.8, and `Target`.

    Examples
    --------
    >>> for price in plan(5000, 0.02, recall=0.9):
    ...     print(f"{price.read} with {price.rule}")
    3755 with Certificate(recall=0.9, confidence=0.95)
    3935 with Quantile(recall=0.9, reliability=0.95)
    3435 with Quantile(recall=0.9, reliability=0.9)
    3203 with Quantile(recall=0.9, reliability=0.8)
    3697 with Target(recall=0.9, confidence=0.95, finds=None, seed=0)
    """
    count = check_positive_int(total, who="plan", name="total")
    share = check_probability(prevalence, who="plan", name="prevalence")
    if rules is None:
        promised = [Quantile(recall, reliability) for reliability in (0.95, 0.9, 0.8)]
        rules = [Certificate(recall), *promised, *([Target(recall)] if recall < 1 else [])]
    size = min(count, math.ceil(_MOST / share))
    reviews = [_draws(size, share, curve) for curve in learned()["depths"]]
    prices = []
    for rule in rules:
        good, middling, poor = (
            round(np.mean([rule.replay(one) for one in some]) * count / size) for some in reviews
        )
        prices.append(Price(rule, middling, (good, poor)))
    return prices


def _draws(total: int, share: float, curve: list[float]) -> list[IntArray]:
    """Return simulated reviews: 1 for relevant documents, at depths drawn from a curve."""
    rng, reviews = np.random.default_rng(0), []
    for _ in range(_DRAWS):
        relevant = max(round(share * total), 1)
        depth = np.interp(rng.random(relevant), np.linspace(0, 1, len(curve)), curve)
        # Two at one place: the second moves to the next free one.
        places = np.sort((depth * total).astype(np.int64))
        places = np.maximum.accumulate(places - np.arange(relevant)) + np.arange(relevant)
        review = np.zeros(total, dtype=np.int64)
        review[np.minimum(places, total - relevant + np.arange(relevant))] = 1
        reviews.append(review)
    return reviews
