"""A threshold on the scores, raw or normalised within each list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Either, Kind, Real, Text
from paretocut.truncators.base import METRIC, Truncator
from paretocut.truncators.evidence import AgainstLimit
from paretocut.truncators.search import best_threshold, count_kept

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
        the best of the list) or "z" (mean 0, standard deviation 1).
    threshold
        A given threshold needs no fit; None learns the best one. For raw distances it is the
        largest distance kept.
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.

    Attributes
    ----------
    threshold_
        The learned threshold; ``inf`` keeps nothing, ``-inf`` everything.

    Notes
    -----
    Keeps ``x`` when ``norm(x) >= t``. Learning is exact: it compares every possible ``t`` on the
    training lists. "max" and "minmax" always keep the best result when ``t <= 1``; "minmax" and "z"
    depend on the depth fetched. In a constant list "minmax" is 1 and "z" is 0 for every result.

    References
    ----------
    Normalisations as in M. Montague and J. Aslam, "Relevance score normalization for
    metasearch", CIKM 2001.

    Examples
    --------
    >>> ScoreThreshold("minmax", 0.5).predict([[9.0, 8.0, 1.0], [0.3, 0.2, 0.1]])
    array([2, 2])
    """

    threshold_: float

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
        keys, limit = self.result_values(lists), self._limit(lists)
        cuts = count_kept(keys, limit)
        # A raw threshold is shown in the caller's own units, distances as distances.
        up = lists.higher_is_better or self.normalize != "raw"
        if not up:
            keys, limit = lists.scores, -limit
        what = "score" if self.normalize == "raw" else f"{self.normalize} score"
        source = self.taught if self.threshold is None else ""
        return cuts, AgainstLimit(keys, limit, what, source, falling=up)

    def _limit(self, lists: RankedLists) -> float:
        """Return the threshold on `keys`; a given one on raw distances is the largest distance."""
        if self.threshold is None:
            return self.threshold_
        as_given = lists.higher_is_better or self.normalize != "raw"
        threshold = float(self.threshold)
        return threshold if as_given else -threshold

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return the normalised score of each result; see `Truncator.result_values`."""
        return normalize_scores(lists.merit, self.normalize)
