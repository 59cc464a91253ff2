"""USearch: the matches of ``index.search``."""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

from paretocut.adapters._base import CutOptions, Cutter, cuts_of_each
from paretocut.errors import InvalidParameterError

__all__ = ["cut_batch_matches", "cut_matches"]


def cut_matches(matches: Any, **options: Unpack[CutOptions]) -> Any:
    """Return the matches of one query worth keeping; their attribute ``cut`` says why.

    Parameters
    ----------
    matches
        A `usearch.index.Matches`; its distances are always lower for better, whatever the metric.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    _check(matches, "cut_matches", "Matches")
    cutter = Cutter.of("cut_matches", options)
    (kept,), cuts = cuts_of_each(
        [matches.distances], cutter, who="cut_matches", higher_is_better=False
    )
    found = dataclasses.replace(matches, keys=matches.keys[kept], distances=matches.distances[kept])
    found.cut = cuts[0]
    return found


def cut_batch_matches(matches: Any, **options: Unpack[CutOptions]) -> Any:
    """Return the matches of many queries worth keeping: the same arrays with smaller ``counts``.

    Their attribute ``cuts`` says why.

    Parameters
    ----------
    matches
        A `usearch.index.BatchMatches`.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    _check(matches, "cut_batch_matches", "BatchMatches")
    keys, distances = matches.keys.copy(), matches.distances.copy()
    counts = matches.counts.copy()
    found = [distances[row, :count] for row, count in enumerate(matches.counts)]
    cutter = Cutter.of("cut_batch_matches", options)
    every, cuts = cuts_of_each(found, cutter, who="cut_batch_matches", higher_is_better=False)
    for row, kept in enumerate(every):
        keys[row, : kept.size] = keys[row, kept]
        distances[row, : kept.size] = distances[row, kept]
        counts[row] = kept.size
    result = dataclasses.replace(matches, keys=keys, distances=distances, counts=counts)
    result.cuts = cuts
    return result


def _check(matches: Any, who: str, kind: str) -> None:
    if not dataclasses.is_dataclass(matches) or not hasattr(matches, "distances"):
        raise InvalidParameterError(
            f"{who}: matches must be usearch.index.{kind}, got {type(matches).__name__}"
        )
