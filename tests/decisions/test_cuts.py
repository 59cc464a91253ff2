"""The decision on one list: the default, short and odd lists, gates, and old mistakes."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paretocut as pc
from paretocut.decisions.options import EXPECT
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.truncators import (
    Conformal,
    Consensus,
    FixedK,
    Gated,
    Oracle,
    ScoreThreshold,
    Surprise,
)


def noise(n: int = 200, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return the best n of 100,000 similarities that do not matter, best first."""
    return np.sort(np.random.default_rng(seed).normal(0.25, 0.06, 100_000))[: -n - 1 : -1]


# --- the default ---


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("n", [1, 2, 5, 30, 200, 400])
def test_a_reader_can_check_the_arithmetic_of_the_reason(n: int, up: bool) -> None:
    rng = np.random.default_rng(n)
    for _ in range(50):
        scores = np.sort(rng.normal(0.3, 0.1, n))[::-1] if up else np.sort(rng.gamma(4, size=n))
        cut = pc.cut(scores, higher_is_better=up)
        if n == 1:
            assert cut.reason == "kept all 1: it is the only result"
            continue
        found = re.fullmatch(
            r"kept .*: the (\d+)\w+ has score (\S+), (above|below) (\S+), where the upper third of "
            r"the range ends \((\S+) to ([^, )]+)(, expected at rank 200)?\)"
            r"(; for more than a handful say expect='dozens')?",
            cut.reason,
        )
        assert found is not None, cut.reason
        place, side, expected = int(found[1]), found[3], found[7]
        score, least, best, last = (float(found[i]) for i in (2, 4, 5, 6))
        assert place == min(cut.k + 1, n)
        assert score == pytest.approx(scores[place - 1], rel=0.01)
        assert best == pytest.approx(scores[0], rel=0.01)
        assert least == pytest.approx(best - (best - last) / 3, rel=0.01, abs=0.01)
        assert (score > least) == (side == "above")
        assert (side == "above") == (up == (cut.k == n))
        assert bool(expected) == (n < 200)
        if not expected:
            assert last == pytest.approx(scores[-1], rel=0.01)


def test_close_numbers_are_told_apart() -> None:
    scores = 0.7 - 1e-7 * np.arange(300.0)
    found = re.search(r"score (\S+), below (\S+),", pc.cut(scores).reason)
    assert found is not None
    assert float(found[1]) < float(found[2])


def test_scores_that_come_worst_first_are_refused_or_named() -> None:
    rising = np.linspace(0.1, 0.9, 10)
    with pytest.raises(InvalidScoresError, match=r"rise from 0.1 .*; give higher_is_better=False"):
        pc.cut(rising)
    with pytest.raises(InvalidScoresError, match=r"fall from 0.9 .*; give higher_is_better=True"):
        pc.cut(rising[::-1], higher_is_better=False)
    assert pc.cut(rising, higher_is_better=False).k > 0
    for few in ([0.2, 0.7], [0.2, 0.2, 0.7], [0.0, 0.0, 0.7], rising[:9]):
        assert "worst_first" in pc.cut(few).warnings
        assert "worst_first" in pc.cut_batch([[0.9, 0.1], few]).warnings[1]
    for fine in ([0.7, 0.2], [0.5, 0.7, 0.2], [0.3] * 6, [0.4, 0.9, 0.3, 0.8, 0.35, 0.33]):
        assert "worst_first" not in pc.cut(fine).warnings


def test_few_levels_in_many_results_show_the_direction_too() -> None:
    with pytest.raises(InvalidScoresError, match="rise from 1 to 3"):
        pc.cut([1] * 10 + [2] * 10 + [3] * 10)
    assert pc.cut([0.0] * 11 + [1.0]).warnings[-1] == "worst_first"  # one order of twelve


@pytest.mark.parametrize("size", [2, 5, 8])
def test_unsorted_lists_are_never_refused(size: int) -> None:
    # Five unsorted scores stand worst first once in 120 times.
    rng = np.random.default_rng(size)
    lists = rng.random((10_000, size))
    found = pc.cut_batch(lists)
    named = np.array(["worst_first" in names for names in found.warnings])
    np.testing.assert_array_equal(named, (np.diff(lists) > 0).all(axis=1))
    for one in lists[named][:100]:
        assert "worst_first" in pc.cut(one).warnings
    for start in range(0, 10_000, 4):  # small batches
        pc.cut_batch(lists[start : start + 4])


