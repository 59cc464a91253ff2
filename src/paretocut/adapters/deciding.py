"""How adapters decide: which results have a score, the decision on them, the report.

An adapter is a filter: what it keeps stays in the caller's order, and the caller's objects are not
touched. All of them go through `decide`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from paretocut.adapters.reporting import OF_RESULT, report, summary, warn_of_shortfall
from paretocut.adapters.tokens import TokenBudget
from paretocut.decisions import Cut, Cuts
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.lists.columns import check_direction
from paretocut.schema.files import decode, encode
from paretocut.schema.parameters import check_choice, check_positive_int
from paretocut.truncators.choose import Chosen

T = TypeVar("T")

FETCH_K = 200
"""How many results to ask for by default: a decision needs far more than what is shown."""

UNSCORED = ("refuse", "keep", "drop")
"""What can be done with results that have no score."""


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
        made = cls(arrays)
        made.cuts = cuts
        return made


@dataclass(frozen=True)
class Decision:
    """The decision on one answer: on the scores that are there, and their positions in it."""

    cut: Cut
    scores: FloatArray
    positions: IntArray

    @property
    def kept(self) -> IntArray:
        """Positions of the results kept, in the caller's order."""
        return np.sort(self.positions[self.cut.indices])

    def marks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the position of each result kept, in the caller's order, and its metadata."""
        cut = self.cut
        kept = np.sort(cut.indices)
        columns = (self.scores, cut.surprise, cut.pvalues, cut.evalues)
        rows = zip(*(column[kept].tolist() for column in columns), strict=True)
        of_list = summary(cut)
        for at, row in zip(self.positions[kept].tolist(), rows, strict=True):
            yield at, dict(zip(OF_RESULT, row, strict=True)) | of_list


def decide(
    lists: Ragged | RankedLists,
    chosen: Chosen | Mapping[str, Any],
    *,
    who: str,
    queries: Sequence[str | None] | None = None,
    higher_is_better: bool = True,
    limit: Callable[[int, Cut], Cut] | None = None,
) -> tuple[Cuts, Cuts | list[Cut]]:
    """Return the decisions before and after a limit, and report the latter for ``who``.

    ``chosen`` may be options that are not checked yet. ``limit`` takes the number of a list and
    its decision. Queries are handed on if all are known.
    """
    if not isinstance(chosen, Chosen):
        chosen = Chosen.of(who, chosen)
    known = queries is not None and all(isinstance(query, str) for query in queries)
    texts: Any = queries if known else None
    with _speaking_for(who):
        cuts = chosen.cut_batch(lists, queries=texts, higher_is_better=higher_is_better)
        cuts.warnings  # noqa: B018  # of all lists at once
    final = cuts if limit is None else [limit(i, cut) for i, cut in enumerate(cuts)]
    report(final, who)
    return cuts, final


@contextmanager
def _speaking_for(who: str) -> Iterator[None]:
    """Put the adapter's name before what a truncator says of the lists."""
    try:
        yield
    except (InvalidParameterError, InvalidScoresError) as error:
        raise type(error)(f"{who}: {str(error).removeprefix('cut_batch: ')}") from error


def cut_each(
    answers: Iterable[ArrayLike | Sequence[float | None]],
    chosen: Chosen | Mapping[str, Any],
    *,
    who: str,
    queries: Sequence[str | None] | None = None,
    higher_is_better: bool = True,
    best_first: bool = True,
    budget: TokenBudget | None = None,
    text_of: Callable[[int, int], str] = lambda answer, i: str(i),
    asked: int | None = None,
    remedy: str = "",
) -> tuple[list[Decision], Cuts]:
    """Return what to keep of each answer, and all decisions together (before the budget).

    A score of None or NaN means that there is none. Where results are known to come
    ``best_first``, even two scores that run the other way are refused. ``text_of`` gives the text
    of a result from the number of the answer and its position there. A warning says when a search
    ``asked`` for more than twice as many results as came, and names the ``remedy``.
    """
    scored = [_scored(scores, who) for scores in answers]
    warn_of_shortfall([values.size for values, _ in scored], asked, who=who, remedy=remedy)
    lists = Ragged.from_any([values for values, _ in scored], dtype=np.float64)
    if best_first:
        check_direction(lists, higher_is_better, who=who, least=2)

    def limit(answer: int, cut: Cut) -> Cut:
        assert budget is not None
        positions = scored[answer][1]
        return budget.limited(cut, lambda i: text_of(answer, int(positions[i])))

    cuts, final = decide(
        lists,
        chosen,
        who=who,
        queries=queries,
        higher_is_better=higher_is_better,
        limit=None if budget is None or budget.most is None else limit,
    )
    return [Decision(cut, *one) for cut, one in zip(final, scored, strict=True)], cuts


def cut_scored(
    scores: ArrayLike | Sequence[float | None],
    chosen: Chosen | Mapping[str, Any],
    *,
    who: str,
    query: str | None = None,
    text_of: Callable[[int], str] = str,
    **how: Any,
) -> Decision:
    """Return what to keep of one answer; the rest is as in `cut_each`."""
    (decision,), _ = cut_each(
        [scores], chosen, who=who, queries=[query], text_of=lambda _, i: text_of(i), **how
    )
    return decision


def filter_scored(
    results: Sequence[T],
    chosen: Chosen,
    *,
    who: str,
    what: str,
    score_of: Callable[[T], float | None],
    mark: Callable[[T, dict[str, Any]], T],
    text_of: Callable[[T], str] = str,
    unscored: str = "refuse",
    **how: Any,
) -> CutList[T]:
    """Return marked copies of the results kept, and results without a score if asked to.

    ``what`` says what the results must be. Their order says nothing of their direction.
    """
    scores = read_each(results, score_of, who=who, what=what)
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
        scores, chosen, who=who, best_first=False, text_of=lambda i: text_of(results[i]), **how
    )
    kept = {i: mark(results[i], values) for i, values in decision.marks()}
    if unscored == "keep":
        kept |= {i: results[i] for i in missing}
    return CutList([kept[i] for i in sorted(kept)], decision.cut)


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


def read_each(results: Any, read: Callable[[Any], T], *, who: str, what: str) -> list[T]:
    """Return what ``read`` finds in each result, or say ``what`` the results must be."""
    try:
        return [read(result) for result in results]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"{who}: results must be {what}, got {type(results).__name__} {results!r:.80}"
        ) from error


def at_most(chosen: Chosen, most: int | None, who: str, name: str) -> Chosen:
    """Return the choice with a bound that came at run time, under this name."""
    if most is None:
        return chosen
    check_positive_int(most, who=who, name=name)
    least = most if chosen.max_k is None else min(most, chosen.max_k)
    return replace(chosen, max_k=least, min_k=min(chosen.min_k, least))


def stored(options: Mapping[str, Any], who: str) -> dict[str, Any]:
    """Return options as a stored component has them: models as plain data, and no functions."""
    plain = dict(options)
    if plain.get("count_tokens") is not None:
        raise InvalidParameterError(
            f"{who}: count_tokens must be None for the component to be stored, "
            f"got {plain['count_tokens']!r}"
        )
    for name in plain.keys() & {"truncator", "fusion"}:
        value = plain[name]
        is_path = isinstance(value, os.PathLike)
        plain[name] = os.fspath(value) if is_path else encode(value, who=who, name=name)
    return plain


def restored(value: Any) -> Any:
    """Return the model that `stored` made plain data of; anything else as it is."""
    return decode(value) if isinstance(value, dict) else value
