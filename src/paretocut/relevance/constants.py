"""The constants of `Consensus` and of the models below it, in one place, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Numbers chosen on judged runs; docs/evidence/compare.md compares them with other choices.

    A truncator takes them from its class attribute ``constants``.
    """

    # The vote.
    draws: int = 100  # of the Bayesian bootstrap
    # Judged queries that all other collections together count for. This steadies the vote of ten
    # or twenty queries; fifty hardly need it.
    pseudo_queries: float = 6.0
    # Quantile of the votes at which untrained lists are cut for DCG: how rare relevant results are
    # is not known, and every wrong result that is kept costs.
    unsure: float = 0.25

    # Beliefs about the number of relevant results.
    # Log-odds of relevance per unit of min-max score inside a list, steeper than those of a
    # regression over many lists, which mixes easy and hard queries; and per unit of log rank.
    slope: float = 12.0
    rank_weight: float = -0.25
    share: float = 1 / 3  # upper part of a list's range that is kept if nothing is known
    depth: float = 200.0  # rank to which the range of a shorter list is extended
    # Standard deviation of the logarithm of the number of relevant results of one list, where the
    # mean number is known, and where `expect` is a word.
    number_spread: float = 0.6
    word_spread: float = 0.8
    low_top: float = 0.1  # quantile of the best scores of a system that is still typical of one

    # The regression.
    ridge: float = 20.0  # how strongly it is drawn to the coefficients of other collections
    # Standard errors that log-odds give away before a cut: the best of many uncertain cuts looks
    # better than it is.
    caution: float = 0.5
    folds: int = 5  # of the cross-validation that says whether cuts pay at all
    loss: float = 0.5  # standard errors that cuts must lose there before nothing is kept

    # Lists judged in part.
    # Share of the relevant results that a judge is taken to recognise, if nobody says more. It
    # hardly matters: a judge who finds 80 % makes the number of relevant results 15 % too small.
    found: float = 0.95
    # Shares of the irrelevant results that a judge may call relevant, and the prior of each.
    false_rates: tuple[float, ...] = (0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08)
    false_prior: tuple[float, ...] = (0.16, 0.16, 0.16, 0.16, 0.14, 0.12, 0.10)
    expect_error: float = 0.6  # standard deviation of the logarithm of a stated mean number
    # Share of the belief that stays with the upper third of the range: lists of one system differ
    # more than their mean number says.
    judged_plain: float = 0.1
    whole: int = 20  # with this many lists judged in full, only those are learned from


CONSTANTS = Constants()
