"""Whether to answer at all, by one number that says how sure a list of scores looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Either, Items, Kind, Real, Text, Whole
from paretocut.truncators.base import METRIC, TRUNCATOR, Fitted, Truncator
from paretocut.truncators.evidence import Taught
from paretocut.truncators.search import best_threshold

CONFIDENCES = {
    "max": "its best score",
    "std": "the standard deviation of its scores",
    "gap": "the gap between its first two scores",
    "linear": "its predicted average precision",
}
"""The confidence functions, and what each one looks at."""
_DEEPEST = 10_000  # the linear model solves a system of this size


class Confidence(Truncator):
    """Keep nothing unless a list looks sure enough: by its best scores, or a linear model of them.

    Parameters
    ----------
    by
        The confidence: "max" (best score), "std" (standard deviation), "gap" (first score minus
        second), each over the first ``depth`` scores; or "linear", a ridge regression of the
        list's average precision on these scores.
    base
        What cuts the lists that are answered; None keeps all of such a list.
    abstain
        Share of the training lists to answer with nothing; needs no judgements unless ``by`` is
        "linear". None takes the threshold with the best ``metric`` on the training lists.
    metric
        What the threshold is chosen for: a name, a `Metric` or a function.
    depth
        How many scores are looked at. A shorter list is filled up with its last score.
    penalty
        Ridge penalty of the linear model.

    Attributes
    ----------
    threshold_
        Smallest confidence of a list that is answered.
    coef_, intercept_
        The linear model; empty and 0 for the other confidences.
    base_
        The base, fitted.

    Notes
    -----
    The paper scores whole re-ranking lists of about ten documents, so ``depth`` is 10 here; its
    linear model, the one it recommends, is a ridge regression with penalty 0.1 of average
    precision, nDCG or reciprocal rank on the sorted scores. Ours takes average precision, which
    is 0 for a list that holds nothing relevant. Its other two models, a logistic regression and
    a Mahalanobis distance between good and bad lists, are left out: `Consensus` with
    ``metric="accuracy"`` is a logistic regression on more of the list. Scores must mean the same
    for all queries; those of BM25 do not.

    References
    ----------
    H. Gisserot-Boukhlef, M. Faysse, E. Malherbe, C. Hudelot and P. Colombo, "Towards Trustworthy
    Reranking: A Simple yet Effective Abstention Mechanism", 2024 (arXiv 2402.12997).

    Examples
    --------
    >>> lists = RankedLists(
    ...     [[0.9, 0.5], [0.8, 0.2], [0.4, 0.3], [0.3, 0.2]], [[1, 0], [1, 0], [0, 0], [0, 0]]
    ... )
    >>> gate = Confidence("max").fit(lists)
    >>> gate.cut([0.7, 0.6]).k, gate.cut([0.5, 0.4]).reason
    (2, 'kept none of 2: its best score, 0.5, is below 0.6, learned from 4 judged queries')
    """

    threshold_: float
    coef_: list[float]
    intercept_: float
    base_: Truncator

    parameters: ClassVar = {
        "by": Text(tuple(CONFIDENCES)),
        "base": Either(TRUNCATOR),
        "abstain": Either(Real(above=0, below=1)),
        "metric": METRIC,
        "depth": Whole(2, _DEEPEST),
        "penalty": Real(above=0),
    }

    def __init__(
        self,
        by: Literal["max", "std", "gap", "linear"] = "linear",
        base: Truncator | None = None,
        *,
        abstain: float | None = None,
        metric: MetricLike = "accuracy",
        depth: int = 10,
        penalty: float = 0.1,
    ) -> None:
        self.by = by
        self.base = base
        self.abstain = abstain
        self.metric = metric
        self.depth = depth
        self.penalty = penalty

    @property
    def state(self) -> dict[str, Kind]:
        count = self.depth if self.by == "linear" else 0
        state: dict[str, Kind] = {
            "threshold_": Real(infinite=True),
            "coef_": Items(Real(), size=count),
            "intercept_": Real(),
        }
        return state if self.base is None else {**state, "base_": Fitted()}

    def learn(self, lists: RankedLists) -> None:
        filled = lists.scores.lengths > 0
        if not filled.any():
            raise InvalidParameterError(
                "Confidence: lists must hold at least one result to learn from, got 0"
            )
        self.coef_, self.intercept_ = [], 0.0
        if self.by == "linear":
            target = np.array([_average_precision(part) for part in lists.relevant])[filled]
            self.coef_, self.intercept_ = _ridge(
                _first(lists.merit, self.depth)[filled], target, self.penalty
            )
        if self.base is not None:
            self.base_ = self.base.clone().fit(lists)
        sure = self._confidence(lists)
        if self.abstain is not None:
            self.threshold_ = float(np.quantile(sure[filled], self.abstain))
            return
        curves = metrics.get(self.metric).curves(lists)
        start = curves.offsets[:-1]
        # To answer or not is a list with one result: its threshold is searched like any other.
        pairs = curves.values[np.stack([start, start + self._within(lists)], axis=1)]
        chances = Ragged.from_any(sure[filled, None])
        self.threshold_ = best_threshold(chances, Ragged.from_any(pairs[filled]))

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        sure, within = self._confidence(lists), lists.scores.lengths
        inner: Evidence | None = None
        if self.base is not None:
            within, inner = self.base_.decision(lists)
        # Distances are shown as distances; differences and predictions have no direction.
        sign = -1.0 if self.by == "max" and not lists.higher_is_better else 1.0
        evidence = _Sure(sure, self.threshold_, CONFIDENCES[self.by], sign, self.taught, inner)
        return np.where(sure >= self.threshold_, within, 0), evidence

    def _within(self, lists: RankedLists) -> IntArray:
        """Return how many results are kept of each list if it is answered."""
        return lists.scores.lengths if self.base is None else self.base_.predict(lists)

    def _confidence(self, lists: RankedLists) -> FloatArray:
        """Return the confidence of each list; that of an empty one is the lowest there is."""
        first = _first(lists.merit, self.depth if self.by == "linear" else 2)
        if self.by == "max":
            sure = first[:, 0]
        elif self.by == "std":
            # Of the results there are, not of those the list is filled up with.
            sure = np.array(
                [np.std(part[: self.depth]) if part.size else 0 for part in lists.merit]
            )
        elif self.by == "gap":
            sure = first[:, 0] - first[:, 1]
        else:
            sure = first @ np.array(self.coef_) + self.intercept_
        # Scores near the largest number there is may overflow; they are sure without bound.
        largest = np.finfo(np.float64).max
        sure = np.nan_to_num(sure, nan=largest, posinf=largest, neginf=-largest)
        return np.where(lists.scores.lengths > 0, sure, -np.inf)

    @property
    def taught(self) -> Taught:
        return Taught(self.queries_, judged=self.needs_full_judgements)

    @property
    def needs_full_judgements(self) -> bool:
        return self.abstain is None or self.by == "linear"


@dataclass(frozen=True)
class _Sure:
    """How sure each list makes one, and from where on a list is answered."""

    sure: FloatArray
    threshold: float
    what: str
    sign: float
    taught: str
    inner: Evidence | None
    tails: None = None

    def because(self, i: int, k: int) -> str:
        value = float(self.sure[i])
        answered = value >= self.threshold
        if np.isinf(self.threshold):
            which = "every" if self.threshold < 0 else "no"
            clause = f"to answer {which} list was best, {self.taught}"
        else:
            below, above = ("below", "at least") if self.sign > 0 else ("above", "at most")
            clause = (
                f"{self.what}, {self.sign * value:.3g}, is {above if answered else below} "
                f"{self.sign * self.threshold:.3g}, {self.taught}"
            )
        if self.inner is None or not answered:
            return clause
        return f"{self.inner.because(i, k)} ({clause})"


def _first(merit: Ragged, depth: int) -> FloatArray:
    """Return the first scores of each list, the last one repeated where a list is shorter."""
    table = np.zeros((len(merit), depth))
    filled = merit.lengths > 0
    places = np.minimum(np.arange(depth), merit.lengths[filled, None] - 1)
    table[filled] = merit.values[merit.offsets[:-1][filled, None] + places]
    return table


def _average_precision(relevant: FloatArray) -> float:
    """Return the mean of the precisions at the relevant results, 0 where there is none."""
    ranks = np.flatnonzero(relevant) + 1
    return float(np.mean(np.arange(1, ranks.size + 1) / ranks)) if ranks.size else 0.0


def _ridge(table: FloatArray, target: FloatArray, penalty: float) -> tuple[list[float], float]:
    """Return coefficients and intercept of a ridge regression; the intercept is free."""
    center, middle = table.mean(axis=0), float(target.mean())
    own = table - center
    gram = own.T @ own + penalty * np.eye(own.shape[1])
    coef = np.linalg.solve(gram, own.T @ (target - middle))
    return coef.tolist(), float(middle - center @ coef)
