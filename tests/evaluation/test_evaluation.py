"""Evaluation: the statistics against SciPy and statsmodels, the protocol against plain loops."""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import planted
from support import importorskip

import paretocut as pc
from paretocut import metrics
from paretocut.background import Background
from paretocut.errors import InvalidParameterError, InvalidScoresError, ParetocutError
from paretocut.evaluation import Evaluation, evaluate
from paretocut.io import read_trec
from paretocut.lists import FloatArray, RankedLists
from paretocut.metrics.significance import bootstrap_interval, holm, sign_flip_test
from paretocut.truncators import Conformal, FixedK, GlobalK, Oracle, ScoreThreshold, Surprise


def judged_lists(count: int = 40, *, seed: int = 0, embeddings: bool = False) -> RankedLists:
    """Return lists of 25 results, the best 1 to 8 of which tend to be relevant."""
    rng = np.random.default_rng(seed)
    relevant = np.arange(25) < rng.integers(1, 9, size=(count, 1))
    relevant ^= rng.random(relevant.shape) < 0.1
    scores = rng.normal(size=relevant.shape) + 2 * relevant
    return RankedLists(
        scores,
        relevant,
        query_ids=[f"q{i}" for i in range(count)],
        query_embeddings=rng.normal(size=(count, 3)) if embeddings else None,
    )


@pytest.fixture(scope="module")
def result() -> Evaluation:
    return evaluate(
        {"k": GlobalK(), "minmax": "minmax", "all": FixedK(99), "surprise": Surprise()},
        judged_lists(),
        baseline="k",
        splits=3,
    )


# The statistics.


def test_bootstrap_interval_agrees_with_scipy() -> None:
    stats = importorskip("scipy.stats")
    values = np.random.default_rng(3).gamma(2.0, size=(60, 2))
    low, high = bootstrap_interval(values, confidence=0.9, resamples=20_000, seed=5)
    judge = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=0.9,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(8),
    ).confidence_interval
    # Both are random; with 20,000 draws an end point has a standard error of about 0.003.
    np.testing.assert_allclose(low, judge.low, atol=0.02)
    np.testing.assert_allclose(high, judge.high, atol=0.02)


def test_sign_flip_p_value_agrees_with_scipy_on_random_patterns() -> None:
    stats = importorskip("scipy.stats")
    rng = np.random.default_rng(4)
    differences = rng.normal(0.25, 1.0, size=(50, 1))
    judge = stats.permutation_test(
        (differences[:, 0],),
        np.mean,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(8),
    )
    ours = sign_flip_test(differences, resamples=20_000)
    # Standard error of either: below 0.0036.
    np.testing.assert_allclose(ours, judge.pvalue, atol=0.015)


def test_sign_flip_p_value_is_scipys_where_all_patterns_are_tried() -> None:
    stats = importorskip("scipy.stats")
    differences = np.random.default_rng(4).normal(0.4, 1.0, size=(10, 3))
    judge = [
        stats.permutation_test((column,), np.mean, permutation_type="samples").pvalue
        for column in differences.T
    ]
    np.testing.assert_allclose(sign_flip_test(differences), judge, rtol=1e-12)


def test_sign_flip_p_values_are_uniform_without_a_difference() -> None:
    stats = importorskip("scipy.stats")
    differences = np.random.default_rng(0).standard_t(3, size=(30, 500))
    # Fails by chance for one seed in 1000.
    assert stats.kstest(sign_flip_test(differences, resamples=2000), "uniform").pvalue > 0.001


def test_equal_truncators_have_p_value_one() -> None:
    assert sign_flip_test(np.zeros((100, 1))).tolist() == [1.0]


def test_holm_is_the_closure_of_bonferronis_test() -> None:
    pvalues = np.random.default_rng(1).random(7) ** 3
    # A hypothesis falls when Bonferroni rejects every group of hypotheses that it is in.
    groups = [g for size in range(1, 8) for g in itertools.combinations(range(7), size)]
    judge = [
        max(min(1.0, len(g) * min(pvalues[j] for j in g)) for g in groups if i in g)
        for i in range(7)
    ]
    np.testing.assert_allclose(holm(pvalues), judge, rtol=1e-12)


