"""The one decision of all adapters, and what holds without any of their packages."""

from __future__ import annotations

import importlib
import json
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from columns import work_of

import paretocut as pc
from paretocut.adapters import CutList, ScoresWarning
from paretocut.adapters.keeping import Keeping
from paretocut.answers import read
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidScoresError, MissingExtraError

FRAMEWORKS = {
    "haystack": "haystack",
    "langchain": "langchain_core",
    "llama_index": "llama_index",
    "pyterrier": "pyterrier",
}
OPTIONS: list[DecisionOptions] = [
    {},
    {"evalue": 0.05},
    {"fdr": 0.2, "max_k": 2},
    {"min_surprise": 2.0, "refit": "all", "min_k": 2, "min_window": 4},
]
SCORES = [5.0, 4.6, 4.4, *np.sort(np.random.default_rng(4).exponential(0.3, size=97))[::-1]]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_package_is_named_with_its_pip_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in list(sys.modules):
        if module.partition(".")[0] == FRAMEWORKS[name]:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, FRAMEWORKS[name], None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, f"paretocut.adapters.{name}", raising=False)
    extra = name.replace("_", "-")
    with pytest.raises(MissingExtraError, match=rf"pip install 'paretocut\[{extra}\]'") as caught:
        importlib.import_module(f"paretocut.adapters.{name}")
    assert caught.value.extra == extra


def test_importing_paretocut_imports_no_adapter() -> None:
    code = "import sys, paretocut\nprint(*(m for m in sys.modules if 'adapters' in m))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def pairs(scores: Any) -> list[tuple[int, Any]]:
    return list(enumerate(scores))


def test_what_is_kept_stays_in_the_order_it_came() -> None:
    order = np.random.default_rng(1).permutation(len(SCORES))
    scores = np.array(SCORES)[order]
    kept, cut = pc.keep(pairs(scores), higher_is_better=True, evalue=0.05, explain=True)
    assert [i for i, _ in kept] == sorted(np.flatnonzero(order < 3).tolist())
    assert sorted(order[cut.indices].tolist()) == [0, 1, 2]
    assert cut.surprise.tolist() == pc.fit_tail(scores).surprise.tolist()


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_a_sorted_answer_in_the_wrong_direction_is_refused(higher_is_better: bool) -> None:
    scores = SCORES if not higher_is_better else SCORES[::-1]
    with pytest.raises(InvalidScoresError, match=r"^keep: \w+ must not come worst first, got"):
        pc.keep(pairs(scores), higher_is_better=higher_is_better)


def test_scores_of_the_wrong_kind_are_warned_of_but_not_in_short_lists() -> None:
    ranks = [1 / (60 + rank) for rank in range(100)]
    with pytest.warns(ScoresWarning, match="keep: scores only encode the rank"):
        pc.keep(pairs(ranks))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pc.keep(pairs([0.999, 0.998, 0.997, 0.4, 0.1]))


def test_marked_results_carry_the_decision_through_a_pickle() -> None:
    results = list(zip("abcdefgh", [*SCORES[:4], None, *SCORES[4:7]], strict=True))
    keeping = Keeping.of("test", {"min_k": 2, "max_k": 2})
    with pytest.warns(ScoresWarning, match="test: 1 of 8 results have no score, and are not kept"):
        kept = keeping.marked(read(results), lambda letter, mark: letter.upper())
    assert kept == ["A", "B"]
    again = pickle.loads(pickle.dumps(kept))
    assert isinstance(again, CutList)
    assert again == kept
    assert again.cut.k == 2


@pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")
def test_many_answers_at_once_are_cut_like_one_by_one() -> None:
    answers = [SCORES, [], [1.0], [None, *SCORES[:50]], [3.0, 2.0, 2.0, 1.0, 0.5, 0.4, 0.3]]
    for options in OPTIONS:
        kept, cuts = pc.keep([pairs(one) for one in answers], explain=True, **options)
        assert len(cuts) == len(kept) == len(answers)
        for own, cut, scores in zip(kept, cuts, answers, strict=True):
            one = pc.keep(pairs(scores), **options)
            assert own == one
            assert cut.to_dict() == one.cut.to_dict()


@pytest.mark.parametrize("options", [{}, {"alpha": 0.05}], ids=str)
def test_the_work_of_a_batch_grows_with_its_queries_and_no_faster(options: DecisionOptions) -> None:
    # Marks once exponentiated the whole batch for every query.
    hits = [{"corpus_id": i, "score": score} for i, score in enumerate(SCORES)]
    few, many = (
        work_of(lambda count=count: pc.keep([hits] * count, **options)) for count in (5, 80)
    )
    assert many <= 16 * few


def test_metadata_has_surprise_only_where_tails_decided() -> None:
    for options, told in (({}, set()), ({"evalue": 0.05}, {"surprise", "pvalue", "evalue"})):
        keeping = Keeping.of("test", options)
        marks = keeping.marked(read(SCORES), lambda one, mark: mark)
        assert {"score", "k", "n", "reason", "warnings"} | told <= set(marks[0])
        assert not ({"surprise", "pvalue", "evalue"} - told) & set(marks[0])
        json.dumps(marks)
    fit = pc.fit_tail(SCORES)
    assert [mark["surprise"] for mark in marks] == fit.surprise[:3].tolist()


def test_unsorted_results_are_never_taken_for_the_other_direction_by_a_fitted_truncator() -> None:
    rng = np.random.default_rng(0)
    gate = pc.truncators.Gated(pc.truncators.FixedK(2), pc.Background.fit(rng.random(50) - 1))
    for scores in rng.random((2000, 5)):  # about 17 of them rise from first to last
        assert len(pc.keep(pairs(scores.tolist()), truncator=gate)) == 2
