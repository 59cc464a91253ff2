"""Fusion against a slow, obvious version, against ranx, and against its own promises."""

from __future__ import annotations

import math
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import importorskip

import paretocut as pc
from paretocut.errors import (
    DataFormatError,
    InvalidParameterError,
    InvalidScoresError,
    NotFittedError,
)
from paretocut.fusion import METHODS, Fusion, QueryCoverageWarning, joining

List = list[tuple[str, float]]


def lists_of(*queries: List, better: bool = True, **columns: Any) -> pc.RankedLists:
    """Return lists of pairs (document, score) as columns."""
    return pc.RankedLists(
        [[score for _, score in query] for query in queries],
        doc_ids=[[name for name, _ in query] for query in queries],
        higher_is_better=better,
        **columns,
    )


def pairs_of(lists: pc.RankedLists, i: int = 0) -> List:
    assert lists.doc_ids is not None
    return list(zip(lists.doc_ids[i].tolist(), lists.scores[i].tolist(), strict=True))


# --- the slow version: one query, dictionaries, scores with higher better ---


def slow_gains(ranked: List, method: str) -> tuple[dict[str, float], float]:
    """Return what each document of one list adds, and what a missing one adds."""
    scores = [score for _, score in ranked]
    if not scores:
        return {}, 0.0
    low, high, mean = scores[-1], scores[0], math.fsum(scores) / len(scores)
    sd = math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / len(scores))
    if method == "z":
        values = [(s - mean) / sd if sd > 1e-12 * abs(mean) else 0.0 for s in scores]
    elif method in ("minmax", "combmnz"):
        values = [(s - low) / (high - low) if high > low else 0.0 for s in scores]
    elif method == "surprise":
        spread = high - low
        place = [(s - low) / spread if spread > 0 else 1.0 for s in scores]
        found = pc.fit_tail(scores).surprise.tolist()
        values = [s + 1e-6 * p for s, p in zip(found, place, strict=True)]
    else:
        power = (lambda r: 1 / (60 + r)) if method == "rrf" else (lambda r: 1 / r**2)
        values = [power(rank) for rank in range(1, len(scores) + 1)]
    gains: dict[str, float] = {}
    for (name, _), value in zip(ranked, values, strict=True):
        gains.setdefault(name, value)
    return gains, 0.0 if method in ("rrf", "isr") else values[-1]


def slow_matches(best_first: List) -> List:
    """Return a list without the zeros that a lexical engine fills it up with."""
    zeros = sum(score == 0 for _, score in best_first)
    lowest_is_zero = bool(best_first) and best_first[-1][1] == 0
    if lowest_is_zero and (zeros > 1 or zeros == len(best_first)):
        return [item for item in best_first if item[1] != 0]
    return best_first


def slow_fuse(
    parts: list[List], method: str, weights: list[float] | None = None, depth: int | None = None
) -> List:
    ranked = []
    for part in parts:
        best_first = sorted(part, key=lambda item: -item[1])
        ranked.append(slow_matches(best_first)[:depth])
    weights = weights or [1.0] * len(parts)
    gains = [slow_gains(part, method) for part in ranked]
    total = {}
    for name in {name for part in ranked for name, _ in part}:
        found = [name in own for own, _ in gains]
        added = [w * own.get(name, lack) for w, (own, lack) in zip(weights, gains, strict=True)]
        total[name] = sum(added) * (sum(found) if method in ("isr", "combmnz") else 1)
    return sorted(total.items(), key=lambda item: (item[1], item[0]), reverse=True)


SLOW = ("z", "minmax", "rrf", "isr", "combmnz", "surprise")
NAMES = [f"d{i}" for i in range(12)]
# Few different values make ties, zeros and flat lists; the others make everything else.
NUMBERS = st.one_of(st.integers(0, 3).map(float), st.floats(-100, 100).map(lambda x: round(x, 3)))


@st.composite
def one_list(draw: st.DrawFn) -> List:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=12))
    scores = sorted((draw(NUMBERS) for _ in names), reverse=True)
    return list(zip(names, scores, strict=True))


