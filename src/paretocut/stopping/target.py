"""A rule that reads a random sample first, and then down to where the sample's finds stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import IntArray
from paretocut.metrics.significance import exact_interval
from paretocut.schema.kinds import Kind, Whole
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
        enough = self._sample_is_full and self._reached() >= self.rule.sampled
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
        wanted, unread = self.rule.sampled - self._reached(), 0
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
    ranking has reached all that the sample must hold, it has reached the recall, for any ranking.

    Parameters
    ----------
    recall
        Share of the relevant documents to find. The sample must hold 14, 29 or 59 relevant
        documents for a recall of 0.8, 0.9 or 0.95; where there are fewer, everything is read.
    confidence
        Confidence that the recall is reached, however often you look. It holds for any new order of
        the rest that a model made which learned from ``review.trainable`` alone.
    seed
        Of the sample.

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
    seed: int = 0
    parameters: ClassVar[Mapping[str, Kind]] = {
        "recall": PROBABILITY,
        "confidence": PROBABILITY,
        "seed": Whole(),
    }
    follows = _SampledReview

    @property
    def sampled(self) -> int:
        """The fewest relevant documents in a sample that support the promise if all are reached."""
        return math.ceil(math.log(1 - self.confidence) / math.log(self.recall))

    def first_stop(self, finds: IntArray, total: int) -> int:
        """Return how many of ``total`` documents are read, given the places of all ``finds``."""
        if finds.size < self.sampled:
            return total
        order = self.draw(total)
        found = np.flatnonzero(np.isin(order, finds))[: self.sampled]
        depth = int(order[found].max()) + 1
        return depth + int(np.count_nonzero(order[: found[-1] + 1] >= depth))

    def draw(self, total: int) -> IntArray:
        """Return all of ``total`` documents in the order in which the sample is drawn."""
        return np.random.default_rng(self.seed).permutation(total)

    def promise(self) -> str:
        """Return what the rule promises, in a sentence."""
        return (
            f"With {percent(self.confidence, exact=True)} confidence at least "
            f"{percent(self.recall, exact=True)} of the "
            f"relevant documents were found: the ranking has reached {self.sampled} of the "
            f"{self.sampled} in a random sample (QBCB of Lewis, Yang and Frieder 2021)"
        )
