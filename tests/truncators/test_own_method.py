"""A method of another paper, written from docs/researcher.md alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from support import importorskip

import paretocut as pc
from paretocut.schema.kinds import Real, Whole
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


def drawn(seed: int) -> pc.RankedLists:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(300, 40))
    return pc.RankedLists(scores, rng.random(scores.shape) < 1 / (1 + np.exp(2 - 3 * scores)))


def test_it_keeps_the_contract() -> None:
    pc.truncators.check_truncator(Utility)


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
