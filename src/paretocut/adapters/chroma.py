"""Chroma: the answers of ``collection.query``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from paretocut.adapters._base import (
    CutList,
    CutOptions,
    Cutter,
    TokenBudget,
    cuts_of_each,
    warn_of_shortfall,
)
from paretocut.errors import InvalidScoresError

__all__ = ["cut_query"]

_COLUMNS = ("ids", "embeddings", "documents", "uris", "data", "metadatas", "distances")


_REMEDY = "search deeper: a collection made with configuration={'hnsw': {'ef_search': 400}}"


def cut_query(
    result: Mapping[str, Any],
    *,
    asked: int | None = None,
    max_tokens: int | None = None,
    count_tokens: Callable[[str], int] | None = None,
    **options: Unpack[CutOptions],
) -> dict[str, Any]:
    """Return the result with what is worth keeping, in every column.

    Every cell is a list with the decision on its query: ``cut["ids"][0].cut.reason``.

    Parameters
    ----------
    result
        What ``collection.query`` returned, with its distances; ask for ``n_results=200`` or so.
        Chroma gives distances in every space.
    asked
        How many results the search asked for, if you want to be warned when it got less than
        half of them.
    max_tokens, count_tokens
        Most tokens that the documents kept may have together, and what counts them; by default
        one token for every four characters. Needs documents.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    if not isinstance(result, Mapping) or result.get("distances") is None:
        included = result.get("included") if isinstance(result, Mapping) else type(result).__name__
        raise InvalidScoresError(
            "cut_query: the result must have distances: query with include=['distances', ...]; "
            f"got {included}"
        )
    budget = TokenBudget(max_tokens, count_tokens).check("cut_query")
    if max_tokens is not None and result.get("documents") is None:
        raise InvalidScoresError(
            "cut_query: the result must have documents for max_tokens: query with "
            f"include=['documents', ...]; got {result.get('included')}"
        )
    for row in result["distances"]:
        warn_of_shortfall(len(row), asked, who="cut_query", remedy=_REMEDY)
    cutter = Cutter.of("cut_query", options)
    kept, cuts = cuts_of_each(result["distances"], cutter, who="cut_query", higher_is_better=False)
    decisions = list(cuts)
    if max_tokens is not None:
        for i, texts in enumerate(result["documents"]):
            fit = budget.within(texts[j] or "" for j in kept[i])
            decisions[i] = decisions[i].limited(fit, f"all that fit into {max_tokens} tokens")
            kept[i] = kept[i][:fit]
    cut = dict(result)
    for name in _COLUMNS:
        if cut.get(name) is not None:
            cells = zip(cut[name], kept, decisions, strict=True)
            cut[name] = [CutList([row[i] for i in one], decision) for row, one, decision in cells]
    return cut
