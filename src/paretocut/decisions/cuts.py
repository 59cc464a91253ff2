"""The decision: numbers and the evidence for them, for one list (`Cut`) or many (`Cuts`)."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import NoneType
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut.decisions.wording import amount, edge, sentence
from paretocut.errors import InvalidScoresError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedList, RankedLists, offsets_of
from paretocut.schema.drawn import Drawn
from paretocut.schema.parameters import check_numbers

T = TypeVar("T")
_NEAREST = 3  # results not kept that a decision names


class Tails(Protocol):
    """The tails of many lists: `paretocut.tail.SurpriseFits`, as a decision sees them."""

    @property
    def surprise(self) -> Ragged: ...
    @property
    def tests(self) -> IntArray: ...
    @property
    def scale(self) -> FloatArray: ...
    @property
    def warnings(self) -> tuple[tuple[str, ...], ...]: ...


class Evidence(Protocol):
    """Everything that reasons need; that of a gate also has ``chance``, see `Cuts.chance`."""

    def because(self, i: int, k: int) -> str:
        """Return the clause that explains why ``k`` results of list ``i`` are kept."""

    @property
    def tails(self) -> Tails | None:
        """The tails of the lists, if the decision fitted them."""


class Decider(Protocol):
    """A truncator or a rule, as decisions see it."""

    @property
    def label(self) -> str: ...
    def decision(self, lists: RankedLists) -> tuple[IntArray, Evidence]: ...
    def notices(
        self, lists: RankedLists, tails: Callable[[], Tails]
    ) -> Sequence[tuple[str, ...]]: ...
    def tails_of(self, lists: RankedLists) -> Tails: ...


@dataclass(eq=False)
class Cuts(Drawn):
    """How many results of each list to keep, and why.

    ``cuts[i]`` is the `Cut` of one list, ``np.asarray(cuts)`` the numbers.

    Attributes
    ----------
    k
        Number of results kept in each list.
    n
        Number of results in each list.
    unbounded
        The numbers before ``min_k`` and ``max_k``.
    lists
        The lists that were decided on, best first. Of the results that match nothing (padded with
        score 0), they only hold the first.

    Examples
    --------
    >>> import paretocut as pc
    >>> cuts = pc.truncators.FixedK(2).cut_batch([[0.9, 0.5, 0.1], [0.3]])
    >>> cuts.k.tolist(), cuts[0].reason
    ([2, 1], 'kept 2 of 3: the first 2 of every list')
    """

    k: IntArray
    n: IntArray
    unbounded: IntArray
    lists: RankedLists = field(repr=False)
    _evidence: Evidence = field(repr=False)
    _decider: Decider = field(repr=False)
    _matches: IntArray | None = field(default=None, repr=False)
    _order: Ragged | None = field(default=None, repr=False)  # places in the caller's lists
    _fits_of: dict[int, Tails] = field(default_factory=dict, repr=False)
    # By list: the places that a limit left, the limit in words, and the decisions before it.
    _limits: dict[int, tuple[IntArray, str, Cuts]] = field(default_factory=dict, repr=False)
    _note: str = field(default="", repr=False)

    @property
    def method(self) -> str:
        """The truncator with its parameters, or the rule with its level, that decided."""
        return self._decider.label

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each list that explains the decision."""
        return tuple(self._reason(i) for i in range(len(self)))

    def _reason(self, i: int) -> str:
        if i in self._limits:
            left, limit, before = self._limits[i]
            return f"{amount(len(left), int(self.n[i]))}, {limit}; otherwise {before._reason(i)}"
        k, n, unbounded = int(self.k[i]), int(self.n[i]), int(self.unbounded[i])
        matches = n if self._matches is None else int(self._matches[i])
        why = "" if n == 0 else self._evidence.because(i, unbounded)
        note = f"; {self._note}" if self._note and n else ""
        return sentence(k, n, unbounded, matches, why) + edge(self.lists, i, k) + note

    def limited(self, limits: Mapping[int, tuple[IntArray, str]]) -> Cuts:
        """Return the same decisions with fewer results in some lists.

        ``limits`` has, by list, the places left, best first, and why: "all that fit into 500
        tokens".
        """
        if not limits:
            return self
        k = self.k.copy()
        for i, (left, _) in limits.items():
            k[i] = len(left)
        own = {i: (left, why, self) for i, (left, why) in limits.items()}
        return replace(self, k=k, _limits={**self._limits, **own})

    def noted(self, note: str) -> Cuts:
        """Return the same decisions with a note at the end of each reason."""
        return replace(self, _note=note) if note else self

    @cached_property
    def warnings(self) -> tuple[tuple[str, ...], ...]:
        """Names of warnings about each list, keys of `paretocut.decisions.WARNINGS`."""
        found = self._decider.notices(self.lists, lambda: self.fits)
        return tuple(self._also(i, names) for i, names in enumerate(found))

    def _warnings_of(self, i: int) -> tuple[str, ...]:
        if "warnings" in vars(self) or self._fitted:
            return self.warnings[i]
        (names,) = self._decider.notices(self.lists[i : i + 1], lambda: self._tails_of(i)[0])
        return self._also(i, names)

    def _also(self, i: int, names: tuple[str, ...]) -> tuple[str, ...]:
        """Add the warnings about how the list was given."""
        if self._matches is not None and self._matches[i] < self.n[i]:
            own = (name for name in names if name != "rescaled_scores")  # the last 0 is padding
            names = (*own, "zero_scores")
        if self._one_best and not {"rank_only_scores", "rescaled_scores"} & set(names):
            names = (*names, "rescaled_scores")
        if self._order is not None and self._came_worst_first(i):
            names = (*names, "worst_first")
        if i in self._limits and self.k[i] == 0 < self._limits[i][2].k[i]:
            names = (*names, "over_budget")
        return names

    @cached_property
    def _one_best(self) -> bool:
        """Whether ten lists or more all begin with one score, and do not all end with one."""
        best, last = self.lists.scores.ends()
        return len(self) >= 10 and bool((best == best[0]).all() and (last != last[0]).any())

    def _came_worst_first(self, i: int) -> bool:
        assert self._order is not None
        known, order = self.lists.merit[i], self._order[i]
        merit = np.zeros(order.size)  # that of padding is 0
        merit[order[: known.size]] = known
        return order.size > 1 and bool((merit[1:] >= merit[:-1]).all() and merit[0] < merit[-1])

    @property
    def indices(self) -> Ragged:
        """Positions of the kept results in the caller's lists, best first."""
        if self._limits:
            return Ragged.from_any([cut.indices for cut in self], dtype=np.int64)
        return self._places(np.zeros_like(self.k), self.k)

    @property
    def nearest(self) -> Ragged:
        """Positions of the best three results that were not kept, best first, without padding."""
        if self._limits:
            return Ragged.from_any([cut.nearest for cut in self], dtype=np.int64)
        matches = self.n if self._matches is None else self._matches
        return self._places(self.k, np.clip(matches - self.k, 0, _NEAREST))

    def _places(self, first: IntArray, count: IntArray) -> Ragged:
        """Return the positions of ``count`` results of each list, from rank ``first`` on."""
        offsets = offsets_of(count)
        layout = Ragged.unchecked(np.empty(int(offsets[-1]), dtype=np.int64), offsets)
        ranks = layout.ranks + layout.spread(first)
        if self._order is None:
            return layout.with_values(ranks)
        return layout.with_values(
            self._order.values[layout.spread(self._order.offsets[:-1]) + ranks]
        )

    @property
    def chance(self) -> FloatArray | None:
        """Share of queries without an answer whose best score is as high; None without a gate."""
        return getattr(self._evidence, "chance", None)

    def to_dicts(self, *, explain: bool = True) -> list[dict[str, Any]]:
        """Return the decisions as plain values, ready for JSON; see `Cut.to_dict`."""
        if len(self) == 1:  # without a vector in sight
            return [self[0].to_dict(explain=explain)]
        chance = self.chance
        columns = {
            "k": self.k.tolist(),
            "n": self.n.tolist(),
            "indices": self.indices.tolist(),
            "nearest": self.nearest.tolist(),
            "chance": [None] * len(self) if chance is None else chance.tolist(),
            "method": [self.method] * len(self),
        }
        if explain:
            columns |= {"reason": self.reasons, "warnings": map(list, self.warnings)}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @cached_property
    def fits(self) -> Tails:
        """The tails of `lists` (`paretocut.tail.SurpriseFits`), with surprise and E-values."""
        known = self._evidence.tails
        return self._decider.tails_of(self.lists) if known is None else known

    @property
    def _fitted(self) -> bool:
        """Whether the tails of all lists cost no more than that of one."""
        return "fits" in vars(self) or self._evidence.tails is not None or len(self) == 1

    @property
    def surprise(self) -> Ragged:
        """Surprise of each result, in the caller's order; see `paretocut.fit_tail`."""
        found = self.fits.surprise
        whole = Ragged.unchecked(np.zeros(int(self.n.sum())), offsets_of(self.n))
        fitted = whole.ranks < whole.spread(found.lengths)  # padding has surprise 0
        if self._order is None:
            whole.values[fitted] = found.values
        else:
            at = self._order.values + whole.spread(whole.offsets[:-1])
            whole.values[at[fitted]] = found.values
        return whole

    def _tails_of(self, i: int) -> tuple[Tails, int]:
        """Return tails that hold list ``i``, and its place among them; the list is fitted once."""
        if self._fitted:
            return self.fits, i
        if i not in self._fits_of:
            self._fits_of[i] = self._decider.tails_of(self.lists[i : i + 1])
        return self._fits_of[i], 0

    def __len__(self) -> int:
        return len(self.k)

    def __getitem__(self, index: int) -> Cut:
        i = range(len(self))[operator.index(index)]  # a slice is a TypeError, as for any index
        return Cut(int(self.k[i]), int(self.n[i]), self, i)

    def __iter__(self) -> Iterator[Cut]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.k, dtype=dtype)

    def __repr__(self) -> str:
        kept = int(self.k.sum())
        return f"Cuts({len(self)} lists, {kept} of {int(self.n.sum())} results kept)"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Cut(Drawn):
    """How many results to keep, and why, for one list.

    If the scores came best first, ``results[:cut]`` are the results to return; `of` works for any
    order. ``int(cut)`` is the number; a cut that keeps nothing is false.

    Attributes
    ----------
    k
        Number of results kept; 0 is a possible answer.
    n
        Number of results in the list.

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
    _cuts: Cuts
    _i: int

    @property
    def indices(self) -> IntArray:
        """Positions of the kept results in the caller's list, best first."""
        if self._i in self._cuts._limits:
            return self._cuts._limits[self._i][0]
        order = self._order
        return np.arange(self.k) if order is None else order[: self.k]

    @property
    def nearest(self) -> IntArray:
        """Positions of the best three results that were not kept, best first, without padding."""
        matches, order = self._cuts._matches, self._order
        end = self.n if matches is None else int(matches[self._i])
        if self._i in self._cuts._limits:  # it may have skipped some
            best = np.arange(end) if order is None else order[:end]
            return best[~np.isin(best, self.indices)][:_NEAREST]
        end = min(self.k + _NEAREST, end)
        return np.arange(self.k, end) if order is None else order[self.k : end]

    @property
    def chance(self) -> float | None:
        """Share of queries without an answer whose best score is as high; None without a gate."""
        chance = self._cuts.chance
        return None if chance is None else float(chance[self._i])

    @property
    def _order(self) -> IntArray | None:
        order = self._cuts._order
        return None if order is None else order[self._i]

    @property
    def ranked(self) -> RankedList:
        """The list that was decided on, best first; without padding."""
        return self._cuts.lists[self._i]

    @property
    def reason(self) -> str:
        """One sentence that explains the decision."""
        return self._cuts._reason(self._i)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Names of warnings, keys of `paretocut.decisions.WARNINGS`."""
        return self._cuts._warnings_of(self._i)

    @property
    def method(self) -> str:
        """The truncator with its parameters, or the rule with its level, that decided."""
        return self._cuts.method

    @property
    def has_tails(self) -> bool:
        """Whether the decision was made on tails, so that surprise costs nothing more."""
        return self._cuts._evidence.tails is not None

    @property
    def surprise(self) -> FloatArray:
        """Surprise of each result, in the caller's order; see `paretocut.fit_tail`."""
        tails, i = self._cuts._tails_of(self._i)
        found, order = tails.surprise[i], self._order
        whole = np.zeros(self.n)  # that of padding is 0
        whole[slice(found.size) if order is None else order[: found.size]] = found
        return whole

    @property
    def pvalues(self) -> FloatArray:
        """P-value of each result, in the caller's order."""
        return np.asarray(np.exp(-self.surprise))

    @property
    def evalues(self) -> FloatArray:
        """E-value of each result, in the caller's order."""
        tails, i = self._cuts._tails_of(self._i)
        return evalues(self.surprise, int(tails.tests[i]))

    def to_dict(self, *, explain: bool = True) -> dict[str, Any]:
        """Return the decision as plain values, ready for JSON.

        Parameters
        ----------
        explain
            Whether to add reason and warnings, which take most of the time.
        """
        plain = {
            "k": self.k,
            "n": self.n,
            "indices": self.indices.tolist(),
            "nearest": self.nearest.tolist(),
            "chance": self.chance,
            "method": self.method,
        }
        return plain | ({"reason": self.reason, "warnings": list(self.warnings)} if explain else {})

    def of(self, results: Sequence[T]) -> list[T]:
        """Return the results kept, best first, whatever order they were given in.

        Parameters
        ----------
        results
            The caller's results, in the order of the scores.
        """
        if len(results) != self.n:
            raise InvalidScoresError(
                f"Cut.of: results must be {self.n}, one for each score, got {len(results)}"
            )
        return [results[i] for i in self.indices.tolist()]

    def __int__(self) -> int:
        return self.k

    def __index__(self) -> int:
        if self._order is not None or not np.array_equal(self.indices, np.arange(self.k)):
            order = "Cut: a slice needs results that came best first, got another order"
            raise InvalidScoresError(f"{order}; take cut.of(results), or the places cut.indices")
        return self.k

    def __bool__(self) -> bool:
        return self.k > 0

    def __repr__(self) -> str:
        return f"Cut(k={self.k}, n={self.n}, {self.method})"