def test_holm_by_hand() -> None:
    # 4 x 0.01, 3 x 0.02, then 2 x 0.025 = 0.05 may not fall below 0.06.
    assert holm(np.array([0.025, 0.02, 0.9, 0.01])).tolist() == [0.06, 0.06, 0.9, 0.04]
    assert holm(np.zeros(0)).size == 0


# The protocol.


def test_values_are_those_of_a_plain_loop(result: Evaluation) -> None:
    lists = judged_lists()
    position = {name: i for i, name in enumerate(lists.query_ids.tolist())}
    held_out = np.array([position[result.query_ids[q]] for q in result.query])
    for split in range(3):
        test = held_out[result.split == split]
        train = np.setdiff1d(np.arange(len(lists)), test)
        assert (len(train), len(test)) == (32, 8)
        for metric in ("f1", "penalized_dcg"):
            truncator = ScoreThreshold("minmax", metric=metric).fit(lists[train])
            k = truncator.predict(lists[test])
            mine = result.split == split
            np.testing.assert_array_equal(result.cuts(metric, "minmax")[mine], k)
            row = result.values[result.metrics.index(metric), 1, mine]
            np.testing.assert_allclose(row, metrics.get(metric)(lists[test], k))


def test_mean_is_over_queries_and_deviation_over_splits(result: Evaluation) -> None:
    by_query: dict[str, list[float]] = {}
    by_split: dict[int, list[float]] = {}
    for record in result.to_records():
        if (record["metric"], record["truncator"]) == ("f1", "surprise"):
            by_query.setdefault(record["query_id"], []).append(record["value"])
            by_split.setdefault(record["split"], []).append(record["value"])
    line = result["f1", "surprise"]
    assert line.mean == pytest.approx(np.mean([np.mean(v) for v in by_query.values()]))
    assert line.std == pytest.approx(np.std([np.mean(v) for v in by_split.values()], ddof=1))
    assert line.low < line.mean < line.high


def test_every_query_is_tested_once_per_cross_validation() -> None:
    done = evaluate([FixedK(3)], judged_lists(23), ["f1"], folds=4, splits=2)
    assert np.bincount(done.query).tolist() == [2] * 23
    assert np.bincount(done.split).tolist() == [6, 6, 6, 5] * 2


def test_given_test_lists_are_used_and_all_others_train() -> None:
    lists, test = judged_lists(), judged_lists(7, seed=1)
    done = evaluate({"k": GlobalK()}, lists, ["penalized_dcg"], test=test)
    expected = metrics.penalized_dcg(test, GlobalK("penalized_dcg").fit(lists).predict(test))
    np.testing.assert_allclose(done.per_query("penalized_dcg", "k"), expected)
    assert done["penalized_dcg", "k"].std is None
    assert done.query_ids == tuple(test.query_ids)


def test_metric_reaches_truncators_inside_truncators() -> None:
    lists = judged_lists()
    done = evaluate({"c": Conformal(GlobalK("recall"))}, lists, ["f1"], test=lists)
    expected = Conformal(GlobalK("f1")).fit(lists).predict(lists)
    np.testing.assert_array_equal(done.cuts("f1", "c"), expected)


def test_oracle_is_never_beaten_on_any_query() -> None:
    names = ["surprise", "global_k", "raw", "max", "minmax", "z", "distribution", "largest_gap"]
    done = evaluate(
        [*names, "autocut", "top_p", "fixed_k"], judged_lists(), ["f1", "penalized_dcg", "recall"]
    )
    ceiling = done.values[:, [done.truncators.index("oracle")], :]
    assert np.all(done.values <= ceiling + 1e-12)


def test_global_k_is_beaten_by_none_of_the_other_fixed_cuts_on_its_own_lists() -> None:
    lists = judged_lists()
    fixed: dict[str, Any] = {str(k): FixedK(k) for k in range(26)}
    done = evaluate({"best": GlobalK(), **fixed}, lists, ["f1"], test=lists)
    best = done["f1", "best"].mean
    assert best == pytest.approx(max(done["f1", str(k)].mean for k in range(26)))


