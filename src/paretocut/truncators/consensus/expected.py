"""Expected metrics of all cuts of a list, from probabilities of relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from paretocut import metrics
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.metrics import Metric, MetricLike

_DRAWS = 64
_TINY = float(np.finfo(np.float64).tiny)


def expected_curve(
    probabilities: ArrayLike, metric: MetricLike = "f1", *, seed: int = 0
) -> FloatArray:
    """Return the expected metric of every cut ``0..n``, if results are relevant independently."""
    # Exact but for F-beta and recall, which are ratios of expectations, and metrics that are drawn.
    p = np.asarray(probabilities, dtype=np.float64)
    chosen = metrics.get(metric)
    hits = np.concatenate([[0.0], np.cumsum(p)])
    kept = np.arange(p.size + 1.0)
    options = chosen.settings
    if chosen == metrics.penalized_dcg:
        gains = (2 * p - 1) / np.log2(np.arange(2, p.size + 2))
        return np.concatenate([[0.0], np.cumsum(gains)])
    if chosen == metrics.accuracy:
        none = np.cumprod(np.concatenate([[1.0], 1 - p]))
        return np.concatenate([none[-1:], 1 - none[1:]])
    if chosen == metrics.precision:
        return np.asarray(hits / np.maximum(kept, 1))
    if chosen == metrics.recall:
        return np.asarray(hits / max(hits[-1], _TINY))
    if "gain" in options:
        return np.asarray(options["gain"] * hits - options["cost"] * (kept - hits))
    if "beta" in options:
        square = options["beta"] ** 2
        return np.asarray((1 + square) * hits / np.maximum(kept + square * hits[-1], _TINY))
    drawn = np.random.default_rng(seed).random((_DRAWS, p.size)) < p
    return np.asarray(np.mean([chosen.curve(relevant) for relevant in drawn], axis=0))


def best_expected(probabilities: Ragged, metric: MetricLike, seed: int = 0) -> IntArray:
    """Return the cut of each list with the highest expected metric, the smallest on a tie."""
    cuts = [int(np.argmax(expected_curve(p, metric, seed=seed))) for p in probabilities]
    return np.array(cuts, dtype=np.int64)


def is_f_beta(metric: Metric) -> bool:
    return "beta" in metric.settings


def is_linear(metric: Metric) -> bool:
    """Return whether each result adds a part of its own to the metric: DCG and utilities."""
    return metric == metrics.penalized_dcg or "gain" in metric.settings
