"""Each family of truncators against hand-computed or independent expectations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paretocut import metrics
from paretocut.errors import (
    InvalidParameterError,
    InvalidScoresError,
    MissingExtraError,
    NotFittedError,
)
from paretocut.lists import Ragged, RankedLists
from paretocut.tail import fit_tails
from paretocut.truncators import (
    Autocut,
    Consensus,
    FixedK,
    GlobalK,
    Isotonic,
    Knee,
    LargestGap,
    LocalK,
    Oracle,
    ScoreDistribution,
    ScoreThreshold,
    Surprise,
    TopP,
)
from paretocut.truncators.threshold import normalize_scores

score_lists = st.lists(
    st.lists(st.floats(-100, 100, allow_subnormal=False), max_size=12), min_size=1, max_size=4
)


def random_lists(seed: int, *, count: int = 40, depth: int = 30, groups: int = 1) -> RankedLists:
    """Return judged lists whose queries come in groups with different numbers of relevant."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, count)
    relevant = np.arange(depth) < (group[:, None] + 1) * 4
    noise = rng.random((count, depth)) < 0.1
    scores = np.sort(rng.normal(size=(count, depth)), axis=1)[:, ::-1] + relevant * 1.0
    embeddings = group[:, None] * 10 + rng.normal(size=(count, 3))
    return RankedLists(scores, relevant ^ noise, query_embeddings=embeddings)


def test_surprise_has_the_default_rule_until_it_is_fitted() -> None:
    lists = random_lists(0)
    truncator = Surprise()
    np.testing.assert_array_equal(truncator.predict(lists), Surprise(alpha=0.05).predict(lists))
    learned = truncator.fit(lists).predict(lists)
    assert truncator.threshold_ != pytest.approx(-np.log(0.05))
    assert metrics.f1(lists, learned).mean() > metrics.f1(lists, Surprise().predict(lists)).mean()


def test_what_can_be_given_in_place_of_fit_is_named_before_it() -> None:
    with pytest.raises(NotFittedError, match="or with alpha, evalue, fdr or min_surprise given"):
        Surprise(neighbors=3).predict([[3.0, 2.0, 1.0]])
    with pytest.raises(NotFittedError, match="or with threshold given"):
        ScoreThreshold("minmax").predict([[3.0, 2.0, 1.0]])
    with pytest.raises(NotFittedError, match=r"fit\(judged_lists\) before it decides"):
        GlobalK().predict([[3.0, 2.0, 1.0]])


# --- ranks --------------------------------------------------------------------------------------


def test_oracle_takes_the_smallest_of_the_best_cuts() -> None:
    lists = RankedLists([[3.0, 2.0, 1.0], [2.0, 1.0], [1.0]], [[1, 0, 1], [0, 0], [1]])
    assert Oracle().predict(lists).tolist() == [3, 0, 1]
    assert Oracle("penalized_dcg").predict(lists).tolist() == [1, 0, 1]


def test_oracle_needs_judgements() -> None:
    with pytest.raises(InvalidScoresError, match="made without relevance"):
        Oracle().predict([[1.0]])


def test_global_k_equals_a_loop_over_all_cuts() -> None:
    train = random_lists(0, groups=3)
    for metric in ("f1", "penalized_dcg", "utility(1,0.3)"):
        value = metrics.get(metric)
        means = [value(train, k).mean() for k in range(31)]
        assert GlobalK(metric).fit(train).k_ == int(np.argmax(means))


def test_local_k_equals_global_k_on_the_neighbours() -> None:
    pytest.importorskip("sklearn")
    train, test = random_lists(0, groups=3), random_lists(1, count=10, groups=3)
    cuts = LocalK(neighbors=7).fit(train).predict(test)
    gaps = test.query_embeddings[:, None] - train.query_embeddings[None]
    order = np.argsort((gaps**2).sum(axis=2), axis=1)[:, :7]
    assert cuts.tolist() == [GlobalK().fit(train[rows]).k_ for rows in order]


def test_local_k_with_all_neighbours_is_global_k() -> None:
    pytest.importorskip("sklearn")
    train, test = random_lists(0), random_lists(1)
    everyone = LocalK(neighbors=1000).fit(train).predict(test)
    assert everyone.tolist() == GlobalK().fit(train).predict(test).tolist()


def test_local_methods_need_embeddings_of_one_size() -> None:
    pytest.importorskip("sklearn")
    train = random_lists(0)
    bare = RankedLists(train.scores, train.relevance)
    for truncator in (LocalK(), Surprise(neighbors=3), Isotonic(neighbors=3)):
        with pytest.raises(InvalidScoresError, match=r"must have query_embeddings .* got none"):
            truncator.fit(bare)
        truncator.fit(train)
        with pytest.raises(InvalidScoresError, match=r"must have query_embeddings .* got none"):
            truncator.predict(bare)
        other = RankedLists(train.scores, query_embeddings=np.zeros((len(train), 2)))
        with pytest.raises(InvalidScoresError, match=r"must have 3 dimensions.* got 2"):
            truncator.predict(other)


