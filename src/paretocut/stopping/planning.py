"""Before the first document is read: the price of each promise, and the file that keeps it."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paretocut.callbacks import Journal, stamp
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import IntArray
from paretocut.schema.parameters import check_positive_int, check_probability
from paretocut.stopping.review import Rule, State
from paretocut.stopping.rules import Certificate, Quantile, Target, learned

_DRAWS = 3
_MOST = 500  # relevant documents of a simulated review
_RULES: dict[str, type[Rule]] = {rule.__name__: rule for rule in (Certificate, Quantile, Target)}


@dataclass(frozen=True)
class Price:
    """The documents to ``read`` under a ``rule`` with a ranking of medium quality.

    The ``interval`` has the same for a good and a poor ranking: the better and the worse quarter of
    those that the package has seen.
    """

    rule: Rule
    read: int
    interval: tuple[int, int]


def plan(
    total: int, prevalence: float, *, recall: float = 0.95, rules: Iterable[Rule] | None = None
) -> list[Price]:
    """Return the cost of each promise, in documents to read.

    Reviews are simulated, with as many relevant documents as guessed (but at most 500), spread over
    the ranking as in 58 rankings of 43 medical reviews.

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
    3697 with Target(recall=0.9, confidence=0.95, seed=0)
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


def described(rule: Rule) -> dict[str, Any]:
    """Return the name of a rule and its numbers, and a hash of what it learned."""
    known = {"rule": type(rule).__name__, **{name: getattr(rule, name) for name in rule.parameters}}
    if earlier := getattr(rule, "earlier_", None):
        state = hashlib.sha256(json.dumps(asdict(earlier)).encode())
        known["learned"] = f"sha256:{state.hexdigest()}"
    return known


class Protocol:
    """The file of a review: a rule and a number of documents, fixed before the first look.

    Parameters
    ----------
    path
        The file: JSON lines that only grow. A new one is made if there is none.

    Attributes
    ----------
    plans, looks
        What was fixed, the last one in force; and what each look found.

    Examples
    --------
    >>> import tempfile
    >>> protocol = Protocol(f"{tempfile.mkdtemp()}/review.jsonl")
    >>> protocol.fix(Certificate(0.9), total=500, reviewer="A. Reader")
    >>> protocol.rule(), protocol.total
    (Certificate(recall=0.9, confidence=0.95), 500)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._journal = Journal(path, holds="protocol", head={}, who="protocol", name="path")
        self.plans: list[dict[str, Any]] = []
        self.looks: list[dict[str, Any]] = []
        for number, entry in enumerate(self._journal.entries, 2):
            fixed = "rule" in entry and entry["rule"] in _RULES and type(entry.get("total")) is int
            if not fixed and not (self.plans and "read" in entry):
                raise DataFormatError(str(path), number, "not a protocol or a look")
            (self.plans if fixed else self.looks).append(entry)

    @property
    def total(self) -> int:
        """Number of documents of the review."""
        return int(self._in_force()["total"])

    def rule(self, learned: Quantile | None = None) -> Rule:
        """Return the rule in force.

        Parameters
        ----------
        learned
            The rule itself, if it was learned from your own reviews: the file holds only its hash.
        """
        plan = self._in_force()
        kind = _RULES[plan["rule"]]
        rule = learned if "learned" in plan else kind(**{key: plan[key] for key in kind.parameters})
        if rule is None or any(plan.get(key) != value for key, value in described(rule).items()):
            raise InvalidParameterError(
                f"rule must be the learned one that was fixed on {plan['date']}, got another or "
                "none",
                who="protocol",
            )
        return rule

    def fix(
        self, rule: Rule, *, total: int, reviewer: str | None = None, reason: str | None = None
    ) -> None:
        """Write down a rule before the first look, or as an amendment, which needs a reason.

        Parameters
        ----------
        rule, total
            Any rule of `paretocut.stopping`, and the number of documents.
        reviewer, reason
            Who fixes it, and why it is changed.
        """
        plan = {**described(rule), "total": rule.review(total=total).total}
        if self.plans and not reason:
            now = ", ".join(f"{key} {self.plans[-1].get(key)}" for key in plan)
            raise InvalidParameterError(
                f"reason must be given for an amendment: {now} was fixed before the first look, "
                "and another target after it breaks the promise; got none",
                who="protocol",
            )
        self._add(self.plans, {**plan, **({"reason": reason} if reason else {})}, reviewer)

    def look(self, state: State, *, reviewer: str | None = None, source: str | None = None) -> None:
        """Write down what a look at the review found.

        Parameters
        ----------
        state, reviewer, source
            The state of the review, who looked, and a hash of the judgements.
        """
        self._in_force()
        found = asdict(state)
        del found["reason"], found["warnings"]
        self._add(self.looks, {**found, "input": source}, reviewer)

    def _add(self, to: list[dict[str, Any]], entry: dict[str, Any], reviewer: str | None) -> None:
        whole = {**entry, **stamp(reviewer)}
        self._journal.add(whole)
        to.append(json.loads(json.dumps(whole)))

    def _in_force(self) -> dict[str, Any]:
        if not self.plans:
            raise InvalidParameterError(
                "a rule must be fixed before the first look, got none", who="protocol"
            )
        return self.plans[-1]