def test_a_batch_is_refused_if_most_of_its_lists_stand_worst_first() -> None:
    rising, falling = [1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0]
    assert pc.cut_batch([rising] * 3).warnings == (("worst_first",),) * 3  # 1 in 1.7 million
    for batch in ([rising] * 4, [rising] * 9 + [falling], [[1.0], []] + [rising] * 8):
        with pytest.raises(InvalidScoresError, match=r"in list [02], one of \d+; give higher_is"):
            pc.cut_batch(batch)
    odd = pc.cut_batch([falling] * 5 + [np.arange(50.0)] * 4)  # one direction, a few odd lists
    assert odd.warnings[0] == ()
    assert odd.warnings[5][-1] == "worst_first"


def test_one_ranked_list_is_cut_in_its_own_direction() -> None:
    lists = pc.RankedLists([np.linspace(0.1, 0.9, 30) ** 2], higher_is_better=False)
    assert pc.cut(lists[0]).k == pc.cut(lists[0].scores, higher_is_better=False).k
    assert (
        pc.cut(lists[0], higher_is_better=False, alpha=0.05).k
        == pc.cut_batch(lists, alpha=0.05)[0].k
    )
    with pytest.raises(InvalidParameterError, match="RankedList, which knows its direction, False"):
        pc.cut(lists[0], higher_is_better=True)
    with pytest.raises(InvalidParameterError, match="RankedLists, which knows its direction"):
        pc.cut_batch(lists, higher_is_better=True)


def test_scores_of_very_different_size_are_named_as_they_are() -> None:
    assert "the 2nd has score 1, below" in pc.cut([1e26, 1.0]).reason


@given(
    st.lists(st.floats(-5, 5, allow_subnormal=False).map(lambda x: round(x, 3)), max_size=70),
    st.booleans(),
)
def test_the_quick_way_gives_what_the_long_way_gives(values: list[float], falling: bool) -> None:
    scores = np.array(sorted(values, reverse=falling))
    quick = Consensus().cut(scores, higher_is_better=falling)
    lists = pc.RankedLists([scores], higher_is_better=falling)
    slow = Consensus().cut_batch(lists)[0]
    assert (quick.k, quick.n, quick.reason) == (slow.k, slow.n, slow.reason)
    assert quick.warnings == slow.warnings
    for rule in ({"alpha": 0.1}, {"evalue": 0.5}):
        one = Surprise(**rule).cut(scores, higher_is_better=falling)
        assert one.k == Surprise(**rule).predict(lists)[0]


@pytest.mark.parametrize(
    ("scores", "k"),
    [
        ([0.99, 0.1], 1),
        ([0.83, 0.82, 0.81], 3),
        ([0.9, 0.85, 0.2, 0.15, 0.1], 2),
        ([9.1, 8.7] + [0.0] * 198, 2),
        ([0.0] * 7, 0),
        ([0.4] * 7, 7),
        ([0.5], 1),
        ([], 0),
    ],
)
def test_short_and_odd_lists_keep_what_is_sensible(scores: list[float], k: int) -> None:
    cut = pc.cut(scores)
    assert cut.k == k
    assert ("constant_scores" in cut.warnings) == (scores == [0.4] * 7)
    assert ("zero_scores" in cut.warnings) == (0.0 in scores)


def test_an_exact_match_of_the_query_is_kept_by_the_default() -> None:
    # Under evalue=0.05 it is lost in many such lists: the tail is fitted to a bounded one.
    rng = np.random.default_rng(0)
    lost = 0
    for _ in range(50):
        vectors = rng.normal(size=(2000, 24))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        scores = np.sort(vectors @ vectors[0])[:-201:-1]
        assert scores[0] == pytest.approx(1.0)
        assert pc.cut(scores).k >= 1
        lost += pc.cut(scores, evalue=0.05).k == 0
    assert lost > 0


@pytest.mark.parametrize("n", [3, 20, 40])
def test_a_rule_keeps_a_short_list_rather_than_nothing(n: int) -> None:
    scores = noise(n)
    kept = pc.cut(scores, evalue=1e-9)
    assert (kept.k, "shallow_list" in kept.warnings) == (n, True)
    assert "if_unsure='keep'" in kept.reason
    dropped = pc.cut(scores, evalue=1e-9, if_unsure="drop")
    assert dropped.k == 0
    assert "if_unsure='drop'" in dropped.reason
    # What stands out in a short list all the same is all that is kept.
    assert pc.cut([5.0, 4.9, *noise(40)], evalue=0.05).k == 2


