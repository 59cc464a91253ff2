"""Surprise scores and cuts: the engine against the SciPy judge, invariances, rules, warnings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import event, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from support import importorskip

import paretocut as pc
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.io import read_trec

Array = NDArray[np.float64]


def background(n: int, seed: int = 0) -> Array:
    """Return the top of a large collection that has nothing relevant, best first."""
    rng = np.random.default_rng(seed)
    tail = np.cumsum(rng.exponential(size=n)) / 100_000
    return np.asarray(stats.norm.isf(tail, 0.25, 0.06))


def with_hits(n: int, hits: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed + 1000)
    found = np.sort(rng.normal(0.65, 0.03, hits))[::-1]
    return np.concatenate([found, background(n - hits, seed)])


# --- against the reference ------------------------------------------------------------------------


def agree(scores: Array, *, refit: str = "window", min_window: int = 5) -> bool:
    """Check one list against the judge; False if two windows fit equally well to 1e-12."""
    ours = pc.fit_tail(scores, refit=refit, min_window=min_window)
    judge = reference.surprise(scores, refit=refit, min_window=min_window)
    if (ours.lower, ours.upper) != (judge.lower, judge.upper):
        assert judge.closest < 1e-12, "another window without a tie in W2"
        return False
    # Shapes below 1e-9 are the exponential's, as far as rounding of the moments can tell.
    assert ours.shape == pytest.approx(judge.shape, rel=1e-7, abs=1e-9)
    assert ours.scale == pytest.approx(judge.scale, rel=1e-7, abs=5e-324)
    assert ours.cvm == pytest.approx(judge.cvm, rel=1e-7)
    np.testing.assert_allclose(ours.surprise, judge.surprise, rtol=1e-7, atol=1e-7)
    assert ours.threshold == np.sort(scores)[ours.lower]
    return True


@st.composite
def score_lists(draw: st.DrawFn) -> Array:
    """Return lists with ties, several orders of magnitude, and any overall size."""
    elements = draw(
        st.sampled_from(
            [
                st.integers(0, 5).map(float),
                st.integers(-1000, 1000).map(float),
                st.floats(-1, 1, width=32),
                st.floats(0, 1, allow_subnormal=False),  # 300 orders of magnitude are enough
                st.floats(-30, 30).map(math.exp),
                st.one_of(st.integers(0, 3).map(float), st.floats(1e-9, 1e-6), st.just(1e6)),
            ]
        )
    )
    values = draw(st.lists(elements, min_size=5, max_size=32))
    values += draw(st.lists(st.sampled_from(values), max_size=12))
    scale = draw(st.sampled_from([1.0, 1.0, 1e-300, 1e290, 5e-324, 2.0**-40]))
    scores = np.array(values) * scale
    return scores if scores.max() > scores.min() else np.append(scores, scores[0] + scale)


@settings(max_examples=150)
@given(score_lists(), st.sampled_from(["window", "all"]), st.sampled_from([3, 5, 12]))
def test_engine_agrees_with_the_reference(scores: Array, refit: str, min_window: int) -> None:
    if len(scores) >= min_window and not agree(scores, refit=refit, min_window=min_window):
        event("ambiguous: two windows fit equally well")


def test_engine_agrees_with_the_reference_on_extremes() -> None:
    rng = np.random.default_rng(5)
    tail = rng.pareto(1.5, 40)
    for scores in (
        tail * 1e306,
        -tail * 1e306,
        np.floor(100 * tail) * 5e-324,
        np.append(tail, 1e200),  # squares of all the others underflow in units of the largest
        np.append(tail, -1e150),
        1e10 + np.round(tail, 3),
        np.concatenate([tail * 1e-8, tail]),
        np.repeat(tail[:8], 5),
        np.linspace(-1, 1, 64),
        np.concatenate([[1.7e308, -1.7e308], tail]),
    ):
        assert agree(scores)


@pytest.mark.parametrize("kind", ["light", "two sizes", "tied"])
def test_fits_of_windows_with_several_maxima_are_the_first(kind: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        small, large = rng.exponential(size=rng.integers(3, 30)), rng.exponential(size=20)
        scores = np.concatenate([small * 10.0 ** -rng.uniform(2, 8), large])
        if kind == "light":
            scores = np.concatenate([rng.normal(size=30), 3 + rng.normal(size=5)])
        elif kind == "tied":
            scores = np.concatenate([np.zeros(rng.integers(1, 25)), np.round(scores, 2)])
        assert agree(scores)


@pytest.mark.parametrize("run", ["robust04/runs/bm25-top150.run.gz", "vaswani/minilm-dense.run.gz"])
def test_engine_agrees_with_the_reference_on_every_list_of_a_real_run(
    shared_data: Path, run: str
) -> None:
    lists = read_trec(shared_data / run)
    ambiguous = sum(not agree(scores) for scores in lists.scores)
    assert ambiguous <= len(lists) // 100


@pytest.mark.slow
@pytest.mark.parametrize("refit", ["window", "all"])
@pytest.mark.parametrize(
    ("run", "count"),
    [
        ("robust04/runs/trec2003-pircRBa1.run.gz", 100),
        ("robust04/runs/colbert-prf-title.run.gz", 50),
        # Saturated scores and ties: hundreds of windows a list, and the judge is slow.
        ("robust04/runs/drmm-sigmoid-trec8.run.gz", 1),
        ("dl/runs/dl2019-bert-rerank.run.gz", 1),
        ("dl/runs/dl2020-bm25.run.gz", 5),
    ],
)
def test_engine_agrees_with_the_reference_on_more_real_runs(
    shared_data: Path, run: str, count: int, refit: str
) -> None:
    lists = read_trec(shared_data / run)[:count]
    ambiguous = sum(not agree(scores, refit=refit) for scores in lists.scores)
    assert ambiguous <= len(lists) // 100


# --- invariances ----------------------------------------------------------------------------------


def same_fit(a: pc.tail.SurpriseFit, b: pc.tail.SurpriseFit) -> None:
    assert (a.shape, a.scale, a.threshold, a.cvm) == (b.shape, b.scale, b.threshold, b.cvm)
    assert (a.lower, a.upper, a.warnings) == (b.lower, b.upper, b.warnings)
    np.testing.assert_array_equal(a.surprise, b.surprise)


@given(score_lists(), st.randoms(use_true_random=False))
def test_order_of_the_input_does_not_matter(scores: Array, random: Any) -> None:
    order = list(range(len(scores)))
    random.shuffle(order)
    a, b = pc.fit_tail(scores), pc.fit_tail(scores[order])
    assert (a.shape, a.scale, a.lower, a.upper) == (b.shape, b.scale, b.lower, b.upper)
    np.testing.assert_array_equal(a.surprise[order], b.surprise)


@given(
    st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=60),
    st.integers(-(2**30), 2**30),
    st.integers(-800, 800),
)
def test_exact_shifts_and_powers_of_two_change_no_bit(
    scores: list[int], shift: int, power: int
) -> None:
    x = np.array(scores, dtype=np.float64)
    a, shifted, scaled = pc.fit_tail(x), pc.fit_tail(x + shift), pc.fit_tail(x * 2.0**power)
    for b in (shifted, scaled):
        assert (a.shape, a.lower, a.upper, a.cvm) == (b.shape, b.lower, b.upper, b.cvm)
        np.testing.assert_array_equal(a.surprise, b.surprise)
    assert (shifted.scale, shifted.threshold) == (a.scale, a.threshold + shift)
    assert (scaled.scale, scaled.threshold) == (a.scale * 2.0**power, a.threshold * 2.0**power)


@pytest.mark.parametrize(("factor", "shift"), [(3.7, 0.0), (0.001, 5.0), (1e12, -1e12)])
def test_other_scales_and_shifts_change_only_rounding(factor: float, shift: float) -> None:
    scores = with_hits(200, 5)
    a, b = pc.fit_tail(scores), pc.fit_tail(scores * factor + shift)
    assert (a.lower, a.upper) == (b.lower, b.upper)
    # The shifted scores have about nine digits left between them.
    assert a.shape == pytest.approx(b.shape, rel=1e-6, abs=1e-9)
    assert a.scale * factor == pytest.approx(b.scale, rel=1e-6)
    np.testing.assert_allclose(a.surprise, b.surprise, rtol=1e-6, atol=1e-6)


@given(st.lists(score_lists(), max_size=12), st.integers(1, 5))
def test_a_batch_equals_its_lists_one_by_one(lists: list[Array], threads: int) -> None:
    fits = pc.fit_tails(lists, threads=threads)
    assert len(fits) == len(lists)
    for scores, one, cut in zip(lists, fits, fits.cut(fdr=0.1).k, strict=True):
        same_fit(one, pc.fit_tail(scores))
        assert cut == pc.fit_tail(scores).cut(fdr=0.1).k


@pytest.mark.parametrize("options", [{"selection": "gof"}, {"transform": "auto"}], ids=str)
def test_a_batch_equals_its_lists_under_other_options(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    lists = [rng.beta(0.5, 3, n) for n in (3, 10, 60, 200)] + [rng.pareto(1, 90) + 0.1]
    fits = pc.fit_tails(lists, **options)
    for i, scores in enumerate(lists):
        same_fit(fits[i], pc.fit_tail(scores, **options))
        assert fits.transform[i] == pc.fit_tail(scores, **options).transform


@given(score_lists())
def test_distances_are_the_mirror_of_scores(scores: Array) -> None:
    a, b = pc.fit_tail(scores), pc.fit_tail(-scores, higher_is_better=False)
    assert (a.shape, a.scale, a.threshold) == (b.shape, b.scale, -b.threshold)
    np.testing.assert_array_equal(a.surprise, b.surprise)
    if scores.min() != 0:  # scores of 0 match nothing, distances of 0 match best
        np.testing.assert_array_equal(a.cut(alpha=0.2).indices, b.cut(alpha=0.2).indices)


@given(score_lists())
def test_surprise_never_falls_as_scores_rise(scores: Array) -> None:
    fit = pc.fit_tail(scores)
    assert (np.diff(fit.surprise[np.argsort(scores, kind="stable")]) >= 0).all()
    assert (fit.surprise[scores <= fit.threshold] == 0).all()
    assert np.isfinite(fit.surprise).all()


def test_inputs_are_not_changed_and_may_be_read_only_or_strided() -> None:
    scores = with_hits(200, 5)
    expected = pc.fit_tail(scores)
    frozen = scores.copy()
    frozen.flags.writeable = False
    wide = np.zeros((200, 3))
    wide[:, 1] = scores
    for given_ in (frozen, wide[:, 1], scores[::-1][::-1], list(scores), tuple(scores)):
        before = np.array(given_)
        same_fit(pc.fit_tail(given_), expected)
        np.testing.assert_array_equal(np.array(given_), before)
    table = np.stack([frozen, frozen])
    table.flags.writeable = False
    for lists in (table, np.asfortranarray(table), table[:, ::-1][:, ::-1], [frozen, list(scores)]):
        same_fit(pc.fit_tails(lists)[1], expected)


def test_results_do_not_change_when_the_callers_array_does() -> None:
    scores = with_hits(100, 3)
    fit = pc.fit_tail(scores)
    indices = fit.cut(evalue=0.05).indices.tolist()
    scores[:] = 0
    assert pc.fit_tail(with_hits(100, 3)).cut(evalue=0.05).indices.tolist() == indices
    assert fit.order[:3].tolist() == indices


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, np.bool_, ">f8"])
def test_other_number_types_give_what_their_float64_values_give(dtype: Any) -> None:
    scores = (100 * with_hits(60, 2)).astype(dtype)
    same_fit(pc.fit_tail(scores), pc.fit_tail(scores.astype(np.float64)))
    same_fit(pc.fit_tails([scores])[0], pc.fit_tail(scores.astype(np.float64)))


def test_arrow_lists_of_every_layout_give_the_same() -> None:
    pa = importorskip("pyarrow")
    lists = [with_hits(60, 2), with_hits(80, 0), np.array([])]
    expected = pc.fit_tails(lists)
    array = pa.array([x.tolist() for x in lists], type=pa.list_(pa.float64()))
    large = array.cast(pa.large_list(pa.float64()))
    chunked = pa.chunked_array([array.slice(0, 1), array.slice(1)])
    for given_ in (array, large, chunked):
        fits = pc.fit_tails(given_)
        np.testing.assert_array_equal(fits.surprise.values, expected.surprise.values)
    np.testing.assert_array_equal(pc.fit_tails(array.slice(1)).surprise[0], expected.surprise[1])


def test_a_batch_in_two_arrays_and_ranked_lists_give_the_same() -> None:
    lists = [with_hits(60, 2), with_hits(80, 0)]
    expected = pc.fit_tails(lists)
    values, offsets = np.concatenate(lists), np.array([0, 60, 140])
    for given_ in ((values, offsets), pc.lists.Ragged(values, offsets), pc.RankedLists(lists)):
        fits = pc.fit_tails(given_)
        np.testing.assert_array_equal(fits.surprise.values, expected.surprise.values)
    with pytest.raises(InvalidScoresError, match="higher_is_better must be left out"):
        pc.fit_tails(pc.RankedLists(lists), higher_is_better=False)


# --- rules ----------------------------------------------------------------------------------------

LISTS = [
    with_hits(200, 5),
    with_hits(200, 20, seed=1),
    background(200, seed=2),
    np.random.default_rng(3).pareto(2.0, 150),
    np.round(np.random.default_rng(4).normal(size=80), 1),
]


@pytest.mark.parametrize("scores", LISTS, ids=range(len(LISTS)))
@pytest.mark.parametrize("level", [0.001, 0.01, 0.05, 0.3, 0.9])
def test_every_rule_keeps_what_its_formula_says(scores: Array, level: float) -> None:
    fit = pc.fit_tail(scores)
    p, m = fit.pvalues, fit.n - fit.lower
    np.testing.assert_allclose(p, np.exp(-fit.surprise))
    np.testing.assert_allclose(fit.evalues, m * p)
    assert fit.cut(alpha=level).k == (p <= level).sum()
    assert fit.cut(evalue=level).k == (m * p <= level).sum()
    assert fit.cut(evalue=10 * level).k == (m * p <= 10 * level).sum()
    assert fit.cut(min_surprise=-math.log(level)).k == (fit.surprise >= -math.log(level)).sum()
    above = np.sort(p)[:m]  # the results at the threshold and above are the ones tested
    assert fit.cut(fdr=level).k == (stats.false_discovery_control(above) <= level).sum()
    batch = pc.fit_tails([scores, scores[:7]])
    for rule in ("alpha", "evalue", "min_surprise", "fdr"):
        assert batch.cut(**{rule: level}).k[0] == fit.cut(**{rule: level}).k


def test_false_discovery_counts_only_results_above_the_threshold() -> None:
    # 300 scores spread evenly, 12 of a tail: the window is the tail, and 288 results have p = 1.
    tail = -0.001 * np.log(np.linspace(0.02, 1, 12))
    scores = np.concatenate([np.linspace(-50, -49, 288), tail])
    for fit in (pc.fit_tail(scores, selection="gof"), pc.fit_tail(scores)):
        if fit.lower >= 200:
            break
    assert fit.lower >= 200
    assert fit.cut(fdr=0.05).k == 0
    assert pc.fit_tails([scores], selection="gof").cut(fdr=0.05).k[0] == 0


def test_untrained_consensus_decides_if_nothing_is_named() -> None:
    cut = pc.cut(LISTS[0])
    assert cut.method == "Consensus()"
    assert cut.k == pc.truncators.Consensus().predict([LISTS[0]])[0] == 5
    with pytest.raises(InvalidParameterError, match="cut: a rule must be given, such as evalue"):
        pc.fit_tail(LISTS[0]).cut()


@pytest.mark.parametrize("scores", [*LISTS, np.ones(9), np.arange(3.0), np.array([])], ids=repr)
@pytest.mark.parametrize(("low", "high"), [(0, None), (3, None), (0, 4), (2, 2), (500, None)])
def test_bounds_are_kept_whatever_the_rule_says(scores: Array, low: int, high: int | None) -> None:
    for rule in ("alpha", "evalue", "fdr"):
        free = pc.cut(scores, **{rule: 0.05}).k
        cut = pc.cut(scores, **{rule: 0.05}, min_k=low, max_k=high)
        most = len(scores) if high is None else min(high, len(scores))
        assert cut.k == min(max(free, low), most)
        batch = pc.fit_tails([scores]).cut(**{rule: 0.05}, min_k=low, max_k=high)
        assert batch.k[0] == cut.k


def test_indices_point_to_the_best_results_in_the_callers_order() -> None:
    scores = np.array([0.1, 0.9, 0.5, 0.9, 0.2, 0.3, 0.15])
    cut = pc.cut(scores, min_k=4, max_k=4)
    assert cut.indices.tolist() == [1, 3, 2, 5]
    distances = pc.cut(scores, min_k=2, max_k=2, higher_is_better=False)
    assert distances.indices.tolist() == [0, 6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.3}, r"cut: alpha must be in \(0, 1\), got 1.3"),
        ({"alpha": 0}, r"cut: alpha must be in \(0, 1\), got 0"),
        ({"fdr": float("nan")}, r"cut: fdr must be in \(0, 1\), got nan"),
        ({"evalue": 0.0}, r"cut: evalue must be in \(0, inf\), got 0.0"),
        ({"min_surprise": -1}, r"cut: min_surprise must be in \[0, inf\), got -1"),
        ({"alpha": "0.1"}, r"cut: alpha must be in \(0, 1\), got '0.1'"),
        ({"alpha": 0.1, "fdr": 0.1}, r"at most one of .*alpha, .* got alpha and fdr"),
        ({"min_k": -1}, r"cut: min_k must be an integer of at least 0, got -1"),
        ({"min_k": 1.5}, r"cut: min_k must be an integer of at least 0, got 1.5"),
        ({"min_k": 3, "max_k": 2}, r"cut: min_k must be at most max_k=2, got 3"),
        ({"transform": "sqrt"}, r"transform must be one of 'identity', .* got 'sqrt'"),
        ({"selection": "best"}, r"selection must be one of 'greedy', 'gof', got 'best'"),
        ({"refit": True}, r"refit must be one of 'window', 'all', got True"),
        ({"min_window": 2}, r"min_window must be an integer of at least 3, got 2"),
        ({"refit": "all"}, r"refit must come with one of the rules alpha, .*, got none of them"),
        ({"expect": "few", "alpha": 0.1}, r"at most one of .* got expect and alpha"),
        (
            {"expect": "some"},
            r"expect must be 'one', 'few', 'dozens', 'hundreds' or a number, got 'some'",
        ),
        ({"expect": -1}, r"expect must be in \(0, inf\), got -1"),
        ({"truncator": 3}, r"cut: truncator must be a truncator, .* or the path .* got int"),
        ({"evalue": 1, "if_unsure": "no"}, r"if_unsure must be one of 'keep', 'drop', got 'no'"),
    ],
    ids=str,
)
def test_options_outside_what_is_allowed_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        pc.cut(LISTS[0], **options)


# --- reasons --------------------------------------------------------------------------------------

SMOOTH = -np.log(np.linspace(0.005, 0.995, 198))


@pytest.mark.parametrize(
    ("scores", "options", "reason"),
    [
        ([12, 11, *SMOOTH], {"evalue": 0.05},
         "kept 2 of 200: the 3rd would appear by chance 0.91 times per list"),
        ([*SMOOTH], {"evalue": 0.05},
         "kept none of 198: the best would appear by chance 0.9 times per list"),
        ([*SMOOTH], {"evalue": 1e4},
         "kept all 198: the 198th would appear by chance 2e+02 times per list"),
        ([12, 11, *SMOOTH], {"alpha": 1e-4},
         "kept 2 of 200: the 3rd has p-value 0.0046, above 0.0001"),
        ([12, 11, *SMOOTH], {"min_surprise": 8},
         "kept 2 of 200: the 3rd has surprise 5.39, below 8"),
        ([12, 11, *SMOOTH], {"min_surprise": 0},
         "kept all 200: the 200th has surprise 0, at or above 0"),
        ([12, 11, *SMOOTH], {"fdr": 0.05},
         "kept 2 of 200: with more, over 5 % of them would be expected to be chance"),
        ([12, 11, *SMOOTH], {"evalue": 0.05, "min_k": 3},
         "kept 3 of 200, the minimum asked for; otherwise 2: the 3rd would appear by chance 0.91 "
         "times per list"),
        ([12, 11, *SMOOTH], {"evalue": 0.05, "max_k": 1},
         "kept 1 of 200, the most allowed; otherwise 2: the 3rd would appear by chance 0.91 times "
         "per list"),
        ([], {}, "kept none of 0: the list is empty"),
        ([], {"evalue": 0.05}, "kept none of 0: the list is empty"),
        ([1.0, 2.0], {"alpha": 0.05},
         "kept all 2: too few results for a tail (if_unsure='keep')"),
        ([1.0, 2.0], {"alpha": 0.05, "if_unsure": "drop", "min_k": 5},
         "kept all 2, the minimum asked for; otherwise 0: too few results for a tail "
         "(if_unsure='drop')"),
        ([3.0] * 30, {"alpha": 0.05}, "kept all 30: all scores are equal (if_unsure='keep')"),
        ([3.0] * 30, {}, "kept all 30: all scores are equal"),
        ([12, 11, *SMOOTH], {},
         "kept 2 of 200: the 3rd has score 5.3, below 8, where the upper third of the range ends "
         "(12 to 0.00501); for more than a handful say expect='dozens'"),
        ([-12, -11], {"higher_is_better": True, "max_k": 1},
         "kept 1 of 2, the most allowed; otherwise 2: the 2nd has score -12, above -13.5, where "
         "the upper third of the range ends (-11 to -18.6, expected at rank 200)"),
    ],
    ids=lambda x: None if not isinstance(x, str) else x[:24],
)  # fmt: skip
def test_the_reason_is_a_sentence(
    scores: list[float], options: dict[str, Any], reason: str
) -> None:
    assert pc.cut(scores, **options).reason == reason


def test_a_reason_for_a_share_of_less_than_a_percent_says_so() -> None:
    reason = pc.cut([12, 11, *SMOOTH], fdr=0.005).reason
    assert reason == "kept 2 of 200: with more, over 0.5 % of them would be expected to be chance"


def test_a_cut_is_ready_for_json_and_for_slicing() -> None:
    scores = [12.0, 11.0, *SMOOTH]
    cut = pc.cut(scores, evalue=0.05)
    plain = json.loads(json.dumps(cut.to_dict()))
    assert plain == {
        "k": 2,
        "n": 200,
        "indices": [0, 1],
        "nearest": [2, 3, 4],
        "chance": None,
        "method": "evalue=0.05",
        "reason": cut.reason,
        "warnings": ["rank_only_scores"],  # a smooth list is a function of rank
    }
    assert scores[: pc.cut(scores, evalue=0.05)] == [12.0, 11.0]
    assert repr(cut) == "Cut(k=2, n=200, evalue=0.05)"
    for numpy_level in (np.float64(0.05), np.float32(0.05)):
        json.dumps(pc.cut(scores, evalue=numpy_level, min_k=np.int64(3)).to_dict())


def test_a_cut_that_keeps_nothing_is_false() -> None:
    assert pc.cut([12.0, 11.0, *SMOOTH], evalue=0.05)
    nothing = pc.cut(SMOOTH, evalue=0.05)
    assert nothing.k == 0
    assert not nothing
    assert not pc.cut([])


def test_fits_have_one_line_as_their_repr() -> None:
    fit = pc.fit_tail(LISTS[0])
    assert repr(fit).startswith("SurpriseFit(n=200, shape=")
    assert repr(pc.fit_tails(LISTS)) == "SurpriseFits(5 lists, 830 results)"
    with pytest.raises(IndexError):
        pc.fit_tails(LISTS)[5]
    same_fit(pc.fit_tails(LISTS)[-1], pc.fit_tail(LISTS[-1]))


# --- transforms -----------------------------------------------------------------------------------


def test_log_and_logit_fit_the_transformed_scores() -> None:
    p = np.random.default_rng(5).beta(1, 8, 150)
    for transform, values in (("log", np.log(p)), ("logit", np.log(p) - np.log1p(-p))):
        fit, plain = pc.fit_tail(p, transform=transform), pc.fit_tail(values)
        np.testing.assert_array_equal(fit.surprise, plain.surprise)
        assert (fit.shape, fit.scale, fit.lower) == (plain.shape, plain.scale, plain.lower)
        assert fit.threshold == pytest.approx(np.sort(p)[fit.lower], rel=1e-12)
        assert fit.transform == transform


def test_zeros_and_ones_take_the_place_of_the_outermost_score_between_on_the_logit_scale() -> None:
    p = np.random.default_rng(5).beta(1, 8, 60)
    p[:3], p[3:5] = 1.0, 0.0
    inside = p[(p > 0) & (p < 1)]
    clipped = np.clip(p, inside.min(), inside.max())
    a, b = pc.fit_tail(p, transform="logit"), pc.fit_tail(clipped, transform="logit")
    np.testing.assert_array_equal(a.surprise, b.surprise)


@pytest.mark.parametrize(
    ("transform", "scores"),
    [("log", [0.0, 1.0, 2.0]), ("log", [-1.0, 1.0]), ("logit", [0.5, 1.1]), ("logit", [0.0, 1.0])],
)
def test_scores_a_transform_is_not_defined_for_are_refused(
    transform: str, scores: list[float]
) -> None:
    with pytest.raises(InvalidScoresError, match=f"fit_tail: transform='{transform}' needs"):
        pc.fit_tail(scores, transform=transform)
    with pytest.raises(InvalidScoresError, match=f"transform='{transform}' needs .* in list 1"):
        pc.fit_tails([[0.2, 0.3], scores], transform=transform)


def test_auto_stays_with_scores_that_fit_and_finds_the_scale_of_those_that_do_not() -> None:
    rng = np.random.default_rng(6)
    exponential = rng.exponential(size=(40, 300))
    fits = pc.fit_tails(exponential)
    stays = pc.fit_tails(exponential, transform="auto").transform == "identity"
    assert stays[fits.gof_pvalue >= pc.tail.gpd.GOF_LEVEL].all()
    assert stays.mean() > 0.7
    logits = rng.exponential(size=(40, 300)) * 3 - 4
    fits = pc.fit_tails(1 / (1 + np.exp(-logits)), transform="auto")
    found = fits.transform == "logit"
    assert found.mean() > 0.8
    i = int(np.flatnonzero(found)[0])
    np.testing.assert_allclose(fits.surprise[i], pc.fit_tail(logits[i]).surprise, rtol=1e-6)


def test_auto_never_fits_worse_than_identity() -> None:
    rng = np.random.default_rng(8)
    lists = [rng.beta(0.3, 2, 100), rng.lognormal(0, 2, 100), -rng.exponential(size=100)]
    best = pc.fit_tails(lists, transform="auto").gof_pvalue
    assert (best >= pc.fit_tails(lists).gof_pvalue).all()


# --- warnings -------------------------------------------------------------------------------------


def test_clean_lists_carry_no_warning() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert pc.fit_tail(rng.exponential(size=200)).warnings == ()
        assert pc.fit_tail(rng.pareto(1.0, 5000)).warnings == ()


def test_looking_for_trouble_overflows_nowhere() -> None:
    huge = 1.7e308 * np.random.default_rng(0).uniform(-1, 1, 100)
    assert not set(pc.fit_tail(huge).warnings) & {"heavy_ties", "rank_only_scores"}


_rng = np.random.default_rng(0)
_rng.pareto(0.5, 40)
TIED = 1 + np.floor(_rng.pareto(0.5, 100))


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("too_few_results", [1.0, 2.0, 3.0]),
        ("constant_scores", [0.5] * 100),
        ("shallow_list", np.random.default_rng(0).exponential(size=49)),
        ("heavy_ties", np.round(np.random.default_rng(0).exponential(size=200), 1)),
        ("rank_only_scores", 1 / (60 + np.arange(1, 101))),
        ("rank_only_scores", 1000 - np.arange(200)),
        ("rank_only_scores", 1 / np.arange(1, 101)),
        ("saturated_scores", 1 / (1 + np.exp(-np.random.default_rng(0).normal(-9, 6, 200)))),
        ("poor_fit", np.random.default_rng(0).beta(0.1, 0.1, 300)),
        ("little_background", np.random.default_rng(0).beta(5, 2, 200)),
        (
            "little_background",
            [*np.linspace(5, 6, 60), *np.random.default_rng(0).exponential(size=40)],
        ),
        ("tied_threshold", TIED),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_every_warning_comes_with_lists_that_deserve_it(name: str, scores: Any) -> None:
    fit = pc.fit_tail(scores)
    assert name in fit.warnings
    assert name in fit.cut(alpha=0.05).warnings
    assert name in pc.fit_tails([[1.0, 2.0], scores]).warnings[1]
    assert set(fit.warnings) <= set(pc.decisions.WARNINGS)


def test_the_remedy_for_saturated_scores_takes_the_warning_away() -> None:
    p = 1 / (1 + np.exp(-np.random.default_rng(0).normal(-9, 6, 200)))
    assert "logit" in pc.decisions.WARNINGS["saturated_scores"]
    assert "saturated_scores" not in pc.fit_tail(p, transform="logit").warnings


@pytest.mark.parametrize(
    "scores",
    [
        background(200),
        with_hits(200, 20),
        background(200) - 1,  # negative cosines
        1 - background(200),  # distances
        30 * background(1000),  # like BM25
        np.random.default_rng(1).exponential(0.003, 300),  # tiny positive scores
        np.random.default_rng(1).uniform(0.02, 0.08, 300),  # in the range of fused ranks
    ],
    ids=range(7),
)
def test_measured_scores_are_not_taken_for_ranks_or_probabilities(scores: Array) -> None:
    found = set(pc.fit_tail(scores).warnings)
    assert not found & {"rank_only_scores", "saturated_scores", "heavy_ties", "constant_scores"}


REAL = {
    "robust04/runs/rrf.run.gz": "rank_only_scores",
    "dl/runs/dl2019-bert-rerank.run.gz": "saturated_scores",
    "dl/runs/dl2020-bert-rerank.run.gz": "saturated_scores",
    "robust04/runs/drmm-sigmoid-trec8.run.gz": "saturated_scores",
    "robust04/runs/bm25-top150.run.gz": None,
    "robust04/runs/colbert-prf-title.run.gz": None,
    "robust04/runs/drmm-trec8.run.gz": None,
    "robust04/runs/trec2003-pircRBa1.run.gz": None,
    "robust04/runs/trec2003-UIUC03Rd1.run.gz": None,
    "dl/runs/dl2019-ance.run.gz": None,
    "dl/runs/dl2020-bm25.run.gz": None,
    "vaswani/bm25.run.gz": None,
    "vaswani/minilm-dense.run.gz": None,
    "scifact/minilm-dense.dev300.run.gz": None,
    "tar/runs/tar2019-Intervention.run.gz": None,
}


@pytest.mark.parametrize("run", REAL)
def test_real_runs_carry_the_warning_they_deserve_and_no_other(shared_data: Path, run: str) -> None:
    warnings = pc.fit_tails(read_trec(shared_data / run)).warnings
    for name in ("rank_only_scores", "saturated_scores"):
        share = np.mean([name in found for found in warnings])
        if name == REAL[run]:
            assert share > 0.7
        else:
            assert share <= 0.02


@pytest.mark.parametrize("run", REAL)
def test_only_runs_whose_scores_crowd_at_the_top_have_little_background(
    shared_data: Path, run: str
) -> None:
    fits = pc.fit_tails(read_trec(shared_data / run))
    little = np.array(["little_background" in found for found in fits.warnings])
    if "drmm" in run:  # which ends in a unit that saturates
        assert little.mean() > 0.3
    else:
        assert little.mean() <= 0.02
    # What it is for: where a rule keeps most of a list, there is a warning.
    warned = np.array([bool(found) for found in fits.warnings])
    assert warned[fits.cut(alpha=0.05).k > 0.5 * fits.n].all()


def test_noise_and_lists_with_some_hits_have_background_enough() -> None:
    rng = np.random.default_rng(12)
    for hits in (0, 5, 60):
        lists = np.sort(rng.normal(0.25, 0.06, (100, 20_000)))[:, -200:]
        lists[:, :hits] = rng.normal(0.65, 0.03, (100, hits))
        found = pc.fit_tails(lists).warnings
        assert not any("little_background" in names for names in found)


# --- edges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -7.5, 1.7e308, -1.7e308, 5e-324])
@pytest.mark.parametrize("n", [1, 2, 4, 5, 6, 50, 1000])
def test_constant_lists_have_a_defined_result(n: int, value: float) -> None:
    fit = pc.fit_tail([value] * n)
    assert (fit.surprise == 0).all()
    assert (fit.shape, fit.scale, fit.cvm, fit.gof_pvalue) == (0, 0, 0, 1)
    assert (fit.threshold, fit.lower, fit.upper) == (value, 0, n)
    assert not fit.fitted
    # Nothing can be said of equal scores, except that results of score 0 match nothing.
    kept = 0 if value == 0 else n
    for rule in ("alpha", "evalue", "fdr"):
        assert fit.cut(**{rule: 0.5}).k == kept
        assert fit.cut(**{rule: 0.5}, if_unsure="drop").k == 0
    assert fit.cut(min_surprise=0.0, if_unsure="drop", min_k=2).k == min(2, n)
    assert pc.cut([value] * n).k == kept
    assert ("constant_scores" in fit.warnings) == (n > 1)


def test_an_empty_list_has_a_defined_result() -> None:
    for fit in (pc.fit_tail([]), pc.fit_tails([[], [1.0]])[0], pc.fit_tail([], transform="logit")):
        assert (fit.n, fit.shape, fit.scale, fit.threshold, fit.gof_pvalue) == (0, 0, 0, 0, 1)
        assert fit.cut(alpha=0.5, min_k=3).k == 0
        assert fit.cut(alpha=0.5).indices.tolist() == []
        assert fit.warnings == ()
    empty = pc.fit_tails([])
    assert (len(empty), empty.cut(alpha=0.5).k.tolist(), empty.warnings) == (0, [], ())
    assert list(empty) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("transform", ["identity", "log", "auto"])
def test_scores_that_are_not_finite_are_named_by_their_place(bad: float, transform: str) -> None:
    scores = np.linspace(1, 2, 20)
    scores[7] = bad
    with pytest.raises(
        InvalidScoresError, match=f"fit_tail: scores must be finite, got {bad} at index 7$"
    ):
        pc.fit_tail(scores, transform=transform)
    with pytest.raises(
        InvalidScoresError,
        match=f"fit_tails: scores must be finite, got {bad} at index 7 of list 2$",
    ):
        pc.fit_tails([[1.0], [], scores], transform=transform)


@pytest.mark.parametrize(
    "scores", [3.0, "abc", ["a"], [[1.0, 2.0]], [1, None], [1j], None, {"a": 1}, [[1], [1, 2]]]
)
def test_what_is_not_a_list_of_numbers_is_refused(scores: Any) -> None:
    with pytest.raises(InvalidScoresError, match="fit_tail: scores must be"):
        pc.fit_tail(scores)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_a_number_of_threads_that_makes_no_sense_is_refused(threads: Any) -> None:
    with pytest.raises(InvalidParameterError, match="threads must be an integer of at least 1"):
        pc.fit_tails([[1.0]], threads=threads)
