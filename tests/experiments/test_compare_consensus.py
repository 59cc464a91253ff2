"""`Consensus` against simple rules: gains and their intervals, and the lists behind them."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

importorskip("faiss")
importorskip("matplotlib")
importorskip("scipy")
importorskip("torch")
importorskip("sklearn")

import paretocut as pc
from experiments import cache
from experiments.compare import report
from experiments.compare.consensus import (
    gap,
    homemade,
    nested,
    pretrain,
    summary,
    variants,
)
from experiments.compare.consensus import lists as sets
from experiments.data import RUNS, Run, load
from experiments.results import read
from paretocut import metrics
from paretocut.truncators import Consensus, Oracle, ScoreThreshold
from paretocut.truncators.consensus.pretrained import DESIGN, KEYS, weights_of


@pytest.fixture(scope="module")
def content() -> Any:
    return read("compare", "consensus")


@pytest.fixture
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path)


def simulated(n: int, seed: int = 0) -> pc.RankedLists:
    """Return lists in which higher scores are relevant more often."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.gamma(2.0, size=(n, 40)))
    return pc.RankedLists(scores, rng.random(scores.shape) < scores / 8)


def test_names_of_families_that_hold_a_comma_stay_whole(content: Any) -> None:
    families = [name for own in content["sets"].values() for name in own.get("families", ())]
    assert any(", " in name for name in families)
    told = " ".join(report.pages()["docs/evidence/compare.md"].split())
    for name in (name for name in families if ", " in name):
        assert f"({name};" in told or f"; {name}" in told


def test_networks_have_the_values_of_the_comparison(content: Any) -> None:
    results = read("compare", "methods")
    shown = {
        (run["run"], name, metric): mean
        for run in results["runs"]
        for metric, name, mean, *_ in run["rows"]
    }
    for name, run in content["runs"].items():
        for network in ("bicut", "choppy", "attncut"):
            for metric in ("f1", "penalized_dcg"):
                if network in run[metric]:
                    theirs = shown[name, network, metric]
                    assert run[metric][network] == pytest.approx(theirs, abs=1e-4)


def test_cells_of_a_new_collection_follow_from_its_files(content: Any, shared_data: Path) -> None:
    qrels = pc.io.read_qrels(shared_data / "adi" / "qrels.txt.gz")
    lists = pc.read_trec(shared_data / "adi" / "bm25.run.gz", qrels)
    told = content["runs"]["adi-bm25"]
    assert told["queries"] == len(lists) == 35
    free = Consensus().predict(pc.RankedLists(lists.scores))
    assert told["f1"]["untrained"] == pytest.approx(metrics.f1(lists, free).mean(), abs=6e-5)
    # What ships is what is tested here: the collection took no part in it.
    done = pc.evaluate(
        {"ours": Consensus(), "minmax": ScoreThreshold("minmax")},
        lists,
        metrics=("f1",),
        splits=sets.OFTEN,
        folds=2,
    )
    means = done.values[0].mean(axis=1)
    assert told["f1"]["consensus"] == pytest.approx(means[0], abs=6e-5)
    assert told["f1"]["minmax"] == pytest.approx(means[1], abs=6e-5)


def test_gains_of_a_set_follow_from_its_lists(content: Any) -> None:
    names = [run.name for run in RUNS]
    rows = [content["runs"][name] for name in names]
    part = content["sets"][sets.JUDGED]["f1"]
    assert len(rows) == content["sets"][sets.JUDGED]["lists"] == 22
    means = {rule: np.mean([own["f1"][rule] for own in rows]) for rule in sets.SIMPLE}
    assert part["best rule"] == max(means, key=lambda rule: means[rule])
    gains = [own["f1"]["consensus"] / own["f1"][part["best rule"]] - 1 for own in rows]
    assert part["over the best rule"]["mean"][0] == pytest.approx(np.mean(gains), abs=1e-3)
    assert part["over the best rule"]["median"][0] == pytest.approx(np.median(gains), abs=1e-3)


def test_nothing_is_learned_from_the_corpus_it_is_tested_on() -> None:
    seen: list[str] = []

    def spy(groups: dict[str, Any]) -> str:
        seen.append(",".join(groups))
        return ""

    pairs = [("Robust04", None), ("Robust04, runs of TREC 2003", None)]
    pairs += [("Reuters titles", None), ("Reuters topics", None), ("SciFact", None)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrain, "pretrain", spy)
        for names in (["Robust04"], ["Reuters"], ["SciFact"], []):
            pretrain.learned(pairs, without=names)  # type: ignore[arg-type]
    assert seen == [
        "Reuters titles,Reuters topics,SciFact",
        "Robust04,SciFact",
        "Robust04,Reuters titles,Reuters topics",
        "Robust04,Reuters titles,Reuters topics,SciFact",
    ]


