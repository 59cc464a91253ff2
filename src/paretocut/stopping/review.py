"""The base of all rules, and a running review with its state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import IntArray
from paretocut.schema.kinds import Kind, Real
from paretocut.schema.parameters import check, check_bool, check_int, check_positive_int, shown

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
        Lower bound of the recall, at the confidence of the rule, or 95 %.
    expected
        The expected recall; None before the first relevant document.
    interval
        Contains the true recall in about nine reviews out of ten; see `paretocut.stopping`.
    to_read_if_none, to_read
        Documents still to read until the rule stops: if nothing more is found, and if relevant
        documents keep coming at the present rate.
    reason
        The decision in words; once it is "stop", a sentence for the report of the review.
    warnings
        Reasons not to rely on the rule here.
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

    def __str__(self) -> str:
        if self.expected is None:
            return f"{self.reason}."
        low, high = self.interval
        return (
            f"{self.reason}. Recall: at least {self.at_least:.2f}, expected {self.expected:.2f} "
            f"({low:.2f} to {high:.2f})."
        )


@dataclass(frozen=True)
class Recall:
    """Lower bound, estimate and interval of the recall; see `State`."""

    at_least: float = 0.0
    expected: float | None = None
    interval: tuple[float, float] = (0.0, 1.0)


class Rule(ABC):
    """Base of the rules: each can replay a finished review and follow a running one."""

    _parameters: ClassVar[Mapping[str, Kind]]

    def __post_init__(self) -> None:
        for name, kind in self._parameters.items():
            value = check(kind, getattr(self, name), who=type(self).__name__, name=name)
            object.__setattr__(self, name, value)

    @abstractmethod
    def replay(self, relevances: ArrayLike) -> int:
        """Return how many documents of a finished review the rule would have read.

        Parameters
        ----------
        relevances
            True or False for each document of the review, in the order of the ranking.
        """

    @abstractmethod
    def review(self, *, total: int) -> Review:
        """Return a running review that this rule watches.

        Parameters
        ----------
        total
            Number of documents, read or not.
        """

    @abstractmethod
    def _promise(self) -> str:
        """Return the promise of the rule, in a sentence."""

    def _warnings(self, total: int, share: float | None) -> tuple[str, ...]:
        """Return reasons against the rule; the share of relevant documents may be unknown."""
        return ()


class Review(ABC):
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
    (181, 3)
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

    def reorder(self, documents: Iterable[int]) -> None:
        """Put the documents that have not been reached into a new order.

        Parameters
        ----------
        documents
            Numbers of documents, best first. Those left out follow in their old order, and those
            that were reached before stay where they are.
        """
        given = np.array(list(documents))
        numbers = given.ndim == 1 and given.dtype.kind in "iu"
        if given.size and not (numbers and given.min() >= 0 and given.max() < self.total):
            raise InvalidParameterError(
                f"review: documents must be numbers below {self.total}, got {shown(documents)}"
            )
        first, left = dict.fromkeys(given.tolist()), dict.fromkeys(self._rest)
        kept = [document for document in first if document in left]
        self._rest = deque([*kept, *(document for document in left if document not in first)])

    @property
    def state(self) -> State:
        """Where the review stands now."""
        read, found, stop = len(self._judged), len(self._finds), self._stops()
        recall = Recall(1.0, 1.0, (1.0, 1.0)) if read == self.total else self._recall()
        done = f"{read:,} of {self.total:,} documents read, {found:,} of them relevant"
        without, more = (0, 0) if stop else self._ahead()
        if read == self.total:
            reason = f"stop: all {read:,} documents read, {found:,} of them relevant"
        elif stop:
            reason = f"stop: {done}. {self.rule._promise()}"
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
        share = found / self.total / recall.expected if stop and recall.expected else None
        warnings = self.rule._warnings(self.total, share)
        return State(
            *(stop, read, found, self.total, recall.at_least, recall.expected, recall.interval),
            *(without, more, reason, warnings),
        )

    def _next(self) -> int | None:
        """Return the document to read next, or None after the last one."""
        while self._rest and self._rest[0] in self._judged:
            self._passed.add(self._rest.popleft())
        return self._rest[0] if self._rest else None

    @abstractmethod
    def _stops(self) -> bool:
        """Return whether the rule says stop, or all is read."""

    @abstractmethod
    def _recall(self) -> Recall:
        """Return the recall so far, while something is unread."""

    @abstractmethod
    def _ahead(self) -> tuple[int, int]:
        """Return how much is still to read, without finds and with finds at the present rate."""


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
