"""The decision: how many results to keep, and why, for one list (`Cut`) or many (`Cuts`).

Everything that decides makes these objects in the same way. It says how many results it would
keep; the bounds, the results that match nothing, the sentence and the warnings are added here.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.wording import amount, edge, sentence
from paretocut.errors import InvalidScoresError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists, best_first, offsets_of
from paretocut.lists.columns import check_direction
from paretocut.schema.parameters import shown
from paretocut.show.pictures import cut_picture, cuts_picture

__all__ = [
    "Cut",
    "Cuts",
    "Decider",
    "as_scores",
    "decided",
    "in_callers_order",
    "matching",
    "one_decided",
    "one_list",
]


class Decider(Protocol):
    """What a decision asks of whoever made it."""

    def _label(self) -> str:
        """Return a short name: a class with its parameters, or a rule with its level."""

    def _because(self, cuts: Cuts) -> Sequence[str]:
        """Return, for each list, the clause that explains its cut before any bound."""

    def _notices(self, cuts: Cuts) -> Sequence[tuple[str, ...]]:
        """Return, for each list, the names of the warnings that matter to this decision."""

    def _tails(self, lists: RankedLists) -> Any:
        """Return the tails of the lists, as this decider fits them."""


@dataclass(eq=False)
class Cuts:
    """How many results of each list to keep, and why.

    The numbers are there at once; reasons, warnings and tails are worked out when asked for.
    ``cuts[i]`` is the `Cut` of one list, ``np.asarray(cuts)`` the numbers.

    Attributes
    ----------
    k
        Number of results kept of each list.
    n
        Number of results of each list.
    lists
        The lists that were decided on. Of results that match nothing (padded with score 0) they
        hold the first only.
    chosen
        What was decided before ``min_k`` and ``max_k``.

    Examples
    --------
    >>> import paretocut as pc
    >>> cuts = pc.truncators.FixedK(2).cut_batch([[0.9, 0.5, 0.1], [0.3]])
    >>> cuts.k.tolist(), cuts[0].reason
    ([2, 1], 'kept 2 of 3: the first 2 of every list')
    """

    k: IntArray
    n: IntArray
    lists: RankedLists
    chosen: IntArray
    _matches: IntArray | None
    _decider: Decider
    _order: Ragged | None = None  # where the results of each list are in the caller's list
    _tails: Any = None
    _reasons: tuple[str, ...] | None = None
    _warnings: tuple[tuple[str, ...], ...] | None = None

    @property
    def method(self) -> str:
        """What decided: a truncator with its parameters, or a rule with its level."""
        return self._decider._label()

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each list that says what decided."""
        if self._reasons is None:
            matching = self.n if self._matches is None else self._matches
            columns = (self.k, self.n, self.chosen, matching)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            self._reasons = tuple(
                sentence(k, n, chosen, matches, why) + edge(self.lists, i, k)
                for i, ((k, n, chosen, matches), why) in enumerate(
                    zip(rows, self._decider._because(self), strict=True)
                )
            )
        return self._reasons

    @property
    def warnings(self) -> tuple[tuple[str, ...], ...]:
        """Names of what the user should know of each list, keys of `paretocut.WARNINGS`."""
        if self._warnings is None:
            found = self._decider._notices(self)
            if self._matches is not None:
                padded = self._matches < self.n
                found = [
                    (*names, "zero_scores") if some else names
                    for names, some in zip(found, padded.tolist(), strict=True)
                ]
            self._warnings = tuple(found)
        return self._warnings

    @property
    def indices(self) -> Ragged:
        """Positions of the kept results in the caller's lists, best first."""
        layout = Ragged.unchecked(np.empty(int(self.k.sum()), dtype=np.int64), offsets_of(self.k))
        ranks = layout.ranks
        if self._order is None:
            return layout.with_values(ranks)
        starts = layout.spread(self._order.offsets[:-1])
        return layout.with_values(self._order.values[starts + ranks])

    @property
    def fits(self) -> Any:
        """The tails of `lists` (`paretocut.tail.SurpriseFits`): surprise, p-values, E-values."""
        if self._tails is None:
            self._tails = self._decider._tails(self.lists)
        return self._tails

    def __len__(self) -> int:
        return len(self.k)

    def __getitem__(self, index: int) -> Cut:
        i = range(len(self))[operator.index(index)]  # a slice is a TypeError, as for any index
        order = None if self._order is None else self._order[i]
        return Cut(int(self.k[i]), int(self.n[i]), self, i, order)

    def __iter__(self) -> Iterator[Cut]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.k, dtype=dtype)

    def __repr__(self) -> str:
        kept = int(self.k.sum())
        return f"Cuts({len(self)} lists, {kept} of {int(self.n.sum())} results kept)"

    def _repr_html_(self) -> str:
        return cuts_picture(self.k, self.n, method=self.method, warnings=self.warnings)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Cut:
    """How many results to keep, and why.

    It may stand for its number: ``results[:cut]``, ``int(cut)``; it is false when nothing is kept.

    Attributes
    ----------
    k
        Number of results kept; 0 is a possible answer.
    n
        Number of results there were.

    Examples
    --------
    >>> import paretocut as pc
    >>> background = -np.log(np.linspace(0.005, 0.995, 197))  # a smooth tail of chance
    >>> decision = pc.cut([9.5, *background, 12.0, 11.0], evalue=0.05)
    >>> int(decision), decision.indices.tolist()
    (3, [198, 199, 0])
    >>> decision.reason
    'kept 3 of 200: the 4th would appear by chance 0.91 times per list'
    """

    k: int
    n: int
    _source: Cuts | Callable[[], Cuts]  # a quick decision is explained only when somebody asks
    _i: int
    _order: IntArray | Callable[[], IntArray] | None  # None: the list was given best first
    _limit: str = ""

    @property
    def _cuts(self) -> Cuts:
        if not isinstance(self._source, Cuts):
            object.__setattr__(self, "_source", self._source())
        cuts = self._source
        assert isinstance(cuts, Cuts)
        return cuts

    @property
    def indices(self) -> IntArray:
        """Positions of the kept results in the caller's list, best first."""
        order = self._sorted
        return np.arange(self.k) if order is None else order[: self.k]

    @property
    def _sorted(self) -> IntArray | None:
        if callable(self._order):
            object.__setattr__(self, "_order", self._order())
        order = self._order
        assert not callable(order)
        return order

    @property
    def reason(self) -> str:
        """One sentence that says what decided."""
        reason = self._cuts.reasons[self._i]
        return (
            f"{amount(self.k, self.n)}, {self._limit}; otherwise {reason}"
            if self._limit
            else reason
        )

    def limited(self, k: int, why: str) -> Cut:
        """Return the same decision with fewer results, for a limit that came afterwards.

        Parameters
        ----------
        k
            How many results the limit leaves.
        why
            The limit, in words: "all that fit into 500 tokens".
        """
        return self if k >= self.k else replace(self, k=k, _limit=why)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Names of what the user should know, keys of `paretocut.WARNINGS`."""
        return self._cuts.warnings[self._i]

    @property
    def method(self) -> str:
        """What decided: a truncator with its parameters, or a rule with its level."""
        return self._cuts.method

    @property
    def surprise(self) -> FloatArray:
        """Surprise of each result, in the caller's order; see `paretocut.fit_tail`."""
        return self._per_result(self._cuts.fits.surprise[self._i], 0.0)

    @property
    def pvalues(self) -> FloatArray:
        """P-value of each result, in the caller's order."""
        return self._per_result(self._cuts.fits.pvalues[self._i], 1.0)

    @property
    def evalues(self) -> FloatArray:
        """E-value of each result, in the caller's order."""
        fits = self._cuts.fits
        return self._per_result(fits.evalues[self._i], float(fits.tests[self._i]))

    def _per_result(self, values: FloatArray, of_others: float) -> FloatArray:
        """Return one number per result of the caller's list, from those of the list decided on."""
        whole = np.full(self.n, of_others)
        order = self._sorted
        if order is None:
            whole[: values.size] = values
        else:
            whole[order[: values.size]] = values
        return whole

    def reordered(self, order: IntArray) -> Cut:
        """Return the same decision for a caller whose results stand in another order.

        Parameters
        ----------
        order
            Positions of the results in the caller's list, best first.
        """
        return replace(self, _order=order)

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain values, ready for JSON."""
        return {
            "k": self.k,
            "n": self.n,
            "indices": self.indices.tolist(),
            "method": self.method,
            "reason": self.reason,
            "warnings": list(self.warnings),
        }

    def __int__(self) -> int:
        return self.k

    __index__ = __int__

    def __bool__(self) -> bool:
        return self.k > 0

    def __repr__(self) -> str:
        return f"Cut(k={self.k}, n={self.n}, {self.method})"

    def _repr_html_(self) -> str:
        cuts = self._cuts
        return cut_picture(
            cuts.lists.scores[self._i],
            self.k,
            self.n,
            reason=self.reason,
            method=self.method,
            warnings=self.warnings,
            higher_is_better=cuts.lists.higher_is_better,
        )


def decided(
    decider: Decider,
    decide: Callable[[RankedLists], IntArray],
    lists: RankedLists,
    bounds: tuple[int, int],
    *,
    zeros: Literal["trim", "keep"] = "trim",
) -> Cuts:
    """Return what ``decide`` says of the lists, within bounds and without padded results.

    Parameters
    ----------
    decider
        Who explains the cuts.
    decide
        Takes lists and returns how many results of each to keep.
    lists
        The lists.
    bounds
        Least and largest number kept, whatever is decided; see `check_bounds`.
    zeros
        Results padded with score 0: "trim" hides them from the decision, "keep" treats them like
        all others.
    """
    n = lists.scores.lengths
    matches = None if zeros == "keep" else matching(lists)
    if matches is None:
        chosen = decide(lists)
    else:
        # One zero stays: it is where the scale of such scores begins.
        lists = lists.truncate(np.minimum(matches + 1, n))
        chosen = np.minimum(decide(lists), matches)
    low, high = bounds
    free = low == 0 and high >= sys.maxsize
    k = chosen if free else np.minimum(np.clip(chosen, low, high), n)
    return Cuts(k, n, lists, chosen, matches, decider)


def in_callers_order(cuts: Cuts, given: Ragged, higher_is_better: bool) -> Cuts:
    """Return the decisions on lists in any order, with positions in the lists as they were given.

    Parameters
    ----------
    cuts
        The decisions on the lists, best first.
    given
        The lists as the caller has them.
    higher_is_better
        False for distances.
    """
    order = best_first(given, higher_is_better)
    if order is None:
        return cuts
    return replace(cuts, _order=given.with_values(order - given.spread(given.offsets[:-1])))


def one_decided(cuts: Cuts, order: IntArray | None) -> Cut:
    """Return the decision on the only list, which the caller gave in another order.

    Parameters
    ----------
    cuts
        The decision on one list, best first.
    order
        Positions of its results in the caller's list, or None when they are the same.
    """
    return Cut(int(cuts.k[0]), int(cuts.n[0]), cuts, 0, order)


def one_list(
    scores: ArrayLike, higher_is_better: bool, *, who: str, any_order: bool = False
) -> tuple[RankedLists, IntArray | None]:
    """Return the scores as one list, best first, and what sorted them (None: nothing had to).

    Parameters
    ----------
    scores
        Scores of one list in any order.
    higher_is_better
        False for distances.
    who
        Who was called.
    any_order
        Whether scores that stand worst first are fine; otherwise their direction is in doubt.
    """
    values = as_scores(scores, who=who)
    finite = np.isfinite(values)
    if not finite.all():
        at = int(np.argmin(finite))
        raise InvalidScoresError(f"{who}: scores must be finite, got {values[at]} at index {at}")
    worse = values[1:] > values[:-1] if higher_is_better else values[1:] < values[:-1]
    order = None
    if worse.any():
        if not any_order:
            column = Ragged.unchecked(values, np.array([0, values.size]))
            check_direction(column, higher_is_better, who=who)
        order = np.argsort(-values if higher_is_better else values, kind="stable")
        values = values[order]
    return RankedLists.of_one(values, higher_is_better), order


def as_scores(scores: ArrayLike, *, who: str) -> FloatArray:
    """Return the scores of one list as a contiguous float64 array of our own.

    Parameters
    ----------
    scores
        Any one-dimensional sequence of real numbers.
    who
        Who was called.
    """
    try:
        given = np.asarray(scores)
        if given.dtype.kind not in "biuf":
            raise TypeError
        values = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidScoresError(
            f"{who}: scores must be a one-dimensional array of numbers, got {_short(scores)}"
        ) from None
    if isinstance(scores, np.ma.MaskedArray):
        raise InvalidScoresError(
            f"{who}: scores must not be masked, got a masked array; take .compressed() of it"
        )
    if values.ndim != 1:
        raise InvalidScoresError(
            f"{who}: scores must be one-dimensional (cut_batch and fit_batch take many lists), "
            f"got {values.ndim} dimensions"
        )
    return values


def _short(value: Any) -> str:
    """Return what was given, in few words; None among numbers is named with its place."""
    if isinstance(value, (list, tuple)) and None in value:
        return f"None at index {value.index(None)}"
    text = shown(value)
    return text if len(text) <= 60 else text[:57] + "..."


def matching(lists: RankedLists) -> IntArray | None:
    """Return how many results of each list match at all, or None when all of them do.

    Lexical engines pad answers with results of score 0. Two or more exact zeros at the end of a
    list without negative scores are such; a single one may be the end of a normalised scale. A
    fused score of 0 is a score like any other.

    Parameters
    ----------
    lists
        The lists.
    """
    scores = lists.scores
    if not lists.higher_is_better or scores.values.size == 0 or lists.parts is not None:
        return None
    _, last = scores.ends()
    if last.all():
        return None
    zeros = scores.count(scores.values == 0)
    padded = (last == 0) & ((zeros > 1) | (zeros == scores.lengths)) & scores.filled
    if not padded.any():
        return None
    return np.where(padded, scores.lengths - zeros, scores.lengths)
