"""The vote of all simple rules that may be the best one, and relevance probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut._validation import check_int, check_real
from paretocut.metrics import MetricLike
from paretocut.truncators._base import Truncator, _ranked
from paretocut.truncators.expected import best_expected, is_f_beta
from paretocut.truncators.threshold import normalize_scores
from paretocut.types import BoolArray, FloatArray, IntArray, Ragged, RaggedLike, RankedLists

__all__ = ["Consensus", "pretrain"]

# What results are thresholded on: sums of columns of `_Columns`, and the range of thresholds.
_KEYS: dict[str, tuple[dict[str, float], float, float]] = {
    "rank": ({"rank": -1.0}, -0.5, -10_000.5),
    "max": ({"max": 1.0}, 1.0, 0.02),
    "minmax": ({"minmax": 1.0}, 1.0, 0.02),
    "minmax-0.02log": ({"minmax": 1.0, "log_rank": -0.02}, 1.0, -0.3),
    "minmax-0.04log": ({"minmax": 1.0, "log_rank": -0.04}, 1.0, -0.4),
    "minmax-0.08log": ({"minmax": 1.0, "log_rank": -0.08}, 1.0, -0.6),
    "z": ({"z": 1.0}, 12.0, 0.0),
    "z-0.3log": ({"z": 1.0, "log_rank": -0.3}, 12.0, -1.5),
    "minmax+0.05z": ({"minmax": 1.0, "z": 0.05}, 1.4, 0.1),
    "minmax+0.15z": ({"minmax": 1.0, "z": 0.15}, 2.2, 0.1),
    "minmax+0.1raw": ({"minmax": 1.0, "raw": 0.1}, 1.5, 0.0),
    "minmax+0.3raw": ({"minmax": 1.0, "raw": 0.3}, 2.5, 0.0),
    "raw": ({"raw": 1.0}, 6.0, -3.0),
}
_THRESHOLDS = 100
_DRAWS = 100
# A judged query counts once, all other collections together as this many. That steadies the vote
# of ten or twenty queries, and fifty have little need of it.
_PSEUDO_QUERIES = {"f1": 6.0, "dcg": 1.0}
# Log-odds of relevance per unit of min-max score and of log rank, *within* a list. They are
# steeper than those of a regression over many lists, which mixes easy and hard queries.
_SLOPE, _RANK = 12.0, -0.25
_SATURATED, _NEAR, _CLIP = 0.25, 0.01, 1e-6


class Consensus(Truncator):
    """Keep what at least half of the rules that may be the best would keep.

    Parameters
    ----------
    metric
        What "best" means: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    prior
        How many relevant results a list holds, on average, as far as that is known; None for
        no idea. It can take the place of judgements, see Notes; with judgements it is not used.
    pretrained
        What `pretrain` made of other collections; None for what is shipped.
    seed
        Of the bootstrap.

    Attributes
    ----------
    rules_
        Key, threshold and votes of each rule, from judged lists.
    coef_
        Intercept, slope on the min-max score and slope on log rank of the log-odds of
        relevance, from judged lists.
    shift_
        Level of the log-odds, from lists without judgements and the prior.
    logit_, center_, spread_
        Whether scores are compared as logits; their mean and standard deviation.

    Notes
    -----
    **With judged lists** ``fit`` compares some 1,300 rules: thresholds on rank, on the score
    scaled by maximum, min-max and z, and on min-max with a little of rank, z or raw score. In
    each of 100 draws of a Bayesian bootstrap over the queries one of them is best and has a
    vote; a list is cut at the median of the cuts voted for. The best rule alone follows the
    noise of few queries, and forgets what the second best knows. Other collections take part in
    the draws, with the weight of six queries for F1 and of one for DCG.

    **With a prior and no judgements**, for F1 and other F-beta, the log-odds of relevance rise
    by 12 over the score range of a list and fall by 0.25 with every factor *e* in rank. Their
    level is such that ``prior`` results are expected to be relevant: in the median list after
    ``fit`` on unjudged lists of the system, otherwise in each list. The cut is where the
    expected metric is highest.

    **With neither**, F1 keeps the upper half of the score range: no vote of other collections
    was better on a new one. For DCG other collections vote on thresholds on z, which can keep
    nothing. Any other metric is maximised in expectation under `predict_proba`.

    Scores that are probabilities, a quarter of them within 0.01 of 0 or 1, are compared as
    logits: decided over all lists in ``fit``, without it in each list.

    References
    ----------
    D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9, 1981. L. Breiman, "Bagging
    predictors", Machine Learning 24, 1996.

    Examples
    --------
    >>> Consensus(prior=1.5).predict([[9.0, 8.5, 2.0, 1.5, 1.2, 1.0], [5.0, 2.0, 1.9, 1.0]])
    array([2, 1])
    """

    rules_: list[list[Any]]
    coef_: list[float]
    shift_: float
    logit_: bool
    center_: float
    spread_: float

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        prior: float | None = None,
        pretrained: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.metric = metric
        self.prior = prior
        self.pretrained = pretrained
        self.seed = seed

    def predict_proba(self, lists: RankedLists | RaggedLike) -> Ragged:
        """Return the probability that each result is relevant.

        After ``fit`` on judged lists it is a logistic regression on them, drawn towards that on
        other collections; before, that one, and with a ``prior`` at the level at which that
        many results of each list are expected to be relevant.

        Parameters
        ----------
        lists
            `RankedLists`, or bare scores in any layout that takes (higher is better).
        """
        ranked = _ranked(lists)
        self._validate()
        fitted = hasattr(self, "coef_")
        coef = np.array(self.coef_ if fitted else self._elsewhere()["coef"])
        logits = ranked.scores.with_values(self._columns(ranked).design() @ coef)
        if self.prior is not None and not fitted:
            logits = _at_level(logits, _level(logits, self.prior))
        return logits.with_values(_sigmoid(logits.values))

    def _validate(self) -> None:
        metrics.get(self.metric)
        check_int(self.seed, who="Consensus", name="seed")
        if self.prior is not None:
            check_real(self.prior, who="Consensus", name="prior", low=0)

    def _require_fitted(self) -> None:
        """Accept lists before fit: other collections have been learned from."""

    def _fit(self, lists: RankedLists) -> None:
        judged = lists.relevance is not None or self.prior is None
        relevant = lists.relevant if judged else None  # refuses lists without judgements
        self.logit_, self.center_, self.spread_ = _scale_of(lists)
        columns = self._columns(lists)
        if relevant is None:
            assert self.prior is not None
            levels = _level(self._within(lists, columns), self.prior)
            self.shift_ = float(np.median(levels))
            return
        metric = metrics.get(self.metric)
        curves = metric.curves(lists)
        rng = np.random.default_rng(self.seed)
        totals = len(lists) * _drawn(_values(columns, curves), rng)
        if weight := _PSEUDO_QUERIES.get(metric.name):
            totals += weight * _unit(curves) * self._values_elsewhere(metric.name, rng)
        self.rules_ = _votes(totals)
        alike = np.ones(relevant.values.size)
        self.coef_ = _regression(
            columns.design(), relevant.values, alike, np.array(self._elsewhere()["coef"])
        ).tolist()

    def _predict(self, lists: RankedLists) -> IntArray:
        metric = metrics.get(self.metric)
        columns = self._columns(lists)
        if hasattr(self, "rules_"):
            return _vote(columns, self.rules_)
        if self.prior is not None and is_f_beta(metric):
            logits = self._within(lists, columns)
            if hasattr(self, "shift_"):
                levels = np.full(len(lists), self.shift_)
            else:
                levels = _level(logits, self.prior)
            logits = _at_level(logits, levels)
            return best_expected(logits.with_values(_sigmoid(logits.values)), metric)
        if metric == metrics.f1:
            return _vote(columns, [["minmax", 0.5, 1]])
        if metric == metrics.dcg:
            drawn = self._values_elsewhere("dcg", np.random.default_rng(self.seed))
            drawn[_where(lambda key: not key.startswith("z"))] = -np.inf
            return _vote(columns, _votes(drawn))
        return best_expected(self.predict_proba(lists), metric, seed=self.seed)

    def _columns(self, lists: RankedLists) -> _Columns:
        if hasattr(self, "logit_"):
            return _Columns(lists, self.logit_, self.center_, self.spread_)
        return _Columns(lists, None, 0.0, math.inf)

    def _within(self, lists: RankedLists, columns: _Columns) -> Ragged:
        """Return the log-odds within each list, up to their level."""
        return lists.scores.with_values(_SLOPE * columns.minmax + _RANK * columns.log_rank)

    def _elsewhere(self) -> Mapping[str, Any]:
        return _shipped() if self.pretrained is None else self.pretrained

    def _values_elsewhere(self, metric: str, rng: np.random.Generator) -> FloatArray:
        values = self._elsewhere()["values"][metric]
        return _drawn(np.array([values[name] for name in sorted(values)]), rng)


def pretrain(collections: Mapping[str, Sequence[RankedLists]]) -> dict[str, Any]:
    """Return what `Consensus` learns from other collections, as plain data.

    Parameters
    ----------
    collections
        Judged runs of each collection. Collections count alike, and so do the runs of one.
    """
    values: dict[str, dict[str, list[float]]] = {metric: {} for metric in _PSEUDO_QUERIES}
    designs, relevant, weights = [], [], []
    for name, runs in collections.items():
        tables = [_Columns(run, *_scale_of(run)) for run in runs]
        for metric in _PSEUDO_QUERIES:
            means = []
            for run, columns in zip(runs, tables, strict=True):
                curves = metrics.get(metric).curves(run)
                means.append(_values(columns, curves).mean(axis=0) / _unit(curves))
            # What a raw score means is each system's own: it has no value elsewhere.
            mean = np.where(_where(lambda key: "raw" in key), -1.0, np.mean(means, axis=0))
            values[metric][name] = np.round(mean, 4).tolist()
        for run, columns in zip(runs, tables, strict=True):
            designs.append(columns.design())
            relevant.append(run.relevant.values)
            weights.append(np.full(run.scores.values.size, 100 / (len(runs) * len(run))))
    coef = _regression(
        np.concatenate(designs), np.concatenate(relevant), np.concatenate(weights), np.zeros(3)
    )
    return {"coef": np.round(coef, 4).tolist(), "values": values}


@cache
def _shipped() -> dict[str, Any]:
    import importlib.resources
    import json

    source = importlib.resources.files("paretocut").joinpath("data/zero_shot.json")
    content: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return content


class _Columns:
    """One number of each kind for every result: what keys and probabilities are made of."""

    def __init__(
        self, lists: RankedLists, logit: bool | None, center: float, spread: float
    ) -> None:
        scores = _rescaled(lists.scores, logit)
        self.offsets = scores.offsets
        self.rank: FloatArray = np.arange(1.0, scores.values.size + 1) - np.repeat(
            scores.offsets[:-1], scores.lengths
        )
        self.log_rank: FloatArray = np.log(self.rank)
        self.max: FloatArray = normalize_scores(lists.scores, "max").values
        self.minmax: FloatArray = normalize_scores(scores, "minmax").values
        self.z: FloatArray = normalize_scores(scores, "z").values
        self.raw: FloatArray = np.clip((scores.values - center) / spread, -9.0, 9.0)

    def key(self, name: str) -> Ragged:
        """Return the key of this name for every result; it never rises within a list."""
        weights, _, _ = _KEYS[name]
        values = sum(weight * getattr(self, column) for column, weight in weights.items())
        return Ragged(np.asarray(values), self.offsets)

    def design(self) -> FloatArray:
        """Return the matrix of the regression on min-max score and log rank."""
        return np.stack([np.ones_like(self.rank), self.minmax, self.log_rank], axis=1)


@cache
def _grid(name: str) -> FloatArray:
    """Return the thresholds tried on a key, falling from one that keeps nothing."""
    _, top, bottom = _KEYS[name]
    if name == "rank":
        steps = np.unique(np.round(np.geomspace(0.5 - top, 0.5 - bottom, _THRESHOLDS)))
        return np.concatenate([[top], -0.5 - steps])
    return np.concatenate([[np.inf], np.linspace(top, bottom, _THRESHOLDS)])


def _where(chosen: Callable[[str], bool]) -> BoolArray:
    """Return which rules are on keys whose names are chosen."""
    return np.concatenate([np.full(_grid(name).size, chosen(name)) for name in _KEYS])


def _counts(key: Ragged, thresholds: FloatArray) -> IntArray:
    """Return how many results of each list (rows) reach each threshold (columns)."""
    counts = [np.searchsorted(-values, -thresholds, side="right") for values in key]
    return np.array(counts, dtype=np.int64).reshape(len(key), thresholds.size)


def _values(columns: _Columns, curves: Ragged) -> FloatArray:
    """Return the metric of each list (rows) under each rule (columns)."""
    start = curves.offsets[:-1, None]
    parts = [curves.values[start + _counts(columns.key(name), _grid(name))] for name in _KEYS]
    return np.concatenate(parts, axis=1)


def _unit(curves: Ragged) -> float:
    """Return the mean metric of the best cuts, in which values elsewhere are counted."""
    best = float(np.mean([curve.max() for curve in curves]))
    return best if best > 0 else 1.0


def _drawn(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the mean of each rule (rows) in each draw of a Bayesian bootstrap (columns)."""
    weights = rng.exponential(size=(len(values), _DRAWS))
    means: FloatArray = values.T @ (weights / weights.sum(axis=0))
    return means


