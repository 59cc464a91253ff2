"""Evidence stays with the decision: whatever is asked of it, each tail is fitted at most once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import write_example_run
from support import importorskip

import paretocut as pc
from paretocut import _kernel
from paretocut.cli import main
from paretocut.decisions import Cut
from paretocut.tail import fits
from paretocut.truncators import Consensus, FixedK, Gated, Surprise, Truncator

QUESTIONS = ("reason", "warnings", "surprise", "pvalues", "evalues", "indices", "method")


class Counting:
    """The kernel, with a count of the lists whose tail it fitted."""

    lists = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(_kernel, name)

    def fit_list(self, *args: Any) -> Any:
        self.lists += 1
        return _kernel.fit_list(*args)

    def fit_batch(self, values: Any, offsets: Any, *rest: Any) -> None:
        self.lists += len(offsets) - 1
        _kernel.fit_batch(values, offsets, *rest)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr(fits, "_kernel", counting)
    return counting


def lists(count: int = 7) -> np.ndarray:
    rng = np.random.default_rng(1)
    scores = rng.exponential(size=(count, 120))
    scores[:, :4] += 9.0
    return -np.sort(-scores, axis=1)


DECIDERS: dict[str, Callable[[], Truncator]] = {
    "default": Consensus,
    "expect": lambda: Consensus(expect="few"),
    "first": lambda: FixedK(3),
    "alpha": lambda: Surprise(alpha=0.05),
    "evalue": lambda: Surprise(evalue=0.05),
    "fdr": lambda: Surprise(fdr=0.1),
    "gated": lambda: Gated(Surprise(evalue=0.05), pc.Background.fit(lists(40)[:, 10:])),
}


@pytest.mark.parametrize("question", ["reason", "warnings", "surprise", "evalues"])
@pytest.mark.parametrize("name", DECIDERS)
def test_one_list_is_searched_once_at_most(searches: Counting, name: str, question: str) -> None:
    # `pc.cut(x, evalue=0.05).reason` ran three searches.
    truncator = DECIDERS[name]()
    searches.lists = 0
    cut = truncator.cut(lists(1)[0])
    getattr(cut, question)
    assert searches.lists <= 1


@pytest.mark.parametrize("name", DECIDERS)
def test_all_questions_about_one_list_are_one_search(searches: Counting, name: str) -> None:
    truncator = DECIDERS[name]()
    searches.lists = 0
    cut = truncator.cut(lists(1)[0])
    for _ in range(2):
        for question in QUESTIONS:
            getattr(cut, question)
    assert searches.lists == 1


@pytest.mark.parametrize("name", DECIDERS)
def test_all_questions_about_a_batch_are_one_search_of_each_list(
    searches: Counting, name: str
) -> None:
    truncator = DECIDERS[name]()
    searches.lists = 0
    cuts = truncator.cut_batch(lists())
    assert len(cuts.reasons) == len(cuts.warnings) == 7
    assert cuts.fits.surprise.values.size == 7 * 120
    for cut in cuts:
        for question in QUESTIONS:
            getattr(cut, question)
    assert searches.lists == 7


@pytest.mark.parametrize("name", ["default", "expect", "first"])
def test_a_tail_that_nobody_fitted_is_fitted_for_the_list_asked_about(
    searches: Counting, name: str
) -> None:
    cuts = DECIDERS[name]().cut_batch(lists())
    assert cuts.reasons
    assert searches.lists == 0
    one = cuts[3]
    for question in ("surprise", "pvalues", "evalues", "warnings", "reason"):
        getattr(one, question)
    assert searches.lists == 1


def test_evidence_is_that_of_a_fit_of_the_list_alone() -> None:
    scores = lists()
    cuts = Surprise(evalue=0.05).cut_batch(scores)
    for row, cut in zip(scores, cuts, strict=True):
        fit = pc.fit_tail(row)
        np.testing.assert_array_equal(cut.surprise, fit.surprise)
        np.testing.assert_array_equal(cut.pvalues, fit.pvalues)
        np.testing.assert_array_equal(cut.evalues, fit.evalues)
        assert cut.warnings == fit.warnings
        assert cut.reason == fit.cut(evalue=0.05).reason


@pytest.mark.parametrize("padded", [False, True])
def test_a_fit_cuts_as_the_rule_does_and_is_searched_once_more_at_most(
    searches: Counting, padded: bool
) -> None:
    # A fit of padded lists was searched again at every cut.
    rng = np.random.default_rng(3)
    scores = [rng.permutation([*row, *[0.0] * (20 * padded)]) for row in lists(3)]
    fits, searches.lists = pc.fit_tails(scores), 0
    for level in (0.05, 0.1):
        mine = fits.cut(evalue=level)
        assert mine.reasons
        assert mine.warnings
        for cut in mine:
            assert cut.evalues.shape == (120 + 20 * padded,)
    assert searches.lists == 3 * padded
    for cut, theirs in zip(mine, Surprise(evalue=0.1).cut_batch(scores), strict=True):
        assert cut.to_dict() == theirs.to_dict()
        for question in ("surprise", "pvalues", "evalues"):
            np.testing.assert_array_equal(getattr(cut, question), getattr(theirs, question))


def test_work_for_one_list_does_not_grow_with_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    # P-values of one list exponentiated the whole batch once: 2,000 queries took 59 seconds.
    sizes: list[int] = []
    real = np.exp

    def exp(x: Any, *args: Any, **kwargs: Any) -> Any:
        sizes.append(np.size(x))
        return real(x, *args, **kwargs)

    cuts = Surprise(alpha=0.05).cut_batch(lists(50))
    monkeypatch.setattr(np, "exp", exp)
    for cut in cuts:
        assert cut.pvalues.shape == cut.evalues.shape == (120,)
    assert sizes
    assert max(sizes) == 120


COMMANDS = {
    "cut": "cut run.txt -o cut.txt",
    "cut as JSON": "cut run.txt --json",
    "cut by a word": "cut run.txt --expect few --json",
    "cut by a method": "cut run.txt --method largest_gap --json",
    "fuse": "fuse run.txt run.txt --cut --json",
    "fit": "fit run.txt qrels.txt -o model.json",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_command_fits_a_tail_that_the_decision_does_not_need(
    searches: Counting, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_example_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 0
    assert searches.lists == 0
    assert main(["cut", "run.txt", "--evalue", "0.05", "--json"]) == 0
    assert searches.lists == 3  # queries


def test_no_request_fits_a_tail_that_the_decision_does_not_need(searches: Counting) -> None:
    importorskip("starlette")
    from starlette.testclient import TestClient

    from paretocut.web.app import create_app

    many = lists(3).tolist()
    own = {"scores": many[0], "ids": [str(i) for i in range(120)]}
    with TestClient(create_app(), base_url="http://localhost") as client:
        for path, body, needed in (
            ("cut", {"scores": many[0]}, 0),
            ("cut", {"lists": many, "expect": "few"}, 0),
            ("cut", {"lists": many, "method": "largest_gap"}, 0),
            ("fuse", {"retrievers": {"words": own, "vectors": own}, "cut": {}}, 0),
            ("cut", {"lists": many, "evalue": 0.05}, 3),
        ):
            searches.lists = 0
            answer = client.post(f"/v1/{path}", json=body)
            assert answer.status_code == 200, answer.text
            assert searches.lists == needed


def test_results_are_picked_in_any_order() -> None:
    scores = [0.4, 0.9, 0.3, 0.8, 0.35, 0.33]
    cut = pc.cut(scores)
    assert cut.of("abcdef") == [("abcdef")[i] for i in cut.indices]
    with pytest.raises(pc.errors.InvalidScoresError, match=r"Cut\.of: results must be 6"):
        cut.of("abc")
    # A slice of results in another order returned the wrong ones, without a word.
    with pytest.raises(pc.errors.InvalidScoresError, match=r"take cut\.of\(results\)"):
        "abcdef"[:cut]
    assert int(cut) == 2
    assert "fedcba"[: pc.cut(sorted(scores, reverse=True))] == "fe"


def test_a_decision_does_not_change_with_its_truncator() -> None:
    truncator = FixedK(3)
    cut = truncator.cut([0.9, 0.5, 0.4, 0.1])
    assert isinstance(cut, Cut)
    truncator.set_params(k=1)
    assert cut.reason == "kept 3 of 4: the first 3 of every list"
    assert cut.method == "FixedK(k=3)"
