"""Rules that read down a ranking: by a run without a find, or as earlier reviews needed it."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import IntArray
from paretocut.lists.copies import check_groups
from paretocut.schema.files import register, save_model, shipped
from paretocut.schema.kinds import Items, Kind, Real, Whole, checked
from paretocut.stopping.review import PROBABILITY, RECALL, UNKNOWN, Recall, Review, Rule, as_finds
from paretocut.stopping.urns import (
    fatal_miss,
    least_pvalue,
    long_enough,
    most_missed,
    most_relevant,
    needed,
)

_HAIR = 1e-9  # p-values that should equal the level may be a little lower
# Levels at which the number of unread relevant documents is right in 95, about 50 and 3 % of
# cases, on the shared reviews from 5 to 90 % of the reading: `make stop` measures them.
_INTERVAL, _BEST_GUESS = (0.2, 0.99), 0.8
# `Quantile` tests for this share of the loss allowed. The least p-value of many urns is lower than
# that of few, so large reviews would stop too early; a stricter test holds them back.
_LOSS_TESTED = 0.5
_RATE = 10  # finds that the present rate is taken from


class _RankedReview(Review):
    rule: RankedRule

    def _stops(self) -> bool:
        read = len(self._judged)
        if read == self.total or not self._finds:
            return read == self.total
        return self.rule.stops(self._places, read, self.total)

    def _recall(self) -> Recall:
        found, read, places = len(self._finds), len(self._judged), self._places
        if not found:
            return UNKNOWN

        def at(level: float) -> float:
            return found / (found + most_missed(places, read, self.total, level))

        doubt = 1 - self.rule.confidence
        lower = found / most_relevant(places, read, self.total, self.rule.recall, doubt)
        low, guess, high = at(_INTERVAL[0]), at(_BEST_GUESS), at(_INTERVAL[1])
        return lower, max(guess, lower), (low, max(high, lower))

    def _ahead(self) -> tuple[int, int]:
        read, recent = len(self._judged), self._finds[-_RATE:]
        if not recent:
            return self.total - read, self.total - read
        start = self._finds[-_RATE - 1] + 1 if len(self._finds) > _RATE else 0
        every = max(round((read - start) / len(recent)), 1)
        steady = np.concatenate([self._places, np.arange(read + every - 1, self.total, every)])
        without, rated = (
            self.rule.first_stop(finds, self.total, known=known)
            for finds, known in ((self._places, len(self._finds)), (steady, self._gap(steady)))
        )
        return without - read, rated - read

    def _gap(self, finds: IntArray) -> int:
        """Return the finds after which the rule stops, if each brings the stop closer."""

        def stops(found: int) -> bool:
            return self.rule.stops(finds[:found], int(finds[found]), self.total)

        known = range(len(self._finds), len(finds))
        return known.start + bisect_left(known, True, key=stops)

    @property
    def _places(self) -> IntArray:
        return np.array(self._finds, dtype=np.int64)


class RankedRule(Rule):
    """A rule that reads down the ranking; between two finds it only comes closer to a stop."""

    recall: float
    confidence: float = 0.95
    follows = _RankedReview

    @abstractmethod
    def stops(self, finds: IntArray, read: int, total: int) -> bool:
        """Return whether it stops after ``read`` of ``total``, with ``finds`` at these places."""

    def first_stop(self, finds: IntArray, total: int, *, known: int = 1) -> int:
        """Return the number of ``total`` read at the stop, looking from the ``known``-th find on.

        It is enough to look right before each of the ``finds``.
        """
        for found in range(known, len(finds) + 1):
            so_far = finds[:found]
            end = int(finds[found]) if found < len(finds) else total
            if self.stops(so_far, end, total):
                gap = range(int(finds[found - 1]) + 1, end)
                stops = partial(self.stops, so_far, total=total)
                return gap.start + bisect_left(gap, True, key=stops)
        return total


@dataclass(frozen=True)
class Certificate(RankedRule):
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
        """Return whether the last run is long enough; see `RankedRule.stops`."""
        return long_enough(finds, read, total, self.recall, 1 - self.confidence)

    def promise(self) -> str:
        """Return what the rule promises, in a sentence."""
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
        names = range(len(given))
        if groups is not None:
            names = check_groups(groups, len(given), "Quantile").tolist()
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
class Quantile(RankedRule):
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
        """Return what the rule promises, in a sentence."""
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
