"""Methods of other papers, written from docs/researcher.md alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from support import ROOT, importorskip

import paretocut as pc
from paretocut.schema import kinds
from paretocut.schema.kinds import Array, Either, Flag, Real, Whole
from paretocut.truncators import Truncator


class Utility(Truncator):
    """Keep results whose probability of relevance, by a logistic curve, pays for their cost.

    D. D. Lewis, "Evaluating and optimizing autonomous text classification systems", SIGIR 1995;
    the curve is fitted as in J. Platt, "Probabilistic outputs for support vector machines", 1999.
    """

    parameters: ClassVar = {"gain": Real(above=0), "cost": Real(above=0), "steps": Whole(1)}
    state: ClassVar = {  # type: ignore[misc]
        "intercept_": Real(),
        "slope_": Real(),
        "center_": Real(),
        "spread_": Real(above=0),
    }

    def __init__(self, gain: float = 1.0, cost: float = 1.0, steps: int = 50) -> None:
        self.gain = gain
        self.cost = cost
        self.steps = steps

    def standard(self, lists: pc.RankedLists) -> Any:
        merit, _ = lists.merit.within_range()
        return np.clip((merit.values - self.center_) / self.spread_, -30, 30)

    def learn(self, lists: pc.RankedLists) -> None:
        merit, _ = lists.merit.within_range()
        values = merit.values if merit.values.size else np.zeros(1)
        self.center_ = float(np.median(values))
        self.spread_ = float(np.median(np.abs(values - self.center_))) or 1.0
        design = np.column_stack([np.ones(merit.values.size), self.standard(lists)])
        relevant, beta = lists.relevant.values.astype(float), np.zeros(2)
        for _ in range(self.steps):
            p = 1 / (1 + np.exp(-design @ beta))
            curvature = design.T @ (design * (p * (1 - p))[:, None]) + np.eye(2)
            beta += np.linalg.solve(curvature, design.T @ (relevant - p) - beta)
        self.intercept_, self.slope_ = map(float, beta)

    def decide(self, lists: pc.RankedLists) -> Any:
        log_odds = self.intercept_ + max(self.slope_, 0.0) * self.standard(lists)
        return lists.merit.count(log_odds >= np.log(self.cost / self.gain))


class Otsu(Truncator):
    """Cut between the two groups of scores that explain most of their variance.

    N. Otsu, "A threshold selection method from gray-level histograms", 1979.
    """

    parameters: ClassVar = {
        "least": Real(0, 1),
        "deepest": Either(Whole(1)),
        "keep_constant": Flag(),
    }

    def __init__(
        self, least: float = 0.0, deepest: int | None = None, keep_constant: bool = False
    ) -> None:
        self.least = least
        self.deepest = deepest
        self.keep_constant = keep_constant

    def decide(self, lists: pc.RankedLists) -> Any:
        merit, _ = lists.merit.within_range()
        found = [self.split(scores[: self.deepest]) for scores in merit]
        return [k for k, _ in found], [reason for _, reason in found]

    def split(self, scores: Any) -> tuple[int, str]:
        if scores.size == 0 or scores[0] == scores[-1]:
            return scores.size if self.keep_constant else 0, "the scores do not differ"
        above = np.arange(1, scores.size)
        sums = np.cumsum(scores)[:-1]
        rest = (scores.sum() - sums) / (scores.size - above)
        between = above * (scores.size - above) * (sums / above - rest) ** 2
        share = between.max() / scores.size**2 / scores.var()
        k = int(between.argmax()) + 1 if share >= self.least else 0
        return k, f"two groups explain {share:.0%} of the variance"


class Cutoffs(Truncator):
    """Predict the best cut-off from features of the list.

    J. S. Culpepper, C. L. A. Clarke and J. Lin, "Dynamic cutoff prediction in multi-stage retrieval
    systems", ADCS 2016; with a ridge regression in the place of their forests.
    """

    parameters: ClassVar = {
        "ridge": Real(above=0),
        "metric": pc.truncators.GlobalK.parameters["metric"],
    }
    state: ClassVar = {"weights_": Array(("features",))}  # type: ignore[misc]

    def __init__(self, ridge: float = 1.0, metric: Any = "f1") -> None:
        self.ridge = ridge
        self.metric = metric

    def features(self, lists: pc.RankedLists) -> Any:
        merit, _ = lists.merit.within_range()
        table = np.ones((len(lists), 4))
        for row, scores in zip(table, merit, strict=True):
            if scores.size:
                shape = (scores - scores[-1]) / ((scores[0] - scores[-1]) or 1.0)
                row[1:] = shape.mean(), shape.std(), np.log1p(np.sum(shape > 0.5))
        return table

    def learn(self, lists: pc.RankedLists) -> None:
        best = [np.argmax(curve) for curve in pc.metrics.get(self.metric).curves(lists)]
        table = self.features(lists)
        curvature = table.T @ table + self.ridge * np.eye(table.shape[1])
        self.weights_ = np.linalg.solve(curvature, table.T @ np.log1p(best))

    def decide(self, lists: pc.RankedLists) -> Any:
        wanted = np.rint(np.expm1(self.features(lists) @ self.weights_)).astype(int)
        return np.clip(wanted, 0, lists.merit.lengths)


def drawn(seed: int) -> pc.RankedLists:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(300, 40))
    return pc.RankedLists(scores, rng.random(scores.shape) < 1 / (1 + np.exp(2 - 3 * scores)))


@pytest.mark.parametrize("kind", [Utility, Otsu, Cutoffs])
def test_it_keeps_the_contract(kind: type[Truncator]) -> None:
    pc.truncators.check_truncator(kind)


def test_the_kinds_on_the_page_are_written_as_it_says() -> None:
    page = (ROOT / "docs" / "researcher.md").read_text(encoding="utf-8")
    table = page.partition("### Kinds")[2].partition("###")[0]
    codes = [code for code in re.findall("`([^`]+)`", table) if "(" in code]
    assert len(codes) == 14
    for code in codes:
        assert isinstance(eval(code, vars(kinds)), kinds.Kind)


def test_otsu_leaves_the_least_variance_within_the_groups() -> None:
    lists = drawn(5)
    for scores, k in zip(lists.scores, Otsu().predict(lists), strict=True):
        within = [i * scores[:i].var() + (40 - i) * scores[i:].var() for i in range(1, 40)]
        assert k == 1 + np.argmin(within)
    cut = Otsu(least=0.5).cut([9.0, 8.5, 8.1, 5.2, 5.0, 4.9, 4.7])
    assert cut.reason == "kept 3 of 7: two groups explain 98% of the variance"


def test_a_method_with_a_metric_is_tuned_to_that_of_the_table() -> None:
    lists = drawn(4)
    found = pc.evaluate({"cutoffs": Cutoffs()}, lists, ["f1", "recall"], folds=2)
    assert found["recall", "cutoffs"].mean_k > 1.5 * found["f1", "cutoffs"].mean_k > 0


def test_it_cuts_where_the_regression_of_scikit_learn_cuts() -> None:
    linear = importorskip("sklearn.linear_model")
    train, test = drawn(0), drawn(1)
    model = linear.LogisticRegression(C=1e6).fit(
        train.scores.values[:, None], train.relevant.values
    )
    chances = model.predict_proba(test.scores.values[:, None])[:, 1]
    for cost in (0.2, 1.0, 4.0):
        expected = test.scores.count(chances >= cost / (1 + cost))
        cuts = Utility(cost=cost).fit(train).predict(test)
        assert np.abs(cuts - expected).max() <= 1
        assert (cuts == expected).mean() > 0.9


def test_it_is_evaluated_and_promised_like_any_other() -> None:
    lists = drawn(2)
    found = pc.evaluate({"utility": Utility()}, lists, ["utility(1,1)"], folds=2)
    name = found.metrics[0]
    assert 0 < found[name, "utility"].mean < found[name, "oracle"].mean
    promise = pc.truncators.Conformal(Utility(), level=0.2).fit(lists)
    assert promise.cut_batch(drawn(3)).k.mean() > 0


def test_it_loads_where_its_module_was_imported(tmp_path: Path) -> None:
    path = tmp_path / "utility.json"
    fitted = Utility().fit(drawn(0))
    fitted.save(path)
    assert pc.load(path).predict(drawn(1)).tolist() == fitted.predict(drawn(1)).tolist()
    program = "import sys, paretocut as pc; pc.load(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert f"{__name__}.Utility: import {__name__} before you load" in done.stderr


def test_a_method_that_learned_from_unjudged_lists_does_not_call_them_judged() -> None:
    class Typical(Truncator):
        """Keep the results above the mean of all scores."""

        state: ClassVar = {"mean_": Real()}  # type: ignore[misc]
        needs_full_judgements = False

        def learn(self, lists: pc.RankedLists) -> None:
            self.mean_ = float(lists.merit.values.mean())

        def decide(self, lists: pc.RankedLists) -> Any:
            return lists.merit.count(lists.merit.values > self.mean_)

    bare = Typical().fit(pc.RankedLists([[3.0, 1.0], [4.0, 2.0]]))
    assert bare.cut([3.0, 1.0]).reason == "kept 1 of 2: chosen by Typical(), learned from 2 queries"
    judged = Typical().fit(drawn(6))
    assert judged.cut([3.0, -1.0]).reason.endswith("learned from 300 judged queries")
