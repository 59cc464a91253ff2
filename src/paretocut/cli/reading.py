"""Reading each list from the top, until a stopping rule says stop."""

from __future__ import annotations

import numpy as np

from paretocut.cli.stop import StoppingRule, sentence
from paretocut.errors import InvalidParameterError
from paretocut.judging import JudgingSession, Question
from paretocut.stopping import Review


class Reading:
    """Questions down the lists, asked as `JudgingSession` asks its own.

    The session keeps the answers, so that a second call goes on where the first one stopped.
    """

    def __init__(self, session: JudgingSession, rule: StoppingRule) -> None:
        self.session, self.rule = session, rule
        self.stopped: str | None = None
        self._begin()

    def next(self) -> Question | None:
        """Return the next document to read; None when every list may be left."""
        for i, review in self._reviews.items():
            for document in review.to_read():
                self._present = review
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
                f"judge: an answer must be relevant or not where a rule says stop, got {value!r}"
            )
        self.session.judge(question.list_index, question.rank, value)
        relevant = value if isinstance(value, bool) else value >= self._lists.min_grade
        self._present.add(relevant, question.rank)

    def undo(self) -> None:
        """Take back the last answer."""
        self.session.undo()
        self._begin()

    @property
    def answers(self) -> int:
        """Documents of the present list that were read."""
        return self._present.state.read

    @property
    def budget(self) -> int:
        """Documents of the present list."""
        return self._present.total

    def summary(self) -> str:
        """Return what the rule says of the present list."""
        return sentence(self._present.state)

    def summaries(self) -> list[str]:
        """Return what the rule says of every list that was begun, and its warnings."""
        states = {i: review.state for i, review in self._reviews.items()}
        return [
            " ".join([f"{self._lists.query_ids[i]}: {sentence(state)}", *state.warnings])
            for i, state in states.items()
            if state.read
        ]

    def _begin(self) -> None:
        """Read again what was judged."""
        self._lists = self.session.lists
        assert self._lists.relevance is not None
        self._reviews: dict[int, Review] = {}
        for i in np.flatnonzero(self._lists.scores.lengths).tolist():
            grades = self._lists.relevance[i]
            self._present = self._reviews[i] = self.rule.review(total=grades.size)
            for document in np.flatnonzero(~np.isnan(grades)).tolist():
                self._present.add(bool(self._lists._counts(grades[document])), document)
