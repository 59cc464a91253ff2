"""Surprise scores with a cut-off rule that is given, or learned from judged lists."""

from __future__ import annotations

from typing import Literal

import numpy as np

from paretocut import metrics
from paretocut._validation import check_positive_int, check_real
from paretocut.errors import InvalidParameterError
from paretocut.metrics import MetricLike
from paretocut.surprise import SurpriseFits, fit_batch
from paretocut.truncators._base import Truncator
from paretocut.truncators._neighbors import embeddings_of, nearest
from paretocut.truncators._search import Sweep, best_threshold, count_kept
from paretocut.types import IntArray, Ragged, RankedLists

__all__ = ["Surprise"]

_RULES = ("alpha", "evalue", "fdr", "threshold")


class Surprise(Truncator):
    """Keep the results that chance explains badly: a rule on their Surprise scores.

    Parameters
    ----------
    metric
        What a learned threshold maximises: a name, a `Metric` or a function.
    alpha, evalue, fdr, threshold
        A rule, at most one of them; with it there is nothing to fit, and without any of them
        ``alpha=0.05`` is at work until ``fit`` has learned a threshold. See `paretocut.fit`.
    neighbors
        None: one threshold from all training lists; a number: a threshold for each query from
        its nearest training queries, which needs ``query_embeddings``.
    bounds
        Lowest and highest threshold that may be learned; the paper searches (0, 8).
    transform, selection, refit, min_window
        As in `paretocut.fit`.

    Attributes
    ----------
    threshold_
        The learned threshold on the Surprise score (global setting); ``inf`` keeps nothing.
    keys_, curves_, embeddings_
        What the local setting needs of the training lists.

    Notes
    -----
    The surprise of a result is ``-log P(excess >= observed)`` under a generalized Pareto tail
    fitted to the part of its own list taken for not relevant; results with surprise ``t`` or
    more are kept. Learning is exact: all outcomes any ``t`` can have are compared. The fit is
    label-free, so thresholds carry over between queries and systems better than raw scores do;
    it fails where scores carry rank only (reciprocal rank fusion) or most of the list is
    relevant.

    References
    ----------
    D. Bahri, C. Zheng, Y. Tay, D. Metzler and A. Tomkins, "Surprise: Result List Truncation via
    Extreme Value Theory", AISTATS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> noise = -np.log(np.linspace(0.01, 1.0, 100))
    >>> Surprise(evalue=0.05).predict([np.append(noise, [30.0, 31.0]), noise])
    array([2, 0])
    """

    threshold_: float

    _tensor_names = ("keys_", "curves_", "embeddings_")
    _in_place_of_fit = "alpha, evalue, fdr or threshold"

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        alpha: float | None = None,
        evalue: float | None = None,
        fdr: float | None = None,
        threshold: float | None = None,
        neighbors: int | None = None,
        bounds: tuple[float, float] | None = None,
        transform: Literal["identity", "log", "logit", "auto"] = "identity",
        selection: Literal["greedy", "gof"] = "greedy",
        refit: Literal["window", "all"] = "window",
        min_window: int = 5,
    ) -> None:
        self.metric = metric
        self.alpha = alpha
        self.evalue = evalue
        self.fdr = fdr
        self.threshold = threshold
        self.neighbors = neighbors
        self.bounds = bounds
        self.transform = transform
        self.selection = selection
        self.refit = refit
        self.min_window = min_window

    def _rule(self) -> dict[str, float]:
        values = {name: getattr(self, name) for name in _RULES}
        return {name: value for name, value in values.items() if value is not None}

    def _validate(self) -> None:
        # The engine checks its own options and the level of a rule.
        metrics.get(self.metric)
        if len(self._rule()) > 1:
            raise InvalidParameterError(
                f"Surprise: at most one of {', '.join(_RULES)} may be given, "
                f"got {' and '.join(self._rule())}"
            )
        if self.neighbors is not None:
            check_positive_int(self.neighbors, who="Surprise", name="neighbors")
        if self.bounds is not None:
            low, high = self.bounds
            check_real(low, who="Surprise", name="bounds[0]", high=high, closed="both")
            check_real(high, who="Surprise", name="bounds[1]", low=low, closed="both")

    def _learns(self) -> bool:
        return not self._rule()

    def _fit(self, lists: RankedLists) -> None:
        curves = metrics.get(self.metric).curves(lists)
        keys = self._keys(lists)
        if self.neighbors is None:
            self.threshold_ = best_threshold(keys, curves, self.bounds).threshold
        else:
            self.embeddings_ = embeddings_of(lists, who="Surprise")
            self.keys_, self.curves_ = keys, curves

    def _require_fitted(self) -> None:
        if self.neighbors is not None:  # otherwise the default rule needs no training
            super()._require_fitted()

    def _predict(self, lists: RankedLists) -> IntArray:
        if self._rule() or not self._learned():
            return self._fits(lists).cut(
                alpha=self.alpha, evalue=self.evalue, fdr=self.fdr, threshold=self.threshold
            )
        if self.neighbors is None:
            return count_kept(self._keys(lists), self.threshold_)
        sweep = Sweep(self.keys_, self.curves_)
        found = nearest(self.embeddings_, lists, self.neighbors, who="Surprise")
        limits = [sweep.best(rows, bounds=self.bounds).threshold for rows in found]
        return count_kept(self._keys(lists), np.array(limits))

    def _fits(self, lists: RankedLists) -> SurpriseFits:
        return fit_batch(
            lists,
            transform=self.transform,
            selection=self.selection,
            refit=self.refit,
            min_window=self.min_window,
        )

    def _keys(self, lists: RankedLists) -> Ragged:
        return self._fits(lists).surprise

    def _keys_learn(self) -> bool:
        return False