def _votes(totals: FloatArray) -> list[list[Any]]:
    """Return key, threshold and votes of each rule that is the best in some draw."""
    votes = np.bincount(np.argmax(totals, axis=0), minlength=len(totals))
    rules = [(name, float(threshold)) for name in _KEYS for threshold in _grid(name)]
    return [[*rules[i], int(votes[i])] for i in np.flatnonzero(votes)]


def _vote(columns: _Columns, rules: list[list[Any]]) -> IntArray:
    """Return the median of the cuts voted for, in each list."""
    cuts, votes = [], []
    for name in _KEYS:
        own = [(threshold, count) for key, threshold, count in rules if key == name]
        if own:
            cuts.append(_counts(columns.key(name), np.array([item[0] for item in own])))
            votes += [item[1] for item in own]
    table = np.concatenate(cuts, axis=1)
    order = np.argsort(table, axis=1, kind="stable")
    reached = np.cumsum(np.array(votes)[order], axis=1)
    middle = np.argmax(2 * reached >= reached[:, -1:], axis=1)
    rows = np.arange(len(table))
    return np.asarray(table[rows, order[rows, middle]], dtype=np.int64)


def _scale_of(lists: RankedLists) -> tuple[bool, float, float]:
    """Return whether scores are compared as logits, and their mean and deviation then."""
    values = lists.scores.values
    logit = _saturated(values)
    scaled = _rescaled(lists.scores, logit).values
    spread = float(scaled.std()) if values.size else 0.0
    return logit, float(scaled.mean()) if values.size else 0.0, spread if spread > 0 else 1.0


