"""The plumbing that adapters share: which results have a score, who decides, what is told.

An adapter is a filter: what it keeps stays in the caller's order, and the caller's objects are not
touched. Every decision is told in the same words: on the result itself, on the logger
``paretocut`` (debug), and on the current OpenTelemetry span where that package is in use.
"""

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from paretocut._cut import Choice, choose
from paretocut._diagnostics import ABOUT_SCORES, WARNINGS
from paretocut._options import check_bounds
from paretocut._validation import check_choice, check_positive_int
from paretocut.decisions import Cut, Cuts
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import check_direction
from paretocut.ragged import FloatArray, IntArray, Ragged
from paretocut.truncators import Truncator

__all__ = [
    "FETCH_K",
    "KEY",
    "UNSCORED",
    "CutList",
    "CutOptions",
    "CutTuple",
    "Cutter",
    "Decision",
    "ScoresWarning",
    "TokenBudget",
    "cut_scored",
    "cuts_of_each",
    "estimate_tokens",
    "filter_scored",
    "tell",
    "warn_of_scores",
    "warn_of_shortfall",
    "with_mark",
]

T = TypeVar("T")

FETCH_K = 200
"""How many results to ask for by default: a decision needs far more than what is shown."""

KEY = "paretocut"
"""The one key under which metadata says what was decided."""

UNSCORED = ("refuse", "keep", "drop")
"""What can be done with results that have no score."""

_CHARACTERS_PER_TOKEN = 4  # of English text, about
_logger = logging.getLogger("paretocut")


class CutOptions(Choice, total=False):
    """Options of `paretocut.cut`, less the direction of the scores."""

    min_k: int
    max_k: int | None


class ScoresWarning(UserWarning):
    """Scores from which little can be decided, such as ranks, saturated or very few ones."""


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
        """Yield the position of each result kept and what its metadata should say of it."""
        cut = self.cut
        columns = (self.scores, cut.surprise, cut.pvalues, cut.evalues)
        score, surprise, pvalue, evalue = (column.tolist() for column in columns)
        of_list = {"k": cut.k, "n": cut.n, "reason": cut.reason, "warnings": list(cut.warnings)}
        for i in np.sort(cut.indices).tolist():
            own = {"score": score[i], "surprise": surprise[i]}
            yield (
                int(self.positions[i]),
                {
                    **own,
                    "pvalue": pvalue[i],
                    "evalue": evalue[i],
                    **of_list,
                },
            )

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
    higher_is_better: bool = True,
    best_first: bool = True,
) -> Decision:
    """Return what to keep of one answer.

    Parameters
    ----------
    scores
        One score per result; None and NaN mean that there is none, and take no part.
    cutter
        Who decides.
    who
        Name of the adapter, for messages.
    higher_is_better
        False if the scores are distances.
    best_first
        Whether the results are known to come sorted. Scores that run the other way are an error,
        because the direction must then be wrong; unsorted results get the benefit of the doubt.

    Raises
    ------
    InvalidScoresError
        For scores that contradict the direction, or that are infinite or no numbers.
    """
    values, positions = _scored(scores, who)
    if best_first:
        column = Ragged.unchecked(values, np.array([0, values.size]))
        check_direction(column, higher_is_better, who=who, least=2)
    try:
        cut = cutter.truncator.cut(
            values,
            higher_is_better=higher_is_better,
            min_k=cutter.min_k,
            max_k=cutter.max_k,
        )
    except InvalidScoresError as error:
        text = str(error)
        raise InvalidScoresError(f"{who}: {text.removeprefix('cut: ')}") from error
    warn_of_scores([cut.warnings], who)
    tell(cut, who)
    return Decision(cut, values, positions)


def cuts_of_each(
    answers: Iterable[ArrayLike], cutter: Cutter, *, who: str, higher_is_better: bool
) -> tuple[list[IntArray], Cuts]:
    """Return the positions kept of each answer, and the decisions, as `cut_scored` one by one.

    Parameters
    ----------
    answers
        The scores of each answer, best first.
    cutter, who, higher_is_better
        As in `cut_scored`.
    """
    scored = [_scored(scores, who) for scores in answers]
    lists = Ragged.from_any([values for values, _ in scored], dtype=np.float64)
    check_direction(lists, higher_is_better, who=who, least=2)
    cuts = cutter.truncator.cut_batch(
        lists, higher_is_better=higher_is_better, min_k=cutter.min_k, max_k=cutter.max_k
    )
    warn_of_scores(cuts.warnings, who)
    if _logger.isEnabledFor(logging.DEBUG):
        for cut in cuts:
            tell(cut, who)
    sign = -1.0 if higher_is_better else 1.0
    kept = [
        np.sort(positions[np.argsort(sign * values, kind="stable")[:k]])
        for (values, positions), k in zip(scored, cuts.k.tolist(), strict=True)
    ]
    return kept, cuts


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
    higher_is_better: bool = True,
    best_first: bool = False,
) -> CutList[T]:
    """Return the results kept, each marked with the decision, and those without a score if asked.

    Parameters
    ----------
    results, scores
        The results and the score of each, or None.
    cutter, who, higher_is_better, best_first
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
        scores, cutter, who=who, higher_is_better=higher_is_better, best_first=best_first
    ).within(budget, lambda i: text_of(results[i]))
    marks = dict(decision.marks())
    spared = set(missing) if unscored == "keep" else set()
    kept = [
        mark(result, marks[i]) if i in marks else result
        for i, result in enumerate(results)
        if i in marks or i in spared
    ]
    return CutList(kept, decision.cut)


def with_mark(metadata: Mapping[str, Any], mark: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with the decision under `KEY`; what a user has there stays.

    Parameters
    ----------
    metadata
        Of one result.
    mark
        What `Decision.marks` says of it.
    """
    there = metadata.get(KEY)
    ours = there is None or (isinstance(there, dict) and "reason" in there)
    return {**metadata, KEY: mark} if ours else dict(metadata)


def tell(cut: Cut, who: str) -> None:
    """Tell the logger and the current OpenTelemetry span what was decided.

    Parameters
    ----------
    cut
        The decision.
    who
        Name of the adapter.
    """
    if _logger.isEnabledFor(logging.DEBUG):
        names = f" [{', '.join(cut.warnings)}]" if cut.warnings else ""
        _logger.debug("%s: %s%s", who, cut.reason, names)
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        span = trace.get_current_span()
        if span.is_recording():
            told = {"k": cut.k, "n": cut.n, "reason": cut.reason, "warnings": list(cut.warnings)}
            span.set_attributes({f"{KEY}.{name}": value for name, value in told.items()})


def warn_of_scores(found: Iterable[Sequence[str]], who: str) -> None:
    """Raise a `ScoresWarning` for each kind of scores from which little can be decided.

    Parameters
    ----------
    found
        The warnings of each list.
    who
        Name of the adapter.
    """
    kinds = {name for names in found for name in names}
    for name in ABOUT_SCORES:
        if name in kinds:
            warnings.warn(f"{who}: {WARNINGS[name]}", ScoresWarning, stacklevel=4)


def warn_of_shortfall(found: int, asked: int | None, *, who: str, remedy: str) -> None:
    """Raise a `ScoresWarning` when a search brought less than half of what it was asked for.

    Parameters
    ----------
    found, asked
        How many results came, and how many were asked for (None: not known).
    who
        Name of the adapter.
    remedy
        What makes this store search deeper.
    """
    if asked is not None and 0 < found < asked / 2:
        warnings.warn(
            f"{who}: the search brought {found} of the {asked} results asked for; {remedy}",
            ScoresWarning,
            stacklevel=4,
        )


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
