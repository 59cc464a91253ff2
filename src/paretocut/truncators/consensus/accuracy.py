"""The probability that a list holds any relevant result, from its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged
from paretocut.relevance import ridge_logistic, sigmoid
from paretocut.schema.kinds import Items, Kind, Real, checked

_RANKS = np.array([1, 2, 3, 5, 10, 20, 50, 100])
# Models use the first so many columns: the best score; scores at all ranks and the log of their
# range; these and the scores' normal scores.
_SIZES = (1, _RANKS.size + 1, 2 * _RANKS.size + 1)
_PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0)
_FOLDS = 5
_KNOTS = 21
_NORMAL = np.array([NormalDist().inv_cdf((i + 0.5) / _KNOTS) for i in range(_KNOTS)])
# Log-odds per standard deviation of the best score that few lists are drawn towards.
_SLOPE = 1.0
# Kinds of the saved values; the knots are the scores at eight ranks, and the log of their range.
_STATE: dict[str, Kind] = {
    "knots": Items(Items(Real(), size=_KNOTS), size=_RANKS.size + 1),
    "least": Real(above=0),
    "intercept": Real(),
    "coef": Items(Real(), size=_SIZES[-1]),
}


@dataclass(frozen=True)
class AnswerModel:
    """A logistic regression of "some result is relevant" on the scores of a list.

    Its numbers do not change when all scores are multiplied by a positive number or shifted. Three
    regressions are averaged (stacked: Wolpert 1992, Breiman 1996): on the best score, on all
    scores, and on all columns. Each has the penalty with the lowest log loss in cross-validation.
    Under a strong penalty a regression becomes a fixed slope on the best score.
    """

    knots: list[list[float]]  # quantiles over the training lists, of each of `_columns`
    least: float  # the smallest range that counts as more than 0
    intercept: float
    coef: list[float]  # of the log-odds, in the columns of `_table`

    @classmethod
    def fit(cls, scores: Ragged, answered: BoolArray) -> AnswerModel:
        filled = scores.lengths > 0
        levels = _levels(scores.take(np.flatnonzero(filled)))
        truth = np.asarray(answered, dtype=bool)[filled].astype(np.float64)
        width = levels[:, 0] - levels[:, -1]
        least = 1e-3 * float(np.median(width[width > 0])) if (width > 0).any() else 1.0
        prior = math.log((truth.sum() + 1) / (truth.size - truth.sum() + 1))
        columns = _columns(levels, least)
        if truth.size == 0:
            columns = np.zeros((1, columns.shape[1]))
        knots = np.quantile(columns, (np.arange(_KNOTS) + 0.5) / _KNOTS, axis=0).T
        if truth.size == 0 or truth.min() == truth.max():
            return cls(knots.tolist(), least, prior, [0.0] * _SIZES[-1])
        table = _table(columns, knots)
        center, spread = table.mean(axis=0), table.std(axis=0)
        spread[spread <= np.maximum(1e-12 * np.abs(center), 1e-150)] = 1.0
        coef = _stacked((table - center) / spread, truth, prior)
        coef[1:] /= spread
        return cls(knots.tolist(), least, float(coef[0] - coef[1:] @ center), coef[1:].tolist())

    def probability(self, scores: Ragged) -> FloatArray:
        """Return the probability that each list holds a relevant result; 0 for an empty one."""
        filled = scores.lengths > 0
        levels = _levels(scores.take(np.flatnonzero(filled)))
        table = _table(_columns(levels, self.least), np.array(self.knots))
        result = np.zeros(len(scores))
        result[filled] = sigmoid(self.intercept + table @ np.array(self.coef))
        return result

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> AnswerModel:
        return cls(**checked(_STATE, content))


def _levels(scores: Ragged) -> FloatArray:
    """Return the scores at the ranks looked at, the last one where a list is shorter."""
    places = np.minimum(_RANKS, scores.lengths[:, None]) - 1
    levels = np.clip(scores.values[scores.offsets[:-1, None] + places], -1e150, 1e150)
    return np.where(np.abs(levels) < 1e-150, 0.0, levels)  # squares overflow, or vanish


def _columns(levels: FloatArray, least: float) -> FloatArray:
    width = np.maximum(levels[:, :1] - levels[:, -1:], least)
    return np.concatenate([levels, np.log(width)], axis=1)


def _table(columns: FloatArray, knots: FloatArray) -> FloatArray:
    """Return the regressors: the columns within their knots, and their normal scores."""
    raw = np.clip(columns, knots[:, 0], knots[:, -1])
    pairs = zip(columns[:, : _RANKS.size].T, knots[: _RANKS.size], strict=True)
    normal = [np.interp(column, own, _NORMAL) for column, own in pairs]
    return np.concatenate([raw, np.stack(normal, axis=1)], axis=1)


def _stacked(table: FloatArray, truth: FloatArray, prior: float) -> FloatArray:
    """Return intercept and coefficients of the average of three regressions."""
    fold = _folds(truth)
    best, held_out = [], []
    for size in _SIZES:
        design = np.concatenate([np.ones((len(table), 1)), table[:, :size]], axis=1)
        guesses = np.zeros((len(_PENALTIES), truth.size))
        for k in range(_FOLDS):
            own = fold == k
            path = _path(design[~own], truth[~own], prior)
            guesses[:, own] = sigmoid(path @ design[own].T)
        # One list in which a regression was sure of the wrong answer should not decide alone.
        likelihood = np.maximum(np.where(truth == 1, guesses, 1 - guesses), 1e-6)
        chosen = int(np.argmax(np.log(likelihood).sum(axis=1)))
        held_out.append(likelihood[chosen])
        coef = np.zeros(1 + table.shape[1])
        coef[: size + 1] = _path(design, truth, prior)[chosen]
        best.append(coef)
    return np.asarray(_weights(np.array(held_out)) @ np.array(best))


def _path(design: FloatArray, truth: FloatArray, prior: float) -> FloatArray:
    """Return the coefficients for each penalty."""
    towards = np.zeros(design.shape[1])
    towards[:2] = prior, _SLOPE
    path: list[FloatArray] = []
    for size in _PENALTIES:
        penalty = np.full(design.shape[1], size)
        penalty[0] = 0.1
        start = path[-1] if path else None
        path.append(ridge_logistic(design, truth, penalty=penalty, towards=towards, start=start))
    return np.array(path)


def _folds(truth: FloatArray) -> IntArray:
    """Return the fold of each list, both kinds spread evenly over the folds."""
    # Neighbours share a fold: lists of one topic often stand together.
    fold = np.zeros(truth.size, dtype=np.int64)
    for kind in (0, 1):
        members = np.flatnonzero(truth == kind)
        fold[members] = np.arange(members.size) * _FOLDS // members.size
    return fold


def _weights(likelihood: FloatArray) -> FloatArray:
    """Return the weights of the most likely mixture; each model starts with a count of one."""
    weights = np.full(len(likelihood), 1 / len(likelihood))
    for _ in range(200):
        shares = weights[:, None] * likelihood
        counts = (shares / shares.sum(axis=0)).sum(axis=1) + 1
        weights = counts / counts.sum()
    return weights
