"""Cuts at a rank: a given one, the best on training lists, the best nearby, the best possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.lists import IntArray, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Kind, Whole
from paretocut.truncators.base import METRIC, Truncator
from paretocut.truncators.evidence import Clause
from paretocut.truncators.search import LOCAL, best_cut, embeddings_of, nearest


class FixedK(Truncator):
    """Keep the first ``k`` results of every list.

    Parameters
    ----------
    k
        How many, 0 or more; a shorter list is kept whole.

    Examples
    --------
    >>> FixedK(2).predict([[0.9, 0.5, 0.1], [0.3]])
    array([2, 1])
    """

    parameters: ClassVar = {"k": Whole()}

    def __init__(self, k: int = 10) -> None:
        self.k = k

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        cuts = np.minimum(self.k, lists.scores.lengths)
        return cuts, Clause(f"the first {self.k} of every list")


class GlobalK(Truncator):
    """Keep the first ``k`` results, ``k`` being the best single value on the training lists.

    Parameters
    ----------
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.

    Attributes
    ----------
    k_
        The cut with the highest mean metric; the smallest in case of a tie.

    Examples
    --------
    >>> from paretocut.lists import RankedLists
    >>> train = RankedLists([[3.0, 2.0, 1.0]] * 2, relevance=[[1, 1, 0], [0, 1, 0]])
    >>> GlobalK("f1").fit(train).k_
    2
    """

    k_: int

    parameters: ClassVar = {"metric": METRIC}
    state: Mapping[str, Kind] = {"k_": Whole()}
    reads_scores = False

    def __init__(self, metric: MetricLike = "f1") -> None:
        self.metric = metric

    def learn(self, lists: RankedLists) -> None:
        self.k_ = best_cut(metrics.get(self.metric).curves(lists))

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        cuts = np.minimum(self.k_, lists.scores.lengths)
        return cuts, Clause(f"{self.k_} for every list, {self.taught}")


class LocalK(Truncator):
    """Keep the first ``k`` results, ``k`` being the best for the query's nearest training queries.

    Parameters
    ----------
    metric
        Metric to maximise, as for `GlobalK`.
    neighbors
        How many training queries to use, by Euclidean distance of the ``query_embeddings``.

    Attributes
    ----------
    embeddings_, curves_
        Embeddings of the training queries, and the metric of every cut of their lists.

    Examples
    --------
    >>> from paretocut.lists import RankedLists
    >>> train = RankedLists([[2.0, 1.0]] * 2, [[1, 0], [1, 1]], query_embeddings=[[0.0], [9.0]])
    >>> test = RankedLists([[2.0, 1.0]] * 2, query_embeddings=[[8.0], [1.0]])
    >>> LocalK(neighbors=1).fit(train).predict(test)
    array([2, 1])
    """

    parameters: ClassVar = {"metric": METRIC, "neighbors": Whole(1)}
    state: Mapping[str, Kind] = {name: LOCAL[name] for name in ("embeddings_", "curves_")}
    reads_scores = False
    needs_embeddings = True

    def __init__(self, metric: MetricLike = "f1", *, neighbors: int = 10) -> None:
        self.metric = metric
        self.neighbors = neighbors

    def learn(self, lists: RankedLists) -> None:
        self.embeddings_ = embeddings_of(lists, who="LocalK")
        self.curves_ = metrics.get(self.metric).curves(lists)

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        found = nearest(self.embeddings_, lists, self.neighbors, who="LocalK")
        best = [best_cut(self.curves_.take(rows)) for rows in found]
        cuts = np.minimum(np.array(best, dtype=np.int64), lists.scores.lengths)
        near = min(self.neighbors, self.queries_)
        return cuts, Clause(f"the best number for the {near} nearest queries, {self.taught}")


class Oracle(Truncator):
    """Keep the best possible number of results of each list, which only its judgements can tell.

    Parameters
    ----------
    metric
        Metric to maximise, as for `GlobalK`; of equally good cuts, the smallest is chosen.

    Examples
    --------
    >>> from paretocut.lists import RankedLists
    >>> Oracle().predict(RankedLists([[3.0, 2.0, 1.0]], relevance=[[0, 1, 0]]))
    array([2])
    """

    parameters: ClassVar = {"metric": METRIC}
    needs_relevance = True
    zeros = "keep"  # the ceiling may keep any result, also one of score 0

    def __init__(self, metric: MetricLike = "f1") -> None:
        self.metric = metric

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        metric = metrics.get(self.metric)
        cuts = np.array([int(np.argmax(curve)) for curve in metric.curves(lists)], dtype=np.int64)
        return cuts, Clause(f"the best cut for {metric.name} by the list's own judgements")
