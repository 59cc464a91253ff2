"""Calibration without a judgement: nonsense, two groups, drift, and the truncator made of them."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import paretocut as pc
from paretocut.background.law import Groups
from paretocut.calibration import calibrated
from paretocut.errors import InvalidParameterError
from paretocut.lists import RankedLists
from paretocut.truncators import Calibrated, FixedK, Gated

TEXTS = [
    "ferns and mosses grow in the shade of old trees",
    "roses like full sun and rich soil",
    "the soil of a garden should drain well",
    "prune the trees in late winter",
    "water the roses in the morning",
]


def null_lists(rng: np.random.Generator, n: int, size: int = 60) -> np.ndarray:
    """Return lists without an answer: the best of 1,000 scores of chance."""
    return -np.sort(-rng.normal(0.3, 0.08, size=(n, 1000)))[:, :size]


def good_lists(rng: np.random.Generator, n: int, size: int = 60) -> np.ndarray:
    """Return lists with three results that stand out."""
    lists = null_lists(rng, n, size)
    lists[:, :3] = rng.normal(0.8, 0.06, size=(n, 3))
    return -np.sort(-lists)


# The truncator.


@pytest.fixture(scope="module")
def made() -> Calibrated:
    rng = np.random.default_rng(7)
    return calibrated(null_lists(rng, 150), good_lists(rng, 200))


def test_calibrated_leaves_nothing_to_say_empty(made: Calibrated) -> None:
    rng = np.random.default_rng(8)
    assert (made.predict(null_lists(rng, 200)) == 0).mean() > 0.97
    kept = made.predict(good_lists(rng, 200))
    assert (kept == 0).mean() < 0.02
    assert np.median(kept) == 3
    assert isinstance(made, Gated)
    assert "has no answer with probability" in made.cut(null_lists(rng, 1)[0]).reason
    assert "unjudged queries suggest" in made.cut(good_lists(rng, 1)[0]).reason


def test_calibrated_survives_a_file(made: Calibrated, tmp_path: Path) -> None:
    made.save(tmp_path / "t.json")
    loaded = pc.load(tmp_path / "t.json")
    assert isinstance(loaded, Calibrated)
    rng = np.random.default_rng(9)
    lists = np.concatenate([null_lists(rng, 20), good_lists(rng, 20)])
    np.testing.assert_array_equal(loaded.predict(lists), made.predict(lists))
    assert loaded.report() == made.report()
    assert loaded.drift(good_lists(rng, 100)).verdict == "same"


@pytest.fixture(scope="module")
def lexical() -> Calibrated:
    rng = np.random.default_rng(7)
    texts = [" ".join(TEXTS[0].split()[:size]) for size in rng.integers(1, 9, 350)]
    scale = pc.background.QueryScale.from_texts(TEXTS)
    lists = np.concatenate([null_lists(rng, 150), good_lists(rng, 200)]) * scale(texts)[:, None]
    return calibrated(lists[:150], lists[150:], scale=scale, texts=texts)


@pytest.mark.parametrize("kind", ["with a log", "nonsense alone", "lexical"])
def test_calibrated_keeps_the_contract_of_truncators(
    kind: str, made: Calibrated, lexical: Calibrated, tmp_path: Path
) -> None:
    rng = np.random.default_rng(11)
    null = null_lists(rng, 60)
    t = {"with a log": made, "nonsense alone": calibrated(null), "lexical": lexical}[kind]
    scores = np.concatenate([null_lists(rng, 10), good_lists(rng, 10)])
    queries = [" ".join(TEXTS[0].split()[: 1 + i % 5]) for i in range(len(scores))]
    many = {"queries": queries} if kind == "lexical" else {}
    if many:
        scores *= pc.background.QueryScale.from_texts(TEXTS)(queries)[:, None]
    lists = RankedLists(scores)
    cuts = t.cut_batch(lists, **many)
    assert 0 < np.count_nonzero(cuts.k) < len(lists)
    for i, own in enumerate(scores):
        one = t.cut(own, **({"query": queries[i]} if many else {}))
        assert (one.k, one.reason, one.warnings) == (cuts[i].k, cuts[i].reason, cuts[i].warnings)
        assert json.loads(json.dumps(one.to_dict()))["method"].startswith("Calibrated(Consensus(")
    bounded = t.cut_batch(lists, min_k=1, max_k=2, **many)
    np.testing.assert_array_equal(bounded.k, np.clip(cuts.k, 1, 2))

    t.save(tmp_path / "t.json")
    for twin in (pc.load(tmp_path / "t.json"), pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
        assert type(twin) is Calibrated
        assert repr(twin) == repr(t)
        assert twin.report() == t.report()
        again = twin.cut_batch(lists, **many)
        assert (again.k.tolist(), again.reasons) == (cuts.k.tolist(), cuts.reasons)
    assert len(repr(t)) < 600
    assert repr(t.base) in repr(t)
    bare = t.clone()  # has the parameters and the calibration, but no fitted base
    assert bare.get_params(deep=False).keys() == t.get_params(deep=False).keys()
    assert bare.background == t.background
    assert bare.scale_ is t.scale_
    assert not bare.is_fitted
    assert t.get_params()["base__expect"] is None
    if kind != "lexical":
        np.testing.assert_array_equal(t.predict(lists), cuts.k)


def test_distances_are_calibrated_as_their_mirror_image(made: Calibrated) -> None:
    rng = np.random.default_rng(7)
    mirror = calibrated(-null_lists(rng, 150), -good_lists(rng, 200), higher_is_better=False)
    rng = np.random.default_rng(10)
    lists = np.concatenate([null_lists(rng, 50), good_lists(rng, 50)])
    below = mirror.cut_batch(-lists, higher_is_better=False).k
    np.testing.assert_array_equal(below, made.predict(lists))
    assert mirror.threshold() == pytest.approx(-made.threshold())
    assert "is below" in mirror.report()


def test_report_tells_what_was_found(made: Calibrated) -> None:
    report = made.report()
    assert "150 nonsense queries have a best score of" in report
    assert f"is above {made.threshold():.3g}" in report
    assert "relevant results in a typical list" in report
    rng = np.random.default_rng(11)
    bare = calibrated(null_lists(rng, 100), alpha=0.1)
    assert "10 % of the nonsense gets that far" in bare.report()
    share = (bare.predict(null_lists(rng, 400)) > 0).mean()
    assert share == pytest.approx(0.1, abs=0.05)


def test_calibrate_runs_the_users_search() -> None:
    asked: list[str] = []

    def search(query: str) -> list[float]:
        asked.append(query)
        known = [len(set(query.split()) & set(text.split())) for text in TEXTS]
        noise = 0.01 * np.random.default_rng(len(query)).random(len(TEXTS))
        return sorted(np.array(known) / len(query.split()) + noise, reverse=True)

    halves = [" ".join(half) for t in TEXTS for half in (t.split()[:4], t.split()[-4:])]
    t = pc.calibrate(search, TEXTS, queries=[*TEXTS, *halves], n=60, expect="one")
    assert len(asked) == len(set(asked))
    assert t.cut(search("water the roses in the morning")).k == 1
    assert t.cut(search("morning shade late rich drain unknown words here")).k == 0
    assert t.base.expect == "one"


# A log as it is: repeats, too few, copies of the texts.


def test_repeated_queries_count_once(made: Calibrated) -> None:
    # Repeats used to move the threshold: a log of two questions refused 95 % of the others.
    rng = np.random.default_rng(7)
    null, log = null_lists(rng, 150), good_lists(rng, 200)
    again = np.concatenate([log, np.repeat(log[:2], 150, axis=0)])
    repeated = calibrated(null, again)
    assert repeated.background == made.background
    assert "200 different ones of your 500 queries" in repeated.report()
    assert "200 of your queries" in made.report()
    # Coarse scores do not tell queries apart, so none of these is thought to be a repeat.
    coarse = calibrated(null.round(1)[:, :3] + 1e-3 * rng.random((150, 1)), log.round(1)[:, :3])
    assert coarse.unjudged_ is not None
    assert coarse.unjudged_.size == 200


@pytest.mark.parametrize("depth", [3, 5, 9])
def test_repeats_are_seen_in_short_lists_too(depth: int, shared_data: Path) -> None:
    # With five results a query, two questions repeated 160 times left most others empty.
    lists = [row[:depth] for row in pc.io.read_trec(shared_data / "squad2/minilm.run.gz").scores]
    null = [0.8 * row for row in lists[1000:1150]]
    log = lists[:60]
    once, repeated = calibrated(null, log), calibrated(null, [*log, *(log[:2] * 80)])
    assert repeated.background == once.background
    assert "60 different ones of your 220 queries" in repeated.report()
    # Best scores alone do not tell queries apart, nor do scores of two digits.
    for coarse in ([row[:1] for row in log], [row.round(2) for row in log]):
        found = calibrated(null, coarse * 2).unjudged_
        assert found is not None
        assert found.size == 120


def word_search(query: str) -> list[float]:
    known = [len(set(query.lower().split()) & set(text.split())) for text in TEXTS]
    noise = 0.01 * np.random.default_rng(len(query.split())).random(len(TEXTS))
    return sorted(np.array(known) / len(query.split()) + noise, reverse=True)


def test_queries_that_differ_in_case_and_spaces_are_one() -> None:
    queries = [" ".join(text.split()[i : i + 3]) for text in TEXTS for i in range(4)]
    shouted = [f"  {query.upper()} " for query in queries]
    twice = pc.calibrate(word_search, TEXTS, queries=queries + shouted, n=30, lexical=False)
    once = pc.calibrate(word_search, TEXTS, queries=queries, n=30, lexical=False)
    assert twice.background == once.background
    assert twice.origin_ is not None
    assert twice.origin_.queries == 2 * len(queries)
    again = pc.calibrate(word_search, TEXTS, queries=iter(queries), n=30, lexical=False)  # type: ignore[arg-type]
    assert again.background == once.background
    users = [i % 12 for i in range(len(queries))]
    own = pc.calibrate(word_search, TEXTS, queries=queries, groups=users, n=30, lexical=False)
    assert own.unjudged_ is not None
    assert own.unjudged_.size == 12
    with pytest.raises(InvalidParameterError, match=r"calibrate: groups must .* got 1 names"):
        pc.calibrate(word_search, TEXTS, queries=queries, groups=["me"], n=30)
    with pytest.raises(InvalidParameterError, match=r"calibrate: queries must .* got 1 among 160"):
        pc.calibrate(word_search, TEXTS, queries=queries[:1] * 160, n=30, lexical=False)


def test_doubts_about_a_gate_are_on_every_decision_and_in_its_report(made: Calibrated) -> None:
    questions = [
        f"do {text.split()[i]} like {text.split()[-1]}" for text in TEXTS for i in (0, 1, 2)
    ]
    few = pc.calibrate(word_search, TEXTS, queries=questions, n=30, lexical=False)
    assert few.cut(word_search("roses like full sun")).warnings[-2:] == ("few_texts", "few_queries")
    assert "Warning, few_texts: " in few.report()
    log = [*questions[::2], *TEXTS]
    copied = pc.calibrate(word_search, TEXTS * 2, queries=log, n=30, lexical=False)
    assert "copied_queries" in copied.cut_batch([word_search("roses")]).warnings[0]
    assert "few_texts" not in copied.report()
    assert made.cut(good_lists(np.random.default_rng(3), 1)[0]).warnings == ()
    assert "Warning" not in made.report()


def test_passages_that_find_themselves_are_seen_by_their_scores(shared_data: Path) -> None:
    # A hundred passages that were not among the texts refused 97 % of the good questions, unsaid.
    def doubts(log: list[np.ndarray], null: list[np.ndarray], up: bool = True) -> tuple[str, ...]:
        origin = calibrated(null, log, higher_is_better=up).origin_
        assert origin is not None
        return origin.doubts

    lists = list(pc.io.read_trec(shared_data / "squad2" / "minilm.run.gz").scores)
    null, log = [0.6 * row for row in lists[1000:1150]], lists[:100]
    rng = np.random.default_rng(0)
    themselves = [np.append(1 - 1e-6 * rng.random(), row) for row in log]
    assert doubts(themselves, null) == ("copied_queries",)
    assert doubts(themselves[:50] + log[50:], null) == ("copied_queries",)
    far = [[1 - row for row in own] for own in (themselves, null)]
    assert doubts(*far, up=False) == ("copied_queries",)
    assert doubts(themselves[:20] + log[20:], null) == ()
    # The hardest shared runs: names that stand word for word in the index, a saturated re-ranker.
    for name in ("dblp_acm/minilm.run.gz", "dl/runs/dl2019-bert-rerank.run.gz"):
        own = [row for row in pc.io.read_trec(shared_data / name).scores if row.size > 10]
        width = np.ptp([row[0] for row in own])
        assert doubts(own, [row - width - np.ptp(row) for row in own]) == (), name


# What it does to questions of one's own.


def test_evaluate_counts_both_errors_and_finds_the_balance(made: Calibrated) -> None:
    rng = np.random.default_rng(21)
    good, other = good_lists(rng, 80) - rng.uniform(0, 0.3, (80, 1)), null_lists(rng, 60)
    found = made.evaluate(good, other)
    assert found.left_empty.count == np.sum(made.predict(good) == 0) > 0
    assert found.refused.count == np.sum(made.predict(other) == 0)
    exact = stats.binomtest(found.left_empty.count, 80).proportion_ci(0.95)
    np.testing.assert_allclose(found.left_empty.interval, exact, atol=1e-9)
    errors = [
        np.mean(good[:, 0] < t) + np.mean(other[:, 0] >= t)
        for t in np.concatenate([good[:, 0], other[:, 0], [found.balanced]])
    ]
    assert errors[-1] == min(errors)
    # Its alpha puts the gate there.
    moved = made.clone().set_params(alpha=found.alpha).fit(RankedLists(good))
    assert moved.threshold() == pytest.approx(found.balanced)
    assert moved.evaluate(good, other).balanced == found.balanced
    assert f"Good questions left empty: {found.left_empty.count} of 80" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["refused"]["total"] == 60


def test_evaluate_takes_answers_by_question_and_needs_them_for_lexical_scores(
    made: Calibrated, lexical: Calibrated
) -> None:
    rows = good_lists(np.random.default_rng(5), 12)
    answers = {f"q{i}": [(f"d{j}", x) for j, x in enumerate(row)] for i, row in enumerate(rows)}
    assert made.evaluate(answers) == made.evaluate(rows)
    assert made.evaluate(answers).balanced is None
    scale = pc.background.QueryScale.from_texts(TEXTS)(list(answers))
    raw = {q: row * s for q, row, s in zip(answers, rows, scale, strict=True)}
    assert lexical.evaluate(raw).left_empty.count == 0
    with pytest.raises(InvalidParameterError, match="texts of 12 queries must be given"):
        lexical.evaluate(rows)
    with pytest.raises(InvalidParameterError, match="good or off_topic must hold a question"):
        made.evaluate()


def test_a_gate_of_ones_own_lists_warns_about_other_scores(shared_data: Path) -> None:
    runs = {
        name: pc.io.read_trec(shared_data / "squad2" / f"{name}.run.gz")
        for name in ("minilm", "bm25")
    }
    lists = runs["minilm"]
    gate = Gated(FixedK(3), pc.Background.fit(lists[:200]))

    def share(cuts: pc.Cuts) -> float:
        return float(np.mean(["unseen_scores" in names for names in cuts.warnings]))

    assert share(gate.cut_batch(lists[200:])) < 0.01
    assert share(gate.cut_batch(runs["bm25"])) > 0.95
    assert share(gate.cut_batch([100 * row for row in lists.scores])) > 0.95
    best = Gated(FixedK(3), pc.Background.fit(lists.scores.ends()[0][:200]))  # best scores only
    assert share(best.cut_batch(lists[200:])) < 0.01
    assert share(best.cut_batch(runs["bm25"])) > 0.95


def test_lexical_scores_need_the_query() -> None:
    def search(query: str) -> list[float]:
        return sorted(
            (float(len(set(query.split()) & set(t.split()))) for t in TEXTS), reverse=True
        )

    t = pc.calibrate(search, TEXTS, n=60, lexical=True)
    with pytest.raises(InvalidParameterError, match="texts of 1 queries must be given, got none"):
        t.cut([3.0, 1.0])
    scale = pc.background.QueryScale.from_texts(TEXTS)(["roses like full sun"])[0]
    plain = Gated(t.base, t.background).cut(np.array(search("roses like full sun")) / scale)
    assert t.cut(search("roses like full sun"), query="roses like full sun").k == plain.k
    lists = [search("roses like full sun"), search("the")]
    cuts = t.cut_batch(lists, queries=["roses like full sun", "the"])
    assert cuts.k[0] == plain.k


def test_one_list_and_a_batch_are_gated_alike() -> None:
    rng = np.random.default_rng(13)
    background = pc.Background.fit(null_lists(rng, 100), queries=good_lists(rng, 100))
    lists = np.concatenate([null_lists(rng, 30), good_lists(rng, 30)])
    for base in (pc.truncators.Consensus(), FixedK(4)):
        gated = Gated(base, background, alpha=None)
        one_by_one = [gated.cut(scores).k for scores in lists]
        np.testing.assert_array_equal(one_by_one, gated.predict(lists))
        assert 0 in one_by_one


def test_a_gate_without_queries_has_no_threshold_of_its_own() -> None:
    background = pc.Background.fit(null_lists(np.random.default_rng(0), 50))
    with pytest.raises(InvalidParameterError, match="given no queries, got None"):
        Gated(FixedK(1), background, alpha=None).cut([0.9, 0.1])
    with pytest.raises(InvalidParameterError, match="given queries, got none"):
        background.posterior([[0.9, 0.1]])


# Drift.


def test_lists_can_be_measured_one_by_one_and_compared_together(made: Calibrated) -> None:
    lists = good_lists(np.random.default_rng(3), 60) * 0.9
    rows = [made.shapes(lists[i : i + 1]) for i in range(60)]
    assert made.drift_of(np.concatenate(rows)) == made.drift(lists)


def test_check_sees_another_model_and_nothing_in_its_own_lists(made: Calibrated) -> None:
    rng = np.random.default_rng(12)
    assert made.drift(good_lists(rng, 150)).verdict == "same"
    other = made.drift(good_lists(rng, 150) * 0.8)
    assert other.verdict == "changed"
    assert "best score" in other.text
    assert made.drift(good_lists(rng, 8)).verdict == "unsure"
    bare = calibrated(null_lists(rng, 100))
    with pytest.raises(InvalidParameterError, match="given queries, got none"):
        bare.drift(good_lists(rng, 50))


@pytest.mark.slow
def test_no_drift_is_called_in_more_than_two_percent() -> None:
    calls = 0
    for seed in range(200):
        rng = np.random.default_rng(1000 + seed)
        t = calibrated(null_lists(rng, 60), good_lists(rng, 150))
        calls += t.drift(good_lists(rng, 150)).verdict == "changed"
    assert calls <= 4


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_the_stated_share_of_nonsense_passes(alpha: float) -> None:
    # Under its assumption (queries without an answer follow the law of the nonsense) the share
    # that gets results is alpha, up to the error of 200 nonsense queries.
    shares = []
    for seed in range(40):
        rng = np.random.default_rng(2000 + seed)
        t = calibrated(null_lists(rng, 200), alpha=alpha)
        shares.append((t.predict(null_lists(rng, 500)) > 0).mean())
    assert np.mean(shares) == pytest.approx(alpha, abs=max(0.2 * alpha, 0.006))


@pytest.mark.slow
@pytest.mark.parametrize("shift", [-0.05, 0.0, 0.05])
def test_the_share_without_an_answer_is_found_and_the_threshold_balances(shift: float) -> None:
    # Off-topic questions score below or above nonsense by one standard deviation; 20 % of the
    # log has no answer, and that is said.
    gaps = []
    for seed in range(30):
        rng = np.random.default_rng(3000 + seed)
        nonsense = rng.normal(0.40, 0.05, size=150)
        log = np.concatenate([rng.normal(0.40 + shift, 0.05, 80), rng.normal(0.70, 0.08, 320)])
        groups = Groups.fit(log, nonsense, unanswered=0.2)
        scores = np.linspace(0.4, 0.7, 301)
        errors = stats.norm.sf(scores, 0.40 + shift, 0.05) + stats.norm.cdf(scores, 0.70, 0.08)
        mine = stats.norm.sf(groups.threshold, 0.40 + shift, 0.05)
        mine += stats.norm.cdf(groups.threshold, 0.70, 0.08)
        gaps.append([mine - errors.min(), groups.share - 0.2])
    assert np.abs(np.mean(gaps, axis=0)).max() < 0.03
