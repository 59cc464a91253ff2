"""Logistic regression drawn towards given coefficients."""

from __future__ import annotations

import numpy as np

from paretocut.lists import FloatArray

__all__ = ["curvature", "ridge_logistic", "sigmoid"]


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return the probability of each log-odds."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def ridge_logistic(
    design: FloatArray,
    truth: FloatArray,
    *,
    penalty: FloatArray,
    towards: FloatArray,
    weight: FloatArray | None = None,
    start: FloatArray | None = None,
) -> FloatArray:
    """Return the coefficients of a logistic regression, drawn towards given ones.

    Parameters
    ----------
    design
        One row for each observation; an intercept needs a column of ones.
    truth
        0 or 1 for each observation.
    penalty
        Of half the square of each coefficient's difference; positive.
    towards
        Coefficients without any data.
    weight
        How often each observation counts; once by default.
    start
        Where to begin; at ``towards`` by default.
    """
    counts = np.ones(len(design)) if weight is None else weight

    def objective(coef: FloatArray) -> float:
        logits = design @ coef
        fit = counts @ (truth * logits - np.logaddexp(0.0, logits))
        return float(fit - 0.5 * penalty @ (coef - towards) ** 2)

    coef = towards if start is None else start
    value = objective(coef)
    for _ in range(50):
        p = sigmoid(design @ coef)
        gradient = design.T @ (counts * (truth - p)) - penalty * (coef - towards)
        step = np.linalg.solve(curvature(design, p, counts, penalty), gradient)
        # A full Newton step may overshoot where most probabilities are near 0; half of it, or a
        # quarter, always gains, the objective being concave.
        while (new := objective(coef + step)) < value and np.abs(step).max() > 1e-9:
            step = 0.5 * step
        if new <= value:
            break
        gained, coef, value = new - value, coef + step, new
        if gained < 1e-9 * abs(value):
            break
    return coef


def curvature(
    design: FloatArray, probability: FloatArray, weight: FloatArray, penalty: FloatArray
) -> FloatArray:
    """Return minus the second derivative of what `ridge_logistic` maximises.

    Its inverse is the covariance of the coefficients, in the normal approximation.

    Parameters
    ----------
    design, weight, penalty
        As for `ridge_logistic`.
    probability
        Of each observation, under the coefficients.
    """
    spread = weight * probability * (1 - probability)
    return np.asarray((design * spread[:, None]).T @ design + np.diag(penalty))
