"""Questions to a judge: `judge`, the session that it shares with the terminal, and `Reading`."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from paretocut.callbacks import Journal, stamp, waiting
from paretocut.decisions.wording import rounded
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.judging.plan import ENOUGH, known_relevance, planned
from paretocut.lists import IntArray, Ragged, RankedLists
from paretocut.relevance import Relevance
from paretocut.schema.kinds import Either, Real, Whole
from paretocut.schema.parameters import check, check_int

_ROUND = 50  # results that are planned at once
_POOL = 500  # lists that are asked about at most
_SAMPLE = 50  # lists that the expected loss is computed on
_CHECK = 10  # answers between two checks of the expected loss
_HIGHEST = 1e9  # grade
_TOLERANCE = Either(Real(0))


@dataclass(frozen=True, slots=True)
class Question:
    """One result to judge.

    Attributes
    ----------
    list_index, rank
        Which list, and which of its results, from 0.
    query_id, doc_id
        Their names; ``doc_id`` is None in lists without document ids.
    """

    list_index: int
    rank: int
    query_id: str
    doc_id: str | None


class JudgingSession:
    """A judge's answers to planned questions, saved in a file if you want.

    Parameters
    ----------
    lists, budget, path, tolerance, seed
        As for `paretocut.judge`; lists without document ids are allowed here.
    reviewer
        Who answers; the file names them beside every answer.
    rule
        The stopping rule that the answers are for; a file of another rule is refused.

    Attributes
    ----------
    stopped
        Why there is no next question; None while there is one.
    answers
        How many were given so far, including unsure ones.

    Examples
    --------
    >>> lists = RankedLists([[0.9, 0.5, 0.1], [0.8, 0.3]], doc_ids=[["a", "b", "c"], ["d", "e"]])
    >>> session = JudgingSession(lists, budget=2)
    >>> while (question := session.next()) is not None:
    ...     session.answer(question.doc_id in ("a", "d"))
    >>> session.stopped, int(session.lists.judged.values.sum())
    ('2 answers were given', 2)
    """

    def __init__(
        self,
        lists: RankedLists,
        budget: int = 200,
        *,
        path: str | os.PathLike[str] | None = None,
        tolerance: float | None = None,
        seed: int = 0,
        reviewer: str | None = None,
        rule: str | None = None,
    ) -> None:
        if not isinstance(lists, RankedLists):
            raise InvalidParameterError(
                f"lists must be RankedLists, got {type(lists).__name__}", who="judge"
            )
        self.budget = check_int(budget, who="judge", name="budget")
        self.seed = check_int(seed, who="judge", name="seed")
        self.tolerance = check(_TOLERANCE, tolerance, who="judge", name="tolerance")
        self.stopped: str | None = None
        self._all = lists
        self._begin()
        head: dict[str, Any] = {"seed": self.seed}
        if path is not None:
            head = {"lists": _fingerprint(lists), **head, **({"rule": rule} if rule else {})}
        self._reviewer = reviewer
        self._journal = Journal(
            path, holds="judgements", head=head, who="judge", name="path", note=stamp(reviewer)
        )
        for number, event in enumerate(self._journal.entries, 2):
            try:
                self._take(self._checked(event))
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise DataFormatError(str(path), number, f"not a judgement: {error}") from None

    def _begin(self) -> None:
        """Set everything to what it was before the first event."""
        scores, given = self._all.scores, self._all.relevance
        self._grades = np.full(scores.values.size, np.nan)
        if given is not None:
            yes = self._grade(True) if given.values.dtype == np.bool_ else 1.0
            self._grades = given.values.astype(np.float64) * yes
        self._closed = ~np.isnan(self._grades)
        # All lists are asked about, or some where there are very many: judged ones first.
        drawn = np.random.default_rng([self.seed, 0]).permutation(len(self._all))
        self._asked_about = scores.count(self._closed) > 0
        first = np.argsort(~self._asked_about[drawn], kind="stable")[:_POOL]
        self._asked_about[drawn[first]] = True
        self._events: list[dict[str, Any]] = []
        self._queue: list[tuple[int, int]] = []  # lists and ranks
        self._rounds = self.answers = 0
        # Computed when asked for: until another list is asked about, or until the next event.
        self._asked: tuple[RankedLists, IntArray, IntArray] | None = None
        self._model: tuple[Ragged, Relevance] | None = None
        self._loss: float | None = None

    def next(self) -> Question | None:
        """Return the question to ask, the same until it is answered; None when there are enough."""
        self._plan()
        self.stopped = self._enough()
        if self.stopped is not None:
            return None
        pair = self._queue[0]
        names = self._names(*pair)
        return Question(*pair, names["query"], names["doc"])

    def answer(self, value: bool | float | None) -> None:
        """Take the answer to the question of `next`.

        Parameters
        ----------
        value
            True or False; a grade; or None if unsure: the result stays unknown and is not asked
            for again.
        """
        question = self.next()
        if question is None:
            raise InvalidParameterError(
                f"answer must follow a question, got {value!r} after the last one", who="judge"
            )
        self.judge(question.list_index, question.rank, value)

    def judge(self, list_index: int, rank: int, value: bool | float | None) -> None:
        """Take a judgement that was not asked for, or a new one in place of an old one.

        Parameters
        ----------
        list_index, rank, value
            Which list, and which of its results, from 0; the value as for `answer`.
        """
        self._add(self._event(list_index, rank, value))

    def skip_query(self) -> None:
        """Ask nothing more about the query of the present question; its answers stay."""
        question = self.next()
        if question is None:
            raise InvalidParameterError("skip_query must follow a question, got none", who="judge")
        self._add({"skip": question.query_id, "list": question.list_index})

    def undo(self) -> Question | None:
        """Take back the last answer and return its question; None if there is no answer.

        A skipped query is taken back too; then the question is the one that was skipped.
        """
        if not self._events:
            return None
        self._add({"undo": True})
        return self.next()

    @property
    def lists(self) -> RankedLists:
        """The lists with all judgements so far; NaN where there is none."""
        return self._all.with_relevance(self._all.scores.with_values(self._grades.copy()))

    @property
    def loss(self) -> float | None:
        """Largest loss of F1 of the cuts, with 95 % confidence; None before any judgement.

        They are compared with cuts that know the mean number of relevant results exactly.
        """
        found = self._known()
        if found is not None and self._loss is None:
            merit, model = found
            self._loss = model.loss(merit.take(np.flatnonzero(merit.filled)[:_SAMPLE]))
        return self._loss

    def summary(self) -> str:
        """Return one line on the model so far."""
        found = self._known()
        if found is None:
            return "nothing judged yet"
        grades, model = self._grades[self._pool[2]], found[1]
        known = np.count_nonzero(~np.isnan(grades))
        yes = np.count_nonzero(grades >= self._all.min_grade)
        low, high = model.interval
        return (
            f"{known} judged, {yes} relevant: about {rounded(model.number)} relevant results per "
            f"list (95 %: {rounded(low)} to {rounded(high)}), loss of F1 at most {self.loss:.3f}"
        )

    @property
    def _pool(self) -> tuple[RankedLists, IntArray, IntArray]:
        """The lists that are asked about, their numbers, and the places of their results."""
        if self._asked is None:
            numbers = np.flatnonzero(self._asked_about)
            places = self._all.scores.places(numbers).values
            self._asked = self._all[numbers], numbers, places
        return self._asked

    def _known(self) -> tuple[Ragged, Relevance] | None:
        if self._model is None:
            lists, _, places = self._pool
            grades = lists.scores.with_values(self._grades[places])
            self._model = known_relevance(lists.with_relevance(grades), 1)
        return self._model

    def _names(self, i: int, rank: int) -> dict[str, Any]:
        docs = self._all.doc_ids
        doc = None if docs is None else str(docs[i][rank])
        return {"query": str(self._all.query_ids[i]), "doc": doc}

    def _event(self, i: int, rank: int, value: bool | float | None) -> dict[str, Any]:
        """Return a judgement as the file keeps it."""
        i = check(Whole(0, len(self._all) - 1), i, who="judge", name="list_index")
        last = int(self._all.scores.lengths[i]) - 1
        rank = check(Whole(0, last), rank, who="judge", name="rank")
        grade = self._grade(value)
        answer = None if math.isnan(grade) else grade
        return {**self._names(i, rank), "list": i, "rank": rank, "answer": answer}

    def _checked(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event of a file; one that is not about these lists is refused."""
        if "undo" in event:
            return event
        if "skip" in event:
            i = check(Whole(0, len(self._all) - 1), event["list"], who="judge", name="list")
            about: dict[str, Any] = {"skip": str(self._all.query_ids[i])}
        else:
            about = self._event(event["list"], event["rank"], event["answer"])
        for key, value in about.items():
            if event[key] != value:
                raise ValueError(f"{key} must be {value!r}, got {event[key]!r}")
        return event

    def _add(self, event: dict[str, Any]) -> None:
        self._journal.add({**event, **stamp(self._reviewer)})
        self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        """Apply one event to the state."""
        if "undo" in event:
            events = self._events[:-1]
            self._begin()
            for earlier in events:
                self._take(earlier)
            return
        self._plan()  # it must be where it was when the answer was given
        i, offsets = event["list"], self._all.scores.offsets
        if not self._asked_about[i]:
            self._asked_about[i], self._asked = True, None  # from now on it is
        self._model = self._loss = None
        if "skip" in event:
            self._closed[offsets[i] : offsets[i + 1]] = True
            self._queue = [pair for pair in self._queue if pair[0] != i]
        else:
            rank, at = event["rank"], offsets[i] + event["rank"]
            self._grades[at] = math.nan if event["answer"] is None else float(event["answer"])
            self._closed[at] = True
            self._queue = [pair for pair in self._queue if pair != (i, rank)]
            self.answers += 1
        self._events.append(event)

    def _plan(self) -> None:
        """Plan the next round of questions, if none is left of the last one."""
        if self._queue:
            return
        lists, numbers, places = self._pool
        judged, closed = ~np.isnan(self._grades[places]), self._closed[places]
        if closed.all():
            return
        rng = np.random.default_rng([self.seed, 1, self._rounds])
        enough = self._rounds and np.count_nonzero(judged) >= ENOUGH
        known = self._known() if enough else None
        plan = planned(lists.scores, judged, closed, _ROUND, rng, known)
        self._queue = [(int(numbers[i]), rank) for i, rank in plan]
        self._rounds += 1

    def _enough(self) -> str | None:
        """Return why to stop, or None."""
        answers = self.answers
        if answers >= self.budget:
            return f"{self.budget} answers were given"
        if not self._queue:
            return "there is no result left to ask about"
        if self.tolerance is not None and answers >= ENOUGH and not answers % _CHECK:
            loss = self.loss
            if loss is not None and loss <= self.tolerance:
                return (
                    f"the cuts lose at most {loss:.3f} of F1 with 95 % confidence, after "
                    f"{answers} answers"
                )
        return None

    def _grade(self, value: Any) -> float:
        """Return an answer as a grade, NaN for unsure."""
        if value is None:
            return math.nan
        if isinstance(value, (bool, np.bool_)):
            return float(max(1, math.ceil(self._all.min_grade))) if value else 0.0
        grade = math.nan
        value = value.item() if isinstance(value, np.number) else value
        if isinstance(value, (int, float)) and abs(value) < _HIGHEST:
            grade = float(value)
        if math.isnan(grade) or 0 < grade < 1:
            raise InvalidParameterError(
                "an answer must be True, False, None or a grade, 0 or 1 and more (make "
                f"True or False of a probability), got {value!r:.60}",
                who="judge",
            )
        return grade


