"""USearch: the matches of ``index.search``."""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

from paretocut.adapters._base import CutOptions, kept_of_each

__all__ = ["cut_batch_matches", "cut_matches"]


def cut_matches(matches: Any, **options: Unpack[CutOptions]) -> Any:
    """Return the matches of one query that stand out.

    Parameters
    ----------
    matches
        A `usearch.index.Matches`; its distances are always lower for better, whatever the metric.
    **options
        Options of `paretocut.cut`.
    """
    (kept,) = kept_of_each(
        [matches.distances], who="cut_matches", higher_is_better=False, **options
    )
    return dataclasses.replace(matches, keys=matches.keys[kept], distances=matches.distances[kept])


def cut_batch_matches(matches: Any, **options: Unpack[CutOptions]) -> Any:
    """Return the matches of many queries that stand out: the same arrays with smaller ``counts``.

    Parameters
    ----------
    matches
        A `usearch.index.BatchMatches`.
    **options
        Options of `paretocut.cut`.
    """
    keys, distances = matches.keys.copy(), matches.distances.copy()
    counts = matches.counts.copy()
    found = [distances[row, :count] for row, count in enumerate(matches.counts)]
    every = kept_of_each(found, who="cut_batch_matches", higher_is_better=False, **options)
    for row, kept in enumerate(every):
        keys[row, : kept.size] = keys[row, kept]
        distances[row, : kept.size] = distances[row, kept]
        counts[row] = kept.size
    return dataclasses.replace(matches, keys=keys, distances=distances, counts=counts)
