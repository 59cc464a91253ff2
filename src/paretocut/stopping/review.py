"""The base of all rules, and a running review with its state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import floor
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import IntArray
from paretocut.schema.kinds import Kind, Real
from paretocut.schema.parameters import check, check_bool, check_int, check_positive_int, shown
from paretocut.stopping.urns import most_missed, most_relevant

# Levels of the urn test: the most unread relevant documents that it allows are too few in 5 % of
# the looks at the shared reviews (0.2), too many in 3 % (0.99), or either equally often (0.8).
_INTERVAL, _BEST_GUESS = (0.2, 0.99), 0.8
_RATE = 10  # finds that the present rate is taken from
RECALL, PROBABILITY = Real(above=0, high=1), Real(above=0, below=1)


@dataclass(frozen=True)
class State:
    """Where a review stands.

    Attributes
    ----------
    stop
        Whether the rule says that enough has been read.
    read, found, total
        Documents read, relevant ones among them, and all documents of the review.
    at_least
        A lower bound of the recall, which holds with ``confidence`` at all times together, under
        the assumptions of the rule: for `Quantile` those of `Certificate`.
    expected
        The best guess of the recall; None before the first relevant document.
    interval
        Contains the true recall in about nine reviews out of ten.
    to_read_if_none, to_read
        Documents still to read until the rule stops: if nothing more is found, and if relevant
        documents keep coming at the present rate.
    reason
        The decision in words; once it is "stop", a sentence for the report of the review.
    warnings
        Reasons not to rely on the rule here.
    confidence
        Of the lower bound: that of the rule, or 0.95.
    """

    stop: bool
    read: int
    found: int
    total: int
    at_least: float
    expected: float | None
    interval: tuple[float, float]
    to_read_if_none: int
    to_read: int
    reason: str
    warnings: tuple[str, ...] = ()
    confidence: float = 0.95

    def __str__(self) -> str:
        if self.expected is None:
            return f"{self.reason}."
        low, high = self.interval
        return (
            f"{self.reason}. Recall: {percent(self.confidence, exact=True)} lower bound "
            f"{floor(100 * self.at_least) / 100:.2f}, best guess {self.expected:.2f} "
            f"({low:.2f} to {high:.2f})."
        )


Recall: TypeAlias = tuple[float, float | None, tuple[float, float]]
"""Lower bound, estimate and interval of the recall; see `State`."""
UNKNOWN: Recall = (0.0, None, (0.0, 1.0))


class Rule(ABC):
    """Base of the rules: each can replay a finished review and follow a running one."""

    recall: float
    confidence: float = 0.95
    parameters: ClassVar[Mapping[str, Kind]]

    def __post_init__(self) -> None:
        for name, kind in self.parameters.items():
            value = check(kind, getattr(self, name), who=type(self).__name__, name=name)
            object.__setattr__(self, name, value)

    def replay(self, relevances: ArrayLike) -> int:
        """Return how many documents of a finished review the rule would have read.

        Parameters
        ----------
        relevances
            True or False for each document of the review, in the order of the ranking.
        """
        return self.first_stop(*as_finds(relevances, type(self).__name__))

    def stops(self, finds: IntArray, read: int, total: int) -> bool:
        """Return whether it stops after ``read`` of ``total``, with ``finds`` at these places.

        Between two finds a rule only comes closer to a stop.
        """
        raise NotImplementedError  # `Target` looks at its sample instead

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

    def review(self, *, total: int) -> Review:
        """Return a running review that this rule watches; its state says whether to stop.

        Parameters
        ----------
        total
            Number of documents, read or not.
        """
        return Review(self, total)

    @abstractmethod
    def promise(self) -> str:
        """Return the promise of the rule, in a sentence."""

    def warnings(self, total: int, depth: float, share: float | None) -> tuple[str, ...]:
        """Return how the review differs from those that the rule is for.

        ``depth`` is the mean place of the finds as a share of the ``total``; the ``share`` of
        relevant documents may not be known yet.
        """
        return ()


class Review:
    """A running review, made by ``rule.review(total=...)``.

    Documents are numbered from 0 in the order of the ranking.

    Attributes
    ----------
    rule
        The rule that watches.
    total
        Number of documents.

    Examples
    --------
    >>> from paretocut.stopping import Certificate
    >>> relevant = [True, True, False, True] + [False] * 196
    >>> review = Certificate(recall=0.8, confidence=0.9).review(total=200)
    >>> for document in review.to_read():
    ...     review.add(relevant[document])
    >>> review.state.read, review.state.found
    (184, 3)
    """

    def __init__(self, rule: Rule, total: int) -> None:
        self.rule = rule
        self.total = check_positive_int(total, who="review", name="total")
        self._judged: dict[int, bool] = {}  # in the order of reading
        self._finds: list[int] = []  # their places in that order
        self._rest = deque(range(self.total))  # the ranking, from where the reading is
        self._passed: set[int] = set()  # documents before that

    def add(self, relevant: bool, document: int | None = None) -> None:
        """Take the judgement of a document.

        Parameters
        ----------
        relevant
            Whether it is relevant.
        document
            Its number; by default the one that is to be read next.
        """
        answer = check_bool(relevant, who="review", name="relevant")
        if document is None:
            if (document := self._next()) is None:
                raise InvalidParameterError(
                    f"review: total must be the number of all documents, got {self.total} and "
                    f"judgement {self.total + 1}"
                )
        elif check_int(document, who="review", name="document") >= self.total:
            raise InvalidParameterError(
                f"review: document must be a number below {self.total}, got {document}"
            )
        if (before := self._judged.get(document)) is not None:
            if before != answer:
                raise InvalidParameterError(
                    f"review: document {document} must have one judgement, got {before}, then "
                    f"{answer}"
                )
            return
        if answer:
            self._finds.append(len(self._judged))
        self._judged[document] = answer

    def to_read(self) -> Iterator[int]:
        """Yield the number of the next document to read, until the rule says to stop.

        Judge each one with `add` before you ask for the next.
        """
        while not self._stops() and (document := self._next()) is not None:
            yield document
            if document not in self._judged:
                raise InvalidParameterError(
                    f"review: document {document} must be judged with add before the next, got no "
                    "judgement"
                )

    def reorder(self, documents: Iterable[int], *, only_from_trainable: bool = False) -> None:
        """Put the documents that have not been reached into a new order.

        Parameters
        ----------
        documents
            Numbers of documents, best first; those left out follow in their old order.
        only_from_trainable
            Your word that the order was made from the judgements in `trainable` and no others,
            which `Target` needs.
        """
        given = np.array(list(documents))
        numbers = given.ndim == 1 and given.dtype.kind in "iu"
        if given.size and not (numbers and given.min() >= 0 and given.max() < self.total):
            raise InvalidParameterError(
                f"review: documents must be numbers below {self.total}, got {shown(documents)}"
            )
        self._arrange(dict.fromkeys(given.tolist()), only_from_trainable)

    def _arrange(self, first: dict[int, None], blind: bool) -> None:
        left = dict.fromkeys(self._rest)
        kept = [document for document in first if document in left]
        self._rest = deque([*kept, *(document for document in left if document not in first)])

    @property
    def trainable(self) -> dict[int, bool]:
        """Judged documents from which a model that reorders the rest may learn."""
        return dict(self._judged)

    @property
    def curve(self) -> list[int]:
        """How many documents had been read when each relevant one was found."""
        return [place + 1 for place in self._finds]

    @property
    def unreached(self) -> list[int]:
        """Documents that the ranking has not reached, in its present order."""
        self._next()
        return list(self._rest)

    def upcoming(self, count: int) -> list[int]:
        """Return at most ``count`` documents to read next, if the rule does not stop before."""
        return list(islice((one for one in self._queue() if one not in self._judged), count))

    def _queue(self) -> Iterable[int]:
        return self._rest

    @property
    def state(self) -> State:
        """Where the review stands now."""
        read, found, stop = len(self._judged), len(self._finds), self._stops()
        at_least, expected, interval = (
            (1.0, 1.0, (1.0, 1.0)) if read == self.total else self._recall()
        )
        done = f"{read:,} of {self.total:,} documents read, {found:,} of them relevant"
        without, more = (0, 0) if stop else self._ahead()
        if read == self.total:
            reason = f"stop: all {read:,} documents read, {found:,} of them relevant"
        elif stop:
            reason = f"stop: {done}. {self.rule.promise()}"
        elif not found:
            reason = (
                f"go on: {done}. Nothing can be said about the recall before the first "
                f"relevant document"
            )
        else:
            reason = (
                f"go on: {done}. {without:,} more to read if nothing is found, {more:,} if "
                "relevant documents keep coming at the present rate"
            )
        share = found / self.total / expected if stop and expected else None
        depth = float(np.mean(self._finds) + 1) / self.total if found else 0.0
        warnings = self.rule.warnings(self.total, depth, share)
        return State(
            *(stop, read, found, self.total, at_least, expected, interval),
            *(without, more, reason, warnings, self.rule.confidence),
        )

    def _next(self) -> int | None:
        """Return the document to read next, or None after the last one."""
        while self._rest and self._rest[0] in self._judged:
            self._passed.add(self._rest.popleft())
        return self._rest[0] if self._rest else None

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
        found = len(self._finds)
        without = self.rule.first_stop(self._places, self.total, known=found)

        def stops(known: int) -> bool:  # each find brings the stop closer
            return self.rule.stops(steady[:known], int(steady[known]), self.total)

        known = found + bisect_left(range(found, len(steady)), True, key=stops)
        return without - read, self.rule.first_stop(steady, self.total, known=known) - read

    @property
    def _places(self) -> IntArray:
        return np.array(self._finds, dtype=np.int64)


def as_finds(relevances: Any, who: str) -> tuple[IntArray, int]:
    """Return the places of the relevant documents, and the number of all documents."""
    given = np.asarray(relevances)
    whole = given.dtype.kind in "biuf" and np.isin(given, (0, 1)).all()
    if given.ndim != 1 or not given.size or not whole:
        raise InvalidScoresError(
            f"relevances must be one True or False for each document, got {shown(relevances)}",
            who=who,
        )
    return np.flatnonzero(given), given.size