def same(ours: List, slow: List) -> None:
    assert {name for name, _ in ours} == {name for name, _ in slow}
    scores = dict(slow)
    for name, score in ours:
        assert score == pytest.approx(scores[name], rel=1e-9, abs=1e-9)
    falling = [score for _, score in ours]
    assert falling == sorted(falling, reverse=True)


@pytest.mark.parametrize("method", SLOW)
@given(
    parts=st.lists(one_list(), min_size=2, max_size=4),
    depth=st.none() | st.integers(1, 6),
    data=st.data(),
)
def test_every_method_is_what_its_formula_says(
    method: str, parts: list[List], depth: int | None, data: st.DataObject
) -> None:
    numbers = st.lists(st.floats(0.1, 3), min_size=len(parts), max_size=len(parts))
    weights = data.draw(st.none() | numbers)
    fused = pc.fuse([lists_of(part) for part in parts], method=method, weights=weights, depth=depth)
    same(pairs_of(fused), slow_fuse(parts, method, weights, depth))


@given(parts=st.lists(one_list(), min_size=2, max_size=3))
def test_parts_hold_what_each_retriever_said(parts: list[List]) -> None:
    fused = pc.fuse([lists_of(part) for part in parts], method="rrf")
    assert fused.parts is not None
    for part, scores, ranks in zip(parts, fused.parts.scores, fused.parts.ranks, strict=True):
        kept = slow_matches(part)
        rank = {name: r for r, (name, _) in enumerate(kept, start=1)}
        score = dict(kept)
        for (name, _), own, place in zip(pairs_of(fused), scores[0], ranks[0], strict=True):
            assert place == rank.get(name, 0)
            assert own == score[name] if name in score else math.isnan(own)


@given(parts=st.lists(one_list(), min_size=2, max_size=2), method=st.sampled_from(list(METHODS)))
def test_the_order_of_two_retrievers_does_not_matter(parts: list[List], method: str) -> None:
    lists = [lists_of(part) for part in parts]
    assert pairs_of(pc.fuse(lists, method=method)) == pairs_of(pc.fuse(lists[::-1], method=method))


