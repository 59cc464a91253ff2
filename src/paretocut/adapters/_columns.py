"""What the adapters for data frames and clusters share: columns of scores in, decisions out.

Every one of them offers two functions. `cut_lists` takes a frame with one row per query and a
column of lists, and adds the number of results to keep and a column of lists with their surprise.
`cut_rows` takes a frame with one row per result, and adds surprise and whether the row is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.adapters._base import CutOptions
from paretocut.errors import InvalidParameterError
from paretocut.surprise import SurpriseFits, fit_batch
from paretocut.types import BoolArray, FloatArray, IntArray, Ragged

__all__ = ["Options", "check_columns", "decide", "decide_rows", "one_thread"]


class Options(CutOptions, total=False):
    """Options of `paretocut.fit_batch` and of its `cut`, as they are there."""

    higher_is_better: bool
    threads: int | None


_CUT = {"alpha", "threshold", "evalue", "fdr", "min_k", "max_k"}


def decide(lists: Ragged, options: Options) -> tuple[IntArray, Ragged]:
    """Return how many results of each list to keep, and the surprise of each result."""
    given: Mapping[str, Any] = options
    fits: SurpriseFits = fit_batch(
        lists, **{name: value for name, value in given.items() if name not in _CUT}
    )
    k = fits.cut(**{name: value for name, value in given.items() if name in _CUT})
    return k, fits.surprise


def decide_rows(
    groups: NDArray[Any], scores: FloatArray, options: Options
) -> tuple[FloatArray, BoolArray]:
    """Return the surprise of each row and whether it is kept; rows of one group are one list."""
    sign = -1.0 if options.get("higher_is_better", True) else 1.0
    best_first = np.lexsort((sign * scores, groups))
    _, lengths = np.unique(groups, return_counts=True)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    k, surprise = decide(Ragged(scores[best_first], offsets), options)
    rank = np.arange(scores.size) - np.repeat(offsets[:-1], lengths)
    of_rows = np.empty(scores.size)
    of_rows[best_first] = surprise.values
    kept = np.empty(scores.size, dtype=np.bool_)
    kept[best_first] = rank < np.repeat(k, lengths)
    return of_rows, kept


def one_thread(options: Options) -> Options:
    """Return the options for a worker that has one core, unless they say otherwise."""
    return {"threads": 1, **options}


def check_columns(
    who: str, present: Collection[str], *, there: Mapping[str, str], new: Mapping[str, str]
) -> None:
    """Refuse names of columns that are not there, and new ones that are.

    Both mappings go from the caller's argument to the name it was given.
    """
    for argument, name in there.items():
        if name not in present:
            raise InvalidParameterError(
                f"{who}: {argument} must name a column, one of {', '.join(present)}; got {name!r}"
            )
    for argument, name in new.items():
        if name in present:
            raise InvalidParameterError(
                f"{who}: {argument} must name a new column, got {name!r}, which is there already"
            )