# --- input ---


def test_none_among_the_scores_is_named_by_its_place() -> None:
    with pytest.raises(InvalidScoresError, match=r"scores must be .* got None at index 2"):
        pc.cut([3.0, 2.0, None, 1.0])  # type: ignore[list-item]
    with pytest.raises(InvalidScoresError, match="cut: scores must be finite, got nan at index 1"):
        pc.cut([3.0, np.nan])
    with pytest.raises(InvalidScoresError, match="cut: scores must not be masked"):
        pc.cut(np.ma.masked_array([1.0, 2.0], mask=[False, True]))


def test_distances_are_cut_as_distances() -> None:
    distances = 1 - np.array([0.9, 0.85, *noise(100)])
    cut = pc.cut(distances, higher_is_better=False)
    assert cut.k == 2
    assert "the 3rd has score 0.466, above " in cut.reason
    limited = ScoreThreshold("raw", 0.2).cut(distances, higher_is_better=False)
    assert (limited.k, limited.reason) == (2, "kept 2 of 102: the 3rd has score 0.466, above 0.2")


def test_the_log_of_distances_can_be_taken() -> None:
    # Once, distance lists were negated before their logarithm was asked for.
    lists = pc.RankedLists(1.2 - np.stack([noise(seed=1), noise(seed=2)]), higher_is_better=False)
    cuts = Surprise(alpha=0.05, transform="log").cut_batch(lists)
    for i, distances in enumerate(lists.scores):
        fit = pc.fit_tail(distances, higher_is_better=False, transform="log")
        assert cuts.k[i] == fit.cut(alpha=0.05).k


def test_a_users_metric_is_not_taken_for_the_built_in_one_of_its_name(tmp_path: Path) -> None:
    def f1(relevant: Any, num_relevant: int) -> Any:
        return np.where(np.arange(relevant.size + 1) == 1, 1.0, 0.0)  # likes exactly one result

    mine = pc.metrics.get(f1)
    assert mine.name == "f1"
    assert mine != pc.metrics.f1
    assert pc.metrics.get("f1") == pc.metrics.f_beta(1) != pc.metrics.f_beta(2)
    lists = pc.RankedLists([[3.0, 2.0, 1.0]] * 12, relevance=[[1, 1, 0]] * 12)
    assert Oracle(mine).predict(lists).tolist() == [1] * 12
    assert Consensus(mine).fit(lists).predict(lists).tolist() == [1] * 12
    with pytest.raises(InvalidParameterError, match="metric must be plain data or a metric known"):
        Consensus(mine).save(tmp_path / "model.json")


# --- who decides ---


def test_a_truncator_can_be_given_or_named_by_its_file(tmp_path: Path) -> None:
    scores = noise()
    FixedK(7).save(tmp_path / "seven.json")
    for truncator in (FixedK(7), tmp_path / "seven.json", str(tmp_path / "seven.json")):
        cut = pc.cut(scores, truncator=truncator)
        assert (cut.k, cut.method) == (7, "FixedK(k=7)")
        assert pc.cut_batch(pc.RankedLists([scores]), truncator=truncator).k.tolist() == [7]
    FixedK(8).save(tmp_path / "seven.json")  # what lies in the file now is what counts
    assert pc.cut(scores, truncator=tmp_path / "seven.json").k == 8
    with pytest.raises(InvalidParameterError, match="got truncator and evalue"):
        pc.cut(scores, truncator=FixedK(7), evalue=0.05)


def test_the_word_is_a_number() -> None:
    scores = [0.7, 0.69, 0.68, 0.5, *noise(196)]
    for word, number in (("one", 1.2), ("few", 5), ("dozens", 25), ("hundreds", 100)):
        # A word leaves more room around its number.
        near = pc.cut(scores, expect=number).k
        assert pc.cut(scores, expect=word).k == pytest.approx(near, abs=1, rel=0.2)
        assert f"{word} (about {number} relevant results)" in pc.cut(scores, expect=word).reason
    kept = [pc.cut(scores, expect=word).k for word in EXPECT]
    assert kept == sorted(kept)
    # Equal scores tell nothing from anything, whatever is expected.
    assert all(pc.cut([0.5] * 200, expect=word).k == 200 for word in EXPECT)
    assert pc.cut([0.5] * 200, expect="one").reason == "kept all 200: all scores are equal"


# --- the gate ---


@pytest.fixture
def background() -> pc.Background:
    return pc.Background.fit([noise(seed=seed) for seed in range(1, 61)])


