"""A threshold on the scores: raw, normalised within each list, or calibrated to relevance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.errors import require
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Array, Either, Kind, Real, Text, Whole
from paretocut.truncators.base import METRIC, Truncator
from paretocut.truncators.evidence import AgainstLimit, Clause
from paretocut.truncators.search import (
    LOCAL,
    Lists,
    best_threshold,
    count_kept,
    embeddings_of,
    nearest,
)

NORMALIZATIONS = ("raw", "max", "minmax", "z")


def normalize_scores(scores: Ragged, how: str) -> Ragged:
    """Return the scores of each list normalised within the list; the order never changes."""
    if how == "raw":
        return scores
    scores, _ = scores.within_range()
    first, last = scores.ends()
    if how == "max":
        size = np.abs(first)
        return _scaled(scores, 0.0 * first, np.where(size > 0, size, 1.0))
    constant = first == last
    if how == "minmax":
        # In a constant list every result equals the best one, so it gets the best one's value.
        scaled = _scaled(scores, last, np.where(constant, 1.0, first - last))
        return scores.with_values(np.where(scores.spread(constant), 1.0, scaled.values))
    counts = np.maximum(scores.lengths, 1)
    rows = scores.rows
    mean = np.bincount(rows, weights=scores.values, minlength=len(scores)) / counts
    squares = np.bincount(rows, weights=(scores.values - mean[rows]) ** 2, minlength=len(scores))
    # The rounded mean of equal numbers need not equal them.
    mean = np.where(constant, first, mean)
    return _scaled(scores, mean, np.where(constant, 1.0, np.sqrt(squares / counts)))


def _scaled(scores: Ragged, center: FloatArray, scale: FloatArray) -> Ragged:
    rows, most = scores.rows, np.finfo(np.float64).max
    with np.errstate(over="ignore"):  # a result far below a tiny best one
        scaled = (scores.values - center[rows]) / scale[rows]
    return scores.with_values(np.clip(scaled, -most, most))


class ScoreThreshold(Truncator):
    """Keep the results whose score, raw or normalised within its list, reaches a threshold.

    Parameters
    ----------
    normalize
        "raw", "max" (divide by the size of the best score), "minmax" (0 for the worst, 1 for
        the best of the list, or for all of a constant list) or "z" (mean 0, standard deviation 1).
    threshold
        A given one needs no fit; None learns the best. For raw distances it is the largest kept.
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.

    Attributes
    ----------
    threshold_
        The learned threshold; ``inf`` keeps nothing, ``-inf`` everything.

    Examples
    --------
    >>> ScoreThreshold("minmax", 0.5).predict([[9.0, 8.0, 1.0], [0.3, 0.2, 0.1]])
    array([2, 2])
    """

    parameters: ClassVar = {
        "normalize": Text(NORMALIZATIONS),
        "threshold": Either(Real(infinite=True)),
        "metric": METRIC,
    }
    state: Mapping[str, Kind] = {"threshold_": Real(infinite=True)}
    instead_of_fit = ("threshold",)
    values_need_fit = False

    def __init__(
        self,
        normalize: Literal["raw", "max", "minmax", "z"] = "raw",
        threshold: float | None = None,
        *,
        metric: MetricLike = "f1",
    ) -> None:
        self.normalize = normalize
        self.threshold = threshold
        self.metric = metric

    def learn(self, lists: RankedLists) -> None:
        curves = metrics.get(self.metric).curves(lists)
        self.threshold_ = best_threshold(self.result_values(lists), curves)

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        keys = self.result_values(lists)
        # A raw threshold is given and shown in the caller's own units, distances as distances.
        up = lists.higher_is_better or self.normalize != "raw"
        what = "score" if self.normalize == "raw" else f"{self.normalize} score"
        limit = self.threshold_ if self.threshold is None else float(self.threshold)
        if self.threshold is not None and not up:
            limit = -limit
        cuts = count_kept(keys, limit)
        if not up:
            keys, limit = lists.scores, -limit
        source = self.taught if self.threshold is None else ""
        return cuts, AgainstLimit(keys, limit, what, source, falling=up)

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return the normalised score of each result; see `Truncator.result_values`."""
        return normalize_scores(lists.merit, self.normalize)


