"""The answers of one judge, question by question: `judge` and the terminal share it."""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from paretocut.callbacks import Journal, stamp
from paretocut.decisions.wording import rounded
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.judging.plan import known_relevance, planned
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists
from paretocut.relevance.judged import Relevance, learn_from
from paretocut.schema.kinds import Either, Real, Whole
from paretocut.schema.parameters import check, check_int, check_real

_ROUND = 50  # results that are planned at once
_POOL = 500  # lists that are asked about at most
_SAMPLE = 50  # lists that the expected loss is computed on
_CHECK = 10  # answers between two checks of the expected loss
_FIRST = 50  # answers before the first check
_HIGHEST = 1e9  # grade
_APART = 10  # answers between a question and its repetition
_TOLERANCE = Either(Real(0))
# Error rates that a judge may have: relevant results missed, irrelevant ones called relevant.
_MISSED = np.array([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
_FALSE = np.array([0.001, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.15, 0.2])


@dataclass(frozen=True, slots=True)
class Question:
    """One result to judge.

    Attributes
    ----------
    list_index, rank
        Which list, and which of its results, from 0.
    query_id, doc_id
        Their names; ``doc_id`` is None in lists without document ids.
    repeated
        Whether it was asked before, to see how often the answers agree.
    """

    list_index: int
    rank: int
    query_id: str
    doc_id: str | None
    repeated: bool = False


_Pair: TypeAlias = tuple[int, int]  # a list and a rank


class _Pool(NamedTuple):
    """The lists that are asked about, their numbers, and the places of their results."""

    lists: RankedLists
    numbers: IntArray
    places: IntArray


@dataclass
class _State:
    """State after the events so far; an undo builds it again."""

    grades: FloatArray
    closed: BoolArray
    asked_about: BoolArray  # lists
    queue: list[_Pair] = field(default_factory=list)
    asked: list[_Pair] = field(default_factory=list)
    pairs: dict[_Pair, tuple[float, float]] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    rounds: int = 0
    answers: int = 0
    pool: _Pool | None = None  # computed when asked for, until another list is asked about
    # Computed when asked for, until the next event.
    pending: tuple[_Pair | None, bool] | None = None
    model: tuple[Ragged, Relevance] | None = None
    loss: float | None = None


class JudgingSession:
    """A judge's answers to planned questions, saved in a file if you want.

    Parameters
    ----------
    lists, budget, path, repeats, tolerance, seed
        As for `paretocut.judge`; lists without document ids are allowed here.
    reviewer
        Who answers; the file names them beside every answer.
    rule
        The stopping rule that the answers are for; a file of another rule is refused.

    Attributes
    ----------
    stopped
        Why there is no next question; None while there is one.

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
        repeats: float = 0.0,
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
        self.repeats = check_real(repeats, who="judge", name="repeats", low=0, high=1, closed="low")
        self.tolerance = check(_TOLERANCE, tolerance, who="judge", name="tolerance")
        self.stopped: str | None = None
        self._all = lists
        self._events: list[dict[str, Any]] = []
        self._state = self._new_state()
        head: dict[str, Any] = {"seed": self.seed, "repeats": self.repeats}
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

    def next(self) -> Question | None:
        """Return the question to ask, the same until it is answered; None when there are enough."""
        pair, repeated = self._next()
        self.stopped = self._enough(pair)
        if self.stopped is not None:
            return None
        assert pair is not None
        names = self._names(*pair)
        return Question(*pair, names["query"], names["doc"], repeated)

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
        event = self._event(question.list_index, question.rank, value)
        self._add(event | {"repeated": True} if question.repeated else event)

    def judge(self, list_index: int, rank: int, value: bool | float | None) -> None:
        """Take a judgement that was not asked for, or a new one in place of an old one.

        Parameters
        ----------
        list_index, rank
            Which list, and which of its results, from 0.
        value
            As for `answer`.
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
    def answers(self) -> int:
        """Answers so far, including unsure ones and those to repeated questions."""
        return self._state.answers

    @property
    def lists(self) -> RankedLists:
        """The lists with all judgements so far; NaN where there is none."""
        return self._all.with_relevance(self._all.scores.with_values(self._state.grades.copy()))

    @property
    def relevance(self) -> Relevance | None:
        """The model of relevance so far; None before the first judgement."""
        found = self._known()
        return None if found is None else found[1]

    @property
    def loss(self) -> float | None:
        """Largest loss of F1 of the cuts, with 95 % confidence; None before any judgement.

        They are compared with cuts that know the mean number of relevant results exactly.
        """
        found = self._known()
        if found is not None and self._state.loss is None:
            merit, model = found
            some = merit.take(np.flatnonzero(merit.filled)[:_SAMPLE])
            self._state.loss = model.loss(some)
        return self._state.loss

    @property
    def errors(self) -> tuple[float, float] | None:
        """Shares of relevant results missed and of irrelevant ones called relevant.

        They are estimated from questions that were asked twice, for
        ``Consensus(judge_errors=...)``; None without any. Twenty pairs say little, so both shares
        are pulled towards likely values. A judge who always makes the same errors goes unnoticed.
        """
        pairs, found = self._known_pairs(), self._known()
        if not pairs or found is None:
            return None
        merit, model = found
        numbers = self._pool.numbers
        at = [merit.offsets[np.searchsorted(numbers, i)] + rank for i, rank in pairs]
        yes = np.array(list(pairs.values())).sum(axis=1)
        rates = _rates(model.probabilities(merit).values[at], yes)
        for _ in range(3):  # how likely results are relevant depends on the errors in turn
            _, _, model = learn_from(self._judged_pool(), errors=rates)
            rates = _rates(model.probabilities(merit).values[at], yes)
        return rates

    def summary(self) -> str:
        """Return one line on the model so far."""
        grades, model = self._state.grades[self._pool.places], self.relevance
        if model is None:
            return "nothing judged yet"
        known = np.count_nonzero(~np.isnan(grades))
        yes = np.count_nonzero(grades >= self._all.min_grade)
        low, high = model.interval
        line = (
            f"{known} judged, {yes} relevant: about {rounded(model.number)} relevant results per "
            f"list (95 %: {rounded(low)} to {rounded(high)}), loss of F1 at most {self.loss:.3f}"
        )
        pairs = self._known_pairs()
        if pairs:
            same = sum(first == second for first, second in pairs.values())
            line += f", {same} of {len(pairs)} repeated answers agree"
        return line

    def _asked_about(self) -> BoolArray:
        """Return which lists are asked about: all, or some where there are very many."""
        count = len(self._all)
        known = np.zeros(count, dtype=bool)
        if self._all.relevance is not None:
            known = self._all.scores.count(self._all.judged.values) > 0
        drawn = np.random.default_rng([self.seed, 0]).permutation(count)
        first = drawn[np.argsort(~known[drawn], kind="stable")]
        known[first[:_POOL]] = True
        return known

    @property
    def _pool(self) -> _Pool:
        if self._state.pool is None:
            numbers = np.flatnonzero(self._state.asked_about)
            places = self._all.scores.places(numbers).values
            self._state.pool = _Pool(self._all[numbers], numbers, places)
        return self._state.pool

    def _judged_pool(self) -> RankedLists:
        """Return the lists that are asked about, with the judgements so far."""
        lists, _, places = self._pool
        return lists.with_relevance(lists.scores.with_values(self._state.grades[places]))

    def _known_pairs(self) -> dict[_Pair, tuple[bool, bool]]:
        """Return both answers, relevant or not, to each question that was answered twice."""
        least = self._all.min_grade
        return {
            pair: (first >= least, second >= least)
            for pair, (first, second) in self._state.pairs.items()
            if not math.isnan(second)
        }

    def _new_state(self) -> _State:
        grades = np.full(self._all.scores.values.size, np.nan)
        if self._all.relevance is not None:
            given = self._all.relevance.values
            yes = self._grade(True) if given.dtype == np.bool_ else 1.0
            grades = given.astype(np.float64) * yes
        return _State(grades, ~np.isnan(grades), self._asked_about())

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
            self._replay(self._events[:-1])
            return
        state, i, offsets = self._state, event["list"], self._all.scores.offsets
        self._next()  # the plan must be where it was when the answer was given
        if not state.asked_about[i]:
            state.asked_about[i], state.pool = True, None  # from now on it is
        state.pending = state.model = state.loss = None
        if "skip" in event:
            state.skipped.add(i)
            state.closed[offsets[i] : offsets[i + 1]] = True
            state.queue = [pair for pair in state.queue if pair[0] != i]
        else:
            rank, at = event["rank"], offsets[i] + event["rank"]
            value = math.nan if event["answer"] is None else float(event["answer"])
            if event.get("repeated"):
                state.pairs[i, rank] = (float(state.grades[at]), value)
            else:
                state.grades[at] = value
                state.closed[at] = True
                state.asked.append((i, rank))
                state.queue = [pair for pair in state.queue if pair != (i, rank)]
            state.answers += 1
        self._events.append(event)

    def _replay(self, events: list[dict[str, Any]]) -> None:
        self._events, self._state = [], self._new_state()
        for event in events:
            self._take(event)

    def _next(self) -> tuple[_Pair | None, bool]:
        """Return the next pair of list and rank, and whether it is a repetition."""
        state = self._state
        if state.pending is None:
            again = self._repetition()
            if again is None and not state.queue:
                rng = np.random.default_rng([self.seed, 1, state.rounds])
                lists, numbers, places = self._pool
                judged, closed = ~np.isnan(state.grades[places]), state.closed[places]
                enough = state.rounds and np.count_nonzero(judged) >= _FIRST
                known = self._known() if enough and not closed.all() else None
                plan = planned(lists.scores, judged, closed, _ROUND, rng, known)
                state.queue = [(int(numbers[i]), rank) for i, rank in plan]
                state.rounds += 1
            first = state.queue[0] if state.queue else None
            state.pending = (first, False) if again is None else (again, True)
        return state.pending

    def _repetition(self) -> _Pair | None:
        """Return the result to ask about a second time now, or None."""
        state = self._state
        due = math.floor((state.answers + 1) * self.repeats)
        if due <= len(state.pairs) or len(state.asked) <= _APART:
            return None
        grades, offsets = state.grades, self._all.scores.offsets
        old = [
            (i, rank)
            for i, rank in state.asked[:-_APART]
            if (i, rank) not in state.pairs
            and i not in state.skipped
            and not np.isnan(grades[offsets[i] + rank])
        ]
        if not old:
            return None
        return old[np.random.default_rng([self.seed, 2, state.answers]).integers(len(old))]

    def _known(self) -> tuple[Ragged, Relevance] | None:
        if self._state.model is None:
            self._state.model = known_relevance(self._judged_pool(), 1)
        return self._state.model

    def _enough(self, pair: _Pair | None) -> str | None:
        """Return why to stop, or None; ``pair`` is the next question."""
        answers = self.answers
        if answers >= self.budget:
            return f"{self.budget} answers were given"
        if pair is None:
            return "there is no result left to ask about"
        if self.tolerance is not None and answers >= _FIRST and not answers % _CHECK:
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


def _fingerprint(lists: RankedLists) -> str:
    """Return a digest of the names of queries and documents; without these, of the scores."""
    digest = hashlib.sha256(json.dumps(lists.query_ids.tolist()).encode())
    digest.update(lists.scores.offsets.tobytes())
    if lists.doc_ids is None:
        digest.update(lists.scores.values.tobytes())
    else:
        digest.update(json.dumps(lists.doc_ids.values.tolist()).encode())
    return digest.hexdigest()


def _rates(chances: FloatArray, yes: IntArray) -> tuple[float, float]:
    """Return the error rates of a judge, from results that were asked about twice.

    `chances` say how likely each is relevant, `yes` how often it was called so.
    """
    likely = -_FALSE[:, None] / 0.05 - 0.5 * (_MISSED / 0.15) ** 2
    for chance, ones in zip(chances.tolist(), yes.tolist(), strict=True):
        hit = (1 - _MISSED) ** ones * _MISSED ** (2 - ones)
        noise = _FALSE[:, None] ** ones * (1 - _FALSE[:, None]) ** (2 - ones)
        likely += np.log(chance * hit + (1 - chance) * noise)
    weight = np.exp(likely - likely.max())
    weight /= weight.sum()
    return float(weight.sum(axis=0) @ _MISSED), float(weight.sum(axis=1) @ _FALSE)