@pytest.mark.parametrize("method", ["z", "minmax", "surprise"])
def test_shift_and_scale_of_a_retriever_do_not_matter(method: str) -> None:
    rng = np.random.default_rng(0)
    ids = [[f"d{i}" for i in rng.permutation(60)[:40]] for _ in range(20)]
    first = pc.RankedLists(rng.exponential(size=(20, 40)), doc_ids=ids)
    scores = rng.normal(size=(20, 40))
    plain = pc.fuse([first, pc.RankedLists(scores, doc_ids=ids[::-1])], method=method)
    moved = pc.fuse([first, pc.RankedLists(3 * scores + 7, doc_ids=ids[::-1])], method=method)
    assert plain.doc_ids is not None
    assert moved.doc_ids is not None
    assert plain.doc_ids.values.tolist() == moved.doc_ids.values.tolist()
    np.testing.assert_allclose(plain.scores.values, moved.scores.values, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_distances_are_fused_as_what_they_are(method: str) -> None:
    words = lists_of([("a", 5.0), ("b", 2.0), ("c", 1.0)])
    near = [("b", 0.1), ("d", 0.4), ("a", 0.7)]
    distances = lists_of(near, better=False)
    scores = lists_of([(name, -value) for name, value in near])
    expected = pairs_of(pc.fuse([words, scores], method=method))
    assert pairs_of(pc.fuse([words, distances], method=method)) == expected


def test_a_missing_document_scores_as_low_as_the_last_one_found() -> None:
    words = lists_of([("a", 9.0), ("b", 8.0), ("c", 4.0)])
    vectors = lists_of([("c", 0.9), ("b", 0.8), ("d", 0.1)])
    fused = dict(pairs_of(pc.fuse([words, vectors], method="minmax")))
    # By hand: a 1 + 0, b 0.8 + 0.875, c 0 + 1, d 0 + 0.
    assert fused == pytest.approx({"a": 1.0, "b": 1.675, "c": 1.0, "d": 0.0})


def test_padding_of_a_lexical_engine_is_not_found() -> None:
    padded = lists_of([("a", 3.0), ("b", 1.0), ("x", 0.0), ("y", 0.0)])
    plain = lists_of([("a", 3.0), ("b", 1.0)])
    vectors = lists_of([("b", 0.9), ("y", 0.8), ("c", 0.5)])
    fused = pc.fuse([padded, vectors])
    assert pairs_of(fused) == pairs_of(pc.fuse([plain, vectors]))
    assert "x" not in dict(pairs_of(fused))
    # One zero is no padding, and no zero is below a negative score.
    for scores in ([3.0, 1.0, 0.0], [0.0, 0.0, -1.0]):
        kept = lists_of(list(zip("abx", scores, strict=True)))
        assert "x" in dict(pairs_of(pc.fuse([kept, vectors])))


def test_distances_of_zero_are_no_padding() -> None:
    distances = lists_of([("a", 0.0), ("b", 0.0), ("c", 1.0)], better=False)
    assert set(dict(pairs_of(pc.fuse([distances, lists_of([("z", 1.0)])])))) == set("abcz")


def test_queries_of_one_side_are_kept_and_named() -> None:
    first = lists_of([("a", 2.0), ("b", 1.0)], [("c", 5.0), ("d", 1.0)], query_ids=["q1", "q2"])
    second = lists_of([("b", 2.0), ("e", 1.0)], [("f", 1.0)], query_ids=["q1", "q3"])
    with pytest.warns(QueryCoverageWarning, match="1 without a list from words \\('q3'\\)") as seen:
        fused = pc.fuse({"words": first, "vectors": second})
    warning = seen[0].message
    assert isinstance(warning, QueryCoverageWarning)
    assert warning.missing == {"words": ("q3",), "vectors": ("q2",)}
    assert pickle.loads(pickle.dumps(warning)).missing == warning.missing
    assert fused.query_ids.tolist() == ["q1", "q2", "q3"]
    assert [name for name, _ in pairs_of(fused, 1)] == ["c", "d"]
    assert [name for name, _ in pairs_of(fused, 2)] == ["f"]


def test_queries_are_matched_by_id_and_not_by_place() -> None:
    first = lists_of([("a", 1.0)], [("b", 1.0)], query_ids=["x", "y"])
    second = lists_of([("b", 1.0)], [("a", 1.0)], query_ids=["y", "x"])
    fused = pc.fuse([first, second], method="rrf")
    assert [pairs_of(fused, i) for i in (0, 1)] == [[("a", 2 / 61)], [("b", 2 / 61)]]


def test_a_document_that_comes_twice_counts_once_at_its_better_rank() -> None:
    chunks = lists_of([("a", 3.0), ("b", 2.0), ("a", 1.0)])
    fused = pc.fuse([chunks, lists_of([("b", 1.0)])], method="rrf")
    assert dict(pairs_of(fused)) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61})


def test_ties_are_in_descending_order_of_ids_at_any_length() -> None:
    rng = np.random.default_rng(1)
    names = [f"d{i:03d}" for i in rng.permutation(300)]
    flat = pc.RankedLists(np.ones((1, 300)), doc_ids=[names])
    fused = pc.fuse([flat, flat])
    assert [name for name, _ in pairs_of(fused)] == sorted(names, reverse=True)


def test_ids_of_any_letters_and_width_are_matched() -> None:
    first = lists_of([("é", 3.0), ("日本", 2.0), ("a-much-longer-name", 1.0)])
    second = lists_of([("日本", 3.0), ("é", 1.0)])
    fused = pc.fuse([first, second], method="rrf")
    assert {name for name, _ in pairs_of(fused)} == {"é", "日本", "a-much-longer-name"}
    assert fused.parts is not None
    # The first two are even, and the order of ids puts the later letter first.
    assert fused.parts.ranks[0][0].tolist() == [2, 1, 3]


