"""pandas frames: functions that take a frame and return one with the decisions in new columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Unpack

import numpy as np

from paretocut.adapters.frames import FrameCutter, FrameOptions, ListNames, RowNames, fused_frames
from paretocut.errors import InvalidParameterError, InvalidScoresError, require
from paretocut.lists import Ragged

__all__ = ["cut_lists", "cut_rows", "fuse_rows"]

Frame: TypeAlias = Any  # pandas.DataFrame


def cut_lists(
    frame: Frame,
    column: str = "scores",
    *,
    k: str = "k",
    surprise: str = "surprise",
    reason: str | None = "reason",
    **options: Unpack[FrameOptions],
) -> Frame:
    """Return the frame, one row per query, with the number to keep, the surprise and the reason.

    Parameters
    ----------
    frame
        A `pandas.DataFrame`.
    column
        Name of the column with the scores: each cell a list or array, in any order, or missing.
        A column of Arrow lists (`pandas.ArrowDtype`) is read in place, and gives Arrow columns.
    k, surprise, reason
        Names of the new columns: nullable integers, arrays in the order of the scores, and
        sentences; missing where the list is. None leaves the reason out.
    **options
        Who decides, as in `paretocut.cut`, with bounds; ``higher_is_better``; ``threads``.
    """
    pd = _pandas(frame, "cut_lists")
    ListNames(column, k, surprise, reason).check("cut_lists", frame.columns)
    lists = frame[column]
    cutter = FrameCutter("cut_lists", options)
    if isinstance(lists.dtype, pd.ArrowDtype):
        from paretocut.adapters.arrow import cut_with

        pa = require("pyarrow", feature="cut_lists", extra="arrow")
        wrap = pd.arrays.ArrowExtensionArray
        counts, found, reasons = map(wrap, cut_with(pa.array(lists.array), cutter))
    else:
        there = lists.notna().to_numpy()
        known = [one if here else () for one, here in zip(lists, there, strict=True)]
        scores = Ragged.from_any(known, dtype=np.float64)
        numbers, values, reasons = cutter.lists(scores, there)
        counts = pd.arrays.IntegerArray(numbers, ~there)
        found = np.full(len(frame), None, dtype=object)
        for i, one in enumerate(scores.with_values(values)):
            found[i] = one if there[i] else None
    columns = {k: counts, surprise: found}
    return frame.assign(**(columns if reason is None else columns | {reason: reasons}))


def cut_rows(
    frame: Frame,
    query: str = "query_id",
    score: str = "score",
    *,
    surprise: str = "surprise",
    kept: str = "kept",
    reason: str | None = None,
    **options: Unpack[FrameOptions],
) -> Frame:
    """Return the frame, one row per result, with its surprise and whether it is kept.

    Parameters
    ----------
    frame
        A `pandas.DataFrame`; its rows and index stay the same.
    query, score
        Names of the columns: rows with the same query are one list, wherever they are. A missing
        score is ignored: its surprise is missing, and it is not kept.
    surprise, kept, reason
        Names of the new columns; the reason of the row's list only if it has a name.
    **options
        As in `cut_lists`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> noise = np.random.default_rng(0).exponential(size=197)
    >>> frame = pd.DataFrame({"query_id": "q1", "score": [12.0, *noise, 11.0]})
    >>> result = cut_rows(frame, evalue=0.05)
    >>> result.index[result.kept].tolist()
    [0, 198]
    """
    pd = _pandas(frame, "cut_rows")
    RowNames(query, score, surprise, kept, reason).check("cut_rows", frame.columns)
    try:
        scores = frame[score].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidScoresError(
            f"cut_rows: column {score!r} must hold numbers, got {error}"
        ) from error
    codes, _ = pd.factorize(frame[query], use_na_sentinel=False)
    cutter = FrameCutter("cut_rows", options)
    found, all_kept, reasons = cutter.rows(codes, scores, ~np.isnan(scores))
    columns: dict[str, Any] = {surprise: found, kept: all_kept}
    return frame.assign(**(columns if reason is None else columns | {reason: reasons()}))


def fuse_rows(
    frames: Mapping[str, Frame] | Sequence[Frame],
    query: str = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    *,
    higher_is_better: Mapping[str, bool] | None = None,
    **options: Any,
) -> Frame:
    """Return one frame of fused results, best first for each query.

    Columns: query, document, fused score and rank, and score and rank from each retriever:
    ``score_words`` and ``rank_words`` for one called ``words`` (ranks count from 1; NaN and 0 where
    it did not find the document).

    Parameters
    ----------
    frames
        Frames of two or more retrievers, by name or not, one row per result.
    query, doc, score
        Names of their columns. Names of queries and documents come back as strings.
    higher_is_better
        By name of the retriever, False for distances.
    **options
        ``method``, ``weights`` and ``depth`` of `paretocut.fuse`; or ``fusion``, a fitted
        `paretocut.Fusion` or the path of a saved one.

    Examples
    --------
    >>> import pandas as pd
    >>> words = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [7.0, 2.0]})
    >>> vectors = pd.DataFrame({"query_id": "q", "doc_id": ["b", "c"], "score": [0.9, 0.5]})
    >>> fuse_rows({"words": words, "vectors": vectors}, method="rrf").doc_id.tolist()
    ['b', 'a', 'c']
    """
    pd = require("pandas", feature="fuse_rows", extra="pandas")
    names = (query, doc, score)
    found = fused_frames(
        frames, names, higher_is_better, options, lambda frame: _pandas(frame, "fuse_rows")
    )
    return pd.DataFrame(found)


def _pandas(frame: Frame, who: str) -> Any:
    """Return the package, once the frame is known to be one of its frames."""
    pd = require("pandas", feature=who, extra="pandas")
    if not isinstance(frame, pd.DataFrame):
        kind = type(frame)
        raise InvalidParameterError(
            f"{who}: frame must be a pandas.DataFrame, got {kind.__module__}.{kind.__qualname__}"
        )
    return pd
