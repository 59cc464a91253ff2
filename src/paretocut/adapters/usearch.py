"""USearch: the matches of ``index.search``."""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

from paretocut.adapters.deciding import cut_each, cut_scored
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError

__all__ = ["cut_batch_matches", "cut_matches"]

_REMEDY = "search deeper: index.expansion_search = 400, or exact=True"


def cut_matches(
    matches: Any, *, asked: int | None = None, **options: Unpack[DecisionOptions]
) -> Any:
    """Return the matches of one query worth keeping; their attribute ``cut`` says why.

    Parameters
    ----------
    matches
        A `usearch.index.Matches`; its distances are always lower for better, whatever the metric.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    _check(matches, "cut_matches", "Matches", dimensions=1)
    decision = cut_scored(
        matches.distances,
        options,
        who="cut_matches",
        higher_is_better=False,
        asked=asked,
        remedy=_REMEDY,
    )
    kept = decision.kept
    found = dataclasses.replace(matches, keys=matches.keys[kept], distances=matches.distances[kept])
    found.cut = decision.cut
    return found


def cut_batch_matches(matches: Any, **options: Unpack[DecisionOptions]) -> Any:
    """Return the matches of many queries worth keeping: the same arrays with smaller ``counts``.

    Their attribute ``cuts`` says why.

    Parameters
    ----------
    matches
        A `usearch.index.BatchMatches`.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    _check(matches, "cut_batch_matches", "BatchMatches", dimensions=2)
    keys, distances, counts = (
        column.copy() for column in (matches.keys, matches.distances, matches.counts)
    )
    found = [distances[row, :count] for row, count in enumerate(matches.counts)]
    decisions, cuts = cut_each(
        found,
        options,
        who="cut_batch_matches",
        higher_is_better=False,
        asked=distances.shape[1] or None,  # as wide as was asked for
        remedy=_REMEDY,
    )
    for row, decision in enumerate(decisions):
        kept = decision.kept
        keys[row, : len(kept)] = keys[row, kept]
        distances[row, : len(kept)] = distances[row, kept]
        counts[row] = len(kept)
    result = dataclasses.replace(matches, keys=keys, distances=distances, counts=counts)
    result.cuts = cuts
    return result


def _check(matches: Any, who: str, kind: str, *, dimensions: int) -> None:
    distances = getattr(matches, "distances", None)
    if not dataclasses.is_dataclass(matches) or getattr(distances, "ndim", 0) != dimensions:
        raise InvalidParameterError(
            f"{who}: matches must be usearch.index.{kind}, got {type(matches).__name__}"
        )