def decided(
    decider: Decider,
    lists: RankedLists,
    bounds: tuple[int, int],
    *,
    zeros: Literal["trim", "keep"] = "trim",
    order: Ragged | None = None,
) -> Cuts:
    """Return the decisions of ``decider`` on the lists, within bounds.

    ``zeros="trim"`` hides padding from it; ``order`` has the places in the caller's lists.
    """
    n, matches = lists.scores.lengths, None
    if zeros == "trim":
        lists, matches = trim(lists)
    k, evidence = decider.decision(lists)
    if matches is not None:
        k = np.minimum(k, matches)
    low, high = bounds
    free = low == 0 and high >= sys.maxsize
    kept = k if free else np.minimum(np.clip(k, low, high), n)
    return Cuts(kept, n, k, lists, evidence, decider, matches, order)


def evalues(surprise: FloatArray, tests: int | IntArray) -> FloatArray:
    """Return E-values: p-values times the number of results at or above the threshold."""
    return np.asarray(tests * np.exp(-surprise))


def positions(given: Ragged, order: IntArray | None) -> Ragged | None:
    """Return where the results of each sorted list are in the list as it was given."""
    if order is None or len(given) == 1:
        return None if order is None else given.with_values(order)
    return given.with_values(order - given.spread(given.offsets[:-1]))


