"""Questions down each list, until a stopping rule says stop."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.judging.session import JudgingSession, Question


class StoppingRule(Protocol):
    """The part of a rule of `paretocut.stopping` that reading needs."""

    def review(self, *, total: int) -> Any:
        """Return a running review."""


class Reading:
    """Every list read from the top, with questions as `JudgingSession` puts them.

    The session keeps the answers, so that a second call goes on where the first one stopped.
    """

    def __init__(self, session: JudgingSession, rule: StoppingRule) -> None:
        self.session, self.rule = session, rule
        self.stopped: str | None = None
        self._last: int | None = None  # list that was read last
        self._begin()

    def next(self) -> Question | None:
        """Return the next document to read; None when every list may be left."""
        self.stopped = None
        for i, review in self._reviews.items():
            for document in review.to_read():
                self._present = i
                docs = self._lists.doc_ids
                name = None if docs is None else str(docs[i][document])
                return Question(i, document, str(self._lists.query_ids[i]), name)
        self.stopped = "every list may be left"
        return None

    def answer(self, value: bool | float | None) -> None:
        """Take the answer to the question of `next`."""
        question = self.next()
        if value is None or question is None:
            raise InvalidParameterError(
                f"an answer must be relevant or not where a rule says stop, got {value!r}",
                who="judge",
            )
        self.session.judge(question.list_index, question.rank, value)
        relevant = value if isinstance(value, bool) else value >= self._lists.min_grade
        self._reviews[self._present].add(relevant, question.rank)
        self._last = self._present

    def undo(self) -> None:
        """Take back the last answer."""
        self.session.undo()
        self._begin()

    @property
    def answers(self) -> int:
        """Documents of the present list that were read."""
        read: int = self._reviews[self._present].state.read
        return read

    @property
    def budget(self) -> int:
        """Documents of the present list."""
        total: int = self._reviews[self._present].total
        return total

    def summary(self) -> str:
        """Return the state of the list that was read last."""
        return "nothing judged yet" if self._last is None else self._said(self._last)

    def summaries(self) -> list[str]:
        """Return the state of every list that was begun."""
        return [self._said(i) for i, review in self._reviews.items() if review.state.read]

    def _said(self, i: int) -> str:
        state = self._reviews[i].state
        return " ".join([f"{self._lists.query_ids[i]}: {state}", *state.warnings])

    def _begin(self) -> None:
        """Replay the judgements so far."""
        self._lists = self.session.lists
        assert self._lists.relevance is not None
        self._reviews: dict[int, Any] = {}
        self._last = None
        for i in np.flatnonzero(self._lists.scores.lengths).tolist():
            grades = self._lists.relevance[i]
            self._reviews[i] = self.rule.review(total=grades.size)
            for document in np.flatnonzero(~np.isnan(grades)).tolist():
                self._reviews[i].add(bool(self._lists.is_relevant(grades[document])), document)
                self._last = i
