"""Errors know who refused, so that another caller can speak for it."""

from __future__ import annotations

import pickle

import pytest

import paretocut as pc
from paretocut.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingExtraError,
    ParetocutError,
    speaking_for,
)


def test_an_error_names_who_refused_before_the_message() -> None:
    with pytest.raises(InvalidParameterError) as caught:
        pc.cut([3.0, 2.0, 1.0], min_k=3, max_k=2)
    assert caught.value.who == "cut"
    assert str(caught.value) == "cut: min_k must be at most max_k=2, got 3"


def test_another_caller_speaks_for_the_function_it_called() -> None:
    with pytest.raises(InvalidParameterError, match=r"^search: min_k must be"):
        with speaking_for("search", "cut"):
            pc.cut([3.0, 2.0, 1.0], min_k=3, max_k=2)
    with pytest.raises(InvalidParameterError, match=r"^min_k must be"):
        with speaking_for("", "cut"):
            pc.cut([3.0, 2.0, 1.0], min_k=3, max_k=2)


def test_a_class_that_refused_stays_in_the_message() -> None:
    with pytest.raises(InvalidParameterError, match=r"^search: FixedK: k must be"):
        with speaking_for("search", "cut"):
            pc.truncators.FixedK(-1).cut([3.0, 2.0, 1.0])


@pytest.mark.parametrize(
    "error",
    [
        InvalidParameterError("k must be 1", who="cut"),
        DataFormatError("run.txt", 3, "expected 6 fields"),
        MissingExtraError("the explorer", "starlette", "serve"),
    ],
)
def test_an_error_says_the_same_after_pickling(error: ParetocutError) -> None:
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert (str(copied), copied.who) == (str(error), error.who)