def test_judgements_of_either_side_are_those_of_the_fused_lists() -> None:
    first = lists_of([("a", 2.0), ("b", 1.0)], relevance=[[1, 0]], num_relevant=[5])
    second = lists_of([("c", 2.0), ("b", 1.0)], relevance=[[2, 0]], num_relevant=[5])
    fused = pc.fuse([first, second])
    assert fused.relevance is not None
    grades = dict(zip(fused[0].doc_ids.tolist(), fused.relevance[0].tolist(), strict=True))  # type: ignore[union-attr]
    assert grades == {"a": 1, "b": 0, "c": 2}
    assert fused.num_relevant.tolist() == [5]
    told_less = pc.fuse([lists_of([("a", 1.0)], relevance=[[1]]), second])
    assert told_less.num_relevant.tolist() == [5]
    assert pc.fuse([lists_of([("a", 1.0)]), lists_of([("b", 1.0)])]).relevance is None


def test_parts_follow_slices_cuts_and_splits() -> None:
    rng = np.random.default_rng(2)
    ids = [[f"d{i}" for i in range(9)]] * 6
    lists = [pc.RankedLists(rng.normal(size=(6, 9)), doc_ids=ids) for _ in range(2)]
    fused = pc.fuse(lists)
    assert fused.parts is not None
    for changed, rows, depth in (
        (fused[[4, 1]], [4, 1], 9),
        (fused.truncate(3), range(6), 3),
        (fused.split(0.5, seed=1)[0], None, 9),
    ):
        assert changed.parts is not None
        where = rows or [fused.query_ids.tolist().index(q) for q in changed.query_ids.tolist()]
        for column, before in zip(
            (*changed.parts.scores, *changed.parts.ranks),
            (*fused.parts.scores, *fused.parts.ranks),
            strict=True,
        ):
            for i, row in enumerate(where):
                assert column[i].tolist() == before[row][:depth].tolist()
    assert pc.RankedLists([[1.0]]).parts is None


def test_scores_with_ids_need_no_columns() -> None:
    fused = pc.fuse([([3.0, 1.0], ["a", "b"]), ([0.9, 0.2], ["b", "c"])], method="rrf")
    assert [one.id for one in fused] == ["b", "a", "c"]
    many = pc.fuse([([[1.0], [2.0]], [["a"], ["b"]]), ([[1.0], [2.0]], [["a"], ["c"]])])
    assert len(many) == 2


def test_empty_lists_and_no_queries_are_fine() -> None:
    empty = lists_of([])
    assert pairs_of(pc.fuse([empty, empty])) == []
    assert [n for n, _ in pairs_of(pc.fuse([empty, lists_of([("a", 1.0), ("b", 0.5)])]))] == [
        "a",
        "b",
    ]
    assert len(pc.fuse([lists_of([("a", 1.0)])[:0]] * 2)) == 0


GOOD = lists_of([("a", 1.0)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pc.fuse([GOOD]), "at least 2 retrievers, got 1"),
        (lambda: pc.fuse(GOOD), "a sequence or a mapping.* got RankedLists"),  # type: ignore[arg-type]
        (lambda: pc.fuse([GOOD, [1.0]]), "all be RankedLists or all be answers"),
        (lambda: pc.fuse([GOOD, pc.RankedLists([[1.0]])]), "the lists of 2 must have doc_ids"),
        (lambda: pc.fuse([GOOD, GOOD], method="best"), "method must be one of 'z'"),
        (lambda: pc.fuse([GOOD, GOOD], weights=[1.0]), "weights must be 2 numbers"),
        (lambda: pc.fuse([GOOD, GOOD], weights=[1.0, -1.0]), "weights must be 2 numbers"),
        (lambda: pc.fuse([GOOD, GOOD], weights=[0, 0]), "weights must not all be 0"),
        (lambda: pc.fuse([GOOD, GOOD], depth=0), "depth must be an integer of at least 1"),
        (
            lambda: pc.fuse([GOOD, lists_of([("a", 1.0)], [("b", 1.0)], query_ids=["0", "0"])]),
            "query_ids of 2 must differ, got '0' more than once",
        ),
        (lambda: pc.fuse([GOOD, lists_of([("a", 1.0)], min_grade=2)]), "one min_grade"),
    ],
)
def test_what_cannot_be_fused_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        call()