# Gains and their intervals.


def table(ours: Any, rule: Any) -> Any:
    values = {"ours": ours, "rule": rule, "oracle": np.ones((1, np.shape(ours)[1]))}
    return {
        name: {"f1": np.array(v, float), "penalized_dcg": np.array(v, float)}
        for name, v in values.items()
    }


def one(n: int) -> dict[Run, pc.RankedLists]:
    return {Run("one", "F", "", "q"): pc.RankedLists([[1.0]] * n, [[True]] * n)}


def gain(values: Any, n: int, metric: str = "f1") -> list[float]:
    return summary.gains({"one": values}, one(n), metric, "ours", lambda _: "rule")["mean"]


def test_a_gain_is_relative_for_f1_and_a_share_of_the_oracle_for_dcg() -> None:
    values = table([[0.6] * 4], [[0.5] * 4])
    np.testing.assert_allclose(gain(values, 4), 0.2)
    np.testing.assert_allclose(gain(values, 4, "penalized_dcg"), 0.1)


def test_intervals_cover_the_choice_of_halves_and_of_queries() -> None:
    # All queries alike, repeats not: only the halves can move the mean.
    halves = gain(table(np.repeat([[0.5], [0.7]], 50, axis=1), np.full((2, 50), 0.6)), 50)
    assert halves == pytest.approx([0.0, -1 / 6, 1 / 6])
    ours = np.tile([0.5, 0.7], (2, 25))
    queries = gain(table(ours, np.full((2, 50), 0.6)), 50)
    # The mean of 50 values of spread 0.1 has a standard error of 0.1 / sqrt(50).
    error = 1.96 * 0.1 / 50**0.5 / 0.6
    assert queries == pytest.approx([0.0, -error, error], abs=0.15 * error)


def test_methods_with_fewer_repeats_are_compared_on_the_same_halves() -> None:
    ours, rule = np.array([[0.5] * 3, [0.7] * 3]), np.array([[0.5] * 3, [0.7] * 3, [0.1] * 3])
    assert gain(table(ours, rule), 3)[0] == pytest.approx(0.0)


def test_queries_of_several_systems_are_drawn_together() -> None:
    lists = pc.RankedLists([[1.0]] * 6, [[True]] * 6, query_ids=list("abcdef"))
    pair = {Run("x", "F", "", "q"): lists, Run("y", "F", "", "q"): lists[[5, 2, 0]]}
    (first, _), (second, _) = summary._weights(pair)
    np.testing.assert_array_equal(first[0], 1.0)
    some = second.sum(axis=1) > 0
    both = first[:, [5, 2, 0]]
    np.testing.assert_array_equal(second[some & (both.sum(axis=1) > 0)], both[both.sum(axis=1) > 0])


@pytest.mark.parametrize(
    ("interval", "word"),
    [
        ((0.02, 0.01, 0.03), "ahead"),
        ((0.0, -0.009, 0.01), "not worse"),
        ((0.0, -0.02, 0.01), "open"),
        ((-0.02, -0.03, -0.011), "worse"),
        ((-0.005, -0.008, -0.002), "not worse"),
    ],
)
def test_verdicts_follow_the_margin(interval: tuple[float, ...], word: str) -> None:
    assert summary.verdict(interval) == word


# The class with other constants.


def elected_keys(model: Consensus) -> list[str]:
    """Return the key of each rule that judged lists elected."""
    known = {tuple(weights_of(name).tolist()): name for name in KEYS}
    return [known[tuple(weights)] for weights in model.learned_.weights.tolist()]


def test_the_class_with_no_change_is_the_class() -> None:
    lists = simulated(40)
    for metric in ("f1", "penalized_dcg"):
        ours, same = Consensus(metric).fit(lists), variants.Varied(metric).fit(lists)
        np.testing.assert_array_equal(ours.predict(lists), same.predict(lists))


def test_one_key_and_no_vote_is_a_tuned_threshold() -> None:
    lists = simulated(60)
    changed = {"draws": 0, "pseudo_queries": 0.0}
    changed["without"] = tuple(key for key in variants.KEYS if key != "minmax")
    model = variants.Varied(changed=changed).fit(lists)
    assert elected_keys(model) == ["minmax"]
    rule = ScoreThreshold("minmax").fit(lists)
    ours, best = (metrics.f1(lists, t.predict(lists)).mean() for t in (model, rule))
    # One has a hundred thresholds, the other all that matter.
    assert best - 0.01 < ours <= best + 1e-12