def _saturated(values: FloatArray) -> bool:
    if values.size == 0 or values.min() < 0 or values.max() > 1:
        return False
    return bool(np.mean((values < _NEAR) | (values > 1 - _NEAR)) > _SATURATED)


def _rescaled(scores: Ragged, logit: bool | None) -> Ragged:
    """Return the scores, as logits where asked for or, for None, where a list is saturated."""
    values = scores.values
    if logit is False or values.size == 0:
        return scores
    chosen = np.array(
        [
            part.size > 0
            and (_saturated(part) if logit is None else bool(part[-1] >= 0 and part[0] <= 1))
            for part in scores
        ],
        dtype=bool,
    )
    if not chosen.any():
        return scores
    # Beyond six digits a probability in single precision is noise.
    clipped = np.clip(values, _CLIP, 1 - _CLIP)
    logits = np.log(clipped) - np.log1p(-clipped)
    return scores.with_values(np.where(chosen[scores.rows], logits, values))


def _sigmoid(logits: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def _at_level(logits: Ragged, levels: FloatArray) -> Ragged:
    return logits.with_values(logits.values + levels[logits.rows])


def _level(logits: Ragged, expected: float | FloatArray) -> FloatArray:
    """Return what to add to the logits of each list so that they expect so many relevant."""
    low, high = np.full(len(logits), -60.0), np.full(len(logits), 60.0)
    # A list cannot hold more relevant results than results, nor surely all of them.
    target = np.minimum(expected, 0.9 * logits.lengths)
    for _ in range(50):
        middle = 0.5 * (low + high)
        sums = np.bincount(
            logits.rows, _sigmoid(_at_level(logits, middle).values), minlength=len(logits)
        )
        low, high = np.where(sums < target, middle, low), np.where(sums < target, high, middle)
    return np.where(logits.lengths > 0, 0.5 * (low + high), 0.0)


def _regression(
    design: FloatArray, relevant: Any, weight: FloatArray, start: FloatArray
) -> FloatArray:
    """Return the coefficients of a logistic regression, drawn a little towards the start."""
    ridge = np.array([0.1, 1.0, 1.0])

    def objective(coef: FloatArray) -> float:
        logits = design @ coef
        fit = weight @ (relevant * logits - np.logaddexp(0.0, logits))
        return float(fit - 0.5 * ridge @ (coef - start) ** 2)

    coef, value = start, objective(start)
    for _ in range(50):
        p = _sigmoid(design @ coef)
        gradient = design.T @ (weight * (relevant - p)) - ridge * (coef - start)
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
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
