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
from paretocut.lists import IntArray, RankedLists
from paretocut.lists.columns import check_groups
from paretocut.schema.files import register, save_model, shipped
from paretocut.schema.kinds import Items, Kind, Real, Whole, checked
from paretocut.stopping.review import PROBABILITY, RECALL, Recall, Review, Rule, as_finds
from paretocut.stopping.runs import long_enough, most_relevant
from paretocut.stopping.urns import fatal_miss, least_pvalue, most_missed, needed

_HAIR = 1e-9  # p-values that should equal the level may be a little lower
# Levels at which the number of unread relevant documents is right in 95, about 50 and 3 % of
# cases, on the shared reviews from 5 to 90 % of the reading: `make stop` measures them.
_INTERVAL, _BEST_GUESS = (0.2, 0.99), 0.8
# `Quantile` tests for this share of the loss allowed. The least p-value of many urns is lower than
# that of few, so large reviews would stop too early; a stricter test holds them back.
_LOSS_TESTED = 0.5
_RATE = 10  # finds that the present rate is taken from


class RankedRule(Rule):
    """A rule that reads down the ranking; between two finds it only comes closer to a stop."""

    recall: float
    confidence: float = 0.95

    @abstractmethod
    def stops(self, finds: IntArray, read: int, total: int) -> bool:
        """Return whether it stops after ``read`` of ``total``, with ``finds`` at these places."""

    def replay(self, relevances: ArrayLike) -> int:
        """Return the number of documents read before the rule stops."""
        return self.first_stop(*as_finds(relevances, type(self).__name__))

    def review(self, *, total: int) -> Review:
        """Return a running review, whose state says whether to stop."""
        return _RankedReview(self, total)

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
            return Recall()

        def at(level: float) -> float:
            return found / (found + most_missed(places, read, self.total, level))

        doubt = 1 - self.rule.confidence
        lower = found / most_relevant(places, read, self.total, self.rule.recall, doubt)
        low, guess, high = at(_INTERVAL[0]), at(_BEST_GUESS), at(_INTERVAL[1])
        return Recall(lower, max(guess, lower), (low, max(high, lower)))

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


@dataclass(frozen=True)
class Certificate(RankedRule):
    """Stop after a run of irrelevant documents that is too long for a review short of the recall.

    It needs a ranking that is at least as good as a random order: each document read is relevant
    at least as often as one drawn from the unread ones. Then the promise holds, however often you
    look and however you reorder the rest. On 58 rankings of 43 finished reviews it read 73, 84 and
    91 % of the documents for a recall of 0.8, 0.9 and 0.95.

    Parameters
    ----------
    recall
        Share of the relevant documents to find.
    confidence
        Confidence that the recall is reached when the rule stops.

    Notes
    -----
    After a find, N documents are unread. Let m be the fewest relevant documents among them that put
    the recall below the target. The rule stops after n irrelevant documents in a row, when drawing
    n of N documents misses all m with a probability of at most ``z ** m``, where ``z ** m = 0.9 *
    (1 - confidence) * (1 - z)``. Summed over all finds at which it could stop too early, these
    probabilities stay below ``0.9 * (1 - confidence)``; the last tenth of the doubt is kept for the
    lower bound along the way. The head of ``stopping/runs.py`` has the proof.

    A ranking worse than random breaks the promise: one with a group of relevant documents at its
    very end, for example. `Target` holds for any ranking.

    References
    ----------
    The idea of testing the documents since some point as a draw from an urn: M. W. Callaghan, F.
    Mueller-Hansen, "Statistical stopping criteria for automated screening in systematic reviews",
    Systematic Reviews 9, 2020. Their test takes the best of many urns at each look. In a random
    order it stops too early in up to half of the reviews, so this rule does not use it.

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
        """Return whether the run of ``read`` documents since the last of ``finds`` is long enough.

        It depends on how many of the ``total`` were unread at that find.
        """
        return long_enough(finds, read, total, self.recall, 1 - self.confidence)

    def promise(self) -> str:
        """Return the promise in a sentence."""
        return (
            f"With {percent(self.confidence, exact=True)} confidence at least "
            f"{percent(self.recall, exact=True)} of the relevant documents were found, if the "
            "ranking is no worse than a random order"
        )


@dataclass(frozen=True)
class Earlier:
    """What was learned from finished reviews.

    Attributes
    ----------
    least
        For each review (or group of reviews), the least p-value before the recall was reached;
        rising.
    totals, shares, depths
        The smallest and the largest number of documents, share of relevant ones, and mean depth of
        the finds up to the recall, as a share of the list.
    copies
        Reviews that were left out because an equal one was there.
    """

    least: list[float]
    totals: list[int]
    shares: list[float]
    depths: list[float]
    copies: int = 0

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
    """Stop where earlier reviews had found enough.

    `Certificate` is cautious, because most rankings are far better than chance. This rule stops at
    the p-value of an urn test whose level is a conformal quantile of what finished reviews would
    have needed, so that at least a share ``reliability`` of similar reviews reaches the recall.

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

    Notes
    -----
    The promise is about reviews like the earlier ones, with rankings as good as theirs, and about
    all of them together: a single review may fall short. A review that is longer or shorter than
    all earlier ones, richer or poorer in relevant documents, or whose finds lie deeper in the
    list, gets a warning while it is read: the promise does not cover it. That of `Certificate`
    does.

    Earlier reviews must be independent of each other. Copies, with the same relevance in the same
    order, count once; ``earlier_.copies`` says how many were left out. Reviews that belong
    together, such as two rankings of one collection, are named by ``groups``: a group counts once,
    by the review of it that needed most, and the promise is then about groups.

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
        self,
        earlier_reviews: RankedLists | Iterable[ArrayLike],
        *,
        groups: Iterable[Hashable] | None = None,
    ) -> Self:
        """Return the rule itself, with its level learned from finished reviews.

        Parameters
        ----------
        earlier_reviews
            For each review, True or False for each of its documents in the order of reading; or
            `paretocut.RankedLists` with a judgement of every document.
        groups
            For each review, the group that it belongs to. By default each is independent.
        """
        reviews: Iterable[Any] = earlier_reviews
        if isinstance(earlier_reviews, RankedLists):
            if earlier_reviews.relevance is None or not earlier_reviews.judged.values.all():
                raise InvalidScoresError(
                    "Quantile: earlier_reviews must have a judgement of every document, got "
                    "documents without"
                )
            reviews = earlier_reviews.relevant
        self._learn(Earlier.of(reviews, groups, self.recall, self.tested))
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
        """Return whether the least p-value of "the recall is not reached" is below the level.

        ``finds`` are places among the ``read`` of ``total`` documents.
        """
        missed, level = fatal_miss(len(finds), self.tested), self.level
        return least_pvalue(finds, read, total, missed, below=level) < level

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule and its learned state as one JSON file; `paretocut.load` reads it.

        Parameters
        ----------
        path
            The file. It is replaced in one step: a reader sees the old one or the new one.
        """
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
        """Return the promise in a sentence."""
        count = len(self._known().least)
        whose = f"{count} rankings of finished reviews"
        if self.earlier_ is None:
            whose = f"the {count} rankings of medical reviews that paretocut has learned from"
        return (
            f"In {percent(self.reliability, exact=True)} of reviews like {whose}, this rule "
            f"finds at least {percent(self.recall, exact=True)} of the relevant documents"
        )

    def warnings(self, total: int, depth: float, share: float | None) -> tuple[str, ...]:
        """Return how a review differs from the earlier ones.

        Parameters
        ----------
        total, depth, share
            How many documents it has, the share read, and the share of finds among those, if any.
        """
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
