"""Rules that stop by the urn test: at a stated level, or at one learned from earlier reviews."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import IntArray, RankedLists
from paretocut.relevance.constants import shipped
from paretocut.schema.files import register, save_model
from paretocut.schema.kinds import Items, Kind, Real, Whole, checked
from paretocut.stopping.review import PROBABILITY, RECALL, Recall, Review, Rule, as_finds
from paretocut.stopping.urns import fatal_miss, first_stop, least_pvalue, most_missed, needed, stops

_HAIR = 1e-9  # p-values that should equal the level may be a little lower
_SURE = 0.05
# Levels at which the number of unread relevant documents is right in 95, about 50 and 3 % of
# cases, on the shared reviews from 5 to 90 % of the reading: `make stop` measures them.
_INTERVAL, _EXPECTED = (0.2, 0.99), 0.8
# `Quantile` tests for this share of the loss allowed. The least p-value of many urns is lower than
# that of few, so large reviews would stop too early; a stricter test holds them back.
_LOSS_TESTED = 0.5
_RATE = 10  # finds that the present rate is taken from


class UrnRule(Rule):
    """A rule that stops when the least p-value of all urns is below a level."""

    recall: float

    @property
    @abstractmethod
    def level(self) -> float:
        """The p-value below which the rule stops."""

    @property
    def tested(self) -> float:
        """The recall that the urn test is made for."""
        return self.recall

    @property
    def doubt(self) -> float:
        """One minus the confidence of the lower bound of the recall."""
        return _SURE

    def replay(self, relevances: ArrayLike) -> int:
        """Return the number of documents read before the rule stops."""
        finds, total = as_finds(relevances, type(self).__name__)
        return first_stop(finds, total, self.tested, self.level)

    def review(self, *, total: int) -> Review:
        """Return a running review, whose state says whether to stop."""
        return _UrnReview(self, total)


class _UrnReview(Review):
    rule: UrnRule

    def _stops(self) -> bool:
        read = len(self._judged)
        if read == self.total or not self._finds:
            return read == self.total
        return stops(self._places, read, self.total, self.rule.tested, self.rule.level)

    def _recall(self) -> Recall:
        found = len(self._finds)
        if not found:
            return Recall()

        def at(level: float) -> float:
            return found / (found + most_missed(self._places, read, self.total, level))

        read = len(self._judged)
        return Recall(at(self.rule.doubt), at(_EXPECTED), (at(_INTERVAL[0]), at(_INTERVAL[1])))

    def _ahead(self) -> tuple[int, int]:
        read, recent = len(self._judged), self._finds[-_RATE:]
        if not recent:
            return self.total - read, self.total - read
        start = self._finds[-_RATE - 1] + 1 if len(self._finds) > _RATE else 0
        every = max(round((read - start) / len(recent)), 1)
        test = self.rule.tested, self.rule.level
        steady = np.concatenate([self._places, np.arange(read + every - 1, self.total, every)])
        without, rated = (
            first_stop(finds, self.total, *test, known=known)
            for finds, known in ((self._places, len(self._finds)), (steady, self._gap(steady)))
        )
        return without - read, rated - read

    def _gap(self, finds: IntArray) -> int:
        """Return the finds after which the rule stops, if the p-value falls from find to find."""

        def low(found: int) -> bool:
            read = int(finds[found])
            return stops(finds[:found], read, self.total, self.rule.tested, self.rule.level)

        known = range(len(self._finds), len(finds))
        return known.start + bisect_left(known, True, key=low)

    @property
    def _places(self) -> IntArray:
        return np.array(self._finds, dtype=np.int64)


@dataclass(frozen=True)
class Certificate(UrnRule):
    """Stop when a test on this review alone says that the recall is reached.

    It only needs a ranking with fewer relevant documents further down. It is reliable but
    expensive: on 58 rankings of 43 finished reviews it read 88 % of the documents for a recall of
    0.95.

    Parameters
    ----------
    recall
        Share of the relevant documents to find.
    confidence
        Of the test, at each look.

    Notes
    -----
    For every urn of the last documents read, with N documents unread before it, n read from it and
    k found in it, let K be the smallest number of relevant documents in it that would put the
    recall below the target. The p-value is the probability of at most k finds among n documents
    drawn from N with K relevant ones. The rule stops when the least p-value of all urns is below
    ``1 - confidence``.

    **Peeking.** The rule takes the smallest p-value of many urns after every document, without a
    correction. A good ranking makes up for this: of those 58, 0 to 3 % fell short of the recall at
    a confidence of 0.95. A random order does not: up to half of simulated reviews fell short. Use
    `Target` there.

    References
    ----------
    M. W. Callaghan, F. Mueller-Hansen, "Statistical stopping criteria for automated screening in
    systematic reviews", Systematic Reviews 9, 2020.

    Examples
    --------
    >>> relevant = [True] * 40 + [False, True] * 10 + [False] * 940
    >>> Certificate(recall=0.95, confidence=0.95).replay(relevant)
    654
    """

    recall: float = 0.95
    confidence: float = 0.95
    _parameters: ClassVar[Mapping[str, Kind]] = {"recall": RECALL, "confidence": PROBABILITY}

    @property
    def level(self) -> float:
        """The p-value below which the rule stops."""
        return (1 - self.confidence) * (1 - _HAIR)

    @property
    def doubt(self) -> float:
        """The level of the rule, which is one minus the confidence of the bound of the recall."""
        return self.level

    def _promise(self) -> str:
        return (
            f"With {percent(self.confidence, exact=True)} confidence at least "
            f"{percent(self.recall, exact=True)} of the relevant documents were found "
            "(urn test of Callaghan and Mueller-Hansen 2020)"
        )


@dataclass(frozen=True)
class Earlier:
    """The least p-values of finished reviews, and their sizes.

    Attributes
    ----------
    least
        For each review, the least p-value before the recall was reached; rising.
    totals, shares
        The smallest and the largest number of documents, and share of relevant ones.
    """

    least: list[float]
    totals: list[int]
    shares: list[float]

    @classmethod
    def of(cls, reviews: Iterable[Any], recall: float, tested: float) -> Earlier:
        """Return the values of these reviews for one recall."""
        least, totals, shares = [], [], []
        for i, relevances in enumerate(reviews):
            finds, total = as_finds(relevances, "Quantile")
            if not finds.size:
                raise InvalidScoresError(
                    f"Quantile: each earlier review must have a relevant document, got none in "
                    f"number {i}"
                )
            lowest = 1.0
            for found in range(1, needed(finds.size, recall)):
                missed = fatal_miss(found, tested)
                lowest = least_pvalue(finds[:found], int(finds[found]), total, missed, below=lowest)
            least.append(lowest)
            totals.append(total)
            shares.append(finds.size / total)
        if not least:
            raise InvalidParameterError("Quantile: earlier_reviews must hold reviews, got none")
        return cls(sorted(least), [min(totals), max(totals)], [min(shares), max(shares)])


_STATE: dict[str, Kind] = {
    "least": Items(Real(0, 1)),
    "totals": Items(Whole(1), size=2),
    "shares": Items(Real(above=0, high=1), size=2),
}


@cache
def learned() -> dict[str, Any]:
    """Return the values of the shared reviews; `experiments.stop` writes them."""
    return shipped("stopping.json")


@dataclass(frozen=True)
class Quantile(UrnRule):
    """Stop at the p-value that was low enough in earlier reviews.

    The urn test of `Certificate` is too cautious, because rankings are better than chance. Here its
    level is a conformal quantile of the levels that finished reviews would have needed, so
    that at least a share ``reliability`` of similar reviews reaches the recall.

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
    all earlier ones, or richer or poorer in relevant documents, gets a warning.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> odds = 0.5 * np.exp(-np.arange(500) / 60)
    >>> earlier = rng.random((40, 500)) < odds
    >>> rule = Quantile(recall=0.9, reliability=0.9).fit(earlier)
    >>> rule.replay(earlier[0]), Certificate(recall=0.9).replay(earlier[0])
    (238, 391)
    """

    recall: float = 0.95
    reliability: float = 0.9
    _parameters: ClassVar[Mapping[str, Kind]] = {"recall": RECALL, "reliability": PROBABILITY}
    earlier_: Earlier | None = field(default=None, init=False, repr=False)

    def fit(self, earlier_reviews: RankedLists | Iterable[ArrayLike]) -> Self:
        """Return the rule itself, with its level learned from finished reviews.

        Parameters
        ----------
        earlier_reviews
            For each review, True or False for each of its documents in the order of reading; or
            `paretocut.RankedLists` with a judgement of every document.
        """
        reviews: Iterable[Any] = earlier_reviews
        if isinstance(earlier_reviews, RankedLists):
            if earlier_reviews.relevance is None or not earlier_reviews.judged.values.all():
                raise InvalidScoresError(
                    "Quantile: earlier_reviews must have a judgement of every document, got "
                    "documents without"
                )
            reviews = earlier_reviews.relevant
        self._learn(Earlier.of(reviews, self.recall, self.tested))
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
        return Earlier(least, content["totals"], content["shares"])

    def _level(self, earlier: Earlier) -> float:
        count = len(earlier.least)
        rank = math.floor((count + 1) * (1 - self.reliability) + _HAIR)
        if rank < 1:
            fewest = math.ceil(1 / (1 - self.reliability) - _HAIR) - 1
            raise InvalidParameterError(
                f"Quantile: a reliability of {self.reliability:g} needs at least {fewest} earlier "
                f"reviews, got {count}"
            )
        return earlier.least[rank - 1] * (1 - _HAIR)

    def _promise(self) -> str:
        count = len(self._known().least)
        whose = f"{count} rankings of finished reviews"
        if self.earlier_ is None:
            whose = f"the {count} rankings of medical reviews that paretocut has learned from"
        return (
            f"In {percent(self.reliability, exact=True)} of reviews like {whose}, this rule "
            f"finds at least {percent(self.recall, exact=True)} of the relevant documents"
        )

    def _warnings(self, total: int, share: float | None) -> tuple[str, ...]:
        known, found = self._known(), []
        low, high = known.totals
        if not low <= total <= high:
            found.append(
                f"unlike the earlier reviews: {total:,} documents, they had {low:,} to {high:,}"
            )
        low_share, high_share = known.shares
        if share is not None and not low_share <= share <= high_share:
            here, low_text, high_text = (
                percent(round(one, 4), exact=True) for one in (share, low_share, high_share)
            )
            found.append(
                f"unlike the earlier reviews: about {here} of the documents are relevant, they had "
                f"{low_text} to {high_text}"
            )
        return tuple(found)


def _to_plain(rule: Quantile) -> dict[str, Any]:
    learned = None if rule.earlier_ is None else asdict(rule.earlier_)
    return {"recall": rule.recall, "reliability": rule.reliability, "earlier": learned}


def _from_plain(content: Mapping[str, Any]) -> Quantile:
    rule = Quantile(content["recall"], content["reliability"])
    if content["earlier"] is not None:
        known = checked(_STATE, content["earlier"])
        rule._learn(Earlier(**{name: sorted(values) for name, values in known.items()}))
    return rule


register("stopping", Quantile, _to_plain, _from_plain)
