"""`check_truncator`: whether a method keeps the contract of truncators, ours or yours."""

from __future__ import annotations

import copy
import json
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from paretocut.decisions.warnings import WARNINGS
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import Ragged, RankedLists
from paretocut.schema.files import load_model
from paretocut.truncators.base import Truncator

Check = Callable[[Truncator], None]
CHECKS: list[Check] = []


def check_truncator(truncator: Truncator | type[Truncator]) -> None:
    """Raise AssertionError, which says what is wrong, if a truncator breaks the contract.

    It is fitted to made-up lists and cuts others: empty, constant, tied and padded ones, distances,
    very large and very small scores. It is copied, saved and loaded. This takes some seconds.

    Parameters
    ----------
    truncator
        The truncator, which stays as it is; or its class, if every argument has a default.

    Examples
    --------
    >>> from paretocut.truncators import FixedK
    >>> check_truncator(FixedK)
    """
    try:
        given = truncator() if isinstance(truncator, type) else truncator
    except TypeError as error:
        raise InvalidParameterError(
            f"truncator must be an object where arguments have no default, got a class: {error}",
            who="check_truncator",
        ) from None
    if not isinstance(given, Truncator) or given.needs_queries:
        raise InvalidParameterError(
            "truncator must be a truncator that needs no texts of queries, got "
            f"{type(given).__name__}",
            who="check_truncator",
        )
    for check in CHECKS:
        try:
            check(given)
        except AssertionError as error:
            raise AssertionError(f"{type(given).__name__}: {error}") from error.__cause__
        except Exception as error:
            error.add_note(f"check_truncator was testing: {check.__name__.replace('_', ' ')}")
            raise


def made_lists(seed: int, *, judged: bool = True) -> RankedLists:
    """Return 30 lists of 0 to 40 results: empty, of one result, tied, constant, none relevant."""
    rng = np.random.default_rng(seed)
    scores = [np.sort(rng.normal(size=size))[::-1] for size in rng.integers(2, 40, 24)]
    scores += [np.zeros(0), np.array([1.0]), np.zeros(7), np.round(scores[0]), np.ones(1)]
    scores += [np.sort(rng.exponential(size=30))[::-1]]
    relevance = [rng.random(part.size) < 1 / (1 + np.arange(part.size) / 4) for part in scores]
    relevance[3][:] = False
    return RankedLists(
        scores,
        relevance=relevance if judged else None,
        query_embeddings=rng.normal(size=(len(scores), 4)),
    )


def _promise(check: Check) -> Check:
    CHECKS.append(check)
    return check


