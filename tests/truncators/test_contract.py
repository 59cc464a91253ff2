"""One contract that every registered truncator keeps."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from methods import LABEL_FREE, NEEDS, NEURAL
from support import ROOT

import paretocut as pc
from paretocut import metrics, truncators
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.lists import RankedLists
from paretocut.truncators import Truncator
from paretocut.truncators.checking import CHECKS, Check, made_lists


def make(name: str) -> Truncator:
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    truncator = truncators.make(name)
    if name in NEURAL:
        truncator.set_params(training__max_epochs=2, width=16)  # the contract, not the quality
    return truncator


# One network of three stands for the others in the quick tests.
@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.slow if name in ("choppy", "attncut") else ())
        for name in truncators.names()
    ]
)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def train() -> RankedLists:
    return made_lists(1)


@pytest.fixture(scope="module")
def test() -> RankedLists:
    return made_lists(2)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_keeps_the_contract(name: str, check: Check) -> None:
    check(make(name))


VARIANTS = {
    "consensus for DCG": lambda: truncators.Consensus("penalized_dcg"),
    "consensus for accuracy": lambda: truncators.Consensus("accuracy", base=truncators.GlobalK()),
    "consensus with a word": lambda: truncators.Consensus(expect="few"),
    "a rule": lambda: truncators.Surprise(evalue=0.05),
    "a given threshold": lambda: truncators.ScoreThreshold("minmax", 0.5),
    "gated": lambda: truncators.Gated(truncators.FixedK(), background()),
    "gated, to be fitted": lambda: truncators.Gated(truncators.GlobalK(), background()),
}


def background() -> pc.Background:
    return pc.Background.fit(np.random.default_rng(0).normal(-1, 1, (300, 50)).max(axis=1))


@pytest.mark.parametrize("made", VARIANTS.values(), ids=VARIANTS)
def test_variants_keep_the_contract(made: Callable[[], Truncator]) -> None:
    truncators.check_truncator(made())


def test_a_calibrated_truncator_keeps_the_contract() -> None:
    rng = np.random.default_rng(0)
    given = pc.calibration.calibrated(-np.sort(-rng.normal(0.3, 0.1, (40, 20)), axis=1))
    for check in CHECKS:
        # It keeps its measurements of the index, whatever it is fitted to.
        if check.__name__ not in (
            "every_argument_is_declared_and_only_stored",
            "clones_have_learned_nothing",
        ):
            check(given)


def test_a_decision_waits_for_fit_where_it_must(name: str, test: RankedLists) -> None:
    fresh = make(name)
    if fresh.needs_fit:
        with pytest.raises(NotFittedError, match="must be fitted with fit"):
            fresh.predict(test)


def test_bounds_hold(name: str, train: RankedLists, test: RankedLists) -> None:
    fitted = make(name).fit(train)
    free = fitted.predict(test)
    for low, high in ((0, 3), (4, None), (2, 2), (100, None)):
        cuts = fitted.cut_batch(test, min_k=low, max_k=high)
        wanted = np.minimum(np.clip(free, low, high), test.scores.lengths)
        np.testing.assert_array_equal(cuts.k, wanted)
        for i in np.flatnonzero(cuts.k != free):
            bound = "the minimum asked for" if cuts.k[i] > free[i] else "the most allowed"
            assert bound in cuts.reasons[i]


def test_a_failed_fit_changes_nothing(name: str, train: RankedLists, test: RankedLists) -> None:
    fitted = make(name).fit(train)
    before = fitted.predict(test)
    bad: list[Any] = [train[:0], RankedLists([[0.5, 0.4]]), "run.txt"]
    for lists in bad:
        trial = copy.deepcopy(fitted)
        try:
            trial.fit(lists)
        except (ValueError, TypeError, AttributeError):
            np.testing.assert_array_equal(trial.predict(test), before)


def test_has_a_passage_in_the_documentation(name: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("methods*.md")]
    headings = [line for page in pages for line in page.splitlines() if line.startswith("#")]
    assert any(f"`{name}`" in line for line in headings), f"docs/methods.md has no heading `{name}`"


def test_learning_needs_judgements_and_lists(name: str, train: RankedLists) -> None:
    truncator = make(name)
    bare = made_lists(1, judged=False)
    if name in LABEL_FREE:
        assert truncator.fit(bare) is truncator
    else:
        if name == "consensus":  # unjudged lists tell it how many results to expect
            assert truncator.fit(bare).strategy_ == "estimate"
            truncator = truncators.make(name, metric="penalized_dcg")
        with pytest.raises(InvalidScoresError, match="made without relevance"):
            truncator.fit(bare)
        with pytest.raises(InvalidScoresError, match=r"made without relevance|query_embeddings"):
            truncator.fit([[2.0, 1.0], [3.0, 1.0]])
        with pytest.raises(InvalidParameterError, match="at least one list to learn from, got 0"):
            truncator.fit(train[:0])


def test_repr_is_the_call_that_makes_it(name: str) -> None:
    truncator = make(name)
    again = eval(repr(truncator), vars(truncators) | {"__builtins__": {}} | neural_names(name))
    assert again.get_params(deep=False).keys() == truncator.get_params(deep=False).keys()
    assert repr(again) == repr(truncator)


def neural_names(name: str) -> dict[str, object]:
    kinds = ("BiCut", "Choppy", "AttnCut", "Training") if name in NEURAL else ()
    return {kind: getattr(truncators, kind) for kind in kinds}


@pytest.mark.parametrize("metric", ["f1", "penalized_dcg", "accuracy"])
def test_nothing_beats_the_oracle(
    name: str, metric: str, train: RankedLists, test: RankedLists
) -> None:
    make(name)  # skips without its package
    truncator = truncators.make(name, metric=metric)
    if name in NEURAL:
        truncator = make(name)
    best = metrics.get(metric)(test, truncators.Oracle(metric).predict(test))
    ours = metrics.get(metric)(test, truncator.fit(train).predict(test))
    assert (ours <= best + 1e-12).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("metric", ["f1", "penalized_dcg"])
def test_global_k_from_the_test_lists_is_never_beaten_by_one_from_training(
    metric: str, seed: int
) -> None:
    train, test = made_lists(seed), made_lists(seed + 100)
    value = metrics.get(metric)
    own = value(test, truncators.GlobalK(metric).fit(test).predict(test)).mean()
    trained = value(test, truncators.GlobalK(metric).fit(train).predict(test)).mean()
    assert trained <= own + 1e-12


def test_make_says_what_it_knows() -> None:
    with pytest.raises(InvalidParameterError, match=r"one of surprise, .*, got 'suprise'"):
        truncators.make("suprise")
    assert repr(truncators.make("conformal", base="global_k", level=0.2)) == (
        "Conformal(base=GlobalK(), level=0.2)"
    )
    assert truncators.make("fixed_k", k=3, metric="penalized_dcg").get_params() == {"k": 3}


def test_every_public_truncator_has_a_short_name() -> None:
    classes = {type(make(name)).__name__ for name in truncators.names() if name not in NEURAL}
    public = set(truncators.__all__) - {"BiCut", "Choppy", "AttnCut", "Training"}
    other = {
        "Calibrated",
        "Gated",
        "Truncator",
        "check_truncator",
        "from_text",
        "load",
        "make",
        "names",
    }
    assert classes == public - other


def test_a_shared_truncator_decides_by_one_of_its_models_while_it_is_fitted(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    # 230 of 2,133 decisions matched neither model, and most calls raised AttributeError.
    parts = (train[:15], train[10:])
    models = [make(name).fit(part).predict(test).tolist() for part in parts]
    shared = make(name).fit(parts[0])
    done = threading.Event()

    def cut() -> list[list[int]]:
        found = [shared.predict(test).tolist()]
        while not done.is_set():
            cuts = shared.cut_batch(test)
            assert len(cuts.reasons) == len(test)
            found.append(cuts.k.tolist())
        return found

    with ThreadPoolExecutor(3) as pool:
        try:
            work = [pool.submit(cut) for _ in range(3)]
            for i in range(6):
                shared.fit(parts[(i + 1) % 2])
        finally:
            done.set()
        for found in work:
            assert all(cuts in models for cuts in found.result())
