"""Surprise scores with a cut-off rule that is given, or learned from judged lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions.cuts import Evidence, Tails
from paretocut.decisions.options import FITTING, OPTIONS, RULES, Rule, chosen_rule
from paretocut.errors import InvalidParameterError
from paretocut.lists import IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Either, Items, Kind, Real, Whole
from paretocut.tail import SurpriseFits, fit_lists
from paretocut.tail.rules import RuleEvidence, rule_counts
from paretocut.truncators.base import METRIC, Truncator
from paretocut.truncators.evidence import AgainstLimit
from paretocut.truncators.search import LOCAL, best_threshold, count_kept, embeddings_of, nearest


class Surprise(Truncator):
    """Keep the results that are unlikely to be chance, by a rule on their Surprise scores.

    Parameters
    ----------
    metric
        Metric that a learned threshold maximises: a name, a `Metric` or a function.
    alpha, evalue, fdr, min_surprise, if_unsure
        A rule, at most one of them, as in `paretocut.cut`. With a rule there is nothing to fit.
        Without one, ``alpha=0.05`` applies until ``fit`` has learned a threshold.
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

    References
    ----------
    D. Bahri, C. Zheng, Y. Tay, D. Metzler and A. Tomkins, "Surprise: Result List Truncation via
    Extreme Value Theory", SIGIR 2023.

    Examples
    --------
    >>> import numpy as np
    >>> noise = -np.log(np.linspace(0.01, 1.0, 100))
    >>> Surprise(evalue=0.05).predict([np.append(noise, [30.0, 31.0]), noise])
    array([2, 0])
    """

    parameters: ClassVar[Mapping[str, Kind]] = {
        "metric": METRIC,
        "neighbors": Either(Whole(1)),
        "bounds": Either(Items(Real(infinite=True), size=2)),
        **{name: Either(OPTIONS[name].kind) for name in RULES},
        "if_unsure": OPTIONS["if_unsure"].kind,
        **{name: option.kind for name, option in FITTING.items()},
    }
    instead_of_fit = RULES
    values_need_fit = False

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        alpha: float | None = None,
        evalue: float | None = None,
        fdr: float | None = None,
        min_surprise: float | None = None,
        if_unsure: Literal["keep", "drop"] = "keep",
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
        self.if_unsure = if_unsure
        self.neighbors = neighbors
        self.bounds = bounds
        self.transform = transform
        self.selection = selection
        self.refit = refit
        self.min_window = min_window

    def check(self) -> None:
        super().check()
        chosen_rule("Surprise", {name: getattr(self, name) for name in (*RULES, "if_unsure")})
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise InvalidParameterError(
                f"Surprise: bounds must be a lower and an upper one, got {self.bounds!r}"
            )

    @property
    def needs_fit(self) -> bool:
        return self.learns and self.neighbors is not None  # otherwise the default rule will do

    @property
    def needs_embeddings(self) -> bool:
        return self.neighbors is not None

    @property
    def state(self) -> dict[str, Kind]:
        if self.neighbors is None:
            return {"threshold_": Real(infinite=True)}
        return LOCAL

    def learn(self, lists: RankedLists) -> None:
        curves = metrics.get(self.metric).curves(lists)
        keys = self.result_values(lists)
        if self.neighbors is None:
            self.threshold_ = best_threshold(keys, curves, self.bounds)
        else:
            self.embeddings_ = embeddings_of(lists, who="Surprise")
            self.values_, self.curves_ = keys, curves

    def _rule(self) -> Rule | None:
        """Return the rule that decides, or None when a threshold was learned."""
        for name in RULES:
            level = getattr(self, name)
            if level is not None:
                return Rule(name, float(level), self.if_unsure)
        return None if self.is_fitted else Rule("alpha", 0.05, self.if_unsure)

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        tails, rule = self.tails_of(lists), self._rule()
        if rule is not None:
            return rule_counts(rule, tails), RuleEvidence(rule, tails)
        keys = tails.surprise
        if self.neighbors is None:
            limits = np.full(len(lists), self.threshold_)
        else:
            found = nearest(self.embeddings_, lists, self.neighbors, who="Surprise")
            near = ((self.values_.take(rows), self.curves_.take(rows)) for rows in found)
            limits = np.array([best_threshold(*part, self.bounds) for part in near])
        evidence = AgainstLimit(keys, limits, "surprise", self.taught, tails=tails)
        return count_kept(keys, limits), evidence

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return the names of warnings; see `Truncator.notices`."""
        return tails().warnings

    @property
    def label(self) -> str:
        rule = self._rule()
        return super().label if rule is None else str(rule)

    def tails_of(self, lists: RankedLists) -> SurpriseFits:
        fitting: Any = {name: getattr(self, name) for name in FITTING}
        return fit_lists(lists, fitting)

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return the surprise of each result; see `Truncator.result_values`."""
        return self.tails_of(lists).surprise
