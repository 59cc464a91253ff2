"""The constants of `Consensus` and of the models below it, in one place, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Numbers chosen on judged runs; docs/evidence/compare.md compares them with other choices.

    A truncator takes them from its class attribute ``constants``.
    """

    draws: int = 100
    """Draws of the Bayesian bootstrap."""
    pseudo_queries: float = 6.0
    """Judged queries that all other collections together count for. This steadies the vote of
    ten or twenty queries; fifty hardly need it."""
    unsure: float = 0.25
    """Quantile of the votes at which untrained lists are cut for DCG: how rare relevant results
    are is not known, and every wrong result that is kept costs."""
    slope: float = 12.0
    """Log-odds of relevance per unit of min-max score inside a list. It is steeper than that of a
    regression over many lists, which mixes easy and hard queries."""
    rank_weight: float = -0.25
    """Log-odds of relevance per unit of log rank inside a list."""
    share: float = 1 / 3
    """Upper part of a list's range that is kept if nothing is known."""
    depth: float = 200.0
    """Rank to which the range of a shorter list is extended."""
    number_spread: float = 0.6
    """Standard deviation of the logarithm of the number of relevant results of one list, where
    the mean number is known."""
    word_spread: float = 0.8
    """The same if `expect` is a word."""
    low_top: float = 0.1
    """Quantile of the best scores of a system that is still typical of a best score."""
    ridge: float = 20.0
    """How strongly the regression is drawn to the coefficients of other collections."""
    caution: float = 0.5
    """Standard errors that log-odds give away before a cut: the best of many uncertain cuts
    looks better than it is."""
    folds: int = 5
    """Folds of the cross-validation that says whether cuts pay at all."""
    loss: float = 0.5
    """Standard errors by which cross-validated cuts must lose before nothing is kept."""
    dense: int = 100
    """Ranks up to which every result of another collection is learned from."""
    found: float = 0.95
    """Share of the relevant results that a judge is taken to recognise, if nobody says more. It
    hardly matters: a judge who finds 80 % makes the number of relevant results 15 % too small."""
    false_rates: tuple[float, ...] = (0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08)
    """Shares of the irrelevant results that a judge may call relevant; the judgements decide."""
    false_prior: tuple[float, ...] = (0.16, 0.16, 0.16, 0.16, 0.14, 0.12, 0.10)
    """Prior probability of each of them."""
    expect_error: float = 0.6
    """Standard deviation of the logarithm of the mean number that `expect` states, where some
    results were judged too."""
    judged_plain: float = 0.1
    """Share of the belief that stays with the upper third of the range if some results were judged:
    lists of one system differ more than their mean number says."""
    whole: int = 20
    """With at least this many lists judged in full, only those are learned from."""
    step: int = 10
    """Below rank `dense` results are many and much alike: every `step`-th of them is used."""


CONSTANTS = Constants()
