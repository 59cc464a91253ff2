"""Metrics of a cut, each a curve over every possible cut ``k = 0..n`` of a list.

So the best ``k`` is an argmax, and the value of a prediction is a lookup. If a fraction would be
0/0 (nothing kept, nothing relevant), the value is 0, as in trec_eval. `get` finds a metric by its
name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import BoolArray, FloatArray, Ragged, RankedLists
from paretocut.lists.columns import check_cuts
from paretocut.schema.parameters import (
    check_choice,
    check_int,
    check_positive_int,
    check_real,
    shown,
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

CurveFunction: TypeAlias = Callable[..., ArrayLike]


@dataclass(frozen=True, repr=False)
class Metric:
    """A metric of cuts; call it with lists and cuts to get one value per list.

    Parameters
    ----------
    name
        Its name in `get` and in tables.
    function
        Takes the relevance of a list's results (booleans, best first) and the number of relevant
        documents in the collection; returns the values at ``k = 0..n``.
    settings
        Keywords of the function, such as ``beta``.

    Examples
    --------
    >>> f1.curve([True, False, True]).round(2)
    array([0.  , 0.67, 0.5 , 0.8 ])
    >>> lists = RankedLists([[3.0, 2.0, 1.0]], relevance=[[1, 0, 1]])
    >>> f1(lists, [1]).round(2)
    array([0.67])
    """

    name: str = field(compare=False)
    function: CurveFunction
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def curve(self, relevant: ArrayLike, num_relevant: int | None = None) -> FloatArray:
        """Return the value of every cut ``k = 0..n`` of one list.

        Parameters
        ----------
        relevant, num_relevant
            Which results are relevant, best first, and how many documents of the collection are; by
            default those in the list.
        """
        flags = _flags(relevant)
        total = int(flags.sum())
        if num_relevant is not None:
            total = check_int(num_relevant, who="Metric", name="num_relevant")
        given = self.function(flags, total, **self.settings)
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.empty(0)
        if values.shape != (flags.size + 1,) or not np.isfinite(values).all():
            raise InvalidParameterError(
                f"Metric: {self.name} must give {flags.size + 1} finite values, one for each cut "
                f"0..{flags.size}, got {shown(given)}"
            )
        return values

    def curves(self, lists: RankedLists) -> Ragged:
        """Return the value of every cut of ``lists``: ``n + 1`` values for each list."""
        if self.function is _reranked_ndcg:
            return _reranked_curves(lists, **self.settings)
        parts = [
            self.curve(relevant, total)
            for relevant, total in zip(lists.relevant, lists.num_relevant, strict=True)
        ]
        return Ragged.from_any(parts, dtype=np.float64)

    def __call__(self, lists: RankedLists, k: ArrayLike) -> FloatArray:
        """Return the value of one cut ``k`` for all judged lists, or of one cut for each."""
        curves = self.curves(lists)
        cuts = np.minimum(check_cuts(k, len(lists), who="Metric"), lists.scores.lengths)
        values: FloatArray = curves.values[curves.offsets[:-1] + cuts]
        return values

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"


MetricLike: TypeAlias = str | Metric | CurveFunction
"""A metric, its name, or a function that makes one."""


def _flags(relevant: ArrayLike) -> BoolArray:
    """Return which results are relevant, as booleans in a row."""
    try:
        given = np.asarray(relevant)
        if given.dtype.kind not in "biuf" and given.size:
            raise TypeError
        flags = given.astype(bool)
    except (TypeError, ValueError):
        flags = np.empty((0, 0), dtype=bool)
    if flags.ndim != 1:
        raise InvalidScoresError(
            f"Metric: relevant must be true or false for each result, got {shown(relevant)}"
        )
    return flags


def _sums(gains: BoolArray | FloatArray) -> FloatArray:
    """Return the sum over the first k results, k = 0..n."""
    sums = np.zeros(gains.size + 1)
    np.cumsum(gains, out=sums[1:])
    return sums


def _ratio(numerator: FloatArray, denominator: FloatArray | float) -> FloatArray:
    return np.divide(
        numerator, denominator, out=np.zeros_like(numerator), where=np.asarray(denominator) > 0
    )


def _f_beta(relevant: BoolArray, num_relevant: int, *, beta: float, recall_base: str) -> FloatArray:
    base = num_relevant if recall_base == "collection" else int(relevant.sum())
    hits = _sums(relevant)
    # (1 + b^2) P R / (b^2 P + R) with P = hits / k and R = hits / base.
    square = beta * beta
    return _ratio((1 + square) * hits, np.arange(hits.size, dtype=np.float64) + square * base)


def _dcg(relevant: BoolArray, num_relevant: int, *, other: float) -> FloatArray:
    return _sums(np.where(relevant, 1.0, other) / np.log2(np.arange(2, relevant.size + 2)))


def _accuracy(relevant: BoolArray, num_relevant: int) -> FloatArray:
    right = _sums(relevant) > 0
    right[0] = num_relevant == 0
    return right.astype(np.float64)


def _precision(relevant: BoolArray, num_relevant: int) -> FloatArray:
    hits = _sums(relevant)
    return _ratio(hits, np.arange(hits.size, dtype=np.float64))


def _recall(relevant: BoolArray, num_relevant: int) -> FloatArray:
    return _ratio(_sums(relevant), float(num_relevant))


def _utility(relevant: BoolArray, num_relevant: int, *, gain: float, cost: float) -> FloatArray:
    hits = _sums(relevant)
    return gain * hits - cost * (np.arange(hits.size) - hits)


def _reranked_ndcg(
    relevant: BoolArray, num_relevant: int, *, at: int, cost: float, scores: Any, grades: Any
) -> FloatArray:
    if scores is not None or grades is not None:
        raise InvalidParameterError(
            "reranked_ndcg: the curve of one list needs its query and documents; give curves "
            "the lists, got relevance alone"
        )
    gains = relevant.astype(np.float64)
    return _after_reranking(gains, gains, gains, at, cost)


def _reranked_curves(
    lists: RankedLists,
    *,
    at: int,
    cost: float,
    scores: Mapping[str, Mapping[str, float]] | None,
    grades: Mapping[str, tuple[float, ...]] | None,
) -> Ragged:
    relevant = lists.relevant  # refuses lists with unknown grades
    assert lists.relevance is not None
    given = lists.relevance if lists.relevance.values.dtype.kind != "b" else relevant
    if scores is not None and lists.doc_ids is None:
        raise InvalidScoresError(
            "reranked_ndcg: lists must have doc_ids, to find them in the re-ranked lists; got none"
        )
    parts = []
    for i, (query, own) in enumerate(zip(lists.query_ids.tolist(), given, strict=True)):
        merit = ideal = gains = np.maximum(own.astype(np.float64), 0.0)
        if scores is not None and lists.doc_ids is not None:
            merit = _reranked_merit(query, lists.doc_ids[i].tolist(), scores)
        if grades is not None:
            if query not in grades:
                raise InvalidParameterError(
                    f"reranked_ndcg: grades must have every query, got none for {query!r}"
                )
            ideal = np.maximum(np.asarray(grades[query]), 0.0)
        parts.append(_after_reranking(gains, merit, ideal, at, cost))
    return Ragged.from_any(parts, dtype=np.float64)


def _reranked_merit(
    query: str, documents: list[str], scores: Mapping[str, Mapping[str, float]]
) -> FloatArray:
    if query not in scores:
        raise InvalidScoresError(
            f"reranked_ndcg: the re-ranked lists must have every query, got none for {query!r}"
        )
    known = scores[query]
    if missing := [document for document in documents if document not in known]:
        raise InvalidScoresError(
            f"reranked_ndcg: query {query!r}: the re-ranked list must have every result, "
            f"got no score for {missing[0]!r} and {len(missing) - 1} others"
        )
    return np.array([known[document] for document in documents], dtype=np.float64)


def _after_reranking(
    gains: FloatArray, merit: FloatArray, ideal: FloatArray, at: int, price: float
) -> FloatArray:
    """Return nDCG after re-ranking the first k results by ``merit``, minus the price of k calls."""
    discount = 1 / np.log2(np.arange(2, at + 2))
    best = -np.sort(-ideal)[:at]
    most = float(best @ discount[: best.size])
    cost = price * np.arange(gains.size + 1)
    if most == 0:
        return np.asarray(-cost, dtype=np.float64)
    # The first ``at`` of the re-ranked results; a new one moves the lower ones down. Equal
    # scores keep the order of the list, so a new result goes after its equals.
    keys: list[float] = []
    kept: list[float] = []
    table = np.zeros((gains.size + 1, at))
    table[0, : min(at, gains.size)] = gains[:at]
    for k, (key, gain) in enumerate(zip((-merit).tolist(), gains.tolist(), strict=True), 1):
        place = bisect_right(keys, key)
        if place < at:
            keys.insert(place, key)
            kept.insert(place, gain)
            del keys[at:], kept[at:]
        table[k, : len(kept)] = kept
        # Below them stand the results that were not re-ranked, as they stood.
        rest = gains[k : k + at - len(kept)]
        table[k, len(kept) : len(kept) + rest.size] = rest
    return table @ discount / most - cost


def f_beta(beta: float, *, recall_base: Literal["retrieved", "collection"] = "retrieved") -> Metric:
    """Return the F-beta metric: recall counts ``beta`` times as much as precision.

    Parameters
    ----------
    beta
        Positive weight; 1 is F1.
    recall_base
        "retrieved": recall is a share of the relevant results in the list, because no cut recovers
        what the retriever missed; "collection": of all relevant documents, as in trec_eval.
    """
    # Beyond these, the square overflows, and the metric is recall.
    weight = check_real(beta, who="f_beta", name="beta", low=0, high=1e100)
    base = check_choice(recall_base, ("retrieved", "collection"), who="f_beta", name="recall_base")
    name = f"f{weight:.17g}" + ("/collection" if base == "collection" else "")
    return Metric(name, _f_beta, {"beta": weight, "recall_base": base})


def utility(gain: float = 1.0, cost: float = 1.0) -> Metric:
    """Return a linear utility: ``gain`` per relevant result kept, ``-cost`` per irrelevant one.

    Parameters
    ----------
    gain, cost
        0 or more.

    Examples
    --------
    >>> utility(2, 1).curve([True, False, True])
    array([0., 2., 1., 3.])
    """
    # Sums over a list must stay finite.
    worth = check_real(gain, who="utility", name="gain", low=0, high=1e100, closed="low")
    price = check_real(cost, who="utility", name="cost", low=0, high=1e100, closed="low")
    return Metric(f"utility({worth:.17g},{price:.17g})", _utility, {"gain": worth, "cost": price})


def reranked_ndcg(
    reranked: RankedLists | None = None,
    *,
    at: int = 10,
    cost: float = 0.0,
    grades: Mapping[str, ArrayLike] | None = None,
) -> Metric:
    """Return the value of re-ranking the first k results: nDCG after it, minus its cost.

    Parameters
    ----------
    reranked
        The same results with the re-ranker's scores, found by query id and document id; None means
        a re-ranker that knows the grades, the best possible one.
    at
        How many results nDCG looks at.
    cost
        Cost of re-ranking one result, in units of nDCG.
    grades
        The grades of all judged documents, by query id, for the ideal order of nDCG. By default
        those in the list.

    Examples
    --------
    >>> lists = RankedLists([[3.0, 2.0, 1.0]], [[0, 0, 1]], doc_ids=[["a", "b", "c"]])
    >>> second = RankedLists([[0.2, 0.9, 0.7]], doc_ids=[["a", "b", "c"]])
    >>> reranked_ndcg(second, cost=0.01).curves(lists)[0].round(3).tolist()
    [0.5, 0.49, 0.48, 0.601]
    """
    depth = check_positive_int(at, who="reranked_ndcg", name="at")
    price = check_real(cost, who="reranked_ndcg", name="cost", low=0, closed="low")
    settings: dict[str, Any] = {"at": depth, "cost": price, "scores": None, "grades": None}
    if reranked is not None:
        if not isinstance(reranked, RankedLists) or reranked.doc_ids is None:
            got = "none" if isinstance(reranked, RankedLists) else type(reranked).__name__
            raise InvalidScoresError(
                f"reranked_ndcg: reranked must be RankedLists with doc_ids, got {got}"
            )
        rows = zip(reranked.query_ids.tolist(), reranked.doc_ids, reranked.merit, strict=True)
        settings["scores"] = {
            query: dict(zip(documents.tolist(), merit.tolist(), strict=True))
            for query, documents, merit in rows
        }
    if grades is not None:
        settings["grades"] = {
            query: tuple(np.asarray(own, dtype=np.float64)) for query, own in grades.items()
        }
    return Metric(f"reranked_ndcg@{depth}({price:.17g})", _reranked_ndcg, settings)


f1 = f_beta(1)
"""Harmonic mean of precision and recall, recall over the relevant results in the list."""
dcg = Metric("dcg", _dcg, {"other": 0.0})
"""Sum of ``1 / log2(i + 1)`` over the relevant results kept, all grades alike.