@pytest.mark.filterwarnings("ignore::paretocut.io.CoverageWarning")
def test_numbers_of_an_independent_evaluation_are_found_again(shared_data: Path) -> None:
    # BM25 candidates of Robust04, depth 150, five random 80/20 splits, made with other code. The
    # mean of five splits has a standard deviation of 0.012, measured over 40 sets of five.
    folder = shared_data / "robust04"
    lists = read_trec(folder / "runs" / "bm25-top150.run.gz", folder / "qrels.robust04.txt.gz")
    named = {"global_k": GlobalK(), "all": Surprise(refit="all"), "minmax": "minmax"}
    done = evaluate(named, lists, ["f1"])
    expected = {"oracle": 0.465, "global_k": 0.324, "all": 0.326, "minmax": 0.350}
    found = {name: done["f1", name].mean for name in expected}
    assert found == pytest.approx(expected, abs=0.036)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_result_is_the_same_with_more_processes(result: Evaluation) -> None:
    again = evaluate(
        {"k": GlobalK(), "minmax": "minmax", "all": FixedK(99), "surprise": Surprise()},
        judged_lists(),
        baseline="k",
        splits=3,
        n_jobs=2,
    )
    np.testing.assert_array_equal(again.k, result.k)
    assert again.to_json() == result.to_json()


def test_seed_changes_the_splits() -> None:
    one, same, other = (
        evaluate([FixedK(3)], judged_lists(), ["f1"], seed=seed).query_ids for seed in (0, 0, 1)
    )
    assert one == same != other


def test_input_is_left_as_it_was() -> None:
    lists, truncator = judged_lists(), GlobalK("recall")
    before = lists.scores.values.copy()
    evaluate([truncator], lists)
    np.testing.assert_array_equal(lists.scores.values, before)
    assert repr(truncator) == "GlobalK(metric='recall')"
    assert not hasattr(truncator, "k_")


# Errors.


class Broken(FixedK):
    def decide(self, lists: RankedLists) -> Any:
        raise ZeroDivisionError("nothing works")


