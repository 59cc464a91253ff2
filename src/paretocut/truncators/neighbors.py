"""The nearest training queries of a query, for the methods with a local setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import InvalidScoresError, require
from paretocut.lists import IntArray, Ragged, RankedLists
from paretocut.schema.kinds import Array, Kind, Sizes, match_sizes


@dataclass(frozen=True)
class Lists(Kind):
    """Lists of numbers, as many as ``rows``, each ``longer`` than those of the same ``layout``."""

    rows: str
    layout: str
    longer: int = 0
    kind: str = "f"

    def check(self, value: Any, sizes: Sizes) -> Ragged:
        if not isinstance(value, Ragged):
            raise ValueError("lists of unequal length")
        Array(("",), self.kind).check(value.values, sizes)
        lengths = value.lengths - self.longer
        match_sizes((self.rows,), (len(value),), sizes)
        known = sizes.setdefault(self.layout, lengths)
        if lengths.min(initial=0) < 0 or not np.array_equal(known, lengths):
            more = f", {self.longer} longer" if self.longer else ""
            raise ValueError(f"lists as long as the others{more}")
        return value


LOCAL: dict[str, Kind] = {
    "embeddings_": Array(("queries", "dimensions")),
    "values_": Lists("queries", "results"),
    "curves_": Lists("queries", "results", longer=1),
}
"""Kinds of the training lists that a local setting saves."""


def embeddings_of(lists: RankedLists, *, who: str) -> NDArray[Any]:
    """Return the query embeddings of the lists, or say that they are needed."""
    if lists.query_embeddings is None:
        raise InvalidScoresError(
            "lists must have query_embeddings to find neighbouring queries, got none", who=who
        )
    return lists.query_embeddings


def nearest(train: NDArray[Any], lists: RankedLists, neighbors: int, *, who: str) -> IntArray:
    """Return the positions of each list's nearest training queries, one row per list.

    The search is exact, by Euclidean distance; there are fewer than ``neighbors`` columns only
    when there are fewer training queries.
    """
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
    found: IntArray = index.kneighbors(queries, return_distance=False).astype(np.int64)
    return found