class Isotonic(Truncator):
    """Keep the results whose calibrated relevance reaches the best threshold of the training lists.

    Relevance is fitted as a non-decreasing function of the score, over the pooled results.

    Parameters
    ----------
    metric
        Metric that the threshold maximises: a name, a `Metric` or a function.
    normalize
        "raw", "max", "minmax" or "z"; see `ScoreThreshold`. The paper uses "max" on Robust04.
    neighbors
        None: calibration and threshold from all training lists; a number: from those of the
        query's nearest training queries, which needs ``query_embeddings``.

    Attributes
    ----------
    threshold_, scores_, relevance_
        Threshold on the calibrated relevance, and knots of the calibration (global setting).

    Examples
    --------
    >>> from paretocut.lists import RankedLists
    >>> train = RankedLists([[0.9, 0.6, 0.2], [0.8, 0.3]], relevance=[[1, 1, 0], [1, 0]])
    >>> Isotonic().fit(train).predict([[0.95, 0.7, 0.1], [0.2]])
    array([2, 0])
    """

    parameters: ClassVar = {
        "metric": METRIC,
        "normalize": Text(NORMALIZATIONS),
        "neighbors": Either(Whole(1)),
    }

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        normalize: Literal["raw", "max", "minmax", "z"] = "raw",
        neighbors: int | None = None,
    ) -> None:
        self.metric = metric
        self.normalize = normalize
        self.neighbors = neighbors

    @property
    def needs_embeddings(self) -> bool:
        return self.neighbors is not None

    @property
    def state(self) -> dict[str, Kind]:
        if self.neighbors is None:
            knots = Array(("knots",), rising=True)
            return {"threshold_": Real(infinite=True), "scores_": knots, "relevance_": knots}
        return {**LOCAL, "relevant_": Lists(kind="b")}

    def learn(self, lists: RankedLists) -> None:
        keys = normalize_scores(lists.merit, self.normalize)
        curves = metrics.get(self.metric).curves(lists)
        if self.neighbors is None:
            self.scores_, self.relevance_ = _calibrate(keys, lists.relevant)
            calibrated = _calibrated(keys, self.scores_, self.relevance_)
            self.threshold_ = best_threshold(calibrated, curves)
        else:
            self.embeddings_ = embeddings_of(lists, who="Isotonic")
            self.values_, self.relevant_, self.curves_ = keys, lists.relevant, curves

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        if self.neighbors is None:
            keys, what = self.result_values(lists), "calibrated relevance"
            evidence = AgainstLimit(keys, self.threshold_, what, self.taught)
            return count_kept(keys, self.threshold_), evidence
        keys = normalize_scores(lists.merit, self.normalize)
        found = nearest(self.embeddings_, lists, self.neighbors, who="Isotonic")
        cuts = np.zeros(len(lists), dtype=np.int64)
        for i, rows in enumerate(found):
            near = self.values_.take(rows)
            knots = _calibrate(near, self.relevant_.take(rows))
            best = best_threshold(_calibrated(near, *knots), self.curves_.take(rows))
            cuts[i] = np.count_nonzero(np.interp(keys[i], *knots) >= best)
        nearby = min(self.neighbors, self.queries_)
        return cuts, Clause(f"calibrated on the {nearby} nearest queries, {self.taught}")

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return the calibrated relevance of each result; see `Truncator.result_values`."""
        if self.neighbors is not None:
            return super().result_values(lists)
        keys = normalize_scores(lists.merit, self.normalize)
        return _calibrated(keys, self.scores_, self.relevance_)


def _calibrate(keys: Ragged, relevant: Ragged) -> tuple[FloatArray, FloatArray]:
    """Return the knots of the isotonic regression of relevance on the keys."""
    if keys.values.size == 0:
        return np.zeros(1), np.zeros(1)
    sklearn = require("sklearn.isotonic", feature="Isotonic", extra="sklearn")
    with np.errstate(invalid="ignore"):  # scikit-learn adds very large scores up
        model = sklearn.IsotonicRegression().fit(keys.values, relevant.values.astype(np.float64))
    return model.X_thresholds_, model.y_thresholds_


def _calibrated(keys: Ragged, scores: FloatArray, relevance: FloatArray) -> Ragged:
    return keys.with_values(np.interp(keys.values, scores, relevance))
