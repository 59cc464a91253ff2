"""One contract that every registered truncator keeps."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from methods import LABEL_FREE, NEEDS, NEURAL
from support import ROOT

import paretocut as pc
from paretocut import metrics, truncators
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.lists import RankedLists
from paretocut.truncators import Truncator

# Look at embeddings of the query or at its judgements, which bare scores do not bring.
NEEDS_MORE_THAN_SCORES = {"oracle", "local_k", "surprise_local", "isotonic_local"}

# Learn from judgements, and work without them too.
UNTRAINED = {"consensus", "surprise"}


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


def judged_lists(seed: int, *, judged: bool = True) -> RankedLists:
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


@pytest.fixture(scope="module")
def train() -> RankedLists:
    return judged_lists(1)


@pytest.fixture(scope="module")
def test() -> RankedLists:
    return judged_lists(2)


def test_has_a_passage_in_the_documentation(name: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("methods*.md")]
    headings = [line for page in pages for line in page.splitlines() if line.startswith("#")]
    assert any(f"`{name}`" in line for line in headings), f"docs/methods.md has no heading `{name}`"


def test_fit_returns_self_and_cuts_are_integers_within_each_list(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    truncator = make(name)
    assert truncator.fit(train) is truncator
    cuts = truncator.predict(test)
    assert isinstance(cuts, np.ndarray)
    assert cuts.dtype == np.int64
    assert cuts.shape == (len(test),)
    assert (cuts >= 0).all()
    assert (cuts <= test.scores.lengths).all()
    assert truncator.truncate(test).scores.lengths.tolist() == cuts.tolist()


def test_a_decision_is_the_same_for_one_list_and_for_many(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    truncator = make(name).fit(train)
    cuts = truncator.cut_batch(test)
    np.testing.assert_array_equal(cuts.k, truncator.predict(test))
    np.testing.assert_array_equal(np.asarray(cuts), cuts.k)
    assert len(cuts) == len(cuts.reasons) == len(cuts.warnings) == len(test)
    if name in NEEDS_MORE_THAN_SCORES:
        return
    rng = np.random.default_rng(0)
    for i, scores in enumerate(test.scores):
        shuffled = rng.permutation(scores.size)
        one = truncator.cut(scores[shuffled] if scores.size < 8 else scores)
        assert (one.k, one.n, one.reason, one.warnings) == (
            cuts[i].k, scores.size, cuts[i].reason, cuts[i].warnings
        )  # fmt: skip
        assert one.indices.shape == (one.k,)


def test_every_reason_is_one_sentence_that_says_what_decided(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    truncator = make(name).fit(train)
    for cut in truncator.cut_batch(test):
        amount = "all" if cut.k == cut.n > 0 else str(cut.k) if cut.k else "none of"
        assert cut.reason.startswith(f"kept {amount}")
        before, _, why = cut.reason.partition(": ")
        assert why
        assert "\n" not in cut.reason
        assert "inf" not in why.split()
        assert set(cut.warnings) <= set(pc.WARNINGS)
        assert json.loads(json.dumps(cut.to_dict()))["reason"] == cut.reason
        assert before.endswith(f"{cut.n}")
    if truncator.is_fitted:
        reason = truncator.cut_batch(test[:1]).reasons[0]
        assert f"learned from {len(train)} judged queries" in reason


def test_bounds_hold_whatever_is_decided(name: str, train: RankedLists, test: RankedLists) -> None:
    truncator = make(name).fit(train)
    free = truncator.predict(test)
    for low, high in ((0, 3), (4, None), (2, 2), (100, None)):
        cuts = truncator.cut_batch(test, min_k=low, max_k=high)
        expected = np.clip(free, low, 10**6 if high is None else high)
        np.testing.assert_array_equal(cuts.k, np.minimum(expected, test.scores.lengths))
        changed = np.flatnonzero(cuts.k != free)
        for i in changed:
            assert ("the minimum asked for" in cuts.reasons[i]) == (cuts.k[i] > free[i])
            assert ("the most allowed" in cuts.reasons[i]) == (cuts.k[i] < free[i])


def test_distances_are_cut_like_the_scores_they_mirror(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    def mirrored(lists: RankedLists) -> RankedLists:
        return RankedLists(
            lists.scores.with_values(5.0 - lists.scores.values),
            relevance=lists.relevance,
            query_embeddings=lists.query_embeddings,
            higher_is_better=False,
        )

    # Scores below 0 keep the raw ones of both from ending in zeros.
    shifted = [
        RankedLists(
            lists.scores.with_values(lists.scores.values - 5.0),
            relevance=lists.relevance,
            query_embeddings=lists.query_embeddings,
        )
        for lists in (train, test)
    ]
    ours = make(name).fit(shifted[0])
    theirs = make(name).fit(mirrored(train))
    np.testing.assert_array_equal(theirs.predict(mirrored(test)), ours.predict(shifted[1]))
    if name not in LABEL_FREE | {"global_k", "local_k"}:
        with pytest.raises(InvalidScoresError, match=r"must hold distances, .*got scores"):
            theirs.predict(test)


def test_results_with_score_0_match_nothing(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    truncator = make(name).fit(train)
    lists = RankedLists(
        [[9.1, 8.7] + [0.0] * 198, [0.0] * 30, [0.0], [3.0, 1.0, 0.0]],
        relevance=[[1] * 200, [1] * 30, [1], [1] * 3],
        query_embeddings=np.zeros((4, 4)),
    )
    cuts = truncator.cut_batch(lists)
    if name in ("oracle", "conformal"):  # a ceiling and a guarantee count all results
        assert not any("zero_scores" in names for names in cuts.warnings)
        return
    assert (cuts.k <= [2, 0, 0, 3]).all()
    assert ["zero_scores" in names for names in cuts.warnings] == [True, True, True, False]
    assert "score 0, so they match nothing" in cuts.reasons[1]


@pytest.mark.parametrize(
    "scores",
    [[[]], [[0.5]], [[2.0, 2.0, 2.0]], [[3.0, 3.0, 1.0, 1.0]], [], [[1.0], [], [2.0, 1.0]]],
    ids=["empty", "one result", "constant", "ties", "no lists", "mixed"],
)
def test_degenerate_lists_are_cut_without_complaint(
    name: str, train: RankedLists, scores: list[list[float]]
) -> None:
    lists = RankedLists(
        scores,
        relevance=[np.ones(len(part)) for part in scores],
        query_embeddings=np.zeros((len(scores), 4)),
    )
    cuts = make(name).fit(train).predict(lists)
    assert cuts.shape == (len(scores),)
    assert ((cuts >= 0) & (cuts <= lists.scores.lengths)).all()


def test_training_lists_without_relevant_or_any_results_are_accepted(
    name: str, test: RankedLists
) -> None:
    barren = RankedLists(
        [[2.0, 1.0], [], [3.0]],
        relevance=[[0, 0], [], [0]],
        query_embeddings=np.zeros((3, 4)),
    )
    cuts = make(name).fit(barren).predict(test)
    assert (cuts <= test.scores.lengths).all()


def test_predict_before_fit_is_refused_where_fit_learns(name: str, test: RankedLists) -> None:
    truncator = make(name)
    if name in LABEL_FREE | UNTRAINED:
        assert truncator.predict(test).shape == (len(test),)
    else:
        with pytest.raises(NotFittedError, match=f"^{type(truncator).__name__}: .*fit") as caught:
            truncator.predict(test)
        assert isinstance(caught.value, (ValueError, AttributeError))  # as in scikit-learn


def test_learning_needs_judgements_and_lists(name: str, train: RankedLists) -> None:
    truncator = make(name)
    bare = judged_lists(1, judged=False)
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


def test_cuts_depend_on_nothing_but_the_training_lists(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    truncator = make(name)
    first = truncator.fit(train).predict(test)
    np.testing.assert_array_equal(truncator.predict(test), first)
    np.testing.assert_array_equal(truncator.fit(test).fit(train).predict(test), first)
    np.testing.assert_array_equal(make(name).fit(train).predict(test), first)
    # Neither do the other lists in the batch matter.
    np.testing.assert_array_equal(truncator.predict(test[5:9]), first[5:9])


def test_input_is_untouched(name: str, test: RankedLists) -> None:
    lists = judged_lists(1)
    before = copy.deepcopy(lists)
    make(name).fit(lists).predict(lists)
    np.testing.assert_array_equal(lists.scores.values, before.scores.values)
    np.testing.assert_array_equal(lists.relevance.values, before.relevance.values)
    np.testing.assert_array_equal(lists.query_embeddings, before.query_embeddings)


def test_the_constructor_stores_its_arguments_and_nothing_else(name: str) -> None:
    truncator = make(name)
    assert set(vars(truncator)) == set(inspect.signature(type(truncator)).parameters)
    assert truncator.get_params(deep=False) == vars(truncator)


def test_fit_leaves_the_parameters_alone(name: str, train: RankedLists) -> None:
    truncator = make(name)
    before = repr(truncator)
    truncator.fit(train)
    assert repr(truncator) == before
    learned = set(vars(truncator)) - set(truncator.get_params(deep=False))
    assert all(attribute.endswith("_") for attribute in learned)


def test_clone_keeps_parameters_and_forgets_the_fit(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    truncator = make(name).fit(train)
    fresh = truncator.clone()
    assert fresh is not truncator
    assert type(fresh) is type(truncator)
    assert repr(fresh) == repr(truncator)
    assert set(vars(fresh)) == set(truncator.get_params(deep=False))
    np.testing.assert_array_equal(fresh.fit(train).predict(test), truncator.predict(test))


def test_repr_is_the_call_that_makes_it(name: str) -> None:
    truncator = make(name)
    again = eval(repr(truncator), vars(truncators) | {"__builtins__": {}} | neural_names(name))
    assert again.get_params(deep=False).keys() == truncator.get_params(deep=False).keys()
    assert repr(again) == repr(truncator)


def neural_names(name: str) -> dict[str, object]:
    kinds = ("BiCut", "Choppy", "AttnCut", "Training") if name in NEURAL else ()
    return {kind: getattr(truncators, kind) for kind in kinds}


def test_set_params_changes_parameters_and_refuses_others(name: str) -> None:
    truncator = make(name)
    params = truncator.get_params(deep=False)
    assert truncator.set_params(**params) is truncator
    with pytest.raises(InvalidParameterError, match=r"must be among .*, got 'nonsense'"):
        truncator.set_params(nonsense=1)


def test_pickle_keeps_what_was_learned(name: str, train: RankedLists, test: RankedLists) -> None:
    truncator = make(name).fit(train)
    again = pickle.loads(pickle.dumps(truncator))
    np.testing.assert_array_equal(again.predict(test), truncator.predict(test))


def test_save_and_load_keep_what_was_learned(
    name: str, train: RankedLists, test: RankedLists, tmp_path: Path
) -> None:
    truncator = make(name).fit(train)
    path = tmp_path / "model.json"
    truncator.save(path)
    again = pc.load(path)
    assert type(again) is type(truncator)
    assert repr(again) == repr(truncator)
    np.testing.assert_array_equal(again.predict(test), truncator.predict(test))
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_an_unfitted_truncator_can_be_saved(name: str, tmp_path: Path) -> None:
    truncator = make(name)
    truncator.save(tmp_path / "model.json")
    assert repr(pc.load(tmp_path / "model.json")) == repr(truncator)


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
    train, test = judged_lists(seed), judged_lists(seed + 100)
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
    other = {"Calibrated", "Gated", "Truncator", "from_text", "load", "make", "names"}
    assert classes == public - other


def test_a_fit_that_fails_leaves_the_old_model(
    name: str, train: RankedLists, test: RankedLists
) -> None:
    # A refused refit made Consensus untrained once, without a word.
    truncator = make(name).fit(train)
    before, saved = truncator.predict(test), truncator.to_dict()
    for bad in (train[:0], RankedLists([[0.5, 0.4]]), "run.txt"):
        with suppress(ValueError, TypeError, AttributeError):
            copy.deepcopy(truncator).fit(bad)  # whether it is refused at all
            continue
        with pytest.raises((ValueError, TypeError, AttributeError)):
            truncator.fit(bad)
    np.testing.assert_array_equal(truncator.predict(test), before)
    assert truncator.to_dict() == saved


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


EXTREME = {
    "huge": lambda rng, shape: rng.uniform(-1, 1, shape) * 1.7e308,
    "ends": lambda rng, shape: rng.choice([1.7e308, -1.7e308, 0.0, 5e-324], shape),
    "denormal": lambda rng, shape: rng.integers(0, 1000, shape) * 5e-324,
    "all sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.uniform(-300, 300, shape),
    "one number": lambda rng, shape: np.full(shape, -1.7e308),
}


@pytest.mark.parametrize("kind", EXTREME)
def test_very_large_and_very_small_scores_are_cut_without_complaint(
    name: str, kind: str, tmp_path: Path
) -> None:
    # Sums, differences and squares overflowed, with warnings from NumPy. Warnings are errors here.
    rng = np.random.default_rng(3)
    scores = EXTREME[kind](rng, (24, 30))
    lists = RankedLists(
        scores, rng.random((24, 30)) < 0.3, query_embeddings=rng.normal(size=(24, 3))
    )
    truncator = make(name).fit(lists)
    cuts = truncator.cut_batch(lists)
    assert ((cuts.k >= 0) & (cuts.k <= 30)).all()
    assert not any("nan" in reason or "inf" in reason.split() for reason in cuts.reasons)
    truncator.save(tmp_path / "model.json")
    assert pc.load(tmp_path / "model.json").predict(lists).tolist() == cuts.k.tolist()