def test_failure_names_truncator_and_split() -> None:
    message = r"evaluate: truncator 'bad' failed on split 1 of 2: nothing works"
    with pytest.raises(ParetocutError, match=message) as info:
        evaluate({"bad": Broken()}, judged_lists(), splits=2)
    assert isinstance(info.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("name", ["local_k", "surprise_local", "isotonic_local"])
def test_local_methods_ask_for_embeddings_before_any_work(name: str) -> None:
    message = f"evaluate: lists must have query_embeddings for truncator '{name}'"
    with pytest.raises(InvalidScoresError, match=message):
        evaluate([name], judged_lists())


def test_local_methods_work_with_embeddings() -> None:
    importorskip("sklearn")
    done = evaluate(["local_k"], judged_lists(embeddings=True), ["f1"], splits=2)
    assert done["f1", "local_k"].mean > 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"truncators": []}, "truncators must be at least one"),
        ({"truncators": "surprise"}, "truncators must be a mapping of names"),
        ({"truncators": [FixedK(1), FixedK(1)]}, r"different names, got 'FixedK\(k=1\)' twice"),
        (
            {"truncators": [3]},
            "truncators must be truncators, functions of lists or one of surprise",
        ),
        ({"truncators": ["nope"]}, "name must be one of surprise"),
        ({"metrics": "f1"}, "metrics must be a sequence"),
        ({"metrics": ["f1", metrics.f1]}, "different names"),
        ({"baseline": "x"}, "baseline must be one of fixed_k, oracle, got 'x'"),
        ({"splits": 0}, "splits must be an integer of at least 1"),
        ({"folds": 1}, "k must be an integer of at least 2, got 1"),
        ({"train": 1.0}, r"train must be in \(0, 1\)"),
        ({"confidence": 95}, r"confidence must be in \(0, 1\)"),
        ({"n_jobs": 0}, "n_jobs must be an integer of at least 1"),
        ({"n_jobs": 2, "metrics": [lambda relevant, total: np.zeros(26)]}, "n_jobs must be 1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        evaluate(**({"truncators": ["fixed_k"], "lists": judged_lists()} | arguments))


def test_lists_without_judgements_are_refused() -> None:
    with pytest.raises(InvalidScoresError, match="lists must be RankedLists with relevance"):
        evaluate(["fixed_k"], RankedLists([[1.0, 0.5]]))
    with pytest.raises(InvalidScoresError, match="at least one list, got ndarray"):
        evaluate(["fixed_k"], np.zeros((2, 3)))  # type: ignore[arg-type]


def test_unknown_line_of_the_table_is_an_error(result: Evaluation) -> None:
    with pytest.raises(InvalidParameterError, match="truncator must be one of 'k', 'minmax'"):
        result["f1", "nope"]


# How it prints.


def small() -> Evaluation:
    lists = RankedLists([[4.0, 3.0, 2.0, 1.0]] * 3, [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    named = {"keep_2": FixedK(2), "none": FixedK(0)}
    return evaluate(named, lists, ["f1"], test=lists, baseline="keep_2")


def test_text_table() -> None:
    # F1 of keeping 2: 2/3, 1 and 4/5. All of 2^3 sign patterns are tried: p = 2/8.
    assert str(small()).splitlines() == [
        "f1: 3 test queries, given test lists; 95 % bootstrap intervals over queries; "
        "p against keep_2: paired sign-flip test over queries, Holm-corrected",
        "",
        "truncator          mean  sd        interval    gain      p    k  empty",
        "keep_2            0.822      0.667 to 1.000  +0.000         2.0    0 %",
        "none              0.000      0.000 to 0.000  -0.822  0.250  0.0  100 %",
        "oracle (ceiling)  1.000      1.000 to 1.000  +0.178         2.0    0 %",
    ]


def test_markdown_table_has_the_best_in_bold() -> None:
    lines = small().to_markdown().splitlines()
    assert lines[2] == "| truncator | mean | sd | interval | gain | p | k | empty |"
    assert lines[3] == "|---|---:|---:|---:|---:|---:|---:|---:|"
    expected = "| **keep_2** | **0.822** |  | 0.667 to 1.000 | +0.000 |  | 2.0 | 0 % |"
    assert lines[4] == expected


def test_latex_table_is_escaped() -> None:
    text = small().to_latex()
    assert (
        r"\textbf{keep\_2} & \textbf{0.822} &  & 0.667 to 1.000 & $+0.000$ &  & 2.0 & 0 \% \\"
        in text
    )
    assert r"none & 0.000 &  & 0.000 to 0.000 & $-0.822$ & 0.250 & 0.0 & 100 \%" in text
    assert text.count(r"\\") == 4
    assert (text.count("{"), text.count("$") % 2) == (text.count("}"), 0)


def test_latex_has_signs_and_comparisons_in_math_mode() -> None:
    rng = np.random.default_rng(0)
    lists = RankedLists(-np.sort(-rng.normal(size=(40, 20))), rng.random((40, 20)) < 0.1)
    named = {"a\\b^c~{d}": FixedK(1), "top-5": FixedK(20)}
    text = evaluate(named, lists, ["penalized_dcg"], folds=2, baseline="top-5").to_latex()
    assert "$<0.001$" in text
    assert re.search(r"\$-\d\.\d{3}\$ to \$-\d\.\d{3}\$", text)
    assert "top-5" in text
    assert r"a\textbackslash{}b\textasciicircum{}c\textasciitilde{}\{d\}" in text


@given(
    st.lists(
        st.text("a_%&#${}~^\\[]*<>-+0.|\n/é", min_size=1, max_size=6),
        min_size=2,
        max_size=3,
        unique=True,
    )
)
def test_latex_compiles_whatever_the_names_are(names: list[str]) -> None:
    r"""A name that began with [ was an option of the \\ before it, and < a Spanish exclamation."""
    done = compared(dict.fromkeys(names, np.arange(3.0)), baseline=names[0], resamples=8)
    comment, *lines = done.to_latex().split("\n")
    assert comment.startswith("% f1: 3 test queries")
    assert len(lines) == 6 + len(names)
    special = re.compile(r"\\text[a-z]+(?={)|\\(?:top|mid|bottom)rule|\\[_%&#${}]|\\\\$")
    for line in lines[1:-1]:
        assert not line.lstrip().startswith(("[", "*"))
        math = re.sub(r"\$([+<>-][\d.]*)\$", "", special.sub("", line))
        assert not set(math) & set("\\$<>#%^_~"), line
        assert math.count("{") == math.count("}")
        assert math.count("&") in (0, 7), line


def test_html_table_is_escaped() -> None:
    done = evaluate({"<k>": FixedK(2)}, judged_lists(), ["f1"])
    assert "<b>&lt;k&gt;</b>" in done._repr_html_()


def test_json_holds_the_table(result: Evaluation) -> None:
    data = json.loads(result.to_json())
    assert data["queries"] == len(result.query_ids)
    assert len(data["summary"]) == 2 * 5
    assert data["summary"][0]["mean"] == result["f1", "k"].mean
    assert data["summary"][0]["pvalue"] is None


def test_records_hold_every_value(result: Evaluation) -> None:
    records = result.to_records()
    assert len(records) == 2 * 5 * 3 * 8
    assert set(records[0]) == {"query_id", "split", "truncator", "metric", "k", "value"}


def test_no_baseline_means_no_test_columns() -> None:
    done = evaluate([Oracle(), "fixed_k"], judged_lists(), ["f1"])
    assert done["f1", "fixed_k"].pvalue is None
    assert " p " not in str(done).splitlines()[2]
    assert done.truncators == ("Oracle()", "fixed_k")


def test_progress_bar_is_silent_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(["fixed_k"], judged_lists(), ["f1"], progress=True)
    assert capsys.readouterr() == ("", "")


def test_progress_needs_no_tqdm_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    done = evaluate(["fixed_k"], judged_lists(), ["f1"], progress=True)
    assert done.truncators == ("fixed_k", "oracle")


def test_progress_may_be_a_function_that_ends_the_work() -> None:
    class Enough(Exception):
        pass

    calls = []

    def tell() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Enough

    lists = planted(8)
    methods = {"five": FixedK(5), "ten": FixedK(10)}
    with pytest.raises(Enough):
        evaluate(methods, lists, ["f1"], splits=4, progress=tell)
    assert len(calls) == 3


def test_the_interval_of_an_estimated_share_stays_between_0_and_1() -> None:
    scores = -np.sort(-np.random.default_rng(0).normal(size=(4, 20)), axis=1)
    relevance = np.full(scores.shape, np.nan)
    relevance[:, :4], relevance[:, -1] = 1, 0  # all that is known of the head is relevant
    lists = RankedLists(scores, relevance)
    cuts = {f"{k}": FixedK(k) for k in (5, 6, 19)}
    done = evaluate(cuts, lists, ("precision", "recall", "f1"), test=lists)
    highs = [done[metric, name].high for metric in done.metrics for name in cuts]
    assert max(highs) == 1.0
    assert min(done[metric, name].low for metric in done.metrics for name in cuts) >= 0.0


def half(lists: RankedLists) -> Any:
    return lists.scores.lengths // 2


def test_a_plain_function_is_a_method() -> None:
    lists = judged_lists()
    found = evaluate([half, FixedK(1)], lists, ["f1"], folds=2)
    expected = metrics.f1(lists, lists.scores.lengths // 2)
    assert found["f1", "half"].mean == pytest.approx(expected.mean())
    named = evaluate({"mine": lambda lists: [1] * len(lists)}, lists, ["f1"], folds=2)
    np.testing.assert_array_equal(
        named.per_query("f1", "mine"), found.per_query("f1", "FixedK(k=1)")
    )


# The verdict.


def compared(f1: dict[str, Any], **fields: Any) -> Evaluation:
    """Return an evaluation with these values of F1, one for each query."""
    values = np.array(list(f1.values()))[None]
    n = values.shape[-1]
    known: dict[str, Any] = {
        "truncators": tuple(f1), "metrics": ("f1",), "ceiling": (), "protocol": "as given",
        "baseline": "default" if "default" in f1 else None, "confidence": 0.95, "resamples": 2000,
        "seed": 0, "query_ids": tuple(f"q{i}" for i in range(n)), "query": np.arange(n),
        "split": np.zeros(n, dtype=np.int64), "k": np.ones(values.shape, dtype=np.int64),
        "values": values,
    }  # fmt: skip
    return Evaluation(**(known | fields))


def values(mean: float, n: int = 100, seed: int = 0) -> FloatArray:
    return np.clip(np.random.default_rng(seed).normal(mean, 0.2, n), 0, 1)


def test_the_verdict_never_compares_the_default_with_itself() -> None:
    """It once said that Consensus is best with 0.565, and that the default gives as much."""
    own = values(0.5)
    said = compared({"default": own, "same": own, "worse": own - 0.1}).verdict()
    assert said.startswith("No method here is better than the default, which has a mean F1 of 0.5")
    assert f"; same comes next with {own.mean():.3f}." in said
    alone = compared({"default": own}).verdict()
    assert alone.startswith(f"The default has a mean F1 of {own.mean():.3f} (95 % interval ")


def test_the_verdict_names_no_winner_that_few_queries_cannot_show() -> None:
    few = {"default": np.array([0.2, 0.9, 0.4]), "gap": np.array([0.9, 0.95, 0.3])}
    said = compared(few).verdict()
    assert said == (
        "No method here is shown to be better than the default, which has a mean F1 of 0.500 "
        "(95 % interval 0.200 to 0.900); gap has the highest, 0.717, but 3 queries are too few to "
        "tell."
    )
    nothing = {"default": np.zeros(9), "gap": np.zeros(9)}
    assert compared(nothing).verdict() == "Every method here has a mean F1 of 0."


def test_the_verdict_prefers_the_simpler_of_methods_that_cannot_be_told_apart() -> None:
    own = values(0.4)
    better = np.clip(own + 0.1, 0, 1)
    noise = np.random.default_rng(1).normal(0.006, 0.05, own.size)
    found = {"default": own, "worse": own - 0.1, "simple": better, "complex": better + noise}
    said = compared(found).verdict()
    gain = (better - own).mean()
    assert said.startswith(f"simple has a mean F1 of {better.mean():.3f} (95 % interval ")
    assert (
        f", {gain:.3f} more than the default; 100 queries are too few to tell it from com" in said
    )
    del found["complex"]
    assert compared(found).verdict().startswith("simple has the highest mean F1, ")
    del found["default"]
    assert compared(found).verdict().startswith("simple has the highest mean F1, ")


def test_the_verdict_names_no_highest_among_ties() -> None:
    own = values(0.4)
    said = compared({"a": own, "b": own.copy()}).verdict()
    assert said.startswith(f"a has a mean F1 of {own.mean():.3f} (95 % interval ")
    above = compared({"default": own - 0.2, "a": own, "b": own.copy()}).verdict()
    assert above.startswith(f"a has a mean F1 of {own.mean():.3f} (95 % interval ")
    assert "highest" not in said + above


def test_a_method_that_saw_the_judgements_wins_nothing() -> None:
    own = values(0.4)
    found = compared({"default": own, "gap": own - 0.1, "mine": own + 0.2}, fitted=("mine",))
    said = found.verdict(labels={"mine": "My model"})
    assert said.startswith("No method here is better than the default")
    assert f"My model was fitted on judgements of these queries: its {own.mean() + 0.2:.3f}" in said
    assert "| **default** |" in found.to_markdown()
    assert "mine (fitted on these judgements)" in found.to_markdown()
    assert found["f1", "mine"].pvalue is None


def test_the_verdict_counts_queries_without_an_answer() -> None:
    own = values(0.4, 10)
    k = np.array([[[1] * 10, [0, 0, 0, *[1] * 7]]])
    none = np.arange(10) < 4
    said = compared({"default": own, "gate": own}, k=k, unanswered=none).verdict()
    assert said.endswith(
        " 4 of the 10 queries have no relevant result: the default keeps nothing for 0 of them, "
        "gate for 3."
    )


def test_the_verdict_on_estimates_goes_by_their_intervals() -> None:
    found = {"default": values(0.2), "better": values(0.6, seed=1)}
    sure = compared(found, baseline=None, unknown=np.full((1, 2), 0.01)).verdict()
    assert sure.startswith("better has the highest estimated mean F1, ")
    unsure = compared(found, baseline=None, unknown=np.full((1, 2), 0.3)).verdict()
    assert "better has the highest, " in unsure
    assert unsure.endswith("but 100 queries are too few to tell.")


def test_a_model_knows_the_judgements_it_was_fitted_on(tmp_path: Path) -> None:
    lists, other = planted(30), planted(30, seed=1)
    renamed = RankedLists(
        other.scores, other.relevance, query_ids=[f"x{i}" for i in range(30)], doc_ids=other.doc_ids
    )
    pc.truncators.Consensus().fit(lists[:20]).save(tmp_path / "model.json")
    model = pc.load(tmp_path / "model.json")
    assert model.learned_from(lists)
    assert model.learned_from(lists[10:])  # half of them
    assert not model.learned_from(lists[20:])
    assert not model.learned_from(renamed)
    assert not model.clone().learned_from(lists)
    gated = pc.truncators.Gated(model, Background.fit(np.linspace(0.1, 0.5, 50)))
    assert gated.learned_from(lists)
    assert not pc.truncators.FixedK(3).fit(lists).learned_from(lists)