def _expect(holds: Any, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def _expect_refused(sentence: str, call: Callable[[], Any], *errors: type[Exception]) -> None:
    try:
        call()
    except errors:
        return
    raise AssertionError(sentence)


def _fitted(truncator: Truncator, lists: RankedLists | None = None) -> Truncator:
    return truncator.clone().fit(made_lists(1) if lists is None else lists)


def _lists(scores: list[list[float]], grade: int) -> RankedLists:
    relevance, places = [[grade] * len(part) for part in scores], np.zeros((len(scores), 4))
    return RankedLists(scores, relevance, query_embeddings=places)


def _moved(lists: RankedLists, up: bool) -> RankedLists:
    """Return lists that end in no zeros, which would be padding: scores, or distances."""
    values = lists.scores.values - 5.0
    return RankedLists(
        lists.scores.with_values(values if up else -values),
        relevance=lists.relevance,
        query_embeddings=lists.query_embeddings,
        higher_is_better=up,
    )


@_promise
def every_argument_is_declared_and_only_stored(truncator: Truncator) -> None:
    wanted, declared = sorted(truncator.get_params(deep=False)), sorted(truncator.parameters)
    fresh = truncator.clone()
    _expect(wanted == declared, f"parameters must name the arguments {wanted}, got {declared}")
    told = f"the constructor must set {wanted} and nothing else, got {sorted(vars(fresh))}"
    _expect(sorted(vars(fresh)) == wanted, told)
    fresh.check()
    fresh.set_params(**fresh.get_params(deep=False))
    told = "set_params must refuse the unknown parameter 'nonsense'"
    _expect_refused(told, lambda: fresh.set_params(nonsense=1), InvalidParameterError)


@_promise
def fit_returns_self_and_leaves_the_parameters(truncator: Truncator) -> None:
    fresh, before = truncator.clone(), repr(truncator)
    _expect(fresh.fit(made_lists(1)) is fresh, "fit must return the truncator itself")
    _expect(repr(fresh) == before, f"fit must leave {before}, got {fresh!r}")
    learned = set(vars(fresh)) - set(fresh.get_params(deep=False))
    wrong = sorted(name for name in learned if not name.endswith("_"))
    _expect(not wrong, f"learned attributes must end in an underscore, got {wrong}")


@_promise
def one_list_is_cut_as_among_many(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    cuts = fitted.cut_batch(test)
    four, part = cuts.k[5:9].tolist(), fitted.predict(test[5:9]).tolist()
    _expect(four == part, f"other lists must not matter: {four} among 30, {part} among four")
    if fitted.needs_embeddings or fitted.needs_relevance:
        return
    rng = np.random.default_rng(0)
    for i, (scores, own) in enumerate(zip(test.scores, cuts, strict=True)):
        one = fitted.cut(scores[rng.permutation(scores.size)] if scores.size < 8 else scores)
        same = (one.k, one.reason, one.warnings) == (own.k, own.reason, own.warnings)
        told = f"list {i} must be cut alike alone and among others"
        _expect(same, f"{told}, got {one.reason!r} and {own.reason!r}")


@_promise
def reasons_are_sentences(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    for cut in fitted.cut_batch(test):
        amount = "all" if cut.k == cut.n > 0 else str(cut.k) if cut.k else "none of"
        before, _, why = cut.reason.partition(": ")
        good = before.startswith(f"kept {amount}") and before.endswith(str(cut.n)) and why
        plain = "\n" not in cut.reason and "inf" not in why.split()
        _expect(good and plain, f"a reason must be one sentence, got {cut.reason!r}")
        known = set(cut.warnings) <= set(WARNINGS)
        _expect(known, f"warnings must be known ones, got {cut.warnings}")
        json.dumps(cut.to_dict())
    if fitted.is_fitted:
        reason = fitted.cut_batch(test[:1]).reasons[0]
        learned, most = fitted.queries_, len(made_lists(1))  # copies of a query may count once
        _expect(0 < learned <= most, f"queries_ must be at most {most}, got {learned}")
        source = f"learned from {learned} judged queries"
        _expect(source in reason, f"a reason must say {source!r}, got {reason!r}")


@_promise
def distances_are_cut_like_scores(truncator: Truncator) -> None:
    train, test, only = made_lists(1), made_lists(2), truncator.direction
    if only is not None:  # that of a background
        told, other = "lists of the other direction must be refused", _moved(test, up=not only)
        _expect_refused(told, lambda: _fitted(truncator).predict(other), InvalidScoresError)
        return
    ours = _fitted(truncator, _moved(train, up=True)).predict(_moved(test, up=True))
    theirs = _fitted(truncator, _moved(train, up=False))
    found = theirs.predict(_moved(test, up=False))
    told = f"distances must be cut like the scores they mirror (use lists.merit): {found}, {ours}"
    _expect((found == ours).all(), told)
    if theirs.is_fitted and theirs.reads_scores:
        told = "scores must be refused after learning from distances"
        _expect_refused(told, lambda: theirs.predict(test), InvalidScoresError)


@_promise
def padding_is_never_kept(truncator: Truncator) -> None:
    lists = _lists([[9.1, 8.7] + [0.0] * 198, [0.0] * 30, [0.0], [3.0, 1.0, 0.0]], 1)
    fitted = _fitted(truncator)
    cuts = fitted.cut_batch(lists)
    named = ["zero_scores" in names for names in cuts.warnings]
    if fitted.zeros == "keep":
        _expect(not any(named), f"padding is kept, so no warning is due, got {named}")
        return
    _expect((cuts.k <= [2, 0, 0, 3]).all(), f"padding must not be kept, got {cuts.k}")
    said = named == [True, True, True, False] and "score 0, so they match" in cuts.reasons[1]
    _expect(said, f"padding must be named, got {cuts.reasons[1]!r} and {cuts.warnings}")


@_promise
def degenerate_lists_are_cut(truncator: Truncator) -> None:
    fitted = _fitted(truncator)
    cases: list[list[list[float]]] = [[[]], [[0.5]], [[2.0] * 3], [[3.0, 3.0, 1.0, 1.0]], []]
    for scores in [*cases, [[1.0], [], [2.0, 1.0]]]:
        fitted.predict(_lists(scores, 1))
    _fitted(truncator, _lists([[2.0, 1.0], [], [3.0]], 0)).predict(made_lists(2))


@_promise
def learning_needs_judgements(truncator: Truncator) -> None:
    bare, train = made_lists(1, judged=False), made_lists(1)
    if not truncator.needs_fit:
        truncator.clone().predict(train)
    if not truncator.learns:
        truncator.clone().fit(bare)
        return
    told = "fit must refuse to learn from no lists at all"
    _expect_refused(told, lambda: truncator.clone().fit(train[:0]), InvalidParameterError)
    if truncator.needs_full_judgements:
        grades = train.scores.values * 0
        grades[::2] = np.nan
        for lists in (bare, train.with_relevance(train.scores.with_values(grades))):
            told = f"fit must refuse {lists!r}: not all results are judged"
            _expect_refused(told, partial(truncator.clone().fit, lists), InvalidScoresError)


@_promise
def cuts_depend_on_the_training_lists_alone(truncator: Truncator) -> None:
    train, test = made_lists(1), made_lists(2)
    first = _fitted(truncator).predict(test)
    again = _fitted(truncator)
    twice = again.predict(test), again.fit(test).fit(train).predict(test)
    same = all((cuts == first).all() for cuts in twice)
    _expect(same, f"the same lists must always give {first}, got {twice}")


@_promise
def result_values_never_rise(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    values = fitted.result_values(test)
    good = isinstance(values, Ragged) and np.array_equal(values.lengths, test.scores.lengths)
    _expect(good, "result_values must be lists.scores.with_values(one number for each result)")
    rising = [i for i, part in enumerate(values) if (part[1:] > part[:-1]).any()]
    _expect(not rising, f"result_values must never rise down a list, got that in lists {rising}")


@_promise
def lists_are_left_alone(truncator: Truncator) -> None:
    lists = _moved(made_lists(1), up=True)  # nothing is hidden as padding
    before = copy.deepcopy(lists)
    _fitted(truncator, lists).predict(lists)
    for name in ("scores", "relevance", "query_embeddings"):
        now, then = (getattr(part, name) for part in (lists, before))
        same = (getattr(now, "values", now) == getattr(then, "values", then)).all()
        _expect(same, f"{name} of the lists must not be changed")


@_promise
def clones_have_learned_nothing(truncator: Truncator) -> None:
    fitted = _fitted(truncator)
    fresh = fitted.clone()
    same = type(fresh) is type(fitted) and repr(fresh) == repr(fitted)
    _expect(same, f"clone must return {fitted!r}, got {fresh!r}")
    extra = sorted(set(vars(fresh)) - set(fitted.get_params(deep=False)))
    _expect(not extra, f"a clone must have learned nothing, got {extra}")


@_promise
def files_and_copies_cut_alike(truncator: Truncator) -> None:
    test = made_lists(2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        for one in (truncator.clone(), _fitted(truncator)):
            one.save(path)
            again = load_model(path, "truncator")
            same = type(again) is type(one) and repr(again) == repr(one)
            _expect(same, f"load must return {one!r}, got {again!r}")
    cuts = one.predict(test)
    for how, other in (("saved", again), ("pickled", pickle.loads(pickle.dumps(one)))):
        found = other.predict(test)
        _expect((found == cuts).all(), f"it cuts {cuts}, {how} {found}")


@_promise
def scores_may_be_very_large_or_very_small(truncator: Truncator) -> None:
    rng = np.random.default_rng(3)
    shape = (24, 30)
    cases = {
        "huge": rng.uniform(-1, 1, shape) * 1.7e308,
        "at the ends": rng.choice([1.7e308, -1.7e308, 0.0, 5e-324], shape),
        "denormal": rng.integers(0, 1000, shape) * 5e-324,
        "of all sizes": rng.normal(size=shape) * 10.0 ** rng.uniform(-300, 300, shape),
        "one number": np.repeat([[-1.7e308], [-1e308]], 12, axis=0) * np.ones(shape),
    }
    for what, scores in cases.items():
        relevance, places = rng.random(shape) < 0.3, rng.normal(size=(24, 3))
        lists = RankedLists(scores, relevance, query_embeddings=places)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                fitted = _fitted(truncator, lists)
                cuts = fitted.cut_batch(lists)
        except RuntimeWarning as error:
            raise AssertionError(
                f"scores that are {what} must be cut without warnings (see Ragged.within_range), "
                f"got {error}"
            ) from error
        odd = [text for text in cuts.reasons if "nan" in text or "inf" in text.split()]
        _expect(not odd, f"reasons must hold numbers, got {odd[:1]}")
        again = type(fitted).from_dict(json.loads(json.dumps(fitted.to_dict()))).predict(lists)
        _expect((again == cuts.k).all(), f"it cuts {cuts.k}, read from a file {again}")