def as_scores(scores: ArrayLike, *, who: str) -> FloatArray:
    """Return the scores of one list as an array of our own; they may still be NaN or infinite."""
    try:
        values: FloatArray = check_numbers(scores, who=who, name="scores", finite=False)
    except InvalidScoresError as error:
        raise InvalidScoresError(f"{error.args[0]}{_remedy(scores)}", who=who) from None
    if values.ndim != 1:
        raise InvalidScoresError(
            "scores must be one-dimensional (cut_batch and fit_tails take many lists), got "
            f"{values.ndim} dimensions{_remedy(scores)}",
            who=who,
        )
    return values


def _remedy(given: Any) -> str:
    """Return the line to write for something that is not scores, but holds them."""
    if inspect.isawaitable(given):
        if inspect.iscoroutine(given):
            given.close()  # or Python warns that nobody waited
        return "; wait for it first: cut(await search(...))"
    first = given[0] if isinstance(given, (list, tuple)) and given else given
    holds = not isinstance(first, (str, bytes, int, float, list, np.ndarray, NoneType))
    return "; results with scores are cut by paretocut.keep(answer)" if holds else ""


def trim(lists: RankedLists) -> tuple[RankedLists, IntArray | None]:
    """Return the lists without their padding, and `matching`."""
    matches = matching(lists)
    if matches is None:
        return lists, None
    # One zero stays in a padded list, because the scale of such scores begins there.
    return lists.truncate(np.minimum(matches + 1, lists.scores.lengths)), matches


def matching(lists: RankedLists) -> IntArray | None:
    """Return how many results of each list match at all, or None when all of them do.

    Lexical engines pad answers with results of score 0. Two or more exact zeros at the end of a
    list without negative scores are padding; a single one may be the end of a normalised scale. A
    fused score of 0 is a score like any other.
    """
    scores = lists.scores
    if not lists.higher_is_better or scores.values.size == 0 or lists.parts is not None:
        return None
    _, last = scores.ends()
    if last[0] != 0 if len(scores) == 1 else last.all():
        return None
    zeros = scores.count(scores.values == 0)
    padded = (last == 0) & ((zeros > 1) | (zeros == scores.lengths)) & scores.filled
    if not padded.any():
        return None
    return np.where(padded, scores.lengths - zeros, scores.lengths)
