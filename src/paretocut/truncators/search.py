"""Exact searches over all training lists: the best threshold, the best cut, the nearest queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut.errors import InvalidScoresError, require
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.schema.kinds import Array, Kind, Sizes, match_sizes

# Sums of many metric values differ in the last digits with the order of the lists; cuts whose
# totals agree to this relative precision are equally good, and the one that keeps less wins.
_PRECISION = 1e-10


def sweep(keys: Ragged, curves: Ragged) -> tuple[FloatArray, FloatArray]:
    """Return the break points, falling from +inf, and the total metric from each one on.

    Keeping the results with ``key >= t`` changes only where ``t`` passes a key, so walking down the
    keys of all lists visits every outcome. Keys never rise within a list.
    """
    order = np.argsort(-keys.values, kind="stable")
    falling: FloatArray = keys.values[order]
    # Equal keys are passed together: only the last of them is an outcome.
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], falling.size > 0))
    steps = np.cumsum(_steps(curves)[order])[last]
    start = curves.values[curves.offsets[:-1]].sum()
    return np.concatenate([[np.inf], falling[last]]), start + np.concatenate([[0.0], steps])


def best_threshold(
    keys: Ragged, curves: Ragged, bounds: tuple[float, float] | None = None
) -> float:
    """Return the threshold on keys that maximises the mean metric, exactly.

    Of equal outcomes the largest wins. It lies midway between the break points around the best.
    """
    low, high = bounds if bounds is not None else (-np.inf, np.inf)
    upper, totals = sweep(keys, curves)
    # An outcome holds for thresholds above the next break point, up to its own.
    lower = np.append(upper[1:], -np.inf)
    reachable = np.flatnonzero((lower < high) & (upper >= low))
    i = reachable[_first_best(totals[reachable])]
    left, right = max(lower[i], low), min(upper[i], high)
    if upper.size == 1:  # no results at all: any threshold does
        return float(right)
    middle = 0.5 * left + 0.5 * right
    # Neighbouring floats have nothing between them.
    return float(right if middle == lower[i] > -np.inf else middle)


def count_kept(keys: Ragged, threshold: ArrayLike) -> IntArray:
    """Return how many keys of each list reach the threshold (one for all lists, or one each)."""
    limits = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (len(keys),))
    return keys.count(keys.values >= keys.spread(limits))


def best_cut(curves: Ragged) -> int:
    """Return the smallest ``k`` with the highest mean metric; short lists are kept whole."""
    lengths = curves.lengths - 1
    rank = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    gains = np.cumsum(np.bincount(rank, weights=_steps(curves)))
    return _first_best(np.concatenate([[0.0], gains]))


def _steps(curves: Ragged) -> FloatArray:
    # The differences between the end of one curve and the start of the next mean nothing.
    return np.delete(np.diff(curves.values), curves.offsets[1:-1] - 1)


def _first_best(totals: FloatArray) -> int:
    best = totals.max()
    return int(np.argmax(totals >= best - _PRECISION * max(1.0, abs(best))))


@dataclass(frozen=True)
class Lists(Kind):
    """Lists of numbers, one per query, as long as those of the same size, or ``longer``."""

    longer: int = 0
    kind: str = "f"

    def check(self, value: Any, sizes: Sizes) -> Ragged:
        if not isinstance(value, Ragged):
            raise ValueError("lists of unequal length")
        Array(("",), self.kind).check(value.values, sizes)
        lengths = value.lengths - self.longer
        match_sizes(("queries",), (len(value),), sizes)
        known = sizes.setdefault("results", lengths)
        if lengths.min(initial=0) < 0 or not np.array_equal(known, lengths):
            more = f", {self.longer} longer" if self.longer else ""
            raise ValueError(f"lists as long as the others{more}")
        return value


LOCAL: dict[str, Kind] = {
    "embeddings_": Array(("queries", "dimensions")),
    "values_": Lists(),
    "curves_": Lists(longer=1),
}


def embeddings_of(lists: RankedLists, *, who: str) -> NDArray[Any]:
    if lists.query_embeddings is None:
        raise InvalidScoresError(
            "lists must have query_embeddings to find neighbouring queries, got none", who=who
        )
    return lists.query_embeddings


def nearest(train: NDArray[Any], lists: RankedLists, neighbors: int, *, who: str) -> IntArray:
    """Return the positions of each list's nearest training queries, one row per list."""
    queries = embeddings_of(lists, who=who)
    if queries.shape[1] != train.shape[1]:
        raise InvalidScoresError(
            f"query_embeddings must have {train.shape[1]} dimensions, as in training, "
            f"got {queries.shape[1]}",
            who=who,
        )
    count = min(neighbors, len(train))
    if len(queries) == 0:
        return np.empty((0, count), dtype=np.int64)
    sklearn = require("sklearn.neighbors", feature=f"{who} with neighbours", extra="sklearn")
    index = sklearn.NearestNeighbors(n_neighbors=count).fit(train)
    return np.asarray(index.kneighbors(queries, return_distance=False), dtype=np.int64)
