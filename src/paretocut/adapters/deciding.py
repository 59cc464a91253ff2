"""How answers are decided on: which results have a score, their direction, the report.

`paretocut.keep` and the classes for frameworks go through `decide`. What is kept stays in the
caller's order, and the caller's objects are not touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from paretocut.adapters.reporting import report, summary, warn_of_shortfall
from paretocut.adapters.tokens import TokenBudget
from paretocut.answers.answer import column, direction_of
from paretocut.decisions import Cut, Cuts
from paretocut.errors import InvalidParameterError, InvalidScoresError, speaking_for
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.schema.files import decode, encode
from paretocut.schema.parameters import check_bool, check_choice, check_positive_int
from paretocut.truncators.choose import Chosen

T = TypeVar("T")

FETCH_K = 200
"""How many results to ask for by default: a decision needs far more than what is shown."""

UNSCORED = ("refuse", "keep", "drop")
"""What can be done with results that have no score."""

_UNSORTED = 5  # fewer results may be in the wrong order by accident
DISTANCES = "distances, as their order shows"


class CutList(list[T]):
    """A list of the results kept, with the decision that kept them.

    Attributes
    ----------
    cut
        How many and why: `paretocut.Cut`, with its reason and warnings. A list of answers to many
        queries has ``cuts`` instead: `paretocut.Cuts`.
    """

    cut: Cut
    cuts: Cuts

    def __init__(self, results: Iterable[T], cut: Cut | Cuts) -> None:
        super().__init__(results)
        setattr(self, "cut" if isinstance(cut, Cut) else "cuts", cut)


class CutTuple(tuple[Any, ...]):
    """A tuple with the decision on what it holds, in ``cut`` or ``cuts``, as in `CutList`."""

    cut: Cut
    cuts: Cuts

    def __new__(cls, results: Iterable[Any] = (), cut: Cut | Cuts | None = None) -> CutTuple:
        made = super().__new__(cls, results)
        if cut is not None:
            setattr(made, "cut" if isinstance(cut, Cut) else "cuts", cut)
        return made


@dataclass(frozen=True)
class Decision:
    """The decision on one list: on the scores that are there, and their positions in it."""

    cut: Cut
    scores: FloatArray
    positions: IntArray | None  # None: all of them are there

    @property
    def kept(self) -> list[int]:
        """Positions of the results kept, in the caller's order."""
        places = np.sort(self.cut.indices)
        found: list[int] = (places if self.positions is None else self.positions[places]).tolist()
        return found

    def marks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the position of each result kept, in the caller's order, and its metadata.

        Surprise, p-value and E-value are there if the decision was made on tails.
        """
        cut = self.cut
        columns = {"score": self.scores}
        if cut.has_tails:
            columns |= {"surprise": cut.surprise, "pvalue": cut.pvalues, "evalue": cut.evalues}
        own = np.sort(cut.indices)
        rows = zip(*(values[own].tolist() for values in columns.values()), strict=True)
        of_list = summary(cut)
        for at, row in zip(self.kept, rows, strict=True):
            yield at, dict(zip(columns, row, strict=True)) | of_list


def decide(
    scores: Sequence[FloatArray],
    chosen: Chosen,
    *,
    who: str,
    single: bool = True,
    higher_is_better: bool | None = None,
    said: bool | None = None,
    lists: RankedLists | None = None,
    queries: Sequence[str | None] | None = None,
    budget: TokenBudget | None = None,
    text_of: Callable[[int, int], str] = lambda query, i: str(i),
    asked: int | None = None,
    remedy: str = "search deeper (ef_search, nprobe, num_candidates)",
) -> tuple[list[Decision], Cuts | None]:
    """Return the decision on each list, and all of them together unless it is a ``single`` one.

    A score that is not finite means that there is no result. ``said`` is the direction that the
    host states. ``lists`` are the same results after a fusion. ``text_of`` takes the number of a
    list and a position in it. A warning says when a search ``asked`` for more than twice as many
    results as came.
    """
    there = [_there(values) for values in scores]
    if asked is not None:
        warn_of_shortfall([own.size for own, _ in there], asked, who=who, remedy=remedy)
    texts: Any = queries
    if queries is not None and not all(isinstance(query, str) for query in queries):
        texts = None
    cuts: Cuts | None = None
    with speaking_for(who, "cut", "cut_batch", who):
        if lists is not None:
            cuts = chosen.cut_batch(lists, queries=texts)
        else:
            values = [own for own, _ in there]
            up, note = _direction(higher_is_better, chosen, said, values, who)
            if single:
                cut = chosen.cut(values[0], query=texts and texts[0], higher_is_better=up)
                found = [cut.noted(note) if note else cut]
            else:
                together = Ragged.from_any(values, dtype=np.float64)
                cuts = chosen.cut_batch(together, queries=texts, higher_is_better=up).noted(note)
    if cuts is not None:
        found = list(cuts)
    if budget is not None and budget.most is not None:

        def text(query: int, i: int) -> str:
            positions = there[query][1]
            return text_of(query, i if positions is None else int(positions[i]))

        limits = budget.limits(found, text)
        if cuts is not None:
            cuts = cuts.limited(limits)
            found = list(cuts)
        elif limits:
            found = [found[0].limited(*limits[0])]
    if cuts is not None:
        cuts.warnings  # noqa: B018  # of all lists at once
    report(found, who)
    return [Decision(cut, *one) for cut, one in zip(found, there, strict=True)], cuts


def _there(values: FloatArray) -> tuple[FloatArray, IntArray | None]:
    """Return the scores that are there, and their positions."""
    finite = np.isfinite(values)
    if finite.all():
        return values, None
    positions = np.flatnonzero(finite)
    return values[positions], positions


def _direction(
    given: bool | None, chosen: Chosen, said: bool | None, scores: Sequence[FloatArray], who: str
) -> tuple[bool, str]:
    """Return whether higher is better, and a note where only the order of the results shows it."""
    if given is not None:
        return check_bool(given, who=who, name="higher_is_better"), ""
    learned = chosen.truncator.direction
    if learned is not None and said is None and min(map(len, scores), default=0) >= _UNSORTED:
        with suppress(InvalidScoresError):  # in no order
            said = direction_of(scores, who)
    if learned is not None and said is not None and learned != said:
        kinds = ("distances", "scores")
        raise InvalidScoresError(
            f"lists must hold {kinds[learned]}, as those it was fitted on, got {kinds[said]}",
            who=type(chosen.truncator).__name__,
        )
    known = said if learned is None else learned
    if known is not None:
        return known, ""
    shown = direction_of(scores, who)
    if shown is None:
        # The same cut either way, but a score of 0 matches nothing, and a distance of 0 does.
        return any(values.any() for values in scores), ""
    return shown, "" if shown else DISTANCES


def filter_scored(
    results: Sequence[T],
    chosen: Chosen,
    *,
    who: str,
    what: str,
    score_of: Callable[[T], float | None],
    mark: Callable[[T, dict[str, Any]], T],
    text_of: Callable[[T], str] = str,
    query: str | None = None,
    unscored: str = "refuse",
    **how: Any,
) -> CutList[T]:
    """Return marked copies of the results kept, and results without a score if asked to.

    ``what`` says what the results must be; ``how`` is as in `decide`.
    """
    try:
        scores = column([score_of(result) for result in results], who)
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidParameterError(
            f"results must be {what}, got {type(results).__name__} {results!r:.80}", who=who
        ) from error
    check_choice(unscored, UNSCORED, who=who, name="unscored")
    missing = np.flatnonzero(np.isnan(scores)).tolist()
    if missing and unscored == "refuse":
        raise InvalidScoresError(
            f"results must have scores unless unscored='keep' or 'drop'; "
            f"got none for the result at index {missing[0]}",
            who=who,
        )
    if results and len(missing) == len(results) and unscored == "drop":
        raise InvalidScoresError(
            f"some result must have a score, or all of them would be dropped; "
            f"got none for any of {len(results)}",
            who=who,
        )
    (decision,), _ = decide(
        [scores],
        chosen,
        who=who,
        queries=[query],
        text_of=lambda _, i: text_of(results[i]),
        **how,
    )
    kept = {i: mark(results[i], values) for i, values in decision.marks()}
    if unscored == "keep":
        kept |= {i: results[i] for i in missing}
    return CutList([kept[i] for i in sorted(kept)], decision.cut)


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
            f"count_tokens must be None for the component to be stored, "
            f"got {plain['count_tokens']!r}",
            who=who,
        )
    for name in plain.keys() & {"truncator", "fusion"}:
        value = plain[name]
        is_path = isinstance(value, os.PathLike)
        plain[name] = os.fspath(value) if is_path else encode(value, who=who, name=name)
    return plain


def restored(value: Any) -> Any:
    """Return the model that `stored` made plain data of; anything else as it is."""
    return decode(value) if isinstance(value, dict) else value
