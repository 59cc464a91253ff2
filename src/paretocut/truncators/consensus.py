"""The vote of all simple rules that may be the best one, and probabilities of relevance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut._validation import check_int, check_real
from paretocut.errors import InvalidParameterError
from paretocut.metrics import Metric, MetricLike
from paretocut.truncators._answer import AnswerModel
from paretocut.truncators._base import Truncator, _ranked
from paretocut.truncators._columns import DESIGN, Columns, Scale
from paretocut.truncators._logistic import curvature, ridge_logistic, sigmoid
from paretocut.truncators.expected import best_expected, is_f_beta, is_linear
from paretocut.types import BoolArray, FloatArray, IntArray, Ragged, RaggedLike, RankedLists

__all__ = ["Consensus", "pretrain"]

# What results are thresholded on: sums of columns, and the range of thresholds.
_KEYS: dict[str, tuple[dict[str, float], float, float]] = {
    "rank": ({"rank": -1.0}, -0.5, -10_000.5),
    "minmax": ({"minmax": 1.0}, 1.0, 0.02),
    "minmax-0.02log": ({"minmax": 1.0, "log_rank": -0.02}, 1.0, -0.3),
    "minmax-0.04log": ({"minmax": 1.0, "log_rank": -0.04}, 1.0, -0.4),
    "minmax-0.08log": ({"minmax": 1.0, "log_rank": -0.08}, 1.0, -0.6),
    "top": ({"top": 1.0}, 1.3, 0.02),
    "z": ({"z": 1.0}, 12.0, 0.0),
    "z-0.3log": ({"z": 1.0, "log_rank": -0.3}, 12.0, -1.5),
    "minmax+0.05z": ({"minmax": 1.0, "z": 0.05}, 1.4, 0.1),
    "minmax+0.15z": ({"minmax": 1.0, "z": 0.15}, 2.2, 0.1),
    "raw": ({"raw": 1.0}, 6.0, -3.0),
}
_THRESHOLDS = 100
_DRAWS = 100
# A judged query counts once, all other collections together as this many. That steadies the vote
# of ten or twenty queries, and fifty have little need of it.
_PSEUDO_QUERIES = 6.0
# Where the votes of other collections cut an untrained list for DCG: how rare relevant results are
# is not known, and what is kept in vain costs.
_UNSURE = 0.25
# Log-odds of relevance per unit of min-max score and of log rank, *within* a list. They are
# steeper than those of a regression over many lists, which mixes easy and hard queries.
_SLOPE, _RANK = 12.0, -0.25
# Relevant results that an untrained list of any length is believed to hold at most.
_MANY = 50.0
# How strongly the regression is drawn to the coefficients of other collections, and how many
# standard errors its log-odds give away before a cut: the best of many uncertain cuts looks
# better than it is.
_RIDGE, _CAUTION = 20.0, 0.5
# Nothing is kept when cuts, cross-validated, lose by more than this many standard errors.
_FOLDS, _LOSS = 5, 0.5
# Deep results are many and much alike: to learn from other collections one in ten will do.
_DENSE, _STEP = 100, 10


class Consensus(Truncator):
    """Cut where the metric promises to be best, by judged queries and by other collections.

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
    coef_, covariance_
        Of the log-odds of relevance, from judged lists: coefficients of the standardised columns
        of `paretocut.truncators._columns.DESIGN`, and how uncertain they are.
    gain_, error_
        For DCG and utilities: the mean metric of judged lists, cross-validated, and its standard
        error; nothing is kept of any list when it is negative beyond half of that.
    answer_
        For accuracy: the model of whether a list holds a relevant result, from judged lists.
    shift_
        Level of the log-odds, from lists without judgements and the prior.
    logit_, center_, spread_
        Whether scores are compared as logits; their mean and standard deviation.

    Notes
    -----
    **With judged lists** the metric decides what is learned.

    *F1, and any metric not named below*: ``fit`` compares some 1,100 rules, thresholds on rank,
    on the raw score, on the score scaled within its list (min-max, against its first five, z),
    and on min-max with a little of rank or z. In each of 100 draws of a Bayesian bootstrap over
    the queries one of them is best and has a vote; a list is cut at the median of the cuts voted
    for. The best rule alone follows the noise of few queries, and forgets what the second best
    knows. For F1 other collections take part in the draws, with the weight of six queries.

    *DCG and utilities*, to which each result adds its own part: the cut with the highest expected
    metric under `predict_proba`, half a standard error taken from the log-odds; nothing at all
    where such cuts, cross-validated, lose.

    *Accuracy*: all of a list that holds a relevant result with probability one half or more, by
    a regression on the scores at eight ranks; nothing of any other.

    **With a prior and no judgements**, for F1 and other F-beta, the log-odds of relevance rise
    by 12 over the score range of a list and fall by 0.25 with every factor *e* in rank. Their
    level is such that ``prior`` results are expected to be relevant: in the median list after
    ``fit`` on unjudged lists of the system, otherwise in each list. The cut is where the
    expected metric is highest.

    **With neither**, F1 keeps the upper half of the score range, but not more than if 50 results
    were relevant, as half of the range may be most of a list: nothing learned from other
    collections was better on a new one. For DCG other collections vote on thresholds on z, which
    can keep nothing, and a list is cut at the lower quartile of the cuts voted for. Any other
    metric is maximised in expectation under `predict_proba`.

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
    coef_: FloatArray
    covariance_: FloatArray
    gain_: float
    error_: float
    answer_: dict[str, Any]
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

        After ``fit`` on judged lists it is a logistic regression on them, in which rank 1 counts
        as much as ranks 2 and 3 or 4 to 7 together, drawn towards that on other collections;
        before, that one, and with a ``prior`` at the level at which that many results of each
        list are expected to be relevant.

        Parameters
        ----------
        lists
            `RankedLists`, or bare scores in any layout that takes (higher is better).
        """
        ranked = _ranked(lists)
        self._validate()
        fitted = hasattr(self, "coef_")
        # Before any list of the system was seen, its raw scores say nothing.
        coef = self.coef_ if fitted else np.array(self._elsewhere()["coef without raw"])
        logits = ranked.scores.with_values(self._standardised(self._columns(ranked)) @ coef)
        if self.prior is not None and not fitted:
            logits = _at_level(logits, _level(logits, self.prior))
        return logits.with_values(sigmoid(logits.values))

    def _validate(self) -> None:
        metrics.get(self.metric)
        check_int(self.seed, who="Consensus", name="seed")
        if self.prior is not None:
            check_real(self.prior, who="Consensus", name="prior", low=0)
        if self.pretrained is not None and self.pretrained.keys() != _shipped().keys():
            raise InvalidParameterError(
                "Consensus: pretrained must be what pretrain returns, with "
                f"{', '.join(_shipped())}, got {', '.join(self.pretrained) or 'nothing'}"
            )

    def _require_fitted(self) -> None:
        """Accept lists before fit: other collections have been learned from."""

    def _fit(self, lists: RankedLists) -> None:
        judged = lists.relevance is not None or self.prior is None
        relevant = lists.relevant if judged else None  # refuses lists without judgements
        scale = Scale.of(lists.scores)
        self.logit_, self.center_, self.spread_ = bool(scale.logit), scale.center, scale.spread
        columns = Columns(lists.scores, scale)
        if relevant is None:
            assert self.prior is not None
            self.shift_ = float(np.median(_level(_within(columns), self.prior)))
            return
        design, weight = self._standardised(columns), 1 / columns.rank
        self.coef_, self.covariance_ = self._regression(design, relevant.values, weight)
        metric = metrics.get(self.metric)
        if metric == metrics.accuracy:
            answered = np.array([part.any() for part in relevant], dtype=bool)
            # Whatever is kept of a list that misses all there is to find, it is wrong.
            told = np.flatnonzero(answered | (lists.num_relevant == 0))
            self.answer_ = AnswerModel.fit(lists.scores.take(told), answered[told]).to_dict()
        elif is_linear(metric):
            values = self._held_out(lists, design, weight)
            self.gain_ = float(values.mean())
            self.error_ = float(values.std() / math.sqrt(len(values)))
        else:
            curves = metric.curves(lists)
            rng = np.random.default_rng(self.seed)
            totals = len(lists) * _drawn(_values(columns, curves), rng)
            if metric == metrics.f1:
                totals += _PSEUDO_QUERIES * _unit(curves) * self._values_elsewhere("f1", rng)
            self.rules_ = _votes(totals)

    def _regression(
        self, design: FloatArray, relevant: Any, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients of the log-odds of relevance, and their covariance."""
        towards = np.array(self._elsewhere()["coef"])
        penalty = np.full(towards.size, _RIDGE)
        coef = ridge_logistic(design, relevant, penalty=penalty, towards=towards, weight=weight)
        matrix = curvature(design, sigmoid(design @ coef), weight, penalty)
        return coef, np.asarray(np.linalg.inv(matrix), dtype=np.float64)

    def _held_out(self, lists: RankedLists, design: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the metric of each list, cut by what the other folds taught."""
        metric = metrics.get(self.metric)
        relevant, rows = lists.relevant.values, lists.scores.rows
        folds = min(_FOLDS, len(lists))
        fold = np.random.default_rng(self.seed).permutation(len(lists)) % folds
        cuts = np.zeros(len(lists), dtype=np.int64)
        for own in (fold == k for k in range(folds)):
            inside = own[rows]
            fitted = self._regression(design[~inside], relevant[~inside], weight[~inside])
            scores = lists.scores.take(np.flatnonzero(own))
            cuts[own] = best_expected(scores.with_values(_careful(design[inside], *fitted)), metric)
        return metric(lists, cuts)

    def _predict(self, lists: RankedLists) -> IntArray:
        metric = metrics.get(self.metric)
        if hasattr(self, "answer_"):
            p = AnswerModel.from_dict(self.answer_).probability(lists.scores)
            return np.where(p >= 0.5, lists.scores.lengths, 0)
        columns = self._columns(lists)
        if hasattr(self, "gain_"):
            if self.gain_ < -_LOSS * self.error_:
                return np.zeros(len(lists), dtype=np.int64)
            p = _careful(self._standardised(columns), self.coef_, self.covariance_)
            return best_expected(lists.scores.with_values(p), metric)
        if hasattr(self, "rules_"):
            return _vote(columns, self.rules_)
        if self.prior is not None and is_f_beta(metric):
            logits = _within(columns)
            if hasattr(self, "shift_"):
                levels = np.full(len(lists), self.shift_)
            else:
                levels = _level(logits, self.prior)
            return _expected(logits, levels, metric)
        if metric == metrics.f1:
            logits = _within(columns)
            most = _expected(logits, _level(logits, _MANY), metric)
            return np.minimum(_vote(columns, [["minmax", 0.5, 1]]), most)
        if metric == metrics.dcg and self.prior is None:
            drawn = self._values_elsewhere("dcg", np.random.default_rng(self.seed))
            return _vote(columns, _votes(drawn), quantile=_UNSURE)
        return best_expected(self.predict_proba(lists), metric, seed=self.seed)

    def _columns(self, lists: RankedLists) -> Columns:
        if hasattr(self, "logit_"):
            return Columns(lists.scores, Scale(self.logit_, self.center_, self.spread_))
        return Columns(lists.scores, Scale())

    def _standardised(self, columns: Columns) -> FloatArray:
        known = self._elsewhere()
        return np.asarray((columns.design() - known["center"]) / known["spread"])

    def _elsewhere(self) -> Mapping[str, Any]:
        return _shipped() if self.pretrained is None else self.pretrained

    def _values_elsewhere(self, metric: str, rng: np.random.Generator) -> FloatArray:
        """Return the value of each rule (rows) in each draw of collections (columns)."""
        values = self._elsewhere()["values"][metric]
        table = np.full((len(values), sum(_grid(name).size for name in _KEYS)), -1.0)
        known = _where(_LEARNED[metric])
        for row, name in zip(table, sorted(values), strict=True):
            row[known] = values[name]
        return _drawn(table, rng)


def pretrain(collections: Mapping[str, Sequence[RankedLists]]) -> dict[str, Any]:
    """Return what `Consensus` learns from other collections, as plain data.

    Parameters
    ----------
    collections
        Judged runs of each collection. Collections count alike, and so do the runs of one.
    """
    values: dict[str, dict[str, list[float]]] = {metric: {} for metric in _LEARNED}
    designs, relevant, weights = [], [], []
    for name, runs in collections.items():
        tables = [Columns(run.scores, Scale.of(run.scores)) for run in runs]
        for metric, learned in _LEARNED.items():
            means = []
            for run, columns in zip(runs, tables, strict=True):
                curves = metrics.get(metric).curves(run)
                means.append(_values(columns, curves).mean(axis=0) / _unit(curves))
            mean = np.mean(means, axis=0)[_where(learned)]
            values[metric][name] = np.round(mean, 4).tolist()
        for run, columns in zip(runs, tables, strict=True):
            kept = (columns.rank <= _DENSE) | (columns.rank % _STEP == 0)
            standing = np.where(columns.rank <= _DENSE, 1, _STEP)[kept]  # for itself and others
            designs.append(columns.design()[kept])
            relevant.append(run.relevant.values[kept])
            weights.append(100 * standing / columns.rank[kept] / (len(runs) * len(run)))
    design = np.concatenate(designs)
    center, spread = design.mean(axis=0), design.std(axis=0)
    center[0], spread = 0.0, np.where(spread > 1e-3, spread, 1.0)
    # Each run has a level of its own besides: how often results are relevant is no property of
    # scores, and must not be taken for one.
    levels = np.repeat(np.eye(len(designs)), [len(part) for part in designs], axis=0)
    full = np.concatenate([(design - center) / spread, levels], axis=1)

    penalty = np.ones(full.shape[1])
    penalty[0] = 0.01  # the level that runs share is no part of their own

    def regression(table: FloatArray) -> list[float]:
        coef = ridge_logistic(
            table,
            np.concatenate(relevant),
            penalty=penalty,
            towards=np.zeros(table.shape[1]),
            weight=np.concatenate(weights),
        )
        rounded: list[float] = np.round(coef[: len(DESIGN)], 4).tolist()
        return rounded

    raw = [DESIGN.index(name) for name in ("raw", "best_raw")]
    content = {"coef": regression(full)}
    full[:, raw] = 0.0
    return content | {
        "coef without raw": regression(full),
        "center": np.round(center, 4).tolist(),
        "spread": np.round(spread, 4).tolist(),
        "values": values,
    }


@cache
def _shipped() -> dict[str, Any]:
    import importlib.resources
    import json

    source = importlib.resources.files("paretocut").joinpath("data/zero_shot.json")
    content: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return content


# The keys whose values are learned from other collections. For DCG these cut untrained lists, and
# no list of a new system should have to be cut by its rank alone.
_LEARNED: dict[str, Callable[[str], bool]] = {
    "f1": lambda key: True,
    "dcg": lambda key: key.startswith("z"),
}


def _key(columns: Columns, name: str) -> Ragged:
    """Return the key of this name for every result; it never rises within a list."""
    return columns.sum(_KEYS[name][0])


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


def _values(columns: Columns, curves: Ragged) -> FloatArray:
    """Return the metric of each list (rows) under each rule (columns)."""
    start = curves.offsets[:-1, None]
    parts = [curves.values[start + _counts(_key(columns, name), _grid(name))] for name in _KEYS]
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


def _vote(columns: Columns, rules: list[list[Any]], quantile: float = 0.5) -> IntArray:
    """Return the median, or another quantile, of the cuts voted for, in each list."""
    cuts, votes = [], []
    for name in _KEYS:
        own = [(threshold, count) for key, threshold, count in rules if key == name]
        if own:
            cuts.append(_counts(_key(columns, name), np.array([item[0] for item in own])))
            votes += [item[1] for item in own]
    table = np.concatenate(cuts, axis=1)
    order = np.argsort(table, axis=1, kind="stable")
    reached = np.cumsum(np.array(votes)[order], axis=1)
    place = np.argmax(reached >= quantile * reached[:, -1:], axis=1)
    rows = np.arange(len(table))
    return np.asarray(table[rows, order[rows, place]], dtype=np.int64)


def _careful(design: FloatArray, coef: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return probabilities from log-odds that give away part of their standard error."""
    errors = np.sqrt(((design @ covariance) * design).sum(axis=1))
    return sigmoid(design @ coef - _CAUTION * errors)


def _within(columns: Columns) -> Ragged:
    """Return the log-odds within each list, up to their level."""
    return columns.sum({"minmax": _SLOPE, "log_rank": _RANK})


def _expected(logits: Ragged, levels: FloatArray, metric: Metric) -> IntArray:
    """Return the cuts with the highest expected metric, the log-odds being at these levels."""
    moved = _at_level(logits, levels)
    return best_expected(moved.with_values(sigmoid(moved.values)), metric)


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
            logits.rows, sigmoid(_at_level(logits, middle).values), minlength=len(logits)
        )
        low, high = np.where(sums < target, middle, low), np.where(sums < target, high, middle)
    return np.where(logits.lengths > 0, 0.5 * (low + high), 0.0)