def test_all_keys_are_those_of_the_vote() -> None:
    assert list(KEYS) == list(variants.KEYS)


def sloping(queries: int, seed: int) -> pc.RankedLists:
    """Return lists whose relevance follows the min-max score with log-odds -3 + 5 x."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.gamma(2.0, size=(queries, 100)), axis=1)
    low, high = scores[:, -1:], scores[:, :1]
    logits = -3 + 5 * (scores - low) / (high - low)
    return pc.RankedLists(scores, rng.random(scores.shape) < 1 / (1 + np.exp(-logits)))


def test_pretraining_makes_what_is_shipped_in_form() -> None:
    made = pretrain.pretrain({"a": [sloping(20, 0)], "b": [sloping(20, 1), sloping(10, 2)]})
    shipped = json.loads(pretrain.TARGET.read_text())
    assert asdict(made).keys() == shipped.keys()
    for metric in ("f1", "penalized_dcg"):
        both = (*made.values[metric].values(), *shipped["values"][metric].values())
        assert len({len(row) for row in both}) == 1
        assert np.isfinite(both).all()
    for name in ("coef", "coef_without_raw", "center", "spread"):
        assert len(getattr(made, name)) == len(shipped[name]) == len(DESIGN)
    assert pretrain.TARGET.stat().st_size < 200_000


def test_pretraining_finds_what_the_lists_were_made_with() -> None:
    made = pretrain.pretrain({"a": [sloping(60, 0)], "b": [sloping(60, 1)]})
    lists = sloping(20, 3)
    p = pretrain.Taught("penalized_dcg", pretrained=made).predict_proba(lists).values
    low, high = (np.repeat([part[i] for part in lists.scores], 100) for i in (-1, 0))
    truth = -3 + 5 * (lists.scores.values - low) / (high - low)
    slope, level = np.polyfit(truth, np.log(p / (1 - p)), 1)
    assert slope == pytest.approx(1, abs=0.1)
    assert level == pytest.approx(0, abs=0.5)


def test_every_variant_differs_by_what_its_name_says() -> None:
    lists, own = (
        simulated(40),
        pretrain.pretrain({"a": [simulated(20, 1)], "b": [simulated(20, 2)]}),
    )
    rows = variants._votes(own)
    for name, options in rows.items():
        elected = elected_keys(variants.Varied(**options).fit(lists))
        if name.startswith("one rule"):
            assert len(elected) == 1
        assert not set(elected) & set((options.get("changed") or {}).get("without", ()))


def test_constants_are_chosen_outside_of_the_fold() -> None:
    lists = simulated(2)
    names = ["A x", "A y", "B", "C", "D"]
    pairs = {Run(f"run{i}", name, "", name): lists for i, name in enumerate(names)}
    parts = nested.folds(pairs)
    assert sorted(name for part in parts for name in part) == ["A", "B", "C", "D"]
    corpus = {run.name: run.family[0] for run in pairs}
    # Two runs of one corpus count as one: B and C together outweigh them.
    values = {"run0": [0.0, 1.0], "run1": [0.0, 1.0], "run2": [0.6, 0.0], "run3": [0.6, 0.0]}
    shares = {run: np.array(own) for run, own in values.items()}
    assert nested.chosen(shares, ["D"], corpus) == 0
    with pytest.raises(ValueError, match="outside of the fold, got 'run2'"):
        nested.chosen(shares, ["B"], corpus)


@pytest.mark.parametrize("strategy", nested.RANGES)
def test_settings_are_drawn_from_their_ranges(strategy: str) -> None:
    count, ranges = nested.RANGES[strategy]
    drawn = nested.settings(strategy)
    assert len(drawn) == count
    for changed in drawn:
        assert changed.keys() == ranges.keys()
        assert all(value in ranges[name] for name, value in changed.items())
        variants.Varied(changed=changed).constants  # noqa: B018 - unknown names are refused


def test_bounds_know_what_other_systems_found() -> None:
    # The other system has three relevant results of query b, and all of them score above 0.5.
    mine = pc.RankedLists([[9.0, 8.0, 1.0, 0.0]], [[True, False, True, False]], ["b"])
    other = pc.RankedLists(
        [[4.0, 3.0], [9.0, 8.0, 7.0, 0.0]], [[False, False], [True, True, True, False]], ["a", "b"]
    )
    counts, thresholds = gap._told(mine, [other])
    assert counts.tolist() == [3.0]
    assert 7 / 9 >= gap._GRID[thresholds[0]] > 0
    families = {
        Run("one", "F", "x", "q"): mine,
        Run("two", "F", "y", "q"): other[1:],
        Run("three", "F", "z", "another"): other,
    }
    assert gap.told(families).keys() == {"one", "two"}


def test_digits_are_found_nearest_first() -> None:
    ((name, lists),) = homemade._digits()
    assert name == "pixels"
    assert len(lists) == 150
    assert (lists.scores.lengths == 600).all()
    assert {int(part.sum()) for part in lists.relevant} == {60}
    assert np.mean([part[0] for part in lists.relevant]) > 0.95


def test_fresh_digits_have_an_index_of_their_own() -> None:
    ((_, lists),) = homemade._cosine()
    found = sorted({int(part.sum()) for part in lists.relevant})
    assert found == [10 + 12 * digit for digit in range(10)]


@pytest.mark.slow
def test_other_claims_are_judged_as_the_qrels_say(shared_data: Path) -> None:
    found = dict(homemade._claims())
    assert found.keys() == {"bm25", "tfidf", "lsa"}
    assert {len(lists) for lists in found.values()} == {300}
    counts = np.array([part.sum() for part in found["lsa"].relevant])
    assert 0.5 < counts.mean() < 1.5


@pytest.mark.slow
def test_a_title_has_one_right_story(shared_data: Path) -> None:
    found = dict(homemade._titles())
    assert found.keys() == {"bm25", "tfidf", "lsa"}
    for lists in found.values():
        assert max(int(part.sum()) for part in lists.relevant) == 1
    assert metrics.f1(found["bm25"], Oracle("f1").predict(found["bm25"])).mean() > 0.6


@pytest.mark.slow
def test_what_is_shipped_was_learned_from_these_lists(shared_data: Path) -> None:
    lists = pretrain.all_lists()
    made = pretrain.learned((run.family, part) for run, part in lists.items())
    shipped = json.loads(pretrain.TARGET.read_text())
    for name in ("coef", "coef_without_raw", "center", "spread"):
        np.testing.assert_allclose(getattr(made, name), shipped[name], atol=0.01)
    for metric, rows in shipped["values"].items():
        assert rows.keys() == made.values[metric].keys()
        for family, values in rows.items():
            apart = np.abs(np.subtract(made.values[metric][family], values))
            # Stories printed twice have one score up to rounding, which differs between machines:
            # a threshold at exactly the best score keeps both or one of them.
            assert apart.max() < 0.05
            assert np.mean(apart > 0.01) < 0.01


@pytest.mark.usefixtures("_own_cache")
def test_two_families_in_miniature_go_through_all_tables(shared_data: Path) -> None:
    chosen = ("vaswani-bm25", "vaswani-minilm-dense", "dl2019-bm25", "dl2019-ance")
    lists = {run: load(run)[:24] for run in RUNS if run.name in chosen}
    known = pretrain.elsewhere(lists)
    assert known.keys() == {"Vaswani", "TREC"}
    some = {run: part for run, part in lists.items() if run.family == "Vaswani"}
    found = variants.measure({sets.JUDGED: some}, known)
    for metric in ("f1", "penalized_dcg"):
        best = found[metric].pop("oracle")[sets.JUDGED]
        assert variants.FULL in found[metric]
        assert all(own[sets.JUDGED] < best for own in found[metric].values())
    told = gap.calibration(some, known)
    assert 0 <= told["error, mean"] < 0.2
    # Repeats and queries keep their places: each repeat tests every query once.
    ((_, part), *_) = some.items()
    protocol = {"metrics": ("f1",), "splits": 2, "folds": 2, "seed": 0}
    (values,) = sets.tuned(part, ScoreThreshold("minmax"), protocol)
    done = pc.evaluate({"one": ScoreThreshold("minmax")}, part, **protocol)
    assert values.shape == (2, 24)
    assert values.mean() == pytest.approx(done.values[0, 0].mean())
    np.testing.assert_array_equal(
        values[1, done.query[done.split == 3]], done.values[0, 0][done.split == 3]
    )
    again = sets.tuned(part, ScoreThreshold("minmax"), protocol)
    np.testing.assert_array_equal(again[0], values)
