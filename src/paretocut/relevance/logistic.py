"""Logistic regression drawn towards given coefficients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paretocut.lists import FloatArray


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return the probability of each log-odds."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def climb(
    start: FloatArray,
    objective: Callable[[FloatArray], float],
    newton: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, float]:
    """Return where Newton's steps reach the highest value, and that value."""
    coef, value = start, objective(start)
    for _ in range(100):
        step = newton(coef)
        # A full step may overshoot where the objective is flat; half of it, or a quarter, gains.
        while (new := objective(coef + step)) < value and np.abs(step).max() > 1e-9:
            step = 0.5 * step
        if new <= value:
            break
        gained, coef, value = new - value, coef + step, new
        if gained < 1e-9 * (1 + abs(value)):
            break
    return coef, value


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

    `penalty` is that of half the square of each coefficient's difference, `weight` says how often
    each observation counts, and the search begins at `start`, or at `towards`.
    """
    counts = np.ones(len(design)) if weight is None else weight

    def objective(coef: FloatArray) -> float:
        logits = design @ coef
        fit = counts @ (truth * logits - np.logaddexp(0.0, logits))
        return float(fit - 0.5 * penalty @ (coef - towards) ** 2)

    def newton(coef: FloatArray) -> FloatArray:
        p = sigmoid(design @ coef)
        gradient = design.T @ (counts * (truth - p)) - penalty * (coef - towards)
        return np.asarray(np.linalg.solve(curvature(design, p, counts, penalty), gradient))

    return climb(towards if start is None else start, objective, newton)[0]


def curvature(
    design: FloatArray, probability: FloatArray, weight: FloatArray, penalty: FloatArray
) -> FloatArray:
    """Return minus the second derivative of the objective of `ridge_logistic`.

    Its inverse is the covariance of the coefficients, in the normal approximation.
    """
    spread = weight * probability * (1 - probability)
    return np.asarray((design * spread[:, None]).T @ design + np.diag(penalty))


def cautious(
    design: FloatArray, coef: FloatArray, covariance: FloatArray, caution: float
) -> FloatArray:
    """Return the log-odds, lowered by so many of their standard errors."""
    logits: FloatArray = design @ coef
    if caution:
        logits = logits - caution * np.sqrt(((design @ covariance) * design).sum(axis=1))
    return logits