# --- a fusion that is fitted ---


def simulated(
    queries: int, noise: tuple[float, ...], seed: int = 0, judged: bool = True
) -> list[pc.RankedLists]:
    """Return lists of retrievers that see the same relevance through noise of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.random((queries, 60)) < 0.15
    truth[:, 0] = True
    ids = [[f"d{i}" for i in range(60)]] * queries
    return [
        pc.RankedLists(
            2.0 * truth + rng.normal(0, sd, truth.shape),
            relevance=truth if judged else None,
            doc_ids=ids,
        )
        for sd in noise
    ]


def test_fitted_scale_is_the_typical_deviation_of_a_list() -> None:
    first, second = simulated(50, (1.0, 4.0), judged=False)
    fusion = Fusion().fit([first, second])
    for lists, scale, place in zip((first, second), fusion.scale_, fusion.location_, strict=True):
        assert scale == pytest.approx(np.exp(np.mean([np.log(x.std()) for x in lists.scores])))
        assert place == pytest.approx(np.mean([x.mean() for x in lists.scores]))
    fused = fusion.fuse([first, second])
    assert fused.parts is not None
    expected = sum(
        (part.values - place) / scale
        for part, place, scale in zip(
            fused.parts.scores, fusion.location_, fusion.scale_, strict=True
        )
    )
    np.testing.assert_allclose(fused.scores.values, expected / 2, atol=1e-12)


def test_a_flat_list_is_not_blown_up() -> None:
    first, second = simulated(50, (1.0, 1.0), judged=False)
    fusion = Fusion().fit([first, second])
    flat = lists_of([(f"d{i}", 0.3 - 1e-6 * i) for i in range(60)])
    sure = lists_of([(f"d{i}", 4.0 if i == 40 else -1e-3 * i) for i in range(60)])
    assert pairs_of(fusion.fuse([flat, sure]))[0][0] == "d40"
    spread = np.array([score for _, score in pairs_of(fusion.fuse([flat, flat]))])
    assert np.ptp(spread) < 0.01
    assert np.ptp(pc.fuse([flat, flat]).scores.values) > 3


def test_without_judgements_weights_are_equal() -> None:
    assert Fusion().fit(simulated(20, (0.1, 9.0), judged=False)).weights_.tolist() == [1.0, 1.0]


def test_judgements_teach_which_retriever_is_better() -> None:
    good, bad = simulated(80, (0.8, 6.0))
    fusion = Fusion().fit({"good": good, "bad": bad})
    assert fusion.weights_[0] > 1.2 > fusion.weights_[1]
    assert fusion.weights_.mean() == pytest.approx(1)
    # The other way round it is the same, and with equal retrievers nothing is learned.
    turned = Fusion().fit({"bad": bad, "good": good})
    np.testing.assert_allclose(turned.weights_, fusion.weights_[::-1], rtol=1e-9)
    same = Fusion().fit(simulated(80, (1.5, 1.5), seed=3)).weights_
    np.testing.assert_allclose(same, [1, 1], atol=0.15)


def test_three_retrievers_can_be_weighed() -> None:
    weights = Fusion().fit(simulated(80, (0.8, 6.0, 6.0))).weights_
    assert weights[0] > weights[1:].max()


def test_probabilities_mean_what_they_say() -> None:
    train, test = simulated(300, (1.2, 1.5), seed=5), simulated(300, (1.2, 1.5), seed=6)
    fusion = Fusion().fit(train)
    fused = fusion.fuse(test)
    p = fusion.probability(fused).values
    rank = np.concatenate([np.arange(1, n + 1) for n in fused.scores.lengths])
    log_odds = fusion.intercept_ + fusion.slope_ * fused.scores.values
    log_odds += fusion.rank_slope_ * np.log(rank)
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-log_odds)))
    assert all((np.diff(one) <= 0).all() for one in fusion.probability(fused))
    relevant = fused.relevant.values
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = (p >= low) & (p < high)
        assert inside.sum() > 100
        assert p[inside].mean() == pytest.approx(relevant[inside].mean(), abs=0.08)


def test_given_weights_stay_and_odds_are_still_learned() -> None:
    fusion = Fusion(weights=[3, 1]).fit(simulated(40, (6.0, 0.8)))
    assert fusion.weights_.tolist() == [1.5, 0.5]
    assert fusion.slope_ > 0


def test_fit_again_without_judgements_forgets_the_odds() -> None:
    fusion = Fusion().fit(simulated(40, (1.0, 1.0)))
    fusion.fit(simulated(40, (1.0, 1.0), judged=False))
    with pytest.raises(NotFittedError, match="judged"):
        fusion.probability(pc.RankedLists([[1.0]]))


@pytest.mark.parametrize("judged", [True, False])
def test_a_saved_fusion_fuses_alike(judged: bool, tmp_path: Path) -> None:
    lists = simulated(30, (1.0, 3.0), judged=judged)
    fusion = Fusion(depth=40).fit({"words": lists[0], "vectors": lists[1]})
    fusion.save(tmp_path / "fusion.json")
    loaded = pc.load(tmp_path / "fusion.json")
    assert repr(loaded) == repr(fusion) == "Fusion(depth=40)"
    assert loaded.names_ == ("words", "vectors")
    fused = fusion.fuse(lists)
    np.testing.assert_array_equal(loaded.fuse(lists).scores.values, fused.scores.values)
    if judged:
        expected = fusion.probability(fused).values
        np.testing.assert_array_equal(loaded.probability(fused).values, expected)


def test_scores_that_overflow_on_the_learned_scale_are_refused() -> None:
    ids = [list("abcdefgh")] * 9
    rng = np.random.default_rng(0)
    small = {name: pc.RankedLists(1e-155 * rng.random((9, 8)), doc_ids=ids) for name in "ab"}
    large = {name: pc.RankedLists(1e153 * rng.random((9, 8)), doc_ids=ids) for name in "ab"}
    with pytest.raises(
        InvalidScoresError, match="the scores of a must be on one scale, that of fit"
    ):
        Fusion().fit(small).fuse(large)


def test_a_file_that_is_no_fusion_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    named = '{"format": "paretocut-fusion", "version": 1'
    for content, problem in (
        ("{}", 'expected "format": .* or "paretocut-fusion"'),
        ("no json", "not JSON"),
        (named + "}", "not a fusion"),
        (
            named + ', "weights": null, "depth": null, "learned": '
            '{"names_": ["a", "b"], "higher_is_better_": [true, true], "location_": [1]}}',
            r"not a fusion: location_ must be of size 2 \(retrievers\), not 1",
        ),
    ):
        path.write_text(content)
        with pytest.raises(DataFormatError, match=problem):
            pc.load(path)


def test_a_fusion_refuses_other_retrievers() -> None:
    lists = simulated(10, (1.0, 1.0), judged=False)
    with pytest.raises(NotFittedError, match="fuse must come after fit"):
        Fusion().fuse(lists)
    fusion = Fusion().fit({"a": lists[0], "b": lists[1]})
    with pytest.raises(InvalidParameterError, match="2 retrievers, as in fit, got 3"):
        fusion.fuse([*lists, lists[0]])
    with pytest.raises(InvalidParameterError, match="named a, b, as in fit, got b, a"):
        fusion.fuse({"b": lists[1], "a": lists[0]})


def test_judgements_without_anything_relevant_teach_nothing() -> None:
    lists = lists_of([("a", 1.0), ("b", 0.5)], relevance=[[0, 0]])
    with pytest.raises(InvalidScoresError, match="at least one relevant result, got none"):
        Fusion().fit([lists, lists])


def test_a_retriever_that_found_nothing_says_its_usual_least() -> None:
    first, second = simulated(30, (1.0, 1.0), judged=False)
    fusion = Fusion().fit([first, second])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = fusion.fuse([first[:1], pc.RankedLists([[]], doc_ids=[[]])])
    least = (fusion.floor_[1] - fusion.location_[1]) / fusion.scale_[1]
    top = (first.scores[0][0] - fusion.location_[0]) / fusion.scale_[0]
    assert alone.scores[0][0] == pytest.approx((top + least) / 2)


def test_nothing_is_returned_for_fused_nonsense_at_the_stated_rate() -> None:
    rng = np.random.default_rng(8)

    def search(queries: int, hit: float) -> list[pc.RankedLists]:
        # Both see the same documents, so what they say of one is not independent.
        base = rng.normal(0, 1, (queries, 400))
        base[:, 0] += hit
        ids = [[f"d{i}" for i in range(400)]] * queries
        seen = [np.exp(base + rng.normal(0, 0.5, base.shape)), base + rng.normal(0, 1, base.shape)]
        return [pc.RankedLists(scores, doc_ids=ids) for scores in seen]

    fusion = Fusion().fit(search(100, 0.0))
    background = pc.Background.fit(fusion.fuse(search(400, 0.0)))
    assert np.mean(background.pvalue(fusion.fuse(search(1000, 0.0))) <= 0.05) == pytest.approx(
        0.05, abs=0.025
    )
    assert np.mean(background.pvalue(fusion.fuse(search(200, 6.0))) <= 0.05) > 0.95


# --- ranx, where it defines the same ---


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("method", "norm", "theirs"),
    [
        ("rrf", None, "rrf"),
        ("isr", None, "isr"),
        ("minmax", "min-max", "sum"),
        ("combmnz", "min-max", "mnz"),
        ("z", "zmuv", "sum"),
    ],
)
def test_ranx_gives_the_same_scores(method: str, norm: str | None, theirs: str) -> None:
    ranx = importorskip("ranx")
    rng = np.random.default_rng(4)
    lists, runs = [], []
    for _ in range(3):
        queries = []
        for _ in range(5):
            # Missing documents are worth 0 to ranx, and 0 is the mean of z: the same documents.
            chosen = rng.permutation(40)[: 40 if method == "z" else 25]
            scores = -np.sort(-rng.normal(5, 2, chosen.size))
            queries.append([(f"d{i}", float(s)) for i, s in zip(chosen, scores, strict=True)])
        lists.append(lists_of(*queries))
        runs.append(ranx.Run({str(i): dict(query) for i, query in enumerate(queries)}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numba
        expected = ranx.fuse(runs, norm=norm, method=theirs).to_dict()
    fused = pc.fuse(lists, method=method)
    for i in range(5):
        assert dict(pairs_of(fused, i)) == pytest.approx(dict(expected[str(i)]), rel=1e-9)


# --- very large and very small numbers ---

SIZES = {"huge": 1.7e308, "large": 1e160, "usual": 1.0, "small": 1e-160, "denormal": 5e-321}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("method", METHODS)
def test_fusion_does_not_depend_on_the_unit_of_the_scores(method: str, size: str) -> None:
    # From 1.7e308 to -1.7e308, min-max was NaN.
    rng = np.random.default_rng(0)
    ids = [[str(i) for i in rng.permutation(30)[:20]] for _ in range(8)]
    whole = np.rint(rng.uniform(-1000, 1000, (8, 20)))
    whole[:, 0] = 1000
    unit = SIZES[size] / 1000 if size != "denormal" else 5e-324
    other = pc.RankedLists(rng.random((8, 20)), doc_ids=ids)
    expected = pc.fuse([pc.RankedLists(whole, doc_ids=ids), other], method=method)
    fused = pc.fuse([pc.RankedLists(whole * unit, doc_ids=ids), other], method=method)
    np.testing.assert_allclose(fused.scores.values, expected.scores.values, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weights", [(1e308, 1e308), (1e308, 1.0), (5e-324, 5e-324), (0, 1e308)])
def test_weights_of_any_size_give_finite_scores(
    weights: tuple[float, float], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    lists = [
        pc.RankedLists(rng.random((9, 8)), doc_ids=[list("abcdefgh")] * 9, relevance=truth)
        for truth in rng.random((2, 9, 8)) < 0.3
    ]
    for method in METHODS:
        assert np.isfinite(pc.fuse(lists, method=method, weights=weights).scores.values).all()
    fusion = Fusion(weights=weights).fit(lists)
    assert fusion.weights_.sum() == pytest.approx(2)
    fusion.save(tmp_path / "f.json")
    np.testing.assert_array_equal(pc.load(tmp_path / "f.json").weights_, fusion.weights_)


@pytest.mark.parametrize("weights", [[True, True], ["1", "2"], [1, None], [[1], [2]], [1j, 1]])
def test_weights_that_are_no_numbers_are_refused(weights: Any) -> None:
    # [True, True] was saved as what load refused.
    lists = [pc.RankedLists([[2.0, 1.0]], doc_ids=[["a", "b"]])] * 2
    for call in (
        lambda: pc.fuse(lists, weights=weights),
        lambda: Fusion(weights=weights).fit(lists),
    ):
        with pytest.raises(InvalidParameterError, match="weights must be 2 numbers of 0 or more"):
            call()


def test_a_fit_that_fails_leaves_the_old_fusion() -> None:
    # The new location was kept, and the slope was gone.
    rng = np.random.default_rng(0)
    ids = [list("abcdefgh")] * 9
    lists = [pc.RankedLists(rng.random((9, 8)), rng.random((9, 8)) < 0.3, doc_ids=ids)] * 2
    fusion = Fusion().fit(lists)
    before = fusion.to_dict()
    barren = [pc.RankedLists(5 + rng.random((9, 8)), np.zeros((9, 8)), doc_ids=ids)] * 2
    with pytest.raises(InvalidScoresError, match="at least one relevant result"):
        fusion.fit(barren)
    assert fusion.to_dict() == before


def test_a_shared_fusion_fuses_by_one_of_its_models_while_it_is_fitted() -> None:
    rng = np.random.default_rng(0)
    ids = [list("abcdefgh")] * 9
    samples = [
        [pc.RankedLists(scale * rng.random((9, 8)), rng.random((9, 8)) < 0.3, doc_ids=ids)] * 2
        for scale in (1, 3)
    ]
    models = [Fusion().fit(sample).fuse(samples[0]).scores.values.tolist() for sample in samples]
    shared = Fusion().fit(samples[0])
    done = threading.Event()

    def fuse() -> list[list[float]]:
        found = []
        while not done.is_set():
            found.append(shared.fuse(samples[0]).scores.values.tolist())
        return found

    with ThreadPoolExecutor(2) as pool:
        try:
            work = [pool.submit(fuse) for _ in range(2)]
            for i in range(20):
                shared.fit(samples[i % 2])
        finally:
            done.set()
        assert all(scores in models for found in work for scores in found.result())


def test_repeated_query_ids_are_found_in_one_pass() -> None:
    class Text(str):
        asked = 0

        def __eq__(self, other: object) -> bool:
            Text.asked += 1
            return str.__eq__(self, other)  # type: ignore[arg-type]

        __hash__ = str.__hash__

    def comparisons(count: int) -> int:
        ids = [Text(i) for i in [*range(count), count - 1]]
        own = SimpleNamespace(query_ids=SimpleNamespace(tolist=lambda: ids))
        Text.asked = 0
        with pytest.raises(InvalidParameterError, match=f"got '{count - 1}' more than once"):
            joining._queries({"1": own}, "fuse")  # type: ignore[dict-item]
        return Text.asked

    assert comparisons(2000) <= 10 * (comparisons(200) + 1)
