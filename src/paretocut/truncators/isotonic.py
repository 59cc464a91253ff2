"""Isotonic regression from scores to relevance, with a threshold on the calibrated value."""

from __future__ import annotations

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
from paretocut.truncators.neighbors import LOCAL, Lists, embeddings_of, nearest
from paretocut.truncators.search import best_threshold, count_kept
from paretocut.truncators.threshold import NORMALIZATIONS, normalize_scores


class Isotonic(Truncator):
    """Keep the results whose calibrated relevance reaches the best threshold of the training lists.

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
    threshold_
        Threshold on the calibrated relevance (global setting).
    scores_, relevance_
        Knots of the calibration, straight lines between them (global setting).
    values_, relevant_, curves_, embeddings_
        Training lists of the local setting.

    Notes
    -----
    Relevance is fitted by least squares as a non-decreasing function of the score, over the pooled
    results of all lists; then the threshold maximises the metric on the same lists. Because the fit
    is monotone, it can be no better on its training lists than `ScoreThreshold` with the same
    normalisation.

    References
    ----------
    "Isotonic Regression" in D. Bahri et al., "Surprise: Result List Truncation via Extreme Value
    Theory", SIGIR 2023; the regression is scikit-learn's.

    Examples
    --------
    >>> from paretocut.lists import RankedLists
    >>> train = RankedLists([[0.9, 0.6, 0.2], [0.8, 0.3]], relevance=[[1, 1, 0], [1, 0]])
    >>> Isotonic().fit(train).predict([[0.95, 0.7, 0.1], [0.2]])
    array([2, 0])
    """

    threshold_: float
    scores_: FloatArray
    relevance_: FloatArray

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
        return {**LOCAL, "relevant_": Lists("queries", "results", kind="b")}

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
