"""Metrics of a cut, each a curve over every possible cut ``k = 0..n`` of a list.

`get` finds a metric by its name. Tests of significance are in `paretocut.metrics.significance`.
"""

from paretocut.metrics.curves import (
    Metric,
    MetricLike,
    accuracy,
    dcg,
    f1,
    f_beta,
    get,
    names,
    penalized_dcg,
    precision,
    recall,
    reranked_ndcg,
    utility,
)

__all__ = [
    "Metric",
    "MetricLike",
    "accuracy",
    "dcg",
    "f1",
    "f_beta",
    "get",
    "names",
    "penalized_dcg",
    "precision",
    "recall",
    "reranked_ndcg",
    "utility",
]