It never falls as more is kept, so it compares rankings and cannot choose a cut.
"""
penalized_dcg = Metric("penalized_dcg", _dcg, {"other": -1.0})
"""Sum of ``+1 / log2(i + 1)`` for relevant and ``-1 / log2(i + 1)`` for other results kept.

The DCG of the papers on truncation: results that are not relevant count against a cut.
"""
accuracy = Metric("accuracy", _accuracy)
"""1 when nothing is kept and nothing is relevant, or when a relevant result is kept; else 0."""
precision = Metric("precision", _precision)
"""Share of the results kept that are relevant."""
recall = Metric("recall", _recall)
"""Share of the relevant documents of the collection that are kept."""

_NAMED = {metric.name: metric for metric in (f1, penalized_dcg, dcg, accuracy, precision, recall)}
_F_BETA = re.compile(r"f(\d+\.?\d*(?:e[+-]?\d+)?)(/collection)?")
_UTILITY = re.compile(r"utility\(([^,]+),([^,]+)\)")
_RERANKED = re.compile(r"reranked_ndcg@(\d+)\(([^,]+)\)")


def names() -> Iterable[str]:
    """Return the names that `get` knows; the last three are patterns."""
    return [*_NAMED, "f<beta>[/collection]", "utility(<gain>,<cost>)", "reranked_ndcg@<at>(<cost>)"]


def is_share(name: str) -> bool:
    """Return whether the values of the metric of this name lie between 0 and 1."""
    return name in ("accuracy", "precision", "recall") or bool(_F_BETA.fullmatch(name))


def get(metric: MetricLike) -> Metric:
    """Return the metric of this name, the metric itself, or a metric made of a function.

    Parameters
    ----------
    metric
        One of `names`, such as "f1/collection", a `Metric`, or a function of (relevant,
        num_relevant) that gives the values at ``k = 0..n``.

    Examples
    --------
    >>> get("f0.5") == f_beta(0.5)
    True
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric in _NAMED:
            return _NAMED[metric]
        if match := _F_BETA.fullmatch(metric):
            return f_beta(float(match[1]), recall_base="collection" if match[2] else "retrieved")
        try:
            if match := _UTILITY.fullmatch(metric):
                return utility(float(match[1]), float(match[2]))
            if match := _RERANKED.fullmatch(metric):
                return reranked_ndcg(at=int(match[1]), cost=float(match[2]))
        except ValueError:
            pass  # not numbers: fall through to the list of what is allowed
    elif callable(metric):
        return Metric(getattr(metric, "__name__", type(metric).__name__), metric)
    raise InvalidParameterError(
        f"metrics.get: metric must be a Metric, a function or one of {', '.join(names())}, "
        f"got {shown(metric)}"
    )