def test_a_gate_keeps_nothing_when_the_best_score_may_be_chance(
    background: pc.Background, tmp_path: Path
) -> None:
    gated = Gated(Consensus(), background, alpha=0.05)
    with_answer, without = [0.7, 0.66, *noise(198)], noise(seed=99)
    assert gated.cut(with_answer).k == Consensus().cut(with_answer).k == 2
    nothing = gated.cut(without)
    p = float(background.pvalue([without])[0])
    assert nothing.k == 0
    share = f"{100 * p:.0f} %" if p >= 0.1 else f"{100 * p:.1f} %"
    assert nothing.reason == (
        f"kept none of 200: {share} of queries without an answer reach a best score as high"
    )
    assert gated.cut(without, min_k=1).k == 1  # a bound holds whatever is decided
    gated.save(tmp_path / "gated.json")
    for again in (pc.load(tmp_path / "gated.json"), pickle.loads(pickle.dumps(gated))):
        assert repr(again) == repr(gated)
        assert again.predict([with_answer, without]).tolist() == [2, 0]
    assert gated.clone().predict([with_answer, without]).tolist() == [2, 0]


def test_a_gate_lets_the_stated_share_of_nonsense_through(background: pc.Background) -> None:
    # 400 fresh lists of noise: the share let through is alpha, but for the error of a law that
    # was fitted to 60 lists (about 2.5 points) and of the count itself (1.5 points).
    lists = [noise(5, seed=seed) for seed in range(1000, 1400)]
    for alpha in (0.05, 0.2):
        share = np.mean(Gated(FixedK(1), background, alpha=alpha).predict(lists) > 0)
        assert abs(share - alpha) < 0.09


def test_a_gate_fits_its_base_or_takes_a_fitted_one(background: pc.Background) -> None:
    rng = np.random.default_rng(0)
    scores = [[0.7, 0.68, *noise(50, seed)] for seed in range(30)]
    lists = pc.RankedLists(scores, relevance=rng.random((30, 52)) < 0.2)
    fitted = Consensus().fit(lists)
    outside = Gated(fitted, background).predict(lists)
    inside = Gated(Consensus(), background).fit(lists).predict(lists)
    np.testing.assert_array_equal(outside, inside)
    np.testing.assert_array_equal(outside, fitted.predict(lists))
    with pytest.raises(pc.errors.NotFittedError, match="GlobalK: it must be fitted"):
        Gated(pc.truncators.GlobalK(), background).predict(lists)
    promise = Conformal(Gated(ScoreThreshold("minmax"), background), level=0.3).fit(lists)
    assert promise.predict(lists).shape == (30,)


