"""LanceDB: the answers of ``table.search(...).to_list()`` and ``.to_arrow()``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from paretocut.adapters.deciding import FETCH_K, CutList
from paretocut.adapters.fetched import (
    columns_of,
    cut_fetched_rows,
    cut_fetched_table,
    fuse_fetched_rows,
)
from paretocut.adapters.hybrid import HybridOptions
from paretocut.adapters.stores import SAMPLE, Embed, calibrate_store
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Calibrated

__all__ = ["calibrate", "cut_arrow", "cut_list", "fuse_list"]

_REMEDY = "an IVF index searches few partitions: .nprobes(64).refine_factor(10)"
# Hybrid search keeps the other two columns beside its own.
_HIGHER_IS_BETTER = {"_relevance_score": True, "_score": True, "_distance": False}


def cut_list(
    rows: Sequence[dict[str, Any]], *, asked: int | None = None, **options: Unpack[DecisionOptions]
) -> CutList[dict[str, Any]]:
    """Return the rows worth keeping, with the decision.

    Parameters
    ----------
    rows
        What ``.to_list()`` returned, with ``_distance`` of a vector search, ``_score`` of a full
        text search or ``_relevance_score`` of a reranker; ask for ``.limit(200)`` or so.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    first = rows[0] if isinstance(rows, Sequence) and rows else None
    if first is not None and not isinstance(first, Mapping):
        raise InvalidParameterError(
            f"cut_list: rows must be dictionaries, as .to_list() returns them, got {first!r:.60}"
        )
    score = "_distance" if first is None else _score_of(first, "cut_list")
    up = _HIGHER_IS_BETTER[score]
    return cut_fetched_rows(
        rows, score, options, who="cut_list", higher_is_better=up, asked=asked, remedy=_REMEDY
    )


def fuse_list(
    rows: Sequence[dict[str, Any]], **options: Unpack[HybridOptions]
) -> CutList[dict[str, Any]]:
    """Return the rows of a hybrid search worth keeping, fused by score, with the decision.

    Parameters
    ----------
    rows
        What ``.to_list()`` returned of a hybrid search with
        ``.rerank(RRFReranker(return_score="all"))`` and ``.limit(200)`` or so: LanceDB's own
        fusion is by rank, but it keeps ``_score`` and ``_distance``, which are fused here.
    **options
        How they are fused, as in `paretocut.fuse` (or ``fusion``, a fitted `paretocut.Fusion` or
        the path of a saved one), and who decides, as in `paretocut.cut`.
    """
    scores = {"_score": True, "_distance": False}
    return fuse_fetched_rows(rows, scores, options, who="fuse_list", names=("text", "vector"))


def cut_arrow(table: Any, *, asked: int | None = None, **options: Unpack[DecisionOptions]) -> Any:
    """Return the rows of the Arrow table worth keeping; its metadata holds the decision.

    Parameters
    ----------
    table
        What ``.to_arrow()`` returned, with a column of scores as in `cut_list`.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    score = _score_of(columns_of(table, "cut_arrow"), "cut_arrow")
    up = _HIGHER_IS_BETTER[score]
    return cut_fetched_table(
        table, score, options, who="cut_arrow", higher_is_better=up, asked=asked, remedy=_REMEDY
    )


def calibrate(
    table: Any,
    embed: Embed,
    *,
    text: str,
    distance_type: str,
    fetch_k: int = FETCH_K,
    **options: Any,
) -> Calibrated:
    """Return a truncator that knows the table, learned without judgements.

    Nonsense is made from words of its texts; see `paretocut.calibrate`.

    Parameters
    ----------
    table
        A table with vectors and texts.
    embed
        Takes texts and returns a vector for each, made like those of the table.
    text
        The column of texts.
    distance_type
        As you search: ``"l2"``, ``"cosine"`` or ``"dot"``.
    fetch_k
        Number of results of each search; ask for as many later.
    **options
        As for `paretocut.calibrate`, such as ``queries`` and ``n``.
    """

    def search(vectors: list[list[float]]) -> Any:
        for vector in vectors:
            found = table.search(vector).distance_type(distance_type).limit(fetch_k)
            yield found.to_arrow()["_distance"].to_pylist()

    texts = table.search().select([text]).limit(SAMPLE).to_arrow()[text].to_pylist()
    return calibrate_store(texts, embed, search, higher_is_better=False, **options)


def _score_of(columns: Iterable[str], who: str) -> str:
    there = list(columns)
    for name in _HIGHER_IS_BETTER:
        if name in there:
            return name
    raise InvalidParameterError(
        f"{who}: the answer must have a column {', '.join(_HIGHER_IS_BETTER)}; got {there}"
    )