def judge(
    lists: RankedLists,
    ask: Callable[[str, str], Any],
    budget: int = 200,
    *,
    texts: Mapping[str, str] | None = None,
    queries: Mapping[str, str] | None = None,
    path: str | os.PathLike[str] | None = None,
    tolerance: float | None = None,
    progress: bool | None = None,
    seed: int = 0,
) -> RankedLists:
    """Return the lists with a judge's answers about some results; all others stay unknown (NaN).

    ``Consensus().fit`` learns from such lists. `plan_judgements` says which questions are asked.

    Parameters
    ----------
    lists
        Lists with document ids. Judgements that they hold are kept and not asked for again.
    ask
        The judge: a person, a language model, a click log. It takes query and document; it
        returns True or False, a grade, or None if unsure. It may be asynchronous.
    budget
        Number of answers to collect, including those of earlier runs in the file.
    texts, queries
        Texts of the documents and of the queries, by id; ``ask`` gets them instead of the ids.
    path
        File in which each answer is saved at once. A second call with the same lists and ``seed``
        continues where the first one stopped.
    tolerance
        Stop when the cuts lose at most this much F1, with 95 % confidence; None asks for the
        whole budget.
    progress
        Whether to show progress on standard error, and at the end why it stopped; None does so on a
        terminal.
    seed
        Of the plan.

    Examples
    --------
    >>> lists = RankedLists([[0.9, 0.5, 0.1], [0.8, 0.3]], doc_ids=[["a", "b", "c"], ["d", "e"]])
    >>> judge(lists, lambda query, doc: doc in "ad", budget=4)
    RankedLists(2 lists, 5 results, 4 judged)
    """
    if not callable(ask):
        raise InvalidParameterError(f"ask must be a function, got {ask!r}", who="judge")
    session = JudgingSession(lists, budget, path=path, tolerance=tolerance, seed=seed)
    if lists.doc_ids is None:
        raise InvalidParameterError("lists must have doc_ids to ask about, got none", who="judge")
    shown = sys.stderr.isatty() if progress is None else progress
    with waiting() as wait:
        while (question := session.next()) is not None:
            assert question.doc_id is not None
            query = _text(queries, question.query_id, "queries")
            session.answer(wait(ask(query, _text(texts, question.doc_id, "texts"))))
            if shown:
                sys.stderr.write(f"\rjudge: {session.answers} of {budget} answers")
                sys.stderr.flush()
    if shown:
        sys.stderr.write(f"\njudge: {session.stopped}; {session.summary()}\n")
    return session.lists


class StoppingRule(Protocol):
    """The part of a rule of `paretocut.stopping` that reading needs."""

    def review(self, *, total: int) -> Any: ...


class Reading:
    """Every list read from the top, until a stopping rule says stop; asks as a session does.

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
        return int(self._reviews[self._present].state.read)

    @property
    def budget(self) -> int:
        """Documents of the present list."""
        return int(self._reviews[self._present].total)

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
        self._present = next(iter(self._reviews), 0) if self._last is None else self._last


def _text(texts: Mapping[str, str] | None, name: str, argument: str) -> str:
    if texts is None:
        return name
    if name not in texts:
        raise InvalidParameterError(
            f"{argument} must hold every id that is asked about, got none for {name!r}", who="judge"
        )
    return texts[name]


def _fingerprint(lists: RankedLists) -> str:
    """Return a digest of the names of queries and documents; without these, of the scores."""
    digest = hashlib.sha256(json.dumps(lists.query_ids.tolist()).encode())
    digest.update(lists.scores.offsets.tobytes())
    if lists.doc_ids is None:
        digest.update(lists.scores.values.tobytes())
    else:
        digest.update(json.dumps(lists.doc_ids.values.tolist()).encode())
    return digest.hexdigest()