def test_a_gate_knows_its_direction(background: pc.Background) -> None:
    with pytest.raises(InvalidScoresError, match="Gated: lists must hold scores"):
        Gated(Consensus(), background).cut([0.1, 0.2], higher_is_better=False)
    for bad, message in (
        ({"base": 3}, "base must be a truncator, got 3"),
        ({"background": 3}, "background must be a Background, got 3"),
        ({"alpha": 1}, r"alpha must be in \(0, 1\), got 1"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            Gated(**{"base": Consensus(), "background": background, **bad}).predict([[1.0]])


def test_accuracy_has_a_base_that_cuts_what_it_keeps() -> None:
    rng = np.random.default_rng(0)
    answered = np.arange(80) % 2 == 0
    scores = [np.sort(rng.normal(size=60))[::-1] for _ in answered]
    for i in np.flatnonzero(answered):
        scores[i][:3] += 4.0
    relevance = [(np.arange(60) < 3) & some for some in answered]
    lists = pc.RankedLists(scores, relevance=relevance)
    alone = Consensus("accuracy").fit(lists).predict(lists)
    based = Consensus("accuracy", base=Consensus()).fit(lists)
    k = based.predict(lists)
    assert set(alone.tolist()) == {0, 60}
    np.testing.assert_array_equal(k > 0, alone > 0)
    np.testing.assert_array_equal(k[k > 0], Consensus().fit(lists).predict(lists)[k > 0])
    assert "it holds an answer with probability" in based.cut_batch(lists).reasons[0]
    with pytest.raises(InvalidParameterError, match="base must be left out unless the metric is"):
        Consensus(base=FixedK(3)).predict(lists)


# --- found by a critical reader ---


def test_positions_of_a_batch_point_into_the_callers_lists() -> None:
    lists = [[0.1, 0.9, 0.2, 0.15], [0.9, 0.1], []]
    for cuts in (Consensus().cut_batch(lists), pc.fit_tails(lists).cut(alpha=0.5)):
        assert cuts[0].indices[0] == 1
        assert cuts[1].indices[0] == 0
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=90)
    scores[70] = 40.0
    cut = pc.fit_tails([scores]).cut(evalue=0.05)[0]
    assert cut.indices.tolist() == [70]
    assert cut.surprise.argmax() == 70
    np.testing.assert_array_equal(cut.surprise, pc.fit_tail(scores).surprise)


@pytest.mark.parametrize("option", ["threshold", "prior", "evalues"])
def test_options_that_nobody_knows_are_refused(option: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"options must be among .*, got {option}"):
        pc.cut([0.9, 0.1], **{option: 1})
    with pytest.raises(InvalidParameterError, match=f"options must be among .*, got {option}"):
        pc.cut_batch(pc.RankedLists([[0.9, 0.1]]), **{option: 1})


@pytest.mark.parametrize("direction", ["no", 1, 0.0])
def test_a_direction_is_true_or_false(direction: Any) -> None:
    for call in (pc.cut, pc.fit_tail, lambda scores, **up: pc.RankedLists([scores], **up)):
        with pytest.raises(InvalidParameterError, match="higher_is_better must be True or False"):
            call([0.9, 0.1], higher_is_better=direction)
    assert pc.cut([0.1, 0.9], higher_is_better=np.False_).k == 1


def test_a_decision_stays_what_it_was_when_its_truncator_changes() -> None:
    scores = np.sort(np.random.default_rng(0).exponential(size=92))[::-1]
    truncator = Surprise(alpha=0.05)
    cut = truncator.cut(scores)
    truncator.alpha = 1e-9
    assert cut.reason.startswith(f"kept {cut.k} of 92")


def test_a_gate_keeps_what_its_base_promises(background: pc.Background) -> None:
    lists = pc.RankedLists([[9.1, 8.7] + [0.0] * 50] * 30, relevance=[[1] * 52] * 30)
    promise = Conformal(ScoreThreshold("raw"), level=0.1).fit(lists)
    assert promise.predict(lists)[0] == Gated(promise, background).predict(lists)[0] == 52


def test_a_model_is_written_through_a_link_and_by_many_threads(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    target, link = tmp_path / "model.json", tmp_path / "link.json"
    FixedK(1).save(target)
    link.symlink_to(target)
    FixedK(2).save(link)
    assert link.is_symlink()
    assert pc.load(target).k == 2
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: FixedK(k).save(target), range(3, 40)))
    assert 3 <= pc.load(target).k < 40
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "model.json"]


def test_decisions_go_through_a_pickle() -> None:
    scores = np.random.default_rng(0).exponential(size=80)
    for cut in (pc.cut(scores), pc.cut(scores, expect="few"), pc.fit_tail(scores).cut(alpha=0.05)):
        again = pickle.loads(pickle.dumps(cut))
        assert (again.k, again.reason, again.warnings) == (cut.k, cut.reason, cut.warnings)
        np.testing.assert_array_equal(again.indices, cut.indices)
        np.testing.assert_array_equal(again.surprise, cut.surprise)


def test_bounds_and_positions_are_integers() -> None:
    for bad in (np.array([0, 0]), 0.0, "1"):
        with pytest.raises(InvalidParameterError, match="min_k must be an integer of at least 0"):
            pc.cut([0.9, 0.1], min_k=bad)
    with pytest.raises(TypeError, match="slice"):
        Consensus().cut_batch([[0.9, 0.1]])[0:1]  # type: ignore[call-overload]


@pytest.mark.parametrize("up", [True, False])
def test_indices_of_many_lists_are_those_of_each(up: bool) -> None:
    rng = np.random.default_rng(0)
    lists = [rng.normal(size=n) for n in (30, 0, 1, 12)]
    for given_lists in (lists, [np.sort(x)[:: -1 if up else 1] for x in lists]):
        cuts = pc.truncators.FixedK(5).cut_batch(given_lists, higher_is_better=up)
        found = [row.tolist() for row in cuts.indices]
        assert found == [cut.indices.tolist() for cut in cuts]
        best = [np.argsort(-x if up else x, kind="stable")[:5].tolist() for x in given_lists]
        assert found == best


