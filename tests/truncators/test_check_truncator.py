"""`check_truncator` finds each broken promise, and says which."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from paretocut.errors import InvalidParameterError
from paretocut.lists import RankedLists
from paretocut.schema.kinds import Whole
from paretocut.truncators import FixedK, GlobalK, Truncator, check_truncator


class Undeclared(FixedK):
    parameters: ClassVar = {}


class Busy(FixedK):
    def __init__(self, k: int = 10) -> None:
        self.k = k
        self.twice = 2 * k


class Greedy(Truncator):
    def decide(self, lists: RankedLists) -> Any:
        return [5] * len(lists)


class Crowded(Truncator):
    """Looks at the other lists of the batch."""

    def decide(self, lists: RankedLists) -> Any:
        return np.minimum(len(lists), lists.scores.lengths)


class Raw(Truncator):
    """Forgets that distances are better the smaller they are."""

    def decide(self, lists: RankedLists) -> Any:
        return lists.scores.count(lists.scores.values > -4)


class Nameless(GlobalK):
    """Sets an attribute whose name says nothing."""

    def learn(self, lists: RankedLists) -> None:
        super().learn(lists)
        self.best = self.k_


class Forgetful(GlobalK):
    state: ClassVar[dict[str, Whole]] = {}  # type: ignore[assignment]


class Unjudged(GlobalK):
    """Takes what nobody judged for irrelevant."""

    needs_full_judgements = True

    def fit(self, lists: RankedLists) -> Any:
        return super().fit(lists.with_relevance(lists.scores.with_values(0 * lists.scores.values)))


class Fickle(Truncator):
    """Decides by chance."""

    calls: ClassVar[list[int]] = []

    def decide(self, lists: RankedLists) -> Any:
        self.calls.append(1)
        return np.minimum(len(self.calls), lists.scores.lengths)


class Sloppy(Truncator):
    """Changes the lists that it is given."""

    def decide(self, lists: RankedLists) -> Any:
        if lists.relevance is not None and len(lists):
            lists.relevance.values[:] = False
        return lists.scores.lengths


class Overflowing(Truncator):
    def decide(self, lists: RankedLists) -> Any:
        return [int(np.sum(one > one.mean())) if one.size else 0 for one in lists.merit]


class Talkative(Truncator):
    def decide(self, lists: RankedLists) -> Any:
        return lists.scores.lengths, "two\nlines"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Undeclared, r"^Undeclared: parameters must name the arguments \['k'\], got \[\]"),
        (Busy, r"^Busy: the constructor must set \['k'\] and nothing else"),
        (Crowded, "^Crowded: other lists must not matter"),
        (Raw, r"^Raw: distances must be cut like the scores they mirror \(use lists.merit\)"),
        (Nameless, r"^Nameless: learned attributes must end in an underscore, got \['best'\]"),
        (Unjudged, "^Unjudged: fit must refuse RankedLists"),
        (Fickle, "^Fickle: "),
        (Sloppy, "^Sloppy: relevance of the lists must not be changed"),
        (Overflowing, "^Overflowing: scores that are huge must be cut without warnings"),
        (Talkative, "^Talkative: a reason must be one sentence"),
    ],
)
def test_a_broken_promise_is_named(kind: type[Truncator], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_truncator(kind)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Greedy, "^Greedy: decide must return .* got 5 for list"),
        (Forgetful, "^Forgetful: state must say .* nothing for k_"),
        (GlobalK("nonsense"), "nonsense"),
        (3, "^check_truncator: truncator must be a truncator"),
    ],
)
def test_errors_of_our_own_come_through(given: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        check_truncator(given)


def test_a_class_whose_arguments_have_no_default_needs_an_object() -> None:
    class Needy(FixedK):
        def __init__(self, k: int) -> None:
            self.k = k

    with pytest.raises(InvalidParameterError, match="must be an object where arguments"):
        check_truncator(Needy)


def test_the_truncator_stays_as_it_was() -> None:
    mine = GlobalK()
    check_truncator(mine)
    assert not mine.is_fitted


def test_an_error_of_the_method_says_what_was_tested() -> None:
    class Careless(Truncator):
        def decide(self, lists: RankedLists) -> Any:
            return np.array([[one.size] for one in lists.merit])[:, 0]

    with pytest.raises(IndexError, match="too many indices") as caught:  # where there is no list
        check_truncator(Careless())
    assert caught.value.__notes__ == ["check_truncator was testing: degenerate lists are cut"]


class Rising(Truncator):
    def decide(self, lists: RankedLists) -> Any:
        return lists.scores.lengths

    def result_values(self, lists: RankedLists) -> Any:
        return lists.scores.with_values(-lists.scores.values)


class Flat(Rising):
    def result_values(self, lists: RankedLists) -> Any:
        return lists.scores.values


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Rising, r"^Rising: result_values must never rise down a list, got that in lists \[0, 1"),
        (Flat, "^Flat: result_values must be lists.scores.with_values"),
    ],
)
def test_result_values_are_checked(kind: type[Truncator], message: str) -> None:
    # Conformal believed them, and its threshold meant nothing.
    with pytest.raises(AssertionError, match=message):
        check_truncator(kind)
