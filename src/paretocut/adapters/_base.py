"""The code that adapters share: which results have a score, who decides, what is reported.

An adapter is a filter: what it keeps stays in the caller's order, and the caller's objects are not
touched. `paretocut.adapters._telling` reports what was decided.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut.adapters._telling import OWN, tell, told, warn_of_scores
from paretocut.decisions import Cut, Cuts
from paretocut.decisions.options import check_bounds
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.lists.columns import check_direction
from paretocut.schema.parameters import check_choice, check_positive_int
from paretocut.truncators import Truncator
from paretocut.truncators.choose import Choice, choose

__all__ = [
    "FETCH_K",
    "UNSCORED",
    "CutList",
    "CutOptions",
    "CutTuple",
    "Cutter",
    "Decision",
    "TokenBudget",
    "cut_each",
    "cut_scored",
    "estimate_tokens",
    "filter_scored",
    "read_each",
    "two_matrices",
]

T = TypeVar("T")

FETCH_K = 200
"""How many results to ask for by default: a decision needs far more than what is shown."""

UNSCORED = ("refuse", "keep", "drop")
"""What can be done with results that have no score."""

_CHARACTERS_PER_TOKEN = 4  # of English text, about


class CutOptions(Choice, total=False):
    """Options of `paretocut.cut`, less the direction of the scores."""

    min_k: int
    max_k: int | None


class CutList(list[T]):
    """A list of the results kept, with the decision that kept them.

    Attributes
    ----------
    cut
        How many and why: `paretocut.Cut`, with its reason and warnings.
    """

    def __init__(self, results: Iterable[T], cut: Cut) -> None:
        super().__init__(results)
        self.cut = cut


class CutTuple(tuple[Any, ...]):
    """The arrays of an answer to many queries, with the decisions on them.

    Attributes
    ----------
    cuts
        How many of each and why: `paretocut.Cuts`.
    """

    cuts: Cuts

    @classmethod
    def of(cls, arrays: Iterable[Any], cuts: Cuts) -> CutTuple:
        """Return the arrays with the decisions."""
        made = cls(arrays)
        made.cuts = cuts
        return made


@dataclass(frozen=True)
class Cutter:
    """Who decides and within which bounds: the options of an adapter, checked once.

    Attributes
    ----------
    truncator
        Decides.
    min_k, max_k
        Bounds on the number kept.
    """

    truncator: Truncator
    min_k: int = 0
    max_k: int | None = None

    @classmethod
    def of(cls, who: str, options: Mapping[str, Any]) -> Cutter:
        """Return the cutter that the options describe; a saved truncator is loaded here.

        Parameters
        ----------
        who
            Name of the adapter, for messages.
        options
            Options of `paretocut.cut`.
        """
        unknown = options.keys() - CutOptions.__annotations__.keys()
        if unknown:
            allowed = ", ".join(CutOptions.__annotations__)
            raise InvalidParameterError(
                f"{who}: options must be among {allowed}, got {', '.join(sorted(unknown))}"
            )
        choice = dict(options)
        bounds = choice.pop("min_k", 0), choice.pop("max_k", None)
        check_bounds(who, *bounds)
        return cls(choose(who, **choice), *bounds)

    def needed(self, queries: Sequence[str | None] | None, who: str) -> list[str] | None:
        """Return the texts of the queries if the truncator needs them, else None.

        Parameters
        ----------
        queries
            The query of each answer, where the adapter knows it.
        who
            Name of the adapter, for messages.
        """
        if not self.truncator._needs_query():
            return None
        known = [query for query in queries or () if isinstance(query, str)]
        if queries is None or len(known) < len(queries):
            raise InvalidParameterError(
                f"{who}: the truncator was calibrated for lexical scores, so it must be told the "
                "text of the query, got none; where there is no place for it here, use "
                "truncator.cut(scores, query=...)"
            )
        return known


@dataclass(frozen=True)
class TokenBudget:
    """How many tokens the results kept may have together.

    Attributes
    ----------
    most
        The budget, or None for none.
    count
        Counts the tokens of a text; `estimate_tokens` unless told otherwise.
    """

    most: int | None = None
    count: Callable[[str], int] | None = None

    def check(self, who: str) -> TokenBudget:
        """Return the budget itself, or raise InvalidParameterError in the name of ``who``."""
        if self.most is not None:
            check_positive_int(self.most, who=who, name="max_tokens")
        if self.count is not None and not callable(self.count):
            raise InvalidParameterError(
                f"{who}: count_tokens must be a function of a text, got {self.count!r}"
            )
        return self

    def within(self, texts: Iterable[str]) -> int:
        """Return how many of the texts, from the first on, fit into the budget."""
        count, left, fit = self.count or estimate_tokens, self.most, 0
        assert left is not None
        for text in texts:
            left -= count(text)
            if left < 0:
                break
            fit += 1
        return fit


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has: one for every four characters, rounded up.

    Parameters
    ----------
    text
        English prose comes close; for code or other languages give your own counter.
    """
    return math.ceil(len(text) / _CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class Decision:
    """What was decided on one answer.

    Attributes
    ----------
    cut
        The decision, on the results that have a score.
    scores
        Their scores.
    positions
        Where those results are in the caller's list.
    """

    cut: Cut
    scores: FloatArray
    positions: IntArray

    @property
    def kept(self) -> IntArray:
        """Positions of the results kept, in the caller's order."""
        return np.sort(self.positions[self.cut.indices])

    def marks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the position of each result kept, and the metadata for it."""
        cut = self.cut
        columns = (self.scores, cut.surprise, cut.pvalues, cut.evalues)
        score, surprise, pvalue, evalue = (column.tolist() for column in columns)
        of_list = told(cut)
        for i in np.sort(cut.indices).tolist():
            own = dict(zip(OWN, (score[i], surprise[i], pvalue[i], evalue[i]), strict=True))
            yield int(self.positions[i]), own | of_list

    def within(self, budget: TokenBudget, text_of: Callable[[int], str]) -> Decision:
        """Return the decision cut to a budget of tokens, best results first.

        Parameters
        ----------
        budget
            The budget.
        text_of
            Gives the text of the result at a position of the caller's list.
        """
        if budget.most is None:
            return self
        best_first = self.positions[self.cut.indices].tolist()
        fit = budget.within(text_of(i) for i in best_first)
        why = f"all that fit into {budget.most} tokens"
        return Decision(self.cut.limited(fit, why), self.scores, self.positions)


def cut_scored(
    scores: ArrayLike | Sequence[float | None],
    cutter: Cutter,
    *,
    who: str,
    query: str | None = None,
    higher_is_better: bool = True,
    best_first: bool = True,
    budget: TokenBudget | None = None,
    text_of: Callable[[int], str] = str,
) -> Decision:
    """Return what to keep of one answer, and report the decision.

    Parameters
    ----------
    scores
        One score per result; None and NaN mean that there is none, and take no part.
    cutter
        Who decides.
    who
        Name of the adapter, for messages.
    query
        Text of the query; only a truncator that needs it is told.
    higher_is_better
        False if the scores are distances.
    best_first
        Whether the results are known to come sorted. Scores that run the other way are an error,
        because the direction must then be wrong; unsorted results get the benefit of the doubt.
    budget, text_of
        As in `Decision.within`.

    Raises
    ------
    InvalidScoresError
        For scores that contradict the direction, or that are infinite or no numbers.
    """
    values, positions = _scored(scores, who)
    if best_first:
        column = Ragged.unchecked(values, np.array([0, values.size]))
        check_direction(column, higher_is_better, who=who, least=2)
    needed = cutter.needed([query], who)
    asked: dict[str, Any] = {} if needed is None else {"query": needed[0]}
    with _speaking_for(who):
        cut = cutter.truncator.cut(
            values,
            higher_is_better=higher_is_better,
            min_k=cutter.min_k,
            max_k=cutter.max_k,
            **asked,
        )
    decision = Decision(cut, values, positions)
    if budget is not None:
        decision = decision.within(budget, text_of)
    warn_of_scores([cut.warnings], who)
    tell([decision.cut], who)
    return decision


def cut_each(
    answers: Iterable[ArrayLike],
    cutter: Cutter,
    *,
    who: str,
    queries: Sequence[str | None] | None = None,
    higher_is_better: bool = True,
    best_first: bool = True,
    budget: TokenBudget | None = None,
    text_of: Callable[[int, int], str] = lambda answer, i: str(i),
) -> tuple[list[Decision], Cuts]:
    """Return what to keep of each answer, as `cut_scored` one by one, and all decisions together.

    Parameters
    ----------
    answers
        The scores of each answer.
    cutter, who, higher_is_better, best_first
        As in `cut_scored`.
    queries
        Text of the query of each answer; only a truncator that needs them is told.
    budget, text_of
        As in `Decision.within`; ``text_of`` takes the number of the answer too.
    """
    scored = [_scored(scores, who) for scores in answers]
    lists = Ragged.from_any([values for values, _ in scored], dtype=np.float64)
    if best_first:
        check_direction(lists, higher_is_better, who=who, least=2)
    needed = cutter.needed(queries, who)
    asked: dict[str, Any] = {} if needed is None else {"queries": needed}
    with _speaking_for(who):
        cuts = cutter.truncator.cut_batch(
            lists,
            higher_is_better=higher_is_better,
            min_k=cutter.min_k,
            max_k=cutter.max_k,
            **asked,
        )
    sign = -1.0 if higher_is_better else 1.0
    decisions = [
        # Batches are decided best first; a cut points into the list as the caller has it.
        Decision(cut.reordered(np.argsort(sign * values, kind="stable")), values, positions)
        for cut, (values, positions) in zip(cuts, scored, strict=True)
    ]
    if budget is not None:
        decisions = [
            decision.within(budget, functools.partial(text_of, at))
            for at, decision in enumerate(decisions)
        ]
    warn_of_scores(cuts.warnings, who)
    tell([decision.cut for decision in decisions], who)
    return decisions, cuts


@contextmanager
def _speaking_for(who: str) -> Iterator[None]:
    """Put the adapter's name before what a truncator says of the scores."""
    try:
        yield
    except InvalidScoresError as error:
        text = str(error).removeprefix("cut: ").removeprefix("cut_batch: ")
        raise InvalidScoresError(f"{who}: {text}") from error


def read_each(results: Any, read: Callable[[Any], T], *, who: str, what: str) -> list[T]:
    """Return what ``read`` finds in each result, or say what the results must be.

    Parameters
    ----------
    results
        What the user gave.
    read
        Takes one result.
    who, what
        Name of the adapter; what the results must be, in words.
    """
    try:
        return [read(result) for result in results]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"{who}: results must be {what}, got {type(results).__name__} {results!r:.80}"
        ) from error


