"""The rules: by a run without a find, as earlier reviews needed it, or by a random sample."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import IntArray
from paretocut.lists.columns import check_groups
from paretocut.metrics.significance import exact_interval
from paretocut.schema.files import register, save_model, shipped
from paretocut.schema.kinds import Items, Kind, Real, Whole, checked
from paretocut.stopping.review import PROBABILITY, RECALL, UNKNOWN, Recall, Review, Rule, as_finds
from paretocut.stopping.urns import fatal_miss, least_pvalue, long_enough, needed

_SAMPLE_INTERVAL = 0.9  # confidence of the interval of the recall
_HAIR = 1e-9  # p-values that should equal the level may be a little lower
# `Quantile` tests for this share of the loss allowed. The least p-value of many urns is lower than
# that of few, so large reviews would stop too early; a stricter test holds them back.
_LOSS_TESTED = 0.5


@dataclass(frozen=True)
class Certificate(Rule):
    """Stop after a run of irrelevant documents that is too long for a review short of the recall.

    It needs a ranking that is at least as good as a random order: each document read is relevant
    at least as often as one drawn from the unread ones. Then the promise holds, however often you
    look and however you reorder the rest.

    Parameters
    ----------
    recall
        Share of the relevant documents to find.
    confidence
        Confidence that the recall is reached when the rule stops.

    References
    ----------
    M. W. Callaghan, F. Mueller-Hansen, "Statistical stopping criteria for automated screening in
    systematic reviews", Systematic Reviews 9, 2020. Their test takes the best of many urns at each
    look, and stops too early in up to half of the reviews in a random order; this one does not.

    Examples
    --------
    >>> relevant = [True] * 40 + [False, True] * 10 + [False] * 940
    >>> Certificate(recall=0.95, confidence=0.95).replay(relevant)
    705
    """

    recall: float = 0.95
    confidence: float = 0.95
    parameters: ClassVar[Mapping[str, Kind]] = {"recall": RECALL, "confidence": PROBABILITY}

    def stops(self, finds: IntArray, read: int, total: int) -> bool:
        """Return whether the last run is long enough; see `Rule.stops`."""
        return long_enough(finds, read, total, self.recall, 1 - self.confidence)

    def promise(self) -> str:
        """Return the promise of the rule, in a sentence."""
        return (
            f"With {percent(self.confidence, exact=True)} confidence at least "
            f"{percent(self.recall, exact=True)} of the relevant documents were found, if the "
            "ranking is no worse than a random order"
        )


@dataclass(frozen=True)
class Earlier:
    """What was learned from finished reviews."""

    least: list[float]  # p-values before the recall was reached, one per review or group; rising
    # The smallest and the largest of the reviews.
    totals: list[int]  # documents
    shares: list[float]  # of relevant ones
    depths: list[float]  # mean depth of the finds up to the recall, as a share of the list
    copies: int = 0  # reviews that were left out because an equal one was there

    @classmethod
    def of(
        cls, reviews: Iterable[Any], groups: Iterable[Any] | None, recall: float, tested: float
    ) -> Earlier:
        """Return what is learned for one recall: equal reviews count once, and so do groups."""
        least: dict[Any, float] = {}
        seen: set[tuple[int, bytes]] = set()
        facts: list[tuple[int, float, float]] = []
        given = [as_finds(relevances, "Quantile") for relevances in reviews]
        some = range(len(given)) if groups is None else groups
        names = check_groups(some, len(given), "Quantile").tolist()
        for i, (finds, total) in enumerate(given):
            if not finds.size:
                raise InvalidScoresError(
                    f"each earlier review must have a relevant document, got none in number {i}",
                    who="Quantile",
                )
            if (same := (total, finds.tobytes())) in seen:
                continue
            seen.add(same)
            lowest, enough = least.get(names[i], 1.0), needed(finds.size, recall)
            for found in range(1, enough):
                missed = fatal_miss(found, tested)
                lowest = least_pvalue(finds[:found], int(finds[found]), total, missed, below=lowest)
            least[names[i]] = lowest
            facts.append((total, finds.size / total, float(np.mean(finds[:enough] + 1)) / total))
        if not least:
            raise InvalidParameterError(
                "earlier_reviews must hold reviews, got none", who="Quantile"
            )
        totals, shares, depths = ([min(values), max(values)] for values in zip(*facts, strict=True))
        return cls(sorted(least.values()), totals, shares, depths, len(given) - len(seen))


_RANGE = Items(Real(above=0, high=1), size=2)
_STATE: dict[str, Kind] = {
    "least": Items(Real(0, 1)),
    "totals": Items(Whole(1), size=2),
    "shares": _RANGE,
    "depths": _RANGE,
    "copies": Whole(),
}


@cache
def learned() -> dict[str, Any]:
    """Return the values of the shared reviews; `experiments.stop` writes them."""
    return shipped("stopping.json")


@dataclass(frozen=True)
class Quantile(Rule):
    """Stop where earlier reviews had found enough: fewer documents than `Certificate` needs.

    It stops at the p-value of an urn test whose level is a conformal quantile of what finished
    reviews would have needed, so that a share ``reliability`` of similar ones reaches the recall. A
    single review may fall short. One unlike the earlier ones in length, share of relevant
    documents or depth of the finds gets a warning: the promise does not cover it.

    Parameters
    ----------
    recall
        Share of the relevant documents to find. Without `fit`, one of 0.7, 0.8, 0.9, 0.95, 0.98 and
        1, for which the package ships levels from 58 rankings of 43 medical reviews.
    reliability
        Share of the reviews in which the recall must be reached.

    Attributes
    ----------
    earlier_
        Learned by `fit`; None before, when the shipped levels are used.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> odds = 0.5 * np.exp(-np.arange(500) / 60)
    >>> earlier = rng.random((40, 500)) < odds
    >>> rule = Quantile(recall=0.9, reliability=0.9).fit(earlier)
    >>> rule.replay(earlier[0]), Certificate(recall=0.9).replay(earlier[0])
    (238, 407)
    """

    recall: float = 0.95
    reliability: float = 0.9
    parameters: ClassVar[Mapping[str, Kind]] = {"recall": RECALL, "reliability": PROBABILITY}
    earlier_: Earlier | None = field(default=None, init=False, repr=False)

    def fit(
        self, earlier_reviews: Iterable[ArrayLike], *, groups: Iterable[Hashable] | None = None
    ) -> Self:
        """Return the rule itself, with its level learned from finished reviews.

        Parameters
        ----------
        earlier_reviews
            For each review, True or False for each of its documents in the order of reading. Copies
            count once; ``earlier_.copies`` says how many were left out.
        groups
            For each review, the group that it belongs to, such as two rankings of one collection.
            A group counts once, by the review of it that needed most. By default each is alone.
        """
        self._learn(Earlier.of(earlier_reviews, groups, self.recall, self.tested))
        return self

    def _learn(self, earlier: Earlier) -> None:
        self._level(earlier)  # refuses too few reviews
        object.__setattr__(self, "earlier_", earlier)

    @property
    def tested(self) -> float:
        """The recall that the urn test is made for, stricter than the one promised."""
        return 1 - _LOSS_TESTED * (1 - self.recall)

    @property
    def level(self) -> float:
        """The p-value below which the rule stops."""
        return self._level(self._known())

    def stops(self, finds: IntArray, read: int, total: int) -> bool:
        """Return whether the p-value of ``finds`` in ``read`` of ``total`` is below the level."""
        missed, level = fatal_miss(len(finds), self.tested), self.level
        return least_pvalue(finds, read, total, missed, below=level) < level

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule and its learned state as one JSON file, ``path``; `pc.load` reads it."""
        save_model(path, "stopping", self)

    def _known(self) -> Earlier:
        if self.earlier_ is not None:
            return self.earlier_
        content = learned()
        least = content["least"].get(f"{self.recall:g}")
        if least is None:
            raise InvalidParameterError(
                f"Quantile: recall must be one of {', '.join(content['least'])} without fit, got "
                f"{self.recall:g}; fit(earlier_reviews) allows any"
            )
        return Earlier(
            least, content["totals"], content["shares"], content["means"][f"{self.recall:g}"]
        )

    def _level(self, earlier: Earlier) -> float:
        count = len(earlier.least)
        rank = math.floor((count + 1) * (1 - self.reliability) + _HAIR)
        if rank < 1:
            fewest = math.ceil(1 / (1 - self.reliability) - _HAIR) - 1
            raise InvalidParameterError(
                f"Quantile: a reliability of {self.reliability:g} needs at least {fewest} earlier "
                f"reviews, got {count}"
                + (f" and {earlier.copies} copies of them" if earlier.copies else "")
            )
        return earlier.least[rank - 1] * (1 - _HAIR)

    def promise(self) -> str:
        """Return the promise of the rule, in a sentence."""
        count = len(self._known().least)
        whose = f"{count} rankings of finished reviews"
        if self.earlier_ is None:
            whose = f"the {count} rankings of medical reviews that paretocut has learned from"
        return (
            f"In {percent(self.reliability, exact=True)} of reviews like {whose}, this rule "
            f"finds at least {percent(self.recall, exact=True)} of the relevant documents"
        )

    def warnings(self, total: int, depth: float, share: float | None) -> tuple[str, ...]:
        """Return how the review differs from the earlier ones; see `Rule.warnings`."""
        known, found = self._known(), []

        def differs(here: str, low: str, high: str) -> None:
            found.append(f"unlike the earlier reviews: {here}, they had {low} to {high}")

        def shares(*values: float) -> tuple[str, ...]:
            return tuple(percent(round(one, 4), exact=True) for one in values)

        low, high = known.totals
        if not low <= total <= high:
            differs(f"{total:,} documents", f"{low:,}", f"{high:,}")
        if depth > known.depths[1]:
            here, *theirs = shares(depth, *known.depths)
            differs(f"finds at {here} of the list on average", *theirs)
        if share is not None and not known.shares[0] <= share <= known.shares[1]:
            here, *theirs = shares(share, *known.shares)
            differs(f"about {here} of the documents are relevant", *theirs)
        return tuple(found)


