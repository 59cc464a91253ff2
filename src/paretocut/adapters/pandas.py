"""pandas frames: functions that take a frame and return one with the decisions in new columns."""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

import numpy as np

from paretocut._extras import require
from paretocut.adapters._columns import Options, check_columns, decide, decide_rows
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.types import Ragged

__all__ = ["cut_lists", "cut_rows"]

Frame: TypeAlias = Any  # pandas.DataFrame


def cut_lists(
    frame: Frame,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    **options: Unpack[Options],
) -> Frame:
    """Return the frame, one row per query, with the number to keep and the results' surprise.

    Parameters
    ----------
    frame
        A `pandas.DataFrame`.
    column
        Name of the column with the scores: each cell a list or array, in any order, or missing.
        A column of Arrow lists (`pandas.ArrowDtype`) is read in place, and gives Arrow columns.
    k, surprise
        Names of the new columns: nullable integers, and arrays in the order of the scores;
        missing where the list is.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.
    """
    pd = _pandas(frame, "cut_lists")
    new = {"k": k, "surprise": surprise}
    check_columns("cut_lists", frame.columns, there={"column": column}, new=new)
    lists = frame[column]
    if isinstance(lists.dtype, pd.ArrowDtype):
        counts, scored = _cut_arrow(pd, lists, options)
    else:
        there = lists.notna().to_numpy()
        found, values = decide(Ragged.from_any(list(lists[there]), dtype=np.float64), options)
        counts = pd.array(np.zeros(len(frame), dtype=np.int64), dtype="Int64")
        counts[there] = found
        counts[~there] = pd.NA
        scored = np.full(len(frame), None, dtype=object)
        for at, one in zip(np.flatnonzero(there), values, strict=True):
            scored[at] = one
    return frame.assign(**{k: counts, surprise: scored})


def cut_rows(
    frame: Frame,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    **options: Unpack[Options],
) -> Frame:
    """Return the frame, one row per result, with its surprise and whether it is kept.

    Parameters
    ----------
    frame
        A `pandas.DataFrame`; its rows and index come back as they were.
    query, score
        Names of the columns: rows with the same query are one list, wherever they are. A missing
        score has no part in the fit, its surprise is missing, and it is not kept.
    surprise, kept
        Names of the new columns.
    **options
        Options of `paretocut.fit_batch` and of `paretocut.SurpriseFits.cut`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> noise = -np.log(np.linspace(0.005, 0.995, 197))
    >>> frame = pd.DataFrame({"query_id": "q1", "score": [12.0, *noise, 11.0]})
    >>> result = cut_rows(frame, evalue=0.05)
    >>> result.index[result.kept].tolist()
    [0, 198]
    """
    pd = _pandas(frame, "cut_rows")
    there, new = {"query": query, "score": score}, {"surprise": surprise, "kept": kept}
    check_columns("cut_rows", frame.columns, there=there, new=new)
    try:
        scores = frame[score].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidScoresError(
            f"cut_rows: column {score!r} must hold numbers, got {error}"
        ) from error
    scored = ~np.isnan(scores)
    codes, _ = pd.factorize(frame[query], use_na_sentinel=False)
    found, keep = decide_rows(codes[scored], scores[scored], options)
    all_found = np.full(len(frame), np.nan)
    all_found[scored] = found
    all_kept = np.zeros(len(frame), dtype=np.bool_)
    all_kept[scored] = keep
    return frame.assign(**{surprise: all_found, kept: all_kept})


def _pandas(frame: Frame, who: str) -> Any:
    """Return the package, once the frame is known to be one of its frames."""
    pd = require("pandas", feature=who, extra="pandas")
    if not isinstance(frame, pd.DataFrame):
        kind = type(frame)
        raise InvalidParameterError(
            f"{who}: frame must be a pandas.DataFrame, got {kind.__module__}.{kind.__qualname__}"
        )
    return pd


def _cut_arrow(pd: Any, lists: Any, options: Options) -> tuple[Any, Any]:
    from paretocut.adapters.arrow import cut_array

    pa = require("pyarrow", feature="cut_lists", extra="arrow")
    counts, scored = cut_array(pa.array(lists.array), **options)
    return pd.arrays.ArrowExtensionArray(counts), pd.arrays.ArrowExtensionArray(scored)
