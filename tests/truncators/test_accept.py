"""Accept: its promise by simulation, what it says when there is none, and everything around."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import json_lines
from serving import running

import paretocut as pc
from paretocut.cli import main
from paretocut.errors import DataFormatError, InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists
from paretocut.truncators import Accept
from paretocut.truncators.promises import lowest_threshold


def draw(rng: np.random.Generator, count: int, *, wrong: float = 0.3) -> RankedLists:
    """Return queries whose first result is right where the top score or the margin is high."""
    right = rng.random(count) >= wrong
    top = np.where(right, rng.normal(0.75, 0.08, count), rng.normal(0.55, 0.08, count))
    margin = np.where(right, rng.gamma(3.0, 0.06, count), rng.gamma(1.0, 0.02, count))
    scores = np.column_stack([top, top - margin, top - margin - 0.1])
    return RankedLists(scores, np.column_stack([right, ~right, ~right]))


@pytest.fixture(scope="module")
def judged() -> RankedLists:
    return draw(np.random.default_rng(0), 800)


@pytest.fixture(scope="module")
def fitted(judged: RankedLists) -> Accept:
    return Accept(0.05, name="e5-small").fit(judged)


def error_of(accept: Accept, lists: RankedLists) -> float:
    kept = accept.predict(lists) > 0
    right = lists.truncate(1).relevant.values
    return float(np.mean(~right[kept])) if kept.any() else 0.0


@pytest.mark.parametrize("queries", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_error_is_within_the_budget_as_often_as_promised(queries: int) -> None:
    rng = np.random.default_rng(1)
    population = draw(rng, 20_000)
    fits = [Accept(0.05).fit(draw(rng, queries)) for _ in range(200)]
    broken = np.mean([error_of(accept, population) > 0.05 for accept in fits])
    accepted = np.mean([np.mean(accept.predict(population)) for accept in fits])
    # Three standard errors above 5 %: a false alarm in 1 of 700.
    assert broken <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert accepted > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 2, 3, 5, 10, 20])
@pytest.mark.parametrize("known_by", ["scores", "query id", "groups"])
def test_the_budget_is_kept_however_often_a_query_is_repeated(copies: int, known_by: str) -> None:
    # 400 rows with 20 copies of each query broke the budget in 60 % of fits.
    rng = np.random.default_rng(copies)
    population, broken = draw(rng, 20_000), 0
    for _ in range(150):
        queries = draw(rng, 400 // copies)
        rows = np.repeat(np.arange(len(queries)), copies)
        lists = queries[rows]
        if known_by != "scores":  # paraphrases: nearly the same scores, and the same judgement
            noise = rng.normal(0, 1e-3, lists.scores.values.size).reshape(-1, 3)
            scores = -np.sort(-(lists.scores.values.reshape(-1, 3) + noise), axis=1)
            names = rows if known_by == "query id" else None
            lists = RankedLists(scores, lists.relevance, query_ids=names)
        groups = rows if known_by == "groups" else None
        accept = Accept(0.1).fit(lists, groups=groups)
        assert accept.queries_ == len(queries)
        broken += error_of(accept, population) > 0.1
    # Three standard errors above 5 %: a false alarm in 1 of 700.
    assert broken / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_copies_count_once_and_the_report_says_so(judged: RankedLists) -> None:
    doubled = RankedLists.concat([judged, judged])
    once, twice = Accept(0.05).fit(judged), Accept(0.05).fit(doubled)
    assert twice.queries_ == 800
    assert "800 distinct judged queries" in twice.report()
    np.testing.assert_array_equal(np.sort(once.judged_[:, 0]), np.sort(twice.judged_[:, 0]))
    apart = Accept(0.05).fit(doubled, groups=range(1600))  # the caller says that they differ
    assert apart.queries_ == 1600
    with pytest.raises(InvalidParameterError, match=r"groups must name the group of each of 1600"):
        Accept(0.05).fit(doubled, groups=["one"])


@pytest.mark.parametrize(
    "queries", [150, *(pytest.param(n, marks=pytest.mark.slow) for n in (60, 500, 1500))]
)
@pytest.mark.parametrize("budget", [0.05, pytest.param(0.1, marks=pytest.mark.slow)])
def test_scores_that_tell_nothing_are_rarely_believed(queries: int, budget: float) -> None:
    # The error is a hair above the budget, so that to accept anything breaks the promise.
    rng, draws, broken = np.random.default_rng([queries, round(100 * budget)]), 300, 0
    for _ in range(draws):
        top = rng.normal(size=queries)
        scores = np.column_stack([top, top - rng.exponential(size=queries)])
        right = rng.random(queries) >= 1.001 * budget
        lists = RankedLists(scores, np.column_stack([right, ~right]))
        broken += bool(Accept(budget).fit(lists).predict(lists).any())
    assert broken / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)


def test_the_test_at_each_step_is_the_binomial_one_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    for _ in range(50):
        log_odds = np.round(rng.normal(2.0, 2.0, 300), 2)  # with ties
        right = (rng.random(300) < 1 / (1 + np.exp(-log_odds))).astype(float)
        count, threshold = lowest_threshold(log_odds, right, 0.1, 0.05)
        above = log_odds > threshold
        assert count == above.sum()
        if count:
            wrong = np.count_nonzero(right[above] == 0)
            assert stats.binomtest(wrong, count, 0.1, alternative="less").pvalue <= 0.05
        if 0 < count < 300:  # one step more was not refuted
            more = log_odds >= threshold
            wrong = np.count_nonzero(right[more] == 0)
            assert stats.binomtest(wrong, int(more.sum()), 0.1, alternative="less").pvalue > 0.05


@pytest.mark.parametrize("signal", ["top score", "margin"])
def test_the_signal_is_found_in_the_data(signal: str) -> None:
    rng = np.random.default_rng(5)
    right = rng.random(1000) < 0.7
    sure = np.where(right, rng.normal(3.0, 1.0, 1000), rng.normal(0.0, 1.0, 1000))
    noise = rng.normal(size=1000)
    top = sure if signal == "top score" else noise
    margin = np.exp(noise) if signal == "top score" else np.maximum(sure + 3, 0)
    lists = RankedLists(np.column_stack([top, top - margin]), np.column_stack([right, ~right]))
    fitted = Accept(0.05).fit(lists)
    assert fitted.predict(lists).mean() > 0.5
    shares = {
        name: float(share[error <= 0.05].max(initial=0.0))
        for name, (share, error, _, _) in fitted.curves().items()
    }
    other = {"top score": "margin", "margin": "top score"}[signal]
    assert shares["learned score"] > 0.5 > shares[other] + 0.3
    assert shares["learned score"] > shares[signal] - 0.03


def test_it_keeps_one_result_or_none_and_says_why(fitted: Accept) -> None:
    yes, no = fitted.cut([0.85, 0.5, 0.4]), fitted.cut([0.55, 0.54, 0.4])
    assert (yes.k, no.k) == (1, 0)
    assert "wrong with an estimated probability of 0." in yes.reason
    assert ", not below " in no.reason
    assert no.reason.endswith("learned from 800 judged queries")
    assert yes.warnings == no.warnings == ()


def test_a_budget_that_cannot_be_kept_is_never_a_silent_zero(judged: RankedLists) -> None:
    accept = Accept(0.001).fit(judged)
    decision = accept.cut([0.99, 0.1])
    assert decision.k == 0
    assert decision.warnings == ("accepts_nothing",)
    assert decision.reason == (
        "kept none of 2: nothing can be accepted at 0.1 %, learned from 800 judged queries"
    )
    first = accept.report().splitlines()[0]
    assert first.startswith("At 0.1 % nothing can be accepted from 800 judged queries; ")
    smallest = float(first.split("; ")[1].split(" %")[0]) / 100
    # What the report names does accept, as much as it says.
    other = Accept(smallest).fit(judged)
    share = other.report().removeprefix("Accepts ").split(" of ")[0]
    assert first.endswith(f"is the smallest budget tried that accepts anything ({share} of them).")


@pytest.mark.parametrize(
    ("count", "right", "words"),
    [
        (3, 1, "Cannot say from 3 judged queries what may be accepted: at least 10 are needed."),
        (400, 1, "Cannot say from 400 judged queries what may be accepted: all their first"),
        (400, 0, "Cannot say from 400 judged queries what may be accepted: all their first"),
    ],
    ids=["three", "all right", "all wrong"],
)
def test_without_both_kinds_of_queries_there_is_no_promise(
    count: int, right: int, words: str
) -> None:
    top = np.random.default_rng(0).random(count)
    lists = RankedLists(np.column_stack([top, top - 1]), [[right, 0]] * count)
    accept = Accept(0.1).fit(lists)
    assert accept.report().startswith(words)
    assert accept.cut([0.99, 0.1]).k == 0
    assert "accepts_nothing" in accept.cut([0.99, 0.1]).warnings


def test_lists_without_a_result_teach_nothing() -> None:
    accept = Accept(0.1).fit(RankedLists([[], []], [[], []]))
    assert accept.report() == (
        "Cannot say from 0 judged queries what may be accepted: at least 10 are needed."
    )
    assert accept.cut([0.9, 0.1]).k == 0
    with pytest.raises(InvalidParameterError, match=r"Accept\.curves: .*judged queries, got none"):
        accept.curves()


def test_queries_without_an_answer_count_as_wrong(judged: RankedLists) -> None:
    rng = np.random.default_rng(9)
    some = judged[:200]
    unanswerable = some.with_relevance(some.scores.with_values(np.zeros(len(some.scores.values))))
    with_them = Accept(0.05).fit(RankedLists.concat([judged, unanswerable]))
    assert np.mean(with_them.judged_[:, 3]) < np.mean(Accept(0.05).fit(judged).judged_[:, 3])
    assert with_them.predict(draw(rng, 500)).mean() < 0.3


def test_only_first_results_must_be_judged(judged: RankedLists, fitted: Accept) -> None:
    first = np.array([part[0] for part in judged.relevant])
    grades = np.full((len(judged), 3), np.nan)
    grades[:, 0] = first
    scores = np.stack(list(judged.scores))
    partly = Accept(0.05).fit(RankedLists(scores, grades))
    np.testing.assert_array_equal(partly.coef_, fitted.coef_)
    grades[:100, 0] = np.nan
    fewer = Accept(0.05).fit(RankedLists(scores, grades))
    np.testing.assert_array_equal(fewer.judged_, Accept(0.05).fit(judged[100:]).judged_)


def test_scores_of_another_retriever_are_not_accepted(fitted: Accept) -> None:
    strange = fitted.cut([24.0, 9.0])
    assert (strange.k, strange.warnings) == (0, ("unseen_scores",))
    assert "its best score, 24, is far outside 0." in strange.reason
    assert "(e5-small)" in strange.reason
    with pytest.raises(InvalidScoresError, match="must hold scores, as those it was fitted on"):
        fitted.cut([0.1, 0.2], higher_is_better=False)


def test_distances_are_reported_as_distances(judged: RankedLists, fitted: Accept) -> None:
    far = RankedLists(
        judged.scores.with_values(1.0 - judged.scores.values),
        judged.relevance,
        higher_is_better=False,
    )
    mirrored = Accept(0.05).fit(far)
    low, high = 1 - fitted.seen_[::-1]
    assert f"best scores {low:.3g} to {high:.3g}." in mirrored.report()
    np.testing.assert_array_equal(mirrored.predict(far), fitted.predict(judged))
    assert "its best score, 9, is far outside" in mirrored.cut([9.0], higher_is_better=False).reason


def test_one_result_per_list_is_enough(judged: RankedLists) -> None:
    # The margin is then the same for all; rounding made a signal of such a column once.
    alone = Accept(0.05).fit(judged.truncate(np.ones(len(judged), dtype=int)))
    assert alone.predict(judged.truncate(np.ones(len(judged), dtype=int))).mean() > 0.2
    assert alone.coef_[2] == alone.coef_[3] == 0
    top = np.linspace(0.3, 0.9, 600)
    lists = RankedLists(np.column_stack([top, top - 0.1]), np.column_stack([top > 0.6, top < 0.6]))
    assert np.abs(Accept(0.05).fit(lists).coef_[2:]).max() < 1e-6


def test_report_and_curves_agree_with_a_count_by_hand(judged: RankedLists, fitted: Accept) -> None:
    lines = fitted.report().splitlines()
    kept = fitted.judged_[:, 2] > fitted.threshold_
    wrong = np.count_nonzero(fitted.judged_[kept, 3] == 0)
    assert lines[1].startswith(f"At fit {wrong} of {kept.sum()} accepted were wrong: ")
    assert "800 distinct judged queries (e5-small): " in lines[2]
    share, error, low, high = fitted.curves()["margin"]
    assert (low <= error).all()
    assert (error <= high).all()
    assert share[-1] == 1
    assert error[-1] == pytest.approx(1 - np.mean([part[0] for part in judged.relevant]))


def test_drift_is_seen_and_no_drift_is_not(fitted: Accept) -> None:
    rng = np.random.default_rng(7)
    same = fitted.drift(draw(rng, 300))
    assert same.verdict == "same"
    changed = fitted.drift(draw(rng, 300, wrong=0.8))
    assert changed.verdict == "changed"
    assert set(changed.distance) == {"best score", "score of the first result", "accepted share"}
    assert "Judge new queries" in changed.text
    with pytest.raises(InvalidScoresError, match="must hold scores"):
        fitted.drift(RankedLists([[0.1, 0.2]] * 60, higher_is_better=False))


def test_without_labels_a_background_is_the_budget(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    nonsense = rng.normal(0.3, 0.1, (300, 1000)).max(axis=1)
    accept = Accept(0.01, name="e5", background=pc.Background.fit(nonsense))
    fresh = rng.normal(0.3, 0.1, (3000, 1000)).max(axis=1)
    assert accept.predict(fresh[:, None]).mean() < 0.02
    decision = accept.cut([0.95, 0.9])
    assert decision.k == 1
    assert "near misses on the topic are not covered" in decision.reason
    assert "Near misses on the topic are not covered" in accept.report()
    assert accept.fit(RankedLists([[0.9]], [[1]])) is accept
    with pytest.raises(InvalidParameterError, match=r"Accept\.drift: .*got a background"):
        accept.drift([[0.9, 0.1]])
    accept.save(tmp_path / "model.json")
    assert pc.load(tmp_path / "model.json").cut([0.95, 0.9]).reason == decision.reason


def test_a_saved_model_says_where_its_scores_come_from(fitted: Accept, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    fitted.save(path)
    again = pc.load(path)
    assert again.report() == fitted.report()
    content = json.loads(path.read_text())
    assert content["params"]["name"] == "e5-small"
    assert content["learned"]["higher_is_better_"] is True
    content["learned"]["threshold_"] = "high"
    path.write_text(json.dumps(content))
    with pytest.raises(DataFormatError, match="threshold_ must be"):
        pc.load(path)


@pytest.mark.parametrize(
    "params", [{"max_error": 0}, {"max_error": 1.5}, {"confidence": 1}, {"name": 3}]
)
def test_parameters_outside_what_is_allowed_are_refused(params: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=f"Accept: {next(iter(params))} must be"):
        Accept(**params).fit(draw(np.random.default_rng(0), 20))


def test_the_command_line_fits_reports_and_cuts(
    judged: RankedLists,
    fitted: Accept,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with open("run.txt", "w") as run, open("qrels.txt", "w") as qrels:
        for i, one in enumerate(judged):
            for rank, (score, right) in enumerate(zip(one.scores, one.relevant, strict=True)):
                run.write(f"q{i} Q0 d{rank} {rank + 1} {float(score)!r} t\n")
                qrels.write(f"q{i} 0 d{rank} {int(right)}\n")
    method = "accept:max_error=0.05,name=e5-small"
    assert main(["fit", "run.txt", "qrels.txt", "--method", method, "-o", "model.json"]) == 0
    assert fitted.report().splitlines()[0] in capsys.readouterr().err
    assert main(["cut", "run.txt", "--model", "model.json", "--json"]) == 0
    rows = json_lines(capsys.readouterr().out)
    assert [row["k"] for row in rows] == fitted.predict(judged).tolist()
    assert [row["reason"] for row in rows] == list(fitted.cut_batch(judged).reasons)


def test_the_service_decides_as_the_library_does(fitted: Accept, tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    for needed in ("starlette", "msgspec", "uvicorn", "prometheus_client"):
        pytest.importorskip(needed)
    fitted.save(tmp_path / "accept.json")
    with running(f"--model=hit={tmp_path / 'accept.json'}") as service:
        for scores in ([0.85, 0.5, 0.4], [0.55, 0.54, 0.4], [24.0, 9.0], []):
            given = {"scores": scores, "model": "hit"}
            answer = httpx.post(f"{service.url}/v1/cut", json=given, timeout=300)
            assert answer.json() == fitted.cut(scores).to_dict()


def test_frames_tell_the_warning(fitted: Accept) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"query": ["a", "a", "b"], "score": [24.0, 9.0, 0.85]})
    how = {"query": "query", "score": "score", "truncator": fitted}
    kept, cuts = pc.keep(frame, explain=True, **how)
    assert kept["score"].tolist() == [0.85]
    assert any("unlike" in pc.decisions.WARNINGS[name] for name in cuts.warnings[0])
    assert not cuts.warnings[1]
