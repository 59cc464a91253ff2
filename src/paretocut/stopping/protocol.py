"""What a review promised before it began, and every look since, in one file."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from typing import Any

from paretocut.callbacks import Journal, stamp
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.stopping.review import Rule, State
from paretocut.stopping.rules import Certificate, Quantile
from paretocut.stopping.target import Target

_RULES: dict[str, type[Rule]] = {rule.__name__: rule for rule in (Certificate, Quantile, Target)}


def described(rule: Rule) -> dict[str, Any]:
    """Return the name of a rule and its numbers, and a hash of what it learned."""
    numbers = {name: getattr(rule, name) for name in rule.parameters}
    learned = getattr(rule, "earlier_", None)
    if learned is None:
        return {"rule": type(rule).__name__, **numbers}
    state = json.dumps(asdict(learned)).encode()
    return {
        "rule": type(rule).__name__,
        **numbers,
        "learned": f"sha256:{hashlib.sha256(state).hexdigest()}",
    }


class Protocol:
    """The file of a review: a rule and a number of documents, fixed before the first look.

    Another rule or number needs an amendment with a reason. Everything stays on record.

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
    >>> import tempfile, paretocut as pc
    >>> folder = tempfile.mkdtemp()
    >>> protocol = Protocol(f"{folder}/review.jsonl")
    >>> protocol.fix(pc.stopping.Certificate(0.9), total=500, reviewer="A. Reader")
    >>> protocol.rule(), protocol.total
    (Certificate(recall=0.9, confidence=0.95), 500)
    >>> protocol.fix(pc.stopping.Certificate(0.5), total=500)
    Traceback (most recent call last):
    paretocut.errors.InvalidParameterError: protocol: reason must be given for an amendment: ...
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
        total: int = self._in_force()["total"]
        return total

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
        """Write down a rule, before the first look or as an amendment.

        Parameters
        ----------
        rule
            Any rule of `paretocut.stopping`.
        total
            Number of documents.
        reviewer
            Who fixes it.
        reason
            Why it is changed; the first one needs none.
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
        state
            The state of the review.
        reviewer
            Who looked.
        source
            A hash of the judgements that were looked at.
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
