"""The one decision of all adapters, and what holds without any of their packages."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from columns import work_of
from paretocut.adapters.sentence_transformers import cut_semantic_search

import paretocut as pc
from paretocut.adapters import CutList, ScoresWarning
from paretocut.adapters.deciding import cut_each, cut_scored, filter_scored
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidScoresError, MissingExtraError
from paretocut.truncators.choose import Chosen

FRAMEWORKS = {
    "haystack": "haystack",
    "langchain": "langchain_core",
    "llama_index": "llama_index",
    "pyterrier": "pyterrier",
}
STORES = [
    "chroma",
    "duckdb",
    "elasticsearch",
    "faiss",
    "hnswlib",
    "lancedb",
    "opensearch",
    "pgvector",
    "qdrant",
    "sentence_transformers",
    "usearch",
]
OPTIONS: list[DecisionOptions] = [
    {},
    {"evalue": 0.05},
    {"fdr": 0.2, "max_k": 2},
    {"min_surprise": 2.0, "refit": "all", "min_k": 2, "min_window": 4},
]
SCORES = [5.0, 4.6, 4.4, *np.sort(np.random.default_rng(4).exponential(0.3, size=97))[::-1]]


def cutter(**options: Any) -> Chosen:
    return Chosen.of("test", options)


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


def test_adapters_of_stores_import_no_package() -> None:
    code = (
        "import sys, numpy, importlib\n"
        "before = {name.partition('.')[0] for name in sys.modules}\n"
        f"for name in {STORES}:\n"
        "    importlib.import_module('paretocut.adapters.' + name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules} - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = set(run.stdout.split()) - sys.stdlib_module_names
    assert {name for name in others if not name.startswith("_")} == {"paretocut"}


def test_importing_paretocut_imports_no_adapter() -> None:
    code = "import sys, paretocut\nprint(*(m for m in sys.modules if 'adapters' in m))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_scores_that_are_not_there_take_no_part() -> None:
    holes = [None, SCORES[0], float("nan"), *SCORES[1:], None]
    decision = cut_scored(holes, cutter(evalue=0.05), who="test")
    fit = pc.fit_tail(SCORES)
    assert decision.cut.k == fit.cut(evalue=0.05).k == 3
    assert decision.kept.tolist() == [1, 3, 4]
    assert [marks["surprise"] for _, marks in decision.marks()] == fit.surprise[:3].tolist()


def test_what_is_kept_stays_in_the_order_it_came() -> None:
    order = np.random.default_rng(1).permutation(len(SCORES))
    scores = np.array(SCORES)[order]
    decision = cut_scored(scores, cutter(evalue=0.05), who="test", best_first=False)
    assert decision.kept.tolist() == sorted(np.flatnonzero(order < 3).tolist())


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_a_sorted_answer_in_the_wrong_direction_is_refused(higher_is_better: bool) -> None:
    scores = SCORES if not higher_is_better else SCORES[::-1]
    with pytest.raises(InvalidScoresError, match="test: results must come best first"):
        cut_scored(scores, cutter(), who="test", higher_is_better=higher_is_better)
    with pytest.raises(InvalidScoresError, match=r"got scores that (rise|fall) from"):
        cut_scored(scores[:2], cutter(), who="test", higher_is_better=higher_is_better)
    cut_scored(
        scores[:2], cutter(), who="test", higher_is_better=higher_is_better, best_first=False
    )
    with pytest.raises(InvalidScoresError, match="must come best first"):
        cut_scored(
            scores, cutter(), who="test", higher_is_better=higher_is_better, best_first=False
        )


@pytest.mark.filterwarnings("ignore:test. all scores are equal")
@pytest.mark.parametrize("scores", [[], [1.0], [1.0, 1.0], [2.0, 3.0, 1.0, 4.0]])
def test_answers_without_a_direction_are_taken_as_they_are(scores: list[float]) -> None:
    for higher_is_better in (True, False):
        only = cutter(min_k=1, max_k=1)
        decision = cut_scored(scores, only, who="test", higher_is_better=higher_is_better)
        assert decision.cut.k == min(1, len(scores))


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InvalidScoresError, match="test: scores must be numbers, got"):
        cut_scored(["high", "low"], cutter(), who="test")  # type: ignore[list-item]
    with pytest.raises(InvalidScoresError, match="must be one-dimensional, got an array of shape"):
        cut_scored([[1.0, 2.0]], cutter(), who="test")
    with pytest.raises(InvalidScoresError, match="must be finite"):
        cut_scored([float("inf"), 1.0], cutter(), who="test")


def test_scores_of_the_wrong_kind_are_warned_of_but_not_in_short_lists() -> None:
    ranks = [1 / (60 + rank) for rank in range(100)]
    with pytest.warns(ScoresWarning, match="test: scores only encode the rank"):
        cut_scored(ranks, cutter(), who="test")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cut_scored([0.999, 0.998, 0.997, 0.4, 0.1], cutter(), who="test")


def test_filtered_results_carry_the_decision_through_a_pickle() -> None:
    scores = dict(zip("abcdefgh", [*SCORES[:4], None, *SCORES[4:7]], strict=True))
    kept = filter_scored(
        list("abcdefgh"),
        cutter(min_k=2, max_k=2),
        who="test",
        what="letters",
        score_of=scores.__getitem__,
        unscored="keep",
        mark=lambda letter, marks: letter.upper(),
    )
    assert kept == ["A", "B", "e"]
    again = pickle.loads(pickle.dumps(kept))
    assert isinstance(again, CutList)
    assert again == kept
    assert again.cut.k == 2


@pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")
def test_many_answers_at_once_are_cut_like_one_by_one() -> None:
    answers = [SCORES, [], [1.0], [None, *SCORES[:50]], [3.0, 1.0, 2.0, 2.0, 0.5, 0.4, 0.3]]
    for options in OPTIONS:
        each, cuts = cut_each(answers, cutter(**options), who="test")
        assert len(cuts) == len(each) == len(answers)
        for decision, scores in zip(each, answers, strict=True):
            one = cut_scored(scores, cutter(**options), who="test")
            assert decision.kept.tolist() == one.kept.tolist()
            assert list(decision.marks()) == list(one.marks())
            assert decision.cut.to_dict() == one.cut.to_dict()
    with pytest.raises(InvalidScoresError, match="test: results must come best first"):
        cut_each([SCORES, SCORES[::-1]], cutter(), who="test")
    with pytest.raises(InvalidScoresError, match=r"^test: .* must be finite, got inf"):
        cut_each([SCORES, [float("inf"), 1.0]], cutter(), who="test")
    assert cut_each([], cutter(), who="test")[0] == []


@pytest.mark.parametrize("options", [{}, {"alpha": 0.05}], ids=str)
def test_the_work_of_a_batch_grows_with_its_queries_and_no_faster(options: DecisionOptions) -> None:
    # Marks once exponentiated the whole batch for every query.
    hits = [{"corpus_id": i, "score": score} for i, score in enumerate(SCORES)]
    few, many = (
        work_of(lambda count=count: cut_semantic_search([hits] * count, **options))
        for count in (5, 80)
    )
    assert 0 < many <= 16 * few