def _to_plain(rule: Quantile) -> dict[str, Any]:
    learned = None if rule.earlier_ is None else asdict(rule.earlier_)
    return {"recall": rule.recall, "reliability": rule.reliability, "earlier": learned}


def _from_plain(content: Mapping[str, Any]) -> Quantile:
    rule = Quantile(content["recall"], content["reliability"])
    if content["earlier"] is not None:
        known = checked(_STATE, content["earlier"])
        copies = known.pop("copies")
        ranges = {name: sorted(values) for name, values in known.items()}
        rule._learn(Earlier(**ranges, copies=copies))
    return rule


register("stopping", Quantile, _to_plain, _from_plain)


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
        low, high = exact_interval(j, r, _SAMPLE_INTERVAL)
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

    @property
    def sampled(self) -> int:
        """The fewest relevant documents in a sample that support the promise if all are reached."""
        return math.ceil(math.log(1 - self.confidence) / math.log(self.recall))

    def first_stop(self, finds: IntArray, total: int, *, known: int = 1) -> int:
        """Return how many documents are read, given all finds; see `Rule.first_stop`."""
        if finds.size < self.sampled:
            return total
        order = self.draw(total)
        found = np.flatnonzero(np.isin(order, finds))[: self.sampled]
        depth = int(order[found].max()) + 1
        return depth + int(np.count_nonzero(order[: found[-1] + 1] >= depth))

    def review(self, *, total: int) -> Review:
        """Return a running review that this rule watches; see `Rule.review`."""
        return _SampledReview(self, total)

    def draw(self, total: int) -> IntArray:
        """Return all of ``total`` documents in the order in which the sample is drawn."""
        return np.random.default_rng(self.seed).permutation(total)

    def promise(self) -> str:
        """Return the promise of the rule, in a sentence."""
        return (
            f"With {percent(self.confidence, exact=True)} confidence at least "
            f"{percent(self.recall, exact=True)} of the "
            f"relevant documents were found: the ranking has reached {self.sampled} of the "
            f"{self.sampled} in a random sample (QBCB of Lewis, Yang and Frieder 2021)"
        )
