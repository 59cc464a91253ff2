"""What each rule finds and reads on finished reviews, and simulations that try to break them.

Whatever is learned is learned from the other reviews: both rankings of a review are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from experiments.command import say
from experiments.stop.reviews import RUNS, Ranking, rankings
from experiments.stop.rivals import knee, perfect, poisson, run_of_irrelevant
from paretocut.stopping import Certificate, Quantile, Target, plan
from paretocut.stopping.rules import Earlier
from paretocut.stopping.urns import needed

__all__ = ["PARTS", "TARGETS", "measure", "simulated"]

TARGETS = (0.8, 0.9, 0.95)
RELIABILITIES = (0.95, 0.9, 0.8)
LOOKS = (0.05, *np.arange(0.1, 0.95, 0.1).round(1))  # shares read at which the state is looked at
# Groups of rankings with one ranking a review; `Quantile` learns from one and is used on another.
GROUPS: dict[str, Callable[[Ranking], bool]] = {
    "Waterloo": lambda one: "Waterloo" in one.run,
    "AMC": lambda one: "AMC" in one.run,
    "2019": lambda one: "2019" in one.run,
    "2019, intervention": lambda one: "intervention" in one.run,
    "2019, diagnosis": lambda one: "diagnosis" in one.run,
    "few relevant": lambda one: "Waterloo" not in one.run and one.relevant.mean() <= FEW,
    "many relevant": lambda one: "Waterloo" not in one.run and one.relevant.mean() > FEW,
}
FEW = 0.02  # splits AMC and 2019 about in half
TRANSFERS = (
    *((a, b) for a in ("Waterloo", "AMC", "2019") for b in ("Waterloo", "AMC", "2019") if a != b),
    ("2019, intervention", "2019, diagnosis"),  # the eight of diagnosis are too few to learn from
    ("few relevant", "many relevant"),
    ("many relevant", "few relevant"),
)
SEEDS = 3  # samples of `Target`
RANDOM = 1000  # simulated reviews of each kind
RANDOM_KINDS = ((1000, 10), (1000, 50), (1000, 200), (5000, 50), (5000, 250))
PARTS: dict[str, Callable[[Ranking], bool]] = {
    **{run: (lambda one, run=run: one.run == run) for run in RUNS},  # type: ignore[misc]
    "at most 1 % relevant": lambda one: one.relevant.mean() <= 0.01,
    "1 to 5 % relevant": lambda one: 0.01 < one.relevant.mean() <= 0.05,
    "more than 5 % relevant": lambda one: one.relevant.mean() > 0.05,
}


Stop: TypeAlias = tuple[Ranking, int, int]
"""A ranking, how many documents were read, and how many relevant ones were found."""


class AsPublished(Quantile):
    """The level learned for the test as `Certificate` makes it."""

    @property
    def tested(self) -> float:
        """The recall that is promised."""
        return self.recall


@cache
def _least(kind: type[Quantile], recall: float) -> list[float]:
    """Return the least p-value of each ranking before the recall was reached."""
    tested = kind(recall).tested
    return [Earlier.of([one.relevant], None, recall, tested).least[0] for one in rankings()]


def _learned(rule: Quantile, teaches: Callable[[Ranking], bool]) -> Quantile:
    """Return the rule, learned from some of the rankings."""
    pairs = zip(rankings(), _least(type(rule), rule.recall), strict=True)
    own = [(one, p) for one, p in pairs if teaches(one)]
    facts = [
        (one.relevant.size, finds.size / one.relevant.size, depth)
        for one, _ in own
        for finds in [np.flatnonzero(one.relevant)]
        for depth in [np.mean(finds[: needed(finds.size, rule.recall)] + 1) / one.relevant.size]
    ]
    ranges = [[min(values), max(values)] for values in zip(*facts, strict=True)]
    rule._learn(Earlier(sorted(p for _, p in own), *ranges))
    return rule


def _without(rule: Quantile, left_out: Ranking) -> Quantile:
    """Return the rule, learned from all reviews but this one."""
    return _learned(rule, lambda one: one.review != left_out.review)


def _fraction(left_out: Ranking, recall: float, reliability: float) -> int:
    """Return the number read at the share that was enough for the other reviews."""
    others = [one for one in rankings() if one.review != left_out.review]
    shares = sorted(perfect(one.relevant, recall) / one.relevant.size for one in others)
    rank = math.ceil((len(shares) + 1) * reliability - 1e-9)
    share = shares[rank - 1] if rank <= len(shares) else 1.0
    return math.ceil(share * left_out.relevant.size)


def _rules(recall: float) -> Mapping[str, Callable[[Ranking], int]]:
    """Return the number read by the name of the rule."""
    learned = {
        f"`Quantile`, {100 * reliability:.0f} %": (
            lambda one, to=reliability: _without(Quantile(recall, to), one).replay(one.relevant)
        )
        for reliability in RELIABILITIES
    }
    runs = {
        f"{length} irrelevant in a row": lambda one, n=length: run_of_irrelevant(one.relevant, n)
        for length in (50, 100, 200)
    }
    return {
        "perfect stop": lambda one: perfect(one.relevant, recall),
        "`Certificate`, 95 %": lambda one: Certificate(recall).replay(one.relevant),
        **learned,
        "`Quantile`, 90 %, test as published": lambda one: _without(
            AsPublished(recall, 0.9), one
        ).replay(one.relevant),
        "Poisson, power law, 95 %": lambda one: poisson(one.relevant, recall),
        "a fixed share, learned, 90 %": lambda one: _fraction(one, recall, 0.9),
        "knee": lambda one: knee(one.relevant),
        **runs,
    }


def _sampled(one: Ranking, recall: float, seed: int) -> tuple[int, int]:
    """Return how much `Target` reads and finds: its sample is not the top of the ranking."""
    review = Target(recall, seed=seed).review(total=one.relevant.size)
    for document in review.to_read():
        review.add(bool(one.relevant[document]))
    return review.state.read, review.state.found


def _summary(stops: Sequence[Stop], recall: float) -> dict[str, float]:
    """Return what a rule found and read, on average over rankings."""
    sizes = np.array([one.relevant.size for one, _, _ in stops])
    reached = np.array([found / one.relevant.sum() for one, _, found in stops])
    read = np.array([read for _, read, _ in stops]) / sizes
    best = np.array([perfect(one.relevant, recall) for one, _, _ in stops]) / sizes
    held = reached >= recall - 1e-9
    numbers = {"recall": reached, "held": held, "read": read, "overshoot": read - best}
    return {name: float(values.mean()) for name, values in numbers.items()}


def _stops() -> list[dict[str, Any]]:
    rows = []
    for recall in TARGETS:
        stops: dict[str, list[Stop]] = {}
        for name, rule in _rules(recall).items():
            say(f"{name}, recall {recall}")
            reads = [(one, rule(one)) for one in rankings()]
            stops[name] = [(one, read, int(one.relevant[:read].sum())) for one, read in reads]
        say(f"Target, recall {recall}")
        stops["`Target` (QBCB), 95 %"] = [
            (one, *_sampled(one, recall, seed)) for seed in range(SEEDS) for one in rankings()
        ]
        for name, some in stops.items():
            parts = {
                part: _summary([stop for stop in some if inside(stop[0])], recall)
                for part, inside in PARTS.items()
            }
            rows.append({"rule": name, "target": recall, **_summary(some, recall), "parts": parts})
    return rows


def simulated(order: str, total: int, relevant: int, recall: float, reviews: int) -> dict[str, Any]:
    """Return how often the certificate falls short at the edge of its assumption.

    The order is random, or begins well and ends random: 70 % of the relevant documents are in the
    first fifth.
    """
    rng, short, read = np.random.default_rng(0), 0, 0
    cut, early = (total // 5, round(0.7 * relevant)) if order == "well begun" else (0, 0)
    for _ in range(reviews):
        head = rng.permutation(np.arange(cut) < early)
        tail = rng.permutation(np.arange(total - cut) < relevant - early)
        review = np.concatenate([head, tail])
        stop = Certificate(recall).replay(review)
        short += review[:stop].sum() < recall * relevant - 1e-9
        read += stop
    shares = {"short": int(short) / reviews, "read": read / reviews / total}
    return {"order": order, "total": total, "relevant": relevant, "target": recall, **shares}


def _states() -> list[dict[str, Any]]:
    """Return how right the recall to expect, its interval and the sure one are along the way."""
    seen: dict[float, list[tuple[float, ...]]] = {share: [] for share in LOOKS}
    for one in rankings():
        review = Certificate().review(total=one.relevant.size)
        for share in LOOKS:
            while len(review._judged) < round(share * one.relevant.size):
                review.add(bool(one.relevant[len(review._judged)]))
            state = review.state
            if state.expected is not None:
                true = state.found / one.relevant.sum()
                seen[share].append((true, state.expected, *state.interval, state.at_least))
    rows = []
    for share, values in seen.items():
        true, expected, low, high, sure = np.array(values).T
        inside = (low <= true + 1e-9) & (true <= high + 1e-9)
        rows.append(
            {
                "share": share,
                "reviews": len(values),
                "true": true.mean(),
                "expected": expected.mean(),
                "error": np.abs(expected - true).mean(),
                "inside": inside.mean(),
                "sure_held": (sure <= true + 1e-9).mean(),
            }
        )
    return rows


def _transfers() -> list[dict[str, Any]]:
    """Return what happens if the earlier reviews differ from those that the rule is used on."""
    rows = []
    for learned, used in TRANSFERS:
        for recall in TARGETS:
            rule = _learned(Quantile(recall, 0.9), GROUPS[learned])
            stops, careful, noticed = [], [], 0
            for one in filter(GROUPS[used], rankings()):
                read, warned = _stop(rule, one)
                found = int(one.relevant[:read].sum())
                stops.append((one, read, found))
                noticed += bool(warned and found < recall * one.relevant.sum() - 1e-9)
                if warned:
                    read = max(read, Certificate(recall).replay(one.relevant))
                careful.append((one, read, int(one.relevant[:read].sum())))
            row = {"learned": learned, "used": used, "target": recall, **_summary(stops, recall)}
            fallback = _summary(careful, recall)
            rows.append({**row, "reviews": len(stops), "noticed": noticed, "fallback": fallback})
        say(f"{learned}, {used}")
    return rows


def _stop(rule: Quantile, one: Ranking) -> tuple[int, bool]:
    """Return how much the rule reads, and whether its state warns at the stop."""
    read = rule.replay(one.relevant)
    review = rule.review(total=one.relevant.size)
    for relevant in one.relevant[:read]:
        review.add(bool(relevant))
    return read, bool(review.state.warnings)


def _prices() -> list[dict[str, Any]]:
    """Return what `plan` says, told the true prevalence, and what was read in the end."""
    rows = []
    for rule in (Certificate(0.9), Quantile(0.9, 0.9)):
        told, read, inside = [], [], []
        for one in rankings():
            size = one.relevant.size
            (price,) = plan(size, float(one.relevant.mean()), rules=[rule])
            stop = rule.replay(one.relevant)
            told.append(price.read / size)
            read.append(stop / size)
            inside.append(price.interval[0] <= stop <= price.interval[1])
        error = np.abs(np.array(told) - read).mean()
        means = {"told": np.mean(told), "read": np.mean(read), "inside": np.mean(inside)}
        rows.append({"rule": type(rule).__name__, **means, "error": error})
    return rows


def measure() -> dict[str, Any]:
    """Return all numbers of the page."""
    rows = _stops()
    say("the state along the way")
    states = _states()
    say("other rankings")
    transfers = _transfers()
    say("prices")
    prices = _prices()
    say("simulated reviews")
    orders = ("random", "well begun")
    simulations = [
        simulated(order, *kind, recall, RANDOM)
        for order in orders
        for kind in RANDOM_KINDS
        for recall in TARGETS
    ]
    return {
        "rankings": len(rankings()),
        "reviews": len({one.review for one in rankings()}),
        "random": RANDOM,
        "stops": rows,
        "states": states,
        "transfers": transfers,
        "prices": prices,
        "simulations": simulations,
    }
