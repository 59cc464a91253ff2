"""Logistic regression with a penalty, against scikit-learn and its own gradient."""

from __future__ import annotations

import numpy as np
import pytest
from support import importorskip

from paretocut.relevance import ridge_logistic


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
def test_the_regression_is_that_of_scikit_learn(penalty: float) -> None:
    linear_model = importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    design = rng.normal(size=(150, 6)) @ rng.normal(size=(6, 6))
    truth = (rng.random(150) < 1 / (1 + np.exp(-design[:, 0]))).astype(float)
    weight = rng.uniform(0.2, 3.0, size=150)
    judge = linear_model.LogisticRegression(
        C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(design, truth, sample_weight=weight)
    ours = ridge_logistic(
        design, truth, penalty=np.full(6, penalty), towards=np.zeros(6), weight=weight
    )
    np.testing.assert_allclose(ours, judge.coef_[0], rtol=1e-4, atol=1e-5)


def test_the_regression_is_where_its_gradient_is_zero() -> None:
    rng = np.random.default_rng(1)
    design = np.concatenate([np.ones((80, 1)), 5 * rng.normal(size=(80, 3))], axis=1)
    truth = (design[:, 1] > 0).astype(float)  # without a penalty there is no best slope
    penalty, towards = np.array([0.1, 1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5, 0.0])
    coef = ridge_logistic(design, truth, penalty=penalty, towards=towards)
    rest = truth - 1 / (1 + np.exp(-design @ coef))
    np.testing.assert_allclose(design.T @ rest, penalty * (coef - towards), atol=1e-4)
