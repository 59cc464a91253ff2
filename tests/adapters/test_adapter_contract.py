"""Every truncator decides the same in every adapter as on its own."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import count_fits
from engines import vectors
from hosts import COUNT, DEPTH, HEAVY, QUICK, Host

import paretocut as pc
from paretocut import truncators
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Gated, ScoreThreshold, Surprise, Truncator

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    # Some stores give scores of kinds that rules warn of; test_warnings.py looks at that.
    pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning"),
]

NEURAL = ("bicut", "choppy", "attncut")
NEED_EMBEDDINGS = ("surprise_local", "local_k", "isotonic_local")
NEED_JUDGEMENTS = ("oracle",)
BY_NAME = [
    name for name in truncators.names() if name not in (*NEED_EMBEDDINGS, *NEED_JUDGEMENTS, *NEURAL)
]


@functools.cache
def lists_of(number: int, higher_is_better: bool, *, answered: bool) -> pc.RankedLists:
    """Return judged lists of cosine similarities, or of distances; 2 to 8 results are planted."""
    generator = np.random.default_rng(number)
    base, _ = vectors(COUNT, hits=0)
    scores, relevance = [], []
    for _ in range(number):
        query = generator.normal(size=base.shape[1])
        found = base @ query / np.linalg.norm(query)
        hits = int(generator.integers(2, 9)) if answered else 0
        found[:hits] = generator.uniform(0.5, 0.95, size=hits)
        best = np.argsort(-found)[:DEPTH]
        scores.append(found[best] if higher_is_better else 1 - found[best])
        relevance.append(best < hits)
    return pc.RankedLists(scores, relevance=relevance, higher_is_better=higher_is_better)


@functools.cache
def make(name: str, higher_is_better: bool) -> Truncator:
    """Return a truncator that is ready to decide."""
    train = lists_of(30, higher_is_better, answered=True)
    if name.startswith("gated"):
        background = pc.Background.fit(lists_of(60, higher_is_better, answered=False))
        base = make(name.removeprefix("gated "), higher_is_better)
        return Gated(base, background)
    if name == "shut gate":
        # Queries that always find something better: no list of the tests gets through.
        ends = np.random.default_rng(0).normal(-1e4, 1.0, size=60)
        best = pc.Background.fit(
            -ends if higher_is_better else ends, higher_is_better=higher_is_better
        )
        return Gated(truncators.Consensus(), best)
    if name.partition("=")[0] in ("alpha", "evalue", "fdr", "min_surprise"):
        rule, _, level = name.partition("=")
        return Surprise(**{rule: float(level)})
    if name == "untrained":
        return truncators.Consensus()
    if name.startswith("expect "):
        return truncators.Consensus(expect=name.removeprefix("expect "))
    made = truncators.make(name)
    if name in NEURAL:
        made.set_params(training__max_epochs=1)  # the contract, not the quality
        return made.fit(train[:4].truncate(12))
    return made.fit(train)


ALL = [
    *BY_NAME, "untrained", "expect one", "expect dozens", "alpha=0.05", "evalue=0.05", "fdr=0.1",
    "min_surprise=4", "gated consensus", "gated untrained", "gated minmax", "shut gate",
]  # fmt: skip


@pytest.fixture(
    scope="module",
    params=[
        *(pytest.param(kind, id=name) for name, kind in QUICK),
        *(pytest.param(kind, id=name, marks=pytest.mark.heavy) for name, kind in HEAVY),
    ],
)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = request.param(tmp_path_factory.mktemp("host"))
    yield made
    made.close()


@pytest.mark.parametrize("name", ALL)
def test_every_truncator_decides_as_it_does_alone(host: Host, name: str, tmp_path: Path) -> None:
    truncator = make(name, host.higher_is_better)
    ids, scores, stored = host.results
    assert len(ids) >= 80
    alone = truncator.cut(scores, higher_is_better=host.higher_is_better)
    kept = host.cut(truncator=truncator)
    assert kept.k == alone.k
    assert kept.ids == ids[: alone.k]
    assert kept.stored == stored[: alone.k]
    assert kept.reason == alone.reason
    assert kept.reason.startswith("kept ")
    path = tmp_path / "truncator.json"
    truncator.save(path)
    assert host.cut(truncator=path) == kept
    assert host.cut(truncator=str(path)) == kept


def test_the_truncators_of_this_test_disagree() -> None:
    # Guards against an adapter that ignores its truncator: one answer does not suit all.
    scores = lists_of(30, True, answered=True).scores[3]
    assert len({make(name, True).cut(scores).k for name in ALL}) >= 5
    assert make("shut gate", True).cut(scores).k == 0


@pytest.mark.parametrize("bounds", [{"min_k": 7, "max_k": 7}, {"max_k": 1}, {"min_k": 30}], ids=str)
def test_bounds_hold_for_every_truncator(host: Host, bounds: dict[str, int]) -> None:
    ids, scores, _ = host.results
    for name in ("untrained", "shut gate", "evalue=0.05"):
        truncator = make(name, host.higher_is_better)
        alone = truncator.cut(scores, higher_is_better=host.higher_is_better, **bounds)
        kept = host.cut(truncator=truncator, **bounds)
        assert (kept.ids, kept.reason) == (ids[: alone.k], alone.reason)


def test_no_tail_is_fitted_that_the_decision_does_not_need(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert host.results.ids
    fits = count_fits(monkeypatch)
    host.cut()
    host.cut(truncator=make("gated untrained", host.higher_is_better))
    assert fits == []
    host.cut(evalue=0.05)
    assert fits


def test_the_default_is_untrained_consensus(host: Host) -> None:
    assert host.cut() == host.cut(truncator=truncators.Consensus())


def test_a_rule_is_the_truncator_of_that_rule(host: Host) -> None:
    for rule, level in (("alpha", 0.05), ("evalue", 0.05), ("fdr", 0.1), ("min_surprise", 3.0)):
        assert host.cut(**{rule: level}) == host.cut(truncator=Surprise(**{rule: level}))
    few = host.cut(expect="few")
    assert few == host.cut(truncator=truncators.Consensus(expect="few"))


def test_a_rule_and_a_truncator_together_are_refused(host: Host) -> None:
    refused = (InvalidParameterError, ValueError)
    with pytest.raises(refused, match=r"at most one of truncator, .*got truncator and evalue"):
        host.cut(truncator=truncators.FixedK(3), evalue=0.05)
    with pytest.raises(refused, match=r"at most one of .*got truncator and expect"):
        host.cut(truncator=truncators.FixedK(3), expect="few")
    with pytest.raises(refused, match=r"transform must come with one of the rules"):
        host.cut(truncator=truncators.FixedK(3), transform="log")


def test_a_background_gates_whatever_else_decides(host: Host, tmp_path: Path) -> None:
    background = pc.Background.fit(lists_of(60, host.higher_is_better, answered=False))
    path = tmp_path / "background.json"
    background.save(path)
    for gate in (background, path):
        gated = Gated(truncators.Consensus(), background)
        assert host.cut(truncator=gate) == host.cut(truncator=gated)
        few = Gated(truncators.Consensus(expect="few"), background)
        assert host.cut(truncator=gate, expect="few") == host.cut(truncator=few)


def test_what_is_no_truncator_is_refused(host: Host) -> None:
    with pytest.raises(ValueError, match="truncator must be a truncator, a background, the words"):
        host.cut(truncator=5)


def test_a_truncator_that_needs_more_than_scores_says_so(host: Host) -> None:
    for name in NEED_JUDGEMENTS:
        with pytest.raises(Exception, match="made without relevance"):
            host.cut(truncator=truncators.make(name))


def test_a_truncator_fitted_on_the_other_direction_is_refused(host: Host) -> None:
    learned = ScoreThreshold("minmax").fit(lists_of(30, not host.higher_is_better, answered=True))
    with pytest.raises(Exception, match=r"lists must hold (scores|distances), as those it was"):
        host.cut(truncator=learned)


@pytest.mark.parametrize("name", NEURAL)
def test_networks_keep_the_contract_too(name: str, tmp_path: Path) -> None:
    # Their fit is slow, so one quick host stands for all: adapters do not know classes.
    made = dict(QUICK)["PandasRows"](tmp_path)
    truncator = make(name, True)
    alone = truncator.cut(made.results.scores)
    kept = made.cut(truncator=truncator)
    assert (kept.k, kept.reason) == (alone.k, alone.reason)
    truncator.save(tmp_path / "network.json")
    assert made.cut(truncator=tmp_path / "network.json") == kept
