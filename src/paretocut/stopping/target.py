"""A rule that reads a random sample first, and then down to where the sample's finds stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import IntArray
from paretocut.metrics.significance import binomial_cdf, exact_interval
from paretocut.schema.kinds import Either, Kind, Whole
from paretocut.stopping.review import PROBABILITY, UNKNOWN, Recall, Review, Rule

_INTERVAL = 0.9  # confidence of the interval of the recall


class _SampledReview(Review):
    rule: Target

    def __init__(self, rule: Target, total: int) -> None:
        super().__init__(rule, total)
        self._to_draw = rule.draw(total).tolist()[::-1]  # the next one is the last
        self._sample: set[int] = set()  # relevant documents of the sample

    def add(self, relevant: bool, document: int | None = None) -> None:
        super().add(relevant, self._next() if document is None else document)
        while not self._sample_is_full and self._to_draw and self._to_draw[-1] in self._judged:
            if self._judged[drawn := self._to_draw.pop()]:
                self._sample.add(drawn)

    @property
    def _sample_is_full(self) -> bool:
        return len(self._sample) == self.rule.sampled

    def _next(self) -> int | None:
        # The ranking is not begun before the sample is full: how far it got would tell who is in.
        if not self._sample_is_full and self._to_draw:
            return int(self._to_draw[-1])
        return super()._next()

    def _queue(self) -> Iterable[int]:
        return self._rest if self._sample_is_full else reversed(self._to_draw)

    @property
    def trainable(self) -> dict[int, bool]:
        """Documents from which a model may learn: those that the ranking has passed."""
        # A model that has seen the sample's finds would put them first, and the ranking would reach
        # them long before the other relevant documents.
        self._next()
        return {document: self._judged[document] for document in sorted(self._passed)}

    def _arrange(self, first: dict[int, None], blind: bool) -> None:
        if not blind:
            raise InvalidParameterError(
                "Target: an order must be made without the labels of the sample, and without "
                "knowing which documents it holds; learn from review.trainable alone, rank all of "
                "review.unreached, and say only_from_trainable=True, got no such word"
            )
        if missing := [document for document in self.unreached if document not in first]:
            raise InvalidParameterError(
                "Target: an order must hold every document of review.unreached, those of the "
                f"sample too, got one without {len(missing)} of them, such as {missing[0]}"
            )
        super()._arrange(first, blind)

    def _reached(self) -> int:
        self._next()  # moves past documents judged meanwhile
        return len(self._sample & self._passed)

    def _stops(self) -> bool:
        enough = self._sample_is_full and self._reached() >= self.rule.reached
        return enough or len(self._judged) == self.total

    def _recall(self) -> Recall:
        if not self._finds:
            return UNKNOWN
        if not self._sample_is_full:
            return 0.0, len(self._judged) / self.total, (0.0, 1.0)  # a random part of everything
        j, r = self._reached(), self.rule.sampled
        # The lower end of a two-sided interval is a bound with half the error.
        bound, _ = exact_interval(j, r, 2 * self.rule.confidence - 1)
        low, high = exact_interval(j, r, _INTERVAL)
        return round(float(bound), 9), j / r, (round(float(low), 9), round(float(high), 9))

    def _ahead(self) -> tuple[int, int]:
        if not self._sample_is_full:
            done, drawn = len(self._sample), self.total - len(self._to_draw)
            wanted, unread = self.rule.sampled - done, self.total - len(self._judged)
            return unread, min(round(wanted * drawn / done), unread) if done else unread
        # The ranking says where the sample's finds stand.
        wanted, unread = self.rule.reached - self._reached(), 0
        for document in self._rest:
            wanted -= document in self._sample
            unread += document not in self._judged
            if not wanted:
                break
        return unread, unread


@dataclass(frozen=True)
class Target(Rule):
    """Read a random sample until it has enough relevant documents, then the ranking down to most.

    The relevant documents in a random sample are a random draw of all relevant documents. Once the
    ranking has reached enough of them, it has reached the recall, whatever the ranking.

    Parameters
    ----------
    recall
        Share of the relevant documents to find.
    confidence
        Confidence that the recall is reached. It holds for any ranking, however often you look,
        and for any new order of the rest that was made without the labels of the sample.
    finds
        Relevant documents that the sample must hold; by default the fewest that support the
        promise: 14, 29 and 59 for a recall of 0.8, 0.9 and 0.95. With more, a few of them may be
        missed, and less of the ranking needs to be read.
    seed
        Of the sample.

    Notes
    -----
    With r finds in the sample the ranking is read until it has reached j of them: the smallest j
    for which a binomial of r trials with probability ``recall`` stays below j with this confidence,
    the quantile bound of QBCB. If the collection has fewer than r relevant documents, all is read.
    A model may reorder the rest if it learns only from ``review.trainable``.

    References
    ----------
    D. D. Lewis, E. Yang, O. Frieder, "Certifying one-phase technology-assisted reviews", CIKM 2021.

    Examples
    --------
    >>> relevant = ([True, False] * 200) + [False] * 4600
    >>> Target(recall=0.8).replay(relevant)
    675
    """

    recall: float = 0.95
    confidence: float = 0.95
    finds: int | None = None
    seed: int = 0
    parameters: ClassVar[Mapping[str, Kind]] = {
        "recall": PROBABILITY,
        "confidence": PROBABILITY,
        "finds": Either(Whole(1)),
        "seed": Whole(),
    }
    follows = _SampledReview

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.finds is not None and self.finds < self._fewest:
            raise InvalidParameterError(
                f"Target: finds must be at least {self._fewest} for a recall of {self.recall:g} "
                f"with confidence {self.confidence:g}, got {self.finds}"
            )

    @property
    def _fewest(self) -> int:
        """Sampled finds of which all must be reached."""
        return math.ceil(math.log(1 - self.confidence) / math.log(self.recall))

    @cached_property
    def sampled(self) -> int:
        """Relevant documents that the sample must hold."""
        return self.finds or self._fewest

    @cached_property
    def reached(self) -> int:
        """How many of them the ranking must reach."""
        fewer = binomial_cdf(np.arange(self.sampled - 1), self.sampled, self.recall)
        return 1 + int(np.searchsorted(fewer, self.confidence))

    def first_stop(self, finds: IntArray, total: int) -> int:
        """Return how many of ``total`` documents are read, given the places of all ``finds``."""
        if finds.size < self.sampled:
            return total
        order = self.draw(total)
        drawn = int(np.flatnonzero(np.isin(order, finds))[self.sampled - 1]) + 1
        sample = order[:drawn]
        depth = int(np.sort(sample[np.isin(sample, finds)])[self.reached - 1]) + 1
        return depth + int(np.count_nonzero(sample >= depth))

    def draw(self, total: int) -> IntArray:
        """Return all of ``total`` documents in the order in which the sample is drawn."""
        return np.random.default_rng(self.seed).permutation(total)

    def promise(self) -> str:
        """Return what the rule promises, in a sentence."""
        return (
            f"With {percent(self.confidence, exact=True)} confidence at least "
            f"{percent(self.recall, exact=True)} of the "
            f"relevant documents were found: the ranking has reached {self.reached} of the "
            f"{self.sampled} in a random sample (QBCB of Lewis, Yang and Frieder 2021)"
        )