def two_matrices(who: str, **given: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels and distances of many queries as arrays of one shape.

    Parameters
    ----------
    who
        Name of the adapter.
    **given
        The two, by the names of the arguments, in the order to return.
    """
    try:
        first, second = (np.asarray(value) for value in given.values())
    except ValueError as error:  # rows of different lengths
        raise InvalidScoresError(
            f"{who}: {' and '.join(given)} must be two-dimensional and of one shape, got {error}"
        ) from error
    if first.ndim != 2 or first.shape != second.shape:
        raise InvalidScoresError(
            f"{who}: {' and '.join(given)} must be two-dimensional and of one shape, got "
            f"{first.shape} and {second.shape}"
        )
    return first, second


def filter_scored(
    results: Sequence[T],
    scores: Sequence[float | None],
    cutter: Cutter,
    *,
    who: str,
    unscored: str,
    mark: Callable[[T, dict[str, Any]], T],
    text_of: Callable[[T], str],
    budget: TokenBudget,
    query: str | None = None,
    higher_is_better: bool = True,
    best_first: bool = False,
) -> CutList[T]:
    """Return the results kept, each marked with the decision, and those without a score if asked.

    Parameters
    ----------
    results, scores
        The results and the score of each, or None.
    cutter, who, query, higher_is_better, best_first
        As in `cut_scored`.
    unscored
        What to do with results that have none: one of `UNSCORED`.
    mark
        Makes a marked copy of a result.
    text_of
        Gives the text of a result, for the budget.
    budget
        How many tokens the results kept may have.
    """
    check_choice(unscored, UNSCORED, who=who, name="unscored")
    missing = [i for i, score in enumerate(scores) if score is None or score != score]
    if missing and unscored == "refuse":
        raise InvalidScoresError(
            f"{who}: results must have scores unless unscored='keep' or 'drop'; "
            f"got none for the result at index {missing[0]}"
        )
    if results and len(missing) == len(results) and unscored == "drop":
        raise InvalidScoresError(
            f"{who}: some result must have a score, or all of them would be dropped; "
            f"got none for any of {len(results)}"
        )
    decision = cut_scored(
        scores,
        cutter,
        who=who,
        query=query,
        higher_is_better=higher_is_better,
        best_first=best_first,
        budget=budget,
        text_of=lambda i: text_of(results[i]),
    )
    marks = dict(decision.marks())
    spared = set(missing) if unscored == "keep" else set()
    kept = [
        mark(result, marks[i]) if i in marks else result
        for i, result in enumerate(results)
        if i in marks or i in spared
    ]
    return CutList(kept, decision.cut)


def _scored(scores: Any, who: str) -> tuple[FloatArray, IntArray]:
    """Return the scores that are there, and their positions."""
    try:
        values = np.asarray(scores, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise InvalidScoresError(f"{who}: scores must be numbers, got {error}") from error
    if values.ndim != 1:
        raise InvalidScoresError(
            f"{who}: scores must be one-dimensional, got an array of shape {values.shape}"
        )
    positions = np.flatnonzero(~np.isnan(values))
    return values[positions], positions