# --- score thresholds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [
        ("raw", [4.0, 2.0, 0.0, -3.0, -6.0, 5.0, 5.0]),
        ("max", [1.0, 0.5, 0.0, -1.0, -2.0, 1.0, 1.0]),
        ("minmax", [1.0, 0.5, 0.0, 1.0, 0.0, 1.0, 1.0]),
        ("z", [1.5**0.5, 0.0, -(1.5**0.5), 1.0, -1.0, 0.0, 0.0]),
    ],
)
def test_normalisations_equal_hand_computed_values(normalize: str, expected: list[float]) -> None:
    lists = RankedLists([[4.0, 2.0, 0.0], [-3.0, -6.0], [], [5.0, 5.0]])
    keys = ScoreThreshold(normalize).result_values(lists)
    np.testing.assert_allclose(keys.values, expected)
    for threshold in (-1.0, 0.0, 0.4, 0.9, 1.0):
        by_hand = [int(np.count_nonzero(part >= threshold)) for part in keys]
        assert ScoreThreshold(normalize, threshold).predict(lists).tolist() == by_hand


@given(score_lists, st.floats(0.01, 10), st.floats(-10, 10))
def test_minmax_and_z_do_not_change_with_shift_or_scale(
    scores: list[list[float]], scale: float, shift: float
) -> None:
    lists = RankedLists([[round(score, 2) for score in part] for part in scores])
    moved = RankedLists(lists.scores.with_values(lists.scores.values * scale + shift))
    for normalize in ("minmax", "z"):
        ours, theirs = (ScoreThreshold(normalize).result_values(part) for part in (lists, moved))
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-6)


@pytest.mark.parametrize("normalize", ["raw", "max", "minmax", "z"])
@pytest.mark.parametrize("metric", ["f1", "penalized_dcg"])
def test_the_learned_threshold_equals_a_search_over_all_scores(normalize: str, metric: str) -> None:
    train = random_lists(3, count=8, depth=12)
    truncator = ScoreThreshold(normalize, metric=metric).fit(train)
    value = metrics.get(metric)
    learned = value(train, truncator.predict(train)).mean()
    keys = truncator.result_values(train).values
    candidates = [np.inf, *keys]
    best = max(value(train, ScoreThreshold(normalize, t).predict(train)).mean() for t in candidates)
    assert learned == pytest.approx(best)


def test_a_hopeless_run_teaches_to_keep_nothing() -> None:
    train = RankedLists(np.tile([3.0, 2.0, 1.0], (5, 1)), np.zeros((5, 3)))
    assert ScoreThreshold(metric="penalized_dcg").fit(train).threshold_ == np.inf
    assert ScoreThreshold(metric="penalized_dcg").fit(train).predict([[9.0, 1.0]]).tolist() == [0]
    assert Surprise("penalized_dcg").fit(train).predict([[9.0, 1.0]]).tolist() == [0]


# --- isotonic -----------------------------------------------------------------------------------


def test_isotonic_equals_scikit_learn_and_a_search_over_its_levels() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    train, test = random_lists(4), random_lists(5)
    truncator = Isotonic().fit(train)
    model = isotonic.IsotonicRegression(out_of_bounds="clip")
    model.fit(train.scores.values, train.relevant.values)
    calibrated = model.predict(test.scores.values)
    np.testing.assert_allclose(truncator.result_values(test).values, calibrated)

    levels = np.unique(model.predict(train.scores.values))

    def mean_f1(level: float) -> float:
        kept = [int(np.count_nonzero(model.predict(part) >= level)) for part in train.scores]
        return float(metrics.f1(train, kept).mean())

    learned = metrics.f1(train, truncator.predict(train)).mean()
    assert learned == pytest.approx(max(mean_f1(level) for level in [*levels, 2.0]))


def test_local_isotonic_equals_the_global_one_on_the_neighbours() -> None:
    pytest.importorskip("sklearn")
    train, test = random_lists(0, groups=3), random_lists(1, count=6, groups=3)
    cuts = Isotonic(normalize="max", neighbors=5).fit(train).predict(test)
    gaps = test.query_embeddings[:, None] - train.query_embeddings[None]
    order = np.argsort((gaps**2).sum(axis=2), axis=1)[:, :5]
    for i, rows in enumerate(order):
        alone = Isotonic(normalize="max").fit(train[np.sort(rows)])
        assert alone.predict(test[[i]])[0] == cuts[i]


