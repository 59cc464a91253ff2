"""The simple rules: a fixed number, the best on training lists, the shape of the score curve."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.decisions.wording import ordinal
from paretocut.errors import require
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Kind, Real, Whole
from paretocut.truncators.base import METRIC, Truncator
from paretocut.truncators.evidence import Clause
from paretocut.truncators.search import LOCAL, best_cut, embeddings_of, nearest

_ROUNDING = 1e-12


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
        How many training queries to use, by Euclidean distance of the ``query_embeddings``, which
        the lists need in `fit` and in decisions.

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


class ShapeRule(Truncator):
    """Base of the rules for one list at a time; a list of equal scores is kept whole."""

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        # No digit changes, but differences of very large scores would overflow.
        merit, _ = lists.merit.within_range()
        cuts = [
            self._cut(scores) if scores.size and scores[0] != scores[-1] else scores.size
            for scores in merit
        ]
        return np.array(cuts, dtype=np.int64), Clause(partial(self._because, lists.scores))

    def _because(self, scores: Ragged, i: int, k: int) -> str:
        values = scores[i]
        constant = values[0] == values[-1]
        return "its scores have no shape to read" if constant else self._reason(k, values)

    @abstractmethod
    def _cut(self, scores: FloatArray) -> int:
        """Return the cut of a list of at least two results, not all equal."""

    @abstractmethod
    def _reason(self, k: int, scores: FloatArray) -> str:
        """Return why ``k`` results of a list with these scores are kept."""


class LargestGap(ShapeRule):
    """Cut where the score drops most from one result to the next, or first of several such places.

    Parameters
    ----------
    ignore_tail
        Share of the gaps at the end of the list that may not be chosen.
    extra
        Results to keep beyond the gap.

    Examples
    --------
    >>> LargestGap().predict([[0.9, 0.8, 0.3, 0.2]])
    array([2])
    """

    parameters: ClassVar = {"ignore_tail": Real(0, below=1), "extra": Whole()}

    def __init__(self, *, ignore_tail: float = 0.0, extra: int = 0) -> None:
        self.ignore_tail = ignore_tail
        self.extra = extra

    def _cut(self, scores: FloatArray) -> int:
        gaps = scores[:-1] - scores[1:]
        stop = gaps.size - int(gaps.size * self.ignore_tail)
        return min(int(np.argmax(gaps[:stop])) + 1 + self.extra, scores.size)

    def _reason(self, k: int, scores: FloatArray) -> str:
        at = max(k - self.extra, 1)
        if at >= scores.size:
            return "the largest drop in score comes at the very end"
        ends = f"{scores[at - 1]:.3g} to {scores[at]:.3g}"
        more = f", and {self.extra} more are kept" if self.extra else ""
        return f"the largest drop in score, {ends}, comes after the {ordinal(at)}{more}"


class Autocut(ShapeRule):
    """Cut before the first (or a later) jump of the score curve over its own diagonal.

    With the curve scaled to rise from (0, 0) to (1, 1), a jump is a strict local maximum of "curve
    minus diagonal". Lists with fewer jumps are kept whole. The rule is Weaviate's ``autocut``.

    Parameters
    ----------
    jumps
        Number of the jump to cut before: 1 is the first.

    Examples
    --------
    >>> Autocut().predict([[0.9, 0.8, 0.3, 0.2]])
    array([2])
    """

    parameters: ClassVar = {"jumps": Whole(1)}

    def __init__(self, jumps: int = 1) -> None:
        self.jumps = jumps

    def _cut(self, scores: FloatArray) -> int:
        curve = (scores - scores[0]) / (scores[-1] - scores[0])
        over = curve - np.linspace(0.0, 1.0, scores.size)
        # On a straight stretch all points are equally far over the diagonal, but for rounding.
        low = over + _ROUNDING
        jump = np.zeros(scores.size, dtype=bool)
        jump[1:-1] = (over[1:-1] > low[:-2]) & (over[1:-1] > low[2:])
        # The last point has no right neighbour; Weaviate compares it with the two before it.
        jump[-1] = scores.size > 2 and over[-1] > low[-2] and over[-1] > low[-3]
        found = np.flatnonzero(jump)
        return int(found[self.jumps - 1]) if found.size >= self.jumps else scores.size

    def _reason(self, k: int, scores: FloatArray) -> str:
        if k == scores.size:
            return f"the curve of its scores has fewer than {self.jumps} jumps"
        return f"the curve of its scores jumps before the {ordinal(k + 1)}"


class Knee(ShapeRule):
    """Cut at the knee of the falling, convex score curve; the result there is the last one kept.

    A list without a knee (a straight line, a constant list) is kept whole.

    Examples
    --------
    >>> Knee().predict([[10.0, 9.0, 2.0, 1.8, 1.6, 1.4, 1.2, 1.0]])
    array([3])
    """

    def _cut(self, scores: FloatArray) -> int:
        kneed = require("kneed", feature="Knee", extra="knee")
        ranks = np.arange(1, scores.size + 1)
        found = kneed.KneeLocator(ranks, scores, curve="convex", direction="decreasing")
        return int(scores.size if found.knee is None else found.knee)

    def _reason(self, k: int, scores: FloatArray) -> str:
        if k == scores.size:
            return "the curve of its scores has no knee"
        return f"the curve of its scores bends at the {ordinal(k)}"


class TopP(Truncator):
    """Keep the first results, as long as their share of the softmax mass stays within ``p``.

    The first result is always kept, as in Haystack's ``TopPSampler``.

    Parameters
    ----------
    p
        Largest cumulative probability, in (0, 1].
    temperature
        Divisor of the scores before the softmax. The softmax of cosines is almost flat, so about a
        share ``p`` of any list is kept; give a temperature that suits the scale.

    Examples
    --------
    >>> TopP(0.95).predict([[5.0, 4.0, 1.0, 0.0]])
    array([1])
    """

    parameters: ClassVar = {"p": Real(above=0, high=1), "temperature": Real(above=0)}

    def __init__(self, p: float = 0.95, *, temperature: float = 1.0) -> None:
        self.p = p
        self.temperature = temperature

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        cuts = np.array([self._count(scores) for scores in lists.merit], dtype=np.int64)
        return cuts, Clause(f"one more would hold over {100 * self.p:g} % of the softmax mass")

    def _count(self, scores: FloatArray) -> int:
        if scores.size == 0:
            return 0
        with np.errstate(over="ignore"):  # infinitely far below the best is no mass
            mass = np.cumsum(np.exp((scores - scores[0]) / self.temperature))
        # The same tolerance as in Haystack: 0.95 of 20 equal results is 19 of them.
        return max(int(np.count_nonzero(mass / mass[-1] <= self.p + 1e-6)), 1)
