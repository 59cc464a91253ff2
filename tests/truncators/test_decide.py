"""What a method returns is checked, whoever asks: evaluation, a single cut, or a wrapper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paretocut as pc
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Conformal, Gated, Truncator
from paretocut.truncators.evidence import Clause


class Answers(Truncator):
    """Returns whatever it was given."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def decide(self, lists: pc.RankedLists) -> Any:
        return self.answer(lists) if callable(self.answer) else self.answer


LISTS = pc.RankedLists([[3.0, 2.0, 1.0], [5.0, 4.0]], relevance=[[1, 0, 0], [1, 1]])
RULE = "^Answers: decide must return one whole number for each list, from 0 to its length, got "


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (lambda lists: [5] * len(lists), "5 for list 0, which has 3 results$"),
        ([3, 3], "3 for list 1, which has 2 results$"),
        ([2, -1], "-1 for list 1, which has 2 results$"),
        (np.array([1]), r"an array of shape \(1,\) for 2 lists$"),
        ([1, 1, 1], r"an array of shape \(3,\) for 2 lists$"),
        (np.array([[1, 1]]), r"an array of shape \(1, 2\) for 2 lists$"),
        (2, "2 for 2 lists$"),
        (None, "None for 2 lists$"),
        ([1.0, 2.0], r"1.0 \(float64\) for list 0$"),
        ([1, 1.5], r"1.5 \(float64\) for list 1$"),
        ([1, np.nan], r"nan \(float64\) for list 1$"),
        ([None, 1], r"None \(object\) for list 0$"),
        ([True, False], r"True \(bool\) for list 0$"),
        (["1", "2"], r"'1' \(<U1\) for list 0$"),
        ([[1, 2], [1]], r"\[\[1, 2\], \[1\]\]"),
    ],
)
def test_what_is_not_one_whole_number_a_list_within_the_list_is_refused(
    answer: Any, got: str
) -> None:
    # 5 for lists of three read the value of another list; a single number was broadcast.
    with pytest.raises(InvalidParameterError, match=RULE + got):
        Answers(answer).predict(LISTS)


def test_evaluate_refuses_a_number_beyond_the_list() -> None:
    lists = pc.RankedLists([[3.0, 2.0, 1.0]] * 10, relevance=[[1, 0, 0]] * 10)
    with pytest.raises(pc.errors.ParetocutError, match=r"'five'.*got 5 for list 0, which has 3"):
        pc.evaluate({"five": Answers(lambda lists: [5] * len(lists))}, lists, ["f1"], folds=2)


def test_a_method_inside_another_is_named_when_it_is_wrong() -> None:
    scores = np.random.default_rng(0).normal(0.3, 0.1, (300, 1000)).max(axis=1)
    background = pc.Background.fit(scores)
    with pytest.raises(InvalidParameterError, match=RULE + "7 for list 0"):
        Gated(Answers(lambda lists: [7] * len(lists)), background).cut([0.9, 0.8])
    with pytest.raises(InvalidParameterError, match=RULE + "7 for list 0"):
        Conformal(Answers(lambda lists: [7] * len(lists))).fit(LISTS)


@pytest.mark.parametrize(
    "answer",
    [[2, 0], (2, 0), np.array([2, 0], dtype=np.uint8), [np.int64(2), 0], np.array([2, 0])],
)
def test_any_whole_numbers_will_do(answer: Any) -> None:
    cuts = Answers(answer).cut_batch(LISTS)
    assert cuts.k.dtype == np.int64
    assert cuts.k.tolist() == [2, 0]
    assert cuts.reasons[0].startswith("kept 2 of 3: chosen by Answers(answer=")


def test_no_lists_need_no_numbers() -> None:
    assert Answers([]).predict(LISTS[:0]).tolist() == []


@pytest.mark.parametrize(
    "why", ["by hand", ["by hand", "by foot"], ("by hand", "by foot"), Clause("by hand")]
)
def test_reasons_may_come_with_the_numbers(why: Any) -> None:
    cuts = Answers(([1, 1], why)).cut_batch(LISTS)
    assert cuts.reasons[0] == "kept 1 of 3: by hand"
    assert (
        cuts[1].reason == f"kept 1 of 2: by {'hand' if isinstance(why, str | Clause) else 'foot'}"
    )


def test_reasons_may_be_an_array_of_texts() -> None:
    # np.where is the short way to write them; the array was taken for a second row of numbers.
    assert Answers(([1, 1], np.array(["by hand", "by foot"]))).cut_batch(LISTS).reasons[1] == (
        "kept 1 of 2: by foot"
    )


@pytest.mark.parametrize(
    ("why", "got"),
    [
        (["by hand"], "1 for 2 lists$"),
        (["by hand", None], "None$"),
        ([3, 4], "3$"),
        ([], "0 for 2"),
    ],
)
def test_reasons_that_are_not_one_text_a_list_are_refused(why: Any, got: str) -> None:
    # A missing one was an IndexError for whoever asked for the reason, long after the decision.
    allowed = "reasons of decide must be one text, or one for each list, got "
    with pytest.raises(InvalidParameterError, match=f"^Answers: {allowed}{got}"):
        Answers(([1, 1], why)).predict(LISTS)