# --- surprise -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [{"alpha": 0.1}, {"evalue": 0.5}, {"fdr": 0.2}, {"min_surprise": 1.5}]
)
def test_a_given_rule_needs_no_fit_and_equals_the_engine(rule: dict[str, float]) -> None:
    test = random_lists(6, depth=60)
    cuts = Surprise(refit="all", min_window=8, **rule).predict(test)
    expected = fit_tails(test, refit="all", min_window=8).cut(**rule)
    assert cuts.tolist() == expected.k.tolist()


def test_the_learned_surprise_threshold_equals_a_search_over_all_values() -> None:
    train = random_lists(7, count=12, depth=40)
    truncator = Surprise("f1", bounds=(0, 8)).fit(train)
    keys = fit_tails(train).surprise
    assert 0 <= truncator.threshold_ <= 8
    learned = metrics.f1(train, truncator.predict(train)).mean()

    def mean_f1(threshold: float) -> float:
        kept = [int(np.count_nonzero(part >= threshold)) for part in keys]
        return float(metrics.f1(train, kept).mean())

    inside = [value for value in keys.values if 0 <= value <= 8]
    assert learned == pytest.approx(max(mean_f1(value) for value in [*inside, 8.0]))


def test_local_surprise_equals_the_global_one_on_the_neighbours() -> None:
    pytest.importorskip("sklearn")
    train, test = random_lists(0, groups=3), random_lists(1, count=6, groups=3)
    cuts = Surprise(neighbors=5).fit(train).predict(test)
    gaps = test.query_embeddings[:, None] - train.query_embeddings[None]
    order = np.argsort((gaps**2).sum(axis=2), axis=1)[:, :5]
    for i, rows in enumerate(order):
        assert Surprise().fit(train[np.sort(rows)]).predict(test[[i]])[0] == cuts[i]


# --- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 2),
        ({"ignore_tail": 0.8}, 1),
        ({"extra": 3}, 5),
        ({"extra": 9}, 6),
    ],
)
def test_largest_gap_equals_hand_computed_cuts(options: dict[str, float], expected: int) -> None:
    # Gaps: 1, 5, 0.5, 2, 0.5; int(5 * 0.8) = 4 of the tail go.
    scores = [10.0, 9.0, 4.0, 3.5, 1.5, 1.0]
    assert LargestGap(**options).predict([scores]).tolist() == [expected]


def weaviate_autocut(values: list[float], jumps: int) -> int:
    """Return the cut by a literal reading of Weaviate's rule, index by index."""
    span, step = values[-1] - values[0], 1 / (len(values) - 1)
    over = [(value - values[0]) / span - i * step for i, value in enumerate(values)]
    count = 0
    for i in range(1, len(values)):
        last = i == len(values) - 1
        right = over[i - 2] if last else over[i + 1]
        if over[i] > over[i - 1] + 1e-12 and over[i] > right + 1e-12:
            count += 1
            if count >= jumps:
                return i
    return len(values)


@given(
    st.lists(st.integers(0, 30), min_size=3, max_size=15).filter(lambda v: len(set(v)) > 1),
    st.integers(1, 3),
)
@example([0, 0, 0, 0, 10, 14, 24], 1)  # ranks 2 and 3 are equally far over the diagonal
def test_autocut_equals_a_literal_reading_of_the_rule(values: list[int], jumps: int) -> None:
    # The square keeps most points off straight lines.
    scores = sorted((1 + value + 0.137 * value**2 for value in values), reverse=True)
    assert Autocut(jumps).predict([scores]).tolist() == [weaviate_autocut(scores, jumps)]


def test_autocut_equals_hand_computed_cuts() -> None:
    # Curve minus diagonal: 0, -0.111, 0.333, 0.222, -0.222 (...), 0 over 9.0 .. 1.0.
    scores = [9.0, 8.9, 4.0, 3.9, 1.1, 1.0]
    assert Autocut().predict([scores]).tolist() == [2]
    assert Autocut(2).predict([scores]).tolist() == [4]
    assert Autocut(3).predict([scores]).tolist() == [6]


def test_knee_equals_the_kneed_library() -> None:
    kneed = pytest.importorskip("kneed")
    rng = np.random.default_rng(0)
    lists = [np.sort(rng.exponential(size=80) ** 2)[::-1] for _ in range(10)]
    for scores, cut in zip(lists, Knee().predict(lists), strict=True):
        found = kneed.KneeLocator(
            np.arange(1, 81), scores, S=1.0, curve="convex", direction="decreasing"
        )
        assert cut == (80 if found.knee is None else found.knee)


def test_a_straight_line_has_no_knee_and_is_kept_whole() -> None:
    pytest.importorskip("kneed")
    assert Knee().predict([np.arange(20.0)[::-1]]).tolist() == [20]


