"""Which results of which lists to judge, and in which order."""

from __future__ import annotations

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, FloatArray, Ragged, RankedLists
from paretocut.relevance import Relevance, learn_from
from paretocut.schema.parameters import check_int

_VISIT = 5  # results of one list that are asked about in a row
ENOUGH = 50  # judgements before the plan looks where relevance is uncertain


def plan_judgements(
    lists: RankedLists, budget: int = 200, *, seed: int = 0
) -> tuple[tuple[int, int], ...]:
    """Return which results to judge next, in order, as pairs of list and rank, both from 0.

    Stopping early is fine. The plan visits one list after another, those with the fewest judgements
    first. A visit asks about five results, with evenly spread log ranks. Once 50 results are
    judged, every other visit asks about results that are as likely relevant as not.

    Parameters
    ----------
    lists
        The lists. Judgements that they hold are taken into account and never asked for again.
    budget, seed
        Number of results, and the seed of the random choices.

    Examples
    --------
    >>> lists = RankedLists([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]] * 3)
    >>> plan_judgements(lists, 4)
    ((2, 3), (2, 2), (2, 0), (2, 1))
    """
    check_int(budget, who="plan_judgements", name="budget")
    check_int(seed, who="plan_judgements", name="seed")
    if not isinstance(lists, RankedLists):
        raise InvalidParameterError(
            f"plan_judgements: lists must be RankedLists, got {type(lists).__name__}"
        )
    judged = np.zeros(lists.scores.values.size, dtype=bool)
    if lists.relevance is not None:
        judged = lists.judged.values
    rng = np.random.default_rng(seed)
    return planned(lists.scores, judged, judged, budget, rng, known_relevance(lists))


def known_relevance(lists: RankedLists, least: int = ENOUGH) -> tuple[Ragged, Relevance] | None:
    """Return the lists on their scale and the model of their judgements; None if too few."""
    if lists.relevance is None or np.count_nonzero(lists.judged.values) < least:
        return None
    return learn_from(lists)[1:]


def planned(
    scores: Ragged,
    judged: BoolArray,
    closed: BoolArray,
    budget: int,
    rng: np.random.Generator,
    known: tuple[Ragged, Relevance] | None,
) -> tuple[tuple[int, int], ...]:
    """Return the plan for lists of this layout, given the result of `known_relevance`.

    Closed results are not asked about: judged ones, unsure ones, those of a skipped query.
    """
    free = ~closed
    left, visits = scores.count(free), scores.count(judged) // _VISIT
    even = np.log((scores.ranks + 2) / (scores.ranks + 1))
    unsure = None
    if known is not None:
        merit, model = known
        p = model.probabilities(merit).values
        unsure = p * (1 - p)
    shuffled = rng.permutation(len(scores))
    pairs: list[tuple[int, int]] = []
    while len(pairs) < budget and left.any():
        waiting = shuffled[left[shuffled] > 0]
        least = visits[waiting].min()
        for i in waiting[visits[waiting] == least].tolist():
            own = slice(scores.offsets[i], scores.offsets[i + 1])
            weight = even[own] if unsure is None or visits[i] % 2 == 0 else unsure[own]
            ranks = _drawn(weight, free[own], rng)
            free[own][ranks] = False
            left[i] -= len(ranks)
            visits[i] += 1
            pairs += [(i, rank) for rank in ranks]
            if len(pairs) >= budget:
                break
    return tuple(pairs[:budget])


def _drawn(weight: FloatArray, free: BoolArray, rng: np.random.Generator) -> list[int]:
    """Return five free ranks in random order, one from each fifth of the weight of the list.

    A fifth whose results are all taken gives its turn to the nearest free result.
    """
    reached = np.cumsum(weight)
    points = (np.arange(_VISIT) + rng.random(_VISIT)) / _VISIT * reached[-1]
    open_ = free.copy()
    found: list[int] = []
    for place in np.searchsorted(reached, points, side="right").tolist():
        ranks = np.flatnonzero(open_)
        if not ranks.size:
            break
        # Nearest in log rank: the neighbours of a deep result are many.
        near = np.abs(np.log((ranks + 1) / (min(place, len(free) - 1) + 1)))
        rank = int(ranks[np.argmin(near)])
        open_[rank] = False
        found.append(rank)
    rng.shuffle(found)
    return found