@pytest.mark.parametrize("options", [{}, {"alpha": 0.05}], ids=str)
def test_surprise_of_many_lists_is_that_of_each(options: dict[str, float]) -> None:
    rng = np.random.default_rng(1)
    padded = [*rng.exponential(size=60), *[0.0] * 20]
    for lists in ([rng.exponential(size=80), padded, []], [sorted(padded, reverse=True)]):
        cuts = pc.cut_batch(lists, **options)
        assert [one.tolist() for one in cuts.surprise] == [cut.surprise.tolist() for cut in cuts]


@pytest.mark.parametrize(
    "answer",
    [
        [("a", 0.9), ("b", 0.1)],
        [(1, 0.9), (2, 0.1)],
        [{"id": 1, "score": 0.9}],
        {"ids": [["a"]], "distances": [[0.1]]},
        {"a": 0.9},
    ],
    ids=str,
)
def test_results_with_scores_are_sent_to_keep(answer: Any) -> None:
    with pytest.raises(InvalidScoresError, match=r"^cut: .*paretocut\.keep\(answer\)$"):
        pc.cut(answer)
    assert pc.keep(answer)


def test_an_answer_to_wait_for_is_named() -> None:
    async def search() -> list[float]:
        return [0.9]

    with pytest.raises(InvalidScoresError, match=r"cut\(await search\(\.\.\.\)\)"):
        pc.cut(search())  # type: ignore[arg-type]
    for wrong in ("text", ["a", "b"], [None, 0.5], None):
        with pytest.raises(InvalidScoresError) as caught:
            pc.cut(wrong)  # type: ignore[arg-type]
        assert "keep" not in str(caught.value)


@pytest.mark.parametrize("up", [True, False])
def test_the_nearest_are_the_best_three_that_were_not_kept(up: bool) -> None:
    rng = np.random.default_rng(2)
    lists = [rng.normal(size=n) for n in (30, 0, 1, 2, 4, 12)]
    cuts = FixedK(2).cut_batch(lists, higher_is_better=up)
    for scores, cut, nearest in zip(lists, cuts, cuts.nearest, strict=True):
        best = np.argsort(-scores if up else scores, kind="stable")[cut.k :][:3]
        assert cut.nearest.tolist() == nearest.tolist() == best.tolist()
    nothing = FixedK(0).cut([0.1, 0.9, 0.3, 0.5])
    assert nothing.nearest.tolist() == [1, 3, 2]
    first = FixedK(3).cut_batch([[0.9, 0.5, 0.2, 0.1]])
    assert first.limited({0: (np.array([0]), "a limit")})[0].nearest.tolist() == [1, 2, 3]
    assert first.limited({0: (np.array([1]), "a limit")})[0].nearest.tolist() == [0, 2, 3]


def test_padding_is_never_near() -> None:
    cuts = FixedK(1).cut_batch([[0.0, 3.0, 0.0, 2.0], [0.0, 0.0]], max_k=1)
    assert [cut.nearest.tolist() for cut in cuts] == cuts.nearest.tolist() == [[3], []]
    assert FixedK(1).cut([3.0, 0.0, 0.0], min_k=2).nearest.tolist() == []


def test_a_gate_states_its_chance(background: pc.Background) -> None:
    lists = [[0.7, 0.66, *noise(198)], noise(seed=99), []]
    expected = background.pvalue(lists).tolist()
    for alpha in (0.05, 0.9):
        cuts = Gated(Consensus(), background, alpha=alpha).cut_batch(lists)
        assert cuts.chance is not None
        assert cuts.chance.tolist() == [cut.chance for cut in cuts] == expected
    assert Consensus().cut_batch(lists).chance is None
    assert Consensus().cut(lists[0]).chance is None


@pytest.mark.parametrize("explain", [True, False])
def test_decisions_as_plain_values_are_those_of_each(
    background: pc.Background, explain: bool
) -> None:
    lists = [np.array([0.7, 0.2, 0.66]), noise(60)[::-1][:4], np.empty(0), np.zeros(3)]
    for truncator in (Consensus(), Gated(Surprise(evalue=0.05), background)):
        cuts = truncator.cut_batch(lists)
        plain = cuts.to_dicts(explain=explain)
        assert plain == [cut.to_dict(explain=explain) for cut in cuts]
        assert json.loads(json.dumps(plain)) == plain
        names = ["k", "n", "indices", "nearest", "chance", "method", "reason", "warnings"]
        assert list(plain[0]) == list(cuts[0].to_dict(explain=explain)) == names[: 6 + 2 * explain]
