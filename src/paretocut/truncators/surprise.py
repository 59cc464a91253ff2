"""Surprise scores with a cut-off rule that is given, or learned from judged lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions import Cuts
from paretocut.decisions.options import IF_SHALLOW, RULES, FitOptions, Rule, choose_rule
from paretocut.decisions.warnings import SHALLOW
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Kind, Lists, Real
from paretocut.schema.parameters import check_choice, check_positive_int, check_real, shown
from paretocut.tail import SurpriseFits, fit_lists, fit_tail
from paretocut.tail.rules import RuleDecider, least_surprise
from paretocut.truncators._base import Truncator
from paretocut.truncators._neighbors import EMBEDDINGS, embeddings_of, nearest
from paretocut.truncators._reasons import against_limit
from paretocut.truncators._search import best_threshold, count_kept

__all__ = ["Surprise"]

_UNTRAINED = Rule("alpha", 0.05)


class Surprise(Truncator):
    """Keep the results that chance explains badly: a rule on their Surprise scores.

    Parameters
    ----------
    metric
        What a learned threshold maximises: a name, a `Metric` or a function.
    alpha, evalue, fdr, min_surprise
        A rule, at most one of them; with it there is nothing to fit, and without any of them
        ``alpha=0.05`` is at work until ``fit`` has learned a threshold. See
        `paretocut.tail.SurpriseFit.cut`.
    if_shallow
        What a rule does with a list of fewer than 50 results, or of equal scores, of which it
        keeps none: ``"keep"`` all of it, or ``"drop"`` it.
    neighbors
        None: one threshold from all training lists; a number: a threshold for each query from
        its nearest training queries, which needs ``query_embeddings``.
    bounds
        Lowest and highest threshold that may be learned; the paper searches (0, 8).
    transform, selection, refit, min_window
        As in `paretocut.fit_tail`.

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
    _in_place_of_fit = "alpha, evalue, fdr or min_surprise"

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        alpha: float | None = None,
        evalue: float | None = None,
        fdr: float | None = None,
        min_surprise: float | None = None,
        if_shallow: Literal["keep", "drop"] = "keep",
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
        self.min_surprise = min_surprise
        self.if_shallow = if_shallow
        self.neighbors = neighbors
        self.bounds = bounds
        self.transform = transform
        self.selection = selection
        self.refit = refit
        self.min_window = min_window

    def _rule(self) -> Rule | None:
        return choose_rule("Surprise", **{name: getattr(self, name) for name in RULES})

    def _options(self) -> FitOptions:
        return FitOptions(self.transform, self.selection, self.refit, self.min_window)

    def _validate(self) -> None:
        metrics.get(self.metric)
        self._rule()
        self._options().check("Surprise")
        check_choice(self.if_shallow, IF_SHALLOW, who="Surprise", name="if_shallow")
        if self.neighbors is not None:
            check_positive_int(self.neighbors, who="Surprise", name="neighbors")
        if self.bounds is not None:
            if not isinstance(self.bounds, (tuple, list)) or len(self.bounds) != 2:
                raise InvalidParameterError(
                    f"Surprise: bounds must be two numbers or None, got {shown(self.bounds)}"
                )
            low, high = (
                check_real(bound, who="Surprise", name=f"bounds[{i}]", closed="both")
                for i, bound in enumerate(self.bounds)
            )
            check_real(low, who="Surprise", name="bounds[0]", high=high, closed="both")
            check_real(high, who="Surprise", name="bounds[1]", low=low, closed="both")

    def _learns(self) -> bool:
        return self._rule() is None

    def _state(self, given: Mapping[str, Any]) -> dict[str, Kind]:
        if self.neighbors is None:
            return {"threshold_": Real(infinite=True)}
        return {
            "embeddings_": EMBEDDINGS,
            "keys_": Lists("queries", "results"),
            "curves_": Lists("queries", "results", longer=1),
        }

    def _fit(self, lists: RankedLists) -> None:
        curves = metrics.get(self.metric).curves(lists)
        keys = self.keys(lists)
        if self.neighbors is None:
            self.threshold_ = best_threshold(keys, curves, self.bounds).threshold
        else:
            self.embeddings_ = embeddings_of(lists, who="Surprise")
            self.keys_, self.curves_ = keys, curves

    def _require_fitted(self) -> None:
        if self.neighbors is not None:  # otherwise the default rule needs no training
            super()._require_fitted()

    def _decider(self) -> RuleDecider | None:
        """Return the rule at work, or None when a threshold was learned."""
        rule = self._rule()
        if rule is None and not self._learned():
            rule = _UNTRAINED
        return None if rule is None else RuleDecider(rule, self.if_shallow, self._tails)

    def _quick(self, scores: FloatArray, higher_is_better: bool) -> int | None:
        rule = self._rule()
        if rule is None or rule.name == "fdr" or scores.size < SHALLOW:
            return None
        self._validate()
        sign = 1.0 if higher_is_better else -1.0
        if scores[-1] == 0 or not (sign * scores[:-1] >= sign * scores[1:]).all():
            return None
        fitted = fit_tail(scores, higher_is_better=higher_is_better, **self._options().to_dict())
        if not fitted.fitted:
            return None
        return int(np.count_nonzero(fitted.surprise >= least_surprise(rule, fitted.tests)))

    def _predict(self, lists: RankedLists) -> IntArray:
        decider = self._decider()
        if decider is not None:
            return decider.counts(self._tails(lists))
        return count_kept(self.keys(lists), self._limits(lists))

    def _because(self, cuts: Cuts) -> list[str]:
        decider = self._decider()
        if decider is not None:
            return decider._because(cuts)
        limits = self._limits(cuts.lists)
        return against_limit(cuts, cuts.fits.surprise, limits, "surprise", self._taught())

    def _notices(self, cuts: Cuts) -> Sequence[tuple[str, ...]]:
        found: Sequence[tuple[str, ...]] = cuts.fits.warnings
        return found

    def _label(self) -> str:
        decider = self._decider()
        return super()._label() if decider is None else decider._label()

    def _limits(self, lists: RankedLists) -> FloatArray:
        """Return the learned threshold of each list."""
        if self.neighbors is None:
            return np.full(len(lists), self.threshold_)
        found = nearest(self.embeddings_, lists, self.neighbors, who="Surprise")
        near = ((self.keys_.take(rows), self.curves_.take(rows)) for rows in found)
        return np.array([best_threshold(*part, self.bounds).threshold for part in near])

    def _tails(self, lists: RankedLists) -> SurpriseFits:
        return fit_lists(lists, options=self._options())

    def keys(self, lists: RankedLists) -> Ragged:
        """Return the surprise of each result; see `Truncator.keys`.

        Parameters
        ----------
        lists
            The lists.
        """
        return self._tails(lists).surprise

    def keys_learn(self) -> bool:
        """Return False: surprise needs no judgements."""
        return False