def test_top_p_equals_hand_computed_softmax() -> None:
    # Softmax of log weights is the weights: 0.5, 0.25, 0.15, 0.1.
    scores = np.log([0.5, 0.25, 0.15, 0.1])
    for p, expected in [(0.4, 1), (0.5, 1), (0.76, 2), (0.9, 3), (1.0, 4)]:
        assert TopP(p).predict([scores]).tolist() == [expected]
    assert TopP(0.76, temperature=2.0).predict([2 * scores]).tolist() == [2]
    assert TopP(0.5).predict([[1e9, 0.0]]).tolist() == [1]


@pytest.mark.parametrize(
    ("truncator", "expected"),
    [
        (LargestGap(), 20),
        (Autocut(), 20),
        (Knee(), 20),
        (ScoreDistribution(), 20),
        (ScoreDistribution(truncated=True), 20),
        (TopP(0.95), 19),
        (ScoreThreshold("minmax", 0.5), 20),
        (ScoreThreshold("max", 0.5), 20),
        (ScoreThreshold("z", 0.5), 0),
        (FixedK(10), 10),
        (Surprise(alpha=0.05), 20),
        (Surprise(evalue=0.05), 20),
        (Surprise(evalue=0.05, if_unsure="drop"), 0),
        (Consensus(), 20),
    ],
    ids=repr,
)
def test_a_constant_list_gets_the_documented_fallback(truncator: LargestGap, expected: int) -> None:
    assert truncator.predict([np.full(20, 0.7)]).tolist() == [expected]


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truncator", "message"),
    [
        (FixedK(-1), "FixedK: k must be an integer of at least 0, got -1"),
        (GlobalK("ndcg"), "metric must be .* got 'ndcg'"),
        (LocalK(neighbors=0), "LocalK: neighbors must be an integer of at least 1, got 0"),
        (ScoreThreshold("softmax"), "ScoreThreshold: normalize must be one of 'raw', .*'softmax'"),
        (ScoreThreshold("raw", "high"), "ScoreThreshold: threshold must be a number, got 'high'"),
        (Isotonic(normalize="l2"), "Isotonic: normalize must be one of"),
        (Isotonic(neighbors=0.5), "Isotonic: neighbors must be an integer"),
        (LargestGap(ignore_tail=1.0), r"LargestGap: ignore_tail must be in \[0, 1\), got 1"),
        (LargestGap(extra=-1), "LargestGap: extra must be an integer of at least 0"),
        (Autocut(0), "Autocut: jumps must be an integer of at least 1, got 0"),
        (TopP(0.0), r"TopP: p must be in \(0, 1\], got 0"),
        (TopP(temperature=0), "TopP: temperature must be in"),
        (Surprise(alpha=0.1, fdr=0.1), "Surprise: at most one of alpha, .* got alpha and fdr"),
        (Surprise(neighbors=0), "Surprise: neighbors must be an integer of at least 1"),
        (Surprise(bounds=(3, 1)), r"Surprise: bounds must be a lower and an upper one, got"),
        (Surprise(alpha=1.3), r"alpha must be in \(0, 1\), got 1.3"),
    ],
    ids=repr,
)
def test_a_parameter_outside_what_is_allowed_is_refused(truncator: FixedK, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        truncator.fit(random_lists(0, count=3)).predict([[1.0, 0.5, 0.2, 0.1, 0.05, 0.01]])


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    def absent(module: str) -> None:
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"Knee needs .*'kneed'.*paretocut\[knee\]"):
        Knee().predict([[3.0, 2.0, 1.0]])
    with pytest.raises(MissingExtraError, match=r"Isotonic needs .*paretocut\[sklearn\]"):
        Isotonic().fit(random_lists(0, count=3))


@pytest.mark.parametrize("score", [1e-300, 1.0, 1e17, 1e300])
def test_a_constant_list_has_minmax_1_whatever_its_size(score: float) -> None:
    assert ScoreThreshold("minmax", 0.5).cut([score]).k == 1
    assert ScoreThreshold("minmax", 0.5).cut([score] * 3).k == 3


@pytest.mark.parametrize("how", ["max", "minmax", "z"])
@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_normalised_scores_do_not_depend_on_the_size_of_scores(how: str, power: int) -> None:
    # Squares and differences of such scores overflowed, or vanished, and z was NaN.
    rng = np.random.default_rng(0)
    plain = Ragged.from_any([-np.sort(-rng.normal(size=n)) for n in (9, 1, 0, 5)])
    moved = plain.with_values(np.ldexp(plain.values, power))
    expected = normalize_scores(plain, how).values
    np.testing.assert_allclose(normalize_scores(moved, how).values, expected, rtol=1e-12)
