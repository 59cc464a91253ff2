"""Which lists belong to one query, so that each query counts once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import InvalidParameterError
from paretocut.lists.ragged import IntArray, Ragged, offsets_of

_FIRST, _BITS = 3, 14  # results of near-copies that agree, and the bits of their scores that do


def same_query(
    scores: Ragged, query_ids: NDArray[Any] | None = None, doc_ids: Ragged | None = None
) -> IntArray:
    """Return one number per list: 0, 1, ... in order of appearance, equal for the same query.

    Lists with the same query id, or with the same scores to the last bit and the same documents
    where these are named, belong to the same query. Empty lists can only share their id.
    """
    return _joined(query_ids, _same_content(scores, doc_ids))


def nearly_same(
    scores: Ragged, query_ids: NDArray[Any] | None = None, doc_ids: Ragged | None = None
) -> IntArray:
    """Return `same_query` by the first three results, and their scores to about four digits."""
    first = scores.ranks < _FIRST
    offsets = offsets_of(np.minimum(scores.lengths, _FIRST))
    documents = None if doc_ids is None else Ragged(doc_ids.values[first], offsets)
    part, power = np.frexp(scores.values[first])
    power = np.minimum(power, 1023 - _BITS)  # no number on a grid is infinite
    # Two grids, so that no two close numbers are on both sides of a line in both.
    grids = (np.ldexp(np.floor(np.ldexp(part, _BITS) + shift), power) for shift in (0.0, 0.5))
    near = (_same_content(Ragged(values, offsets), documents) for values in grids)
    return _joined(query_ids, *near)


def _joined(query_ids: NDArray[Any] | None, *same: IntArray) -> IntArray:
    """Return the number of the query of each list, from the first list that is the same."""
    if query_ids is not None:
        _, first, own = np.unique(query_ids, return_index=True, return_inverse=True)
        same = (*same, first[own])
    root = list(range(len(same[0])))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for earlier in same:
        for i in np.flatnonzero(earlier != np.arange(len(root))).tolist():
            one, other = sorted((find(i), find(int(earlier[i]))))
            root[other] = one
    return numbered(find(i) for i in range(len(root)))


def numbered(names: Iterable[Any]) -> IntArray:
    """Return 0, 1, ... for names in order of appearance, the same number for the same name."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def check_groups(groups: Iterable[Any], count: int, who: str) -> IntArray:
    """Return the group of each list or review as a number."""
    found = numbered(groups)
    if len(found) != count:
        raise InvalidParameterError(
            f"groups must name the group of each of {count}, got {len(found)} names", who=who
        )
    return found


def one_of_each(groups: IntArray) -> IntArray:
    """Return the place of one member of each group, chosen at random with a fixed seed."""
    shuffled = np.random.default_rng(0).permutation(groups.size)
    _, first = np.unique(groups[shuffled], return_index=True)
    return np.sort(shuffled[first])


def _same_content(scores: Ragged, doc_ids: Ragged | None) -> IntArray:
    """Return for each list the first one with the same content; often itself."""
    found = np.arange(len(scores))
    filled = np.flatnonzero(scores.filled)
    if not filled.size:
        return found
    # A sum of the bits, weighted by rank, tells almost all lists apart without a loop.
    bits = (np.asarray(scores.values, dtype=np.float64) + 0.0).view(np.uint64)
    weights = 2 * scores.ranks.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    sums = np.add.reduceat(bits * weights, scores.offsets[filled])
    _, own, count = np.unique(sums, return_inverse=True, return_counts=True)
    first: dict[Any, int] = {}
    for i in filled[count[own] > 1].tolist():
        documents = () if doc_ids is None else tuple(doc_ids[i].tolist())
        found[i] = first.setdefault((tuple(scores[i].tolist()), documents), i)
    return found
