"""Probabilities of relevance, and cuts for metrics to which each result adds a part of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance.constants import CONSTANTS, Constants
from paretocut.relevance.logistic import curvature, ridge_logistic, sigmoid
from paretocut.schema.kinds import Array
from paretocut.truncators.consensus.expected import best_expected
from paretocut.truncators.consensus.features import DESIGN

# Features are standardised, so no coefficient is anywhere near these bounds.
COEF = Array((len(DESIGN),), low=-1e6, high=1e6)
"""Kind of the saved coefficients."""
COVARIANCE = Array((len(DESIGN), len(DESIGN)), low=-1e12, high=1e12, covariance=True)
"""Kind of their saved covariance."""


def regress(
    design: FloatArray,
    relevant: Any,
    weight: FloatArray,
    towards: FloatArray,
    constants: Constants = CONSTANTS,
) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of the log-odds of relevance, and their covariance."""
    penalty = np.full(towards.size, constants.ridge)
    coef = ridge_logistic(design, relevant, penalty=penalty, towards=towards, weight=weight)
    matrix = curvature(design, sigmoid(design @ coef), weight, penalty)
    return coef, np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def careful(
    design: FloatArray,
    coef: FloatArray,
    covariance: FloatArray,
    constants: Constants = CONSTANTS,
) -> FloatArray:
    """Return probabilities from log-odds lowered by a part of their standard error."""
    errors = np.sqrt(((design @ covariance) * design).sum(axis=1))
    return sigmoid(design @ coef - constants.caution * errors)


def cross_validated(
    lists: RankedLists,
    metric: Metric,
    design: FloatArray,
    weight: FloatArray,
    towards: FloatArray,
    seed: int,
    constants: Constants = CONSTANTS,
) -> tuple[float, float]:
    """Return the cross-validated mean metric, and its standard error."""
    relevant, rows = lists.relevant.values, lists.scores.rows
    folds = min(constants.folds, len(lists))
    fold = lists.fold_numbers(folds, seed=seed)
    cuts: IntArray = np.zeros(len(lists), dtype=np.int64)
    for own in (fold == k for k in range(folds)):
        inside = own[rows]
        fitted = regress(design[~inside], relevant[~inside], weight[~inside], towards, constants)
        scores = lists.scores.take(np.flatnonzero(own))
        p = scores.with_values(careful(design[inside], *fitted, constants))
        cuts[own] = best_expected(p, metric)
    values = metric(lists, cuts)
    return float(values.mean()), float(values.std() / math.sqrt(len(values)))
