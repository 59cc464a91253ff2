"""`check_truncator`: whether a method keeps the contract of truncators, ours or yours."""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from paretocut.decisions.warnings import WARNINGS
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.lists import RankedLists
from paretocut.schema.files import load_model
from paretocut.truncators.base import Truncator

Check = Callable[[Truncator], None]


def check_truncator(truncator: Truncator | type[Truncator]) -> None:
    """Raise AssertionError, which says what is wrong, if a truncator breaks the contract.

    It is fitted to made-up lists and cuts others: empty, constant, tied and padded ones, distances,
    very large and very small scores. It is copied, saved and loaded. The truncators of paretocut
    are tested by the same function. It takes some seconds.

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
        check(given)


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


def _fitted(truncator: Truncator, lists: RankedLists | None = None) -> Truncator:
    return truncator.clone().fit(made_lists(1) if lists is None else lists)


def _expect(holds: Any, truncator: Truncator, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{type(truncator).__name__}: {sentence}")


def _refused(call: Callable[[], Any], *errors: type[Exception]) -> bool:
    try:
        call()
    except errors:
        return True
    return False


def every_argument_is_declared_and_only_stored(truncator: Truncator) -> None:
    names = set(inspect.signature(type(truncator)).parameters)
    declared = set(truncator.parameters)
    _expect(
        names == declared,
        truncator,
        f"parameters must name the arguments {sorted(names)}, got {sorted(declared)}",
    )
    fresh = truncator.clone()
    _expect(
        set(vars(fresh)) == names,
        truncator,
        f"the constructor must set {sorted(names)} and nothing else, got {sorted(vars(fresh))}",
    )
    fresh.check()
    fresh.set_params(**fresh.get_params(deep=False))
    refused = _refused(lambda: fresh.set_params(nonsense=1), InvalidParameterError)
    _expect(refused, truncator, "set_params must refuse the unknown parameter 'nonsense'")


def fit_returns_self_and_leaves_the_parameters(truncator: Truncator) -> None:
    fresh, before = truncator.clone(), repr(truncator)
    _expect(fresh.fit(made_lists(1)) is fresh, truncator, "fit must return the truncator itself")
    _expect(repr(fresh) == before, truncator, f"fit must leave {before}, got {fresh!r}")
    learned = set(vars(fresh)) - set(fresh.get_params(deep=False))
    wrong = sorted(name for name in learned if not name.endswith("_"))
    _expect(not wrong, truncator, f"learned attributes must end in an underscore, got {wrong}")


def cuts_are_whole_numbers_within_each_list(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    cuts = fitted.predict(test)
    lengths = test.scores.lengths
    within = cuts.dtype == np.int64 and bool(((cuts >= 0) & (cuts <= lengths)).all())
    _expect(within, truncator, f"cuts must be whole numbers from 0 to {lengths}, got {cuts}")
    shorter = fitted.truncate(test).scores.lengths
    _expect((shorter == cuts).all(), truncator, f"truncate must leave {cuts}, got {shorter}")


def one_list_is_cut_as_among_many(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    cuts = fitted.cut_batch(test)
    part = fitted.predict(test[5:9])
    _expect(
        part.tolist() == cuts.k[5:9].tolist(),
        truncator,
        f"other lists must not matter: {cuts.k[5:9]} among 30 lists, {part} among four",
    )
    if fitted.needs_embeddings or fitted.needs_relevance:
        return
    rng = np.random.default_rng(0)
    for i, scores in enumerate(test.scores):
        mixed = scores[rng.permutation(scores.size)] if scores.size < 8 else scores
        one = fitted.cut(mixed)
        own = cuts[i]
        _expect(
            (one.k, one.reason, one.warnings) == (own.k, own.reason, own.warnings),
            truncator,
            f"list {i} must be cut alike alone and among others, got {one.reason!r} and "
            f"{own.reason!r}",
        )


def reasons_are_sentences(truncator: Truncator) -> None:
    fitted, train, test = _fitted(truncator), made_lists(1), made_lists(2)
    for cut in fitted.cut_batch(test):
        amount = "all" if cut.k == cut.n > 0 else str(cut.k) if cut.k else "none of"
        before, _, why = cut.reason.partition(": ")
        good = before.startswith(f"kept {amount}") and before.endswith(str(cut.n)) and why
        plain = "\n" not in cut.reason and "inf" not in why.split()
        _expect(good and plain, truncator, f"a reason must be one sentence, got {cut.reason!r}")
        _expect(
            set(cut.warnings) <= set(WARNINGS),
            truncator,
            f"warnings must be known ones, got {cut.warnings}",
        )
        json.dumps(cut.to_dict())
    if fitted.is_fitted:
        reason = fitted.cut_batch(test[:1]).reasons[0]
        learned = fitted.queries_  # copies of a query may count once
        _expect(0 < learned <= len(train), truncator, f"queries_ must be at most {len(train)}")
        source = f"learned from {learned} judged queries"
        _expect(source in reason, truncator, f"a reason must say {source!r}, got {reason!r}")


def bounds_hold(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    free = fitted.predict(test)
    for low, high in ((0, 3), (4, None), (2, 2), (100, None)):
        cuts = fitted.cut_batch(test, min_k=low, max_k=high)
        wanted = np.minimum(np.clip(free, low, high), test.scores.lengths)
        _expect(
            (cuts.k == wanted).all(),
            truncator,
            f"min_k={low} and max_k={high} must give {wanted}, got {cuts.k}",
        )
        for i in np.flatnonzero(cuts.k != free):
            bound = "the minimum asked for" if cuts.k[i] > free[i] else "the most allowed"
            reason = cuts.reasons[i]
            _expect(bound in reason, truncator, f"a reason must say {bound!r}, got {reason!r}")


def distances_are_cut_like_scores(truncator: Truncator) -> None:
    def shifted(lists: RankedLists) -> RankedLists:
        # Scores below 0: those of neither kind end in zeros, which would be padding.
        return _like(lists, lists.scores.values - 5.0, True)

    def mirrored(lists: RankedLists) -> RankedLists:
        return _like(lists, 5.0 - lists.scores.values, False)

    train, test = made_lists(1), made_lists(2)
    ours = _fitted(truncator, shifted(train)).predict(shifted(test))
    theirs = _fitted(truncator, mirrored(train))
    found = theirs.predict(mirrored(test))
    _expect(
        (found == ours).all(),
        truncator,
        f"distances must be cut like the scores they mirror (use lists.merit): {found}, {ours}",
    )
    if theirs.is_fitted and theirs.reads_scores:
        refused = _refused(lambda: theirs.predict(test), InvalidScoresError)
        _expect(refused, truncator, "scores must be refused after learning from distances")


def _like(lists: RankedLists, values: Any, up: bool) -> RankedLists:
    return RankedLists(
        lists.scores.with_values(values),
        relevance=lists.relevance,
        query_embeddings=lists.query_embeddings,
        higher_is_better=up,
    )


def padding_is_never_kept(truncator: Truncator) -> None:
    lists = RankedLists(
        [[9.1, 8.7] + [0.0] * 198, [0.0] * 30, [0.0], [3.0, 1.0, 0.0]],
        relevance=[[1] * 200, [1] * 30, [1], [1] * 3],
        query_embeddings=np.zeros((4, 4)),
    )
    fitted = _fitted(truncator)
    cuts = fitted.cut_batch(lists)
    named = ["zero_scores" in names for names in cuts.warnings]
    if fitted.zeros == "keep":
        _expect(not any(named), truncator, f"padding is kept, so no warning is due, got {named}")
        return
    _expect((cuts.k <= [2, 0, 0, 3]).all(), truncator, f"padding must not be kept, got {cuts.k}")
    _expect(
        named == [True, True, True, False] and "score 0, so they match" in cuts.reasons[1],
        truncator,
        f"padding must be named, got {cuts.reasons[1]!r} and {cuts.warnings}",
    )


def degenerate_lists_are_cut(truncator: Truncator) -> None:
    fitted = _fitted(truncator)
    cases: list[list[list[float]]] = [[[]], [[0.5]], [[2.0] * 3], [[3.0, 3.0, 1.0, 1.0]], []]
    for scores in [*cases, [[1.0], [], [2.0, 1.0]]]:
        lists = RankedLists(
            scores,
            relevance=[np.ones(len(part)) for part in scores],
            query_embeddings=np.zeros((len(scores), 4)),
        )
        fitted.predict(lists)
    barren = RankedLists(
        [[2.0, 1.0], [], [3.0]],
        relevance=[[0, 0], [], [0]],
        query_embeddings=np.zeros((3, 4)),
    )
    _fitted(truncator, barren).predict(made_lists(2))


def a_decision_waits_for_fit_where_it_must(truncator: Truncator) -> None:
    fresh, test = truncator.clone(), made_lists(2)
    if fresh.needs_fit:
        refused = _refused(lambda: fresh.predict(test), NotFittedError)
        _expect(refused, truncator, "needs_fit is True, so predict before fit must be refused")
    else:
        fresh.predict(test)


def learning_needs_judgements(truncator: Truncator) -> None:
    bare, train = made_lists(1, judged=False), made_lists(1)
    if not truncator.learns:
        truncator.clone().fit(bare)
        return
    refused = _refused(lambda: truncator.clone().fit(train[:0]), InvalidParameterError)
    _expect(refused, truncator, "fit must refuse to learn from no lists at all")
    if truncator.needs_full_judgements:
        grades = train.scores.values * 0
        grades[::2] = np.nan
        for lists in (bare, train.with_relevance(train.scores.with_values(grades))):
            refused = _refused(partial(truncator.clone().fit, lists), InvalidScoresError)
            _expect(refused, truncator, f"fit must refuse {lists!r}: not all results are judged")


def cuts_depend_on_the_training_lists_alone(truncator: Truncator) -> None:
    train, test = made_lists(1), made_lists(2)
    first = _fitted(truncator).predict(test)
    again = _fitted(truncator)
    twice = again.predict(test), again.fit(test).fit(train).predict(test)
    same = all((cuts == first).all() for cuts in twice)
    _expect(same, truncator, f"the same lists must always give {first}, got {twice}")


def lists_are_left_alone(truncator: Truncator) -> None:
    made = made_lists(1)
    lists = _like(made, made.scores.values - 5.0, True)  # nothing is hidden as padding
    before = copy.deepcopy(lists)
    _fitted(truncator, lists).predict(lists)
    for name in ("scores", "relevance"):
        now, then = getattr(lists, name).values, getattr(before, name).values
        _expect((now == then).all(), truncator, f"{name} of the lists must not be changed")
    same = (lists.query_embeddings == before.query_embeddings).all()  # type: ignore[union-attr]
    _expect(same, truncator, "query_embeddings of the lists must not be changed")


def clones_have_learned_nothing(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    fresh = fitted.clone()
    same = type(fresh) is type(fitted) and repr(fresh) == repr(fitted)
    _expect(same, truncator, f"clone must return {fitted!r}, got {fresh!r}")
    extra = sorted(set(vars(fresh)) - set(fitted.get_params(deep=False)))
    _expect(not extra, truncator, f"a clone must have learned nothing, got {extra}")
    cuts, others = fitted.predict(test), fresh.fit(made_lists(1)).predict(test)
    _expect((cuts == others).all(), truncator, f"a clone must learn the same: {cuts}, {others}")


def a_failed_fit_changes_nothing(truncator: Truncator) -> None:
    fitted, test = _fitted(truncator), made_lists(2)
    before = fitted.predict(test)
    for bad in (made_lists(1)[:0], RankedLists([[0.5, 0.4]]), "run.txt"):
        trial: Any = copy.deepcopy(fitted)
        with suppress(ValueError, TypeError, AttributeError):
            trial.fit(bad)
            continue
        after = trial.predict(test)
        _expect((after == before).all(), truncator, f"a refused fit left {after}, not {before}")


def files_and_copies_cut_alike(truncator: Truncator) -> None:
    test = made_lists(2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        for one in (truncator.clone(), _fitted(truncator)):
            one.save(path)
            again = load_model(path, "truncator")
            same = type(again) is type(one) and repr(again) == repr(one)
            _expect(same, truncator, f"load must return {one!r}, got {again!r}")
        cuts = one.predict(test)
        for how, other in (("saved", again), ("pickled", pickle.loads(pickle.dumps(one)))):
            found = other.predict(test)
            _expect((found == cuts).all(), truncator, f"it cuts {cuts}, {how} {found}")


def scores_may_be_very_large_or_very_small(truncator: Truncator) -> None:
    rng = np.random.default_rng(3)
    shape = (24, 30)
    cases = {
        "huge": rng.uniform(-1, 1, shape) * 1.7e308,
        "at the ends": rng.choice([1.7e308, -1.7e308, 0.0, 5e-324], shape),
        "denormal": rng.integers(0, 1000, shape) * 5e-324,
        "of all sizes": rng.normal(size=shape) * 10.0 ** rng.uniform(-300, 300, shape),
        "one number": np.full(shape, -1.7e308),
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
                f"{type(truncator).__name__}: scores that are {what} must be cut without warnings "
                f"(see Ragged.within_range), got {error}"
            ) from error
        odd = [text for text in cuts.reasons if "nan" in text or "inf" in text.split()]
        _expect(not odd, truncator, f"reasons must hold numbers, got {odd[:1]}")
        again = type(fitted).from_dict(json.loads(json.dumps(fitted.to_dict()))).predict(lists)
        _expect((again == cuts.k).all(), truncator, f"it cuts {cuts.k}, read from a file {again}")


CHECKS: tuple[Check, ...] = (
    every_argument_is_declared_and_only_stored,
    fit_returns_self_and_leaves_the_parameters,
    cuts_are_whole_numbers_within_each_list,
    one_list_is_cut_as_among_many,
    reasons_are_sentences,
    bounds_hold,
    distances_are_cut_like_scores,
    padding_is_never_kept,
    degenerate_lists_are_cut,
    a_decision_waits_for_fit_where_it_must,
    learning_needs_judgements,
    cuts_depend_on_the_training_lists_alone,
    lists_are_left_alone,
    clones_have_learned_nothing,
    a_failed_fit_changes_nothing,
    files_and_copies_cut_alike,
    scores_may_be_very_large_or_very_small,
)
"""One promise each; `check_truncator` tests them all."""
