"""Plots draw the numbers they are about, and leave matplotlib as they found it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.errors import InvalidParameterError
from paretocut.evaluation import Evaluation, evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import FixedK, GlobalK, Surprise

matplotlib = importorskip("matplotlib")
matplotlib.use("Agg")
plt = importorskip("matplotlib.pyplot")
from paretocut.show import plots  # noqa: E402 (after the skip above)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Close all figures, and see that no setting was changed."""
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


@pytest.fixture(scope="module")
def lists() -> RankedLists:
    rng = np.random.default_rng(0)
    relevant = np.arange(30) < rng.integers(1, 9, size=(40, 1))
    return RankedLists(rng.normal(size=relevant.shape) + 2 * relevant, relevant)


@pytest.fixture(scope="module")
def result(lists: RankedLists) -> Evaluation:
    named = {"k": GlobalK(), "nothing": FixedK(0), "minmax": "minmax", "surprise": Surprise()}
    return evaluate(named, lists, baseline="k", folds=2, splits=1)


def hits_and_noise(hits: int = 5) -> np.ndarray:
    rng = np.random.default_rng(1)
    noise = np.sort(rng.normal(0.25, 0.06, 100_000))[hits - 200 :]
    return np.concatenate([rng.normal(0.65, 0.03, hits), noise])


@pytest.mark.parametrize("transform", ["identity", "log", "logit"])
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_the_tail_is_counted_and_drawn(transform: str, higher_is_better: bool) -> None:
    scores = hits_and_noise() if higher_is_better else 1 - hits_and_noise()
    fit = pc.fit_tail(scores, transform=transform, higher_is_better=higher_is_better)
    axes = plots.tail(fit)
    counts, edges, _ = axes.patches[0].get_data()
    assert counts.sum() == fit.tests
    # As many chance results as the tail was fitted on lie under its curve, but for its far end.
    (curve,) = axes.lines
    expected, along = curve.get_ydata(), np.abs(curve.get_xdata() - curve.get_xdata()[0])
    total = np.sum((expected[1:] + expected[:-1]) / 2 * np.diff(along)) / abs(edges[1] - edges[0])
    assert total == pytest.approx(fit.upper - fit.lower, rel=0.02)


@pytest.mark.parametrize("scores", [[], [1.0], [2.0] * 9])
def test_lists_without_a_tail_are_refused(scores: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match=r"tail: fit must have a tail, got one of \d"):
        plots.tail(pc.fit_tail(scores))


def test_per_query_gain_sorts_the_differences(result: Evaluation) -> None:
    axes = plots.per_query_gain(result, truncators=["minmax"])
    _, line = axes.lines
    gain = result.per_query("f1", "minmax") - result.per_query("f1", "k")
    np.testing.assert_allclose(line.get_ydata(), np.sort(gain)[::-1])
    assert line.get_label() == f"minmax ({gain.mean():+.3f})"


def test_per_query_gain_leaves_out_baseline_and_ceiling(result: Evaluation) -> None:
    labels = [line.get_label() for line in plots.per_query_gain(result).lines[1:]]
    expected = sorted(["minmax", "surprise", "nothing"], key=lambda t: -result["f1", t].mean)
    assert [label.split()[0] for label in labels] == expected


def test_per_query_gain_asks_for_what_it_needs(result: Evaluation, lists: RankedLists) -> None:
    with pytest.raises(InvalidParameterError, match="truncators must be 1 to 6 names, got 7"):
        plots.per_query_gain(result, truncators=["k"] * 7)
    without = evaluate(["fixed_k"], lists, ["f1"])
    with pytest.raises(InvalidParameterError, match="baseline must be one of fixed_k, oracle"):
        plots.per_query_gain(without)


def test_given_axes_are_used(result: Evaluation) -> None:
    _, axes = plt.subplots()
    assert plots.tail(pc.fit_tail(hits_and_noise()), ax=axes) is axes
    assert plots.per_query_gain(result, ax=axes) is axes
