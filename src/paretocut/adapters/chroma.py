"""Chroma: the answers of ``collection.query``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from paretocut.adapters.deciding import FETCH_K, CutList, cut_each, read_each
from paretocut.adapters.stores import SAMPLE, Embed, calibrate_store
from paretocut.adapters.tokens import TokenBudget
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidScoresError
from paretocut.truncators import Calibrated

__all__ = ["calibrate", "cut_query"]

_COLUMNS = ("ids", "embeddings", "documents", "uris", "data", "metadatas", "distances")
_REMEDY = "search deeper: a collection made with configuration={'hnsw': {'ef_search': 400}}"


def cut_query(
    result: Mapping[str, Any],
    *,
    asked: int | None = None,
    max_tokens: int | None = None,
    count_tokens: Callable[[str], int] | None = None,
    **options: Unpack[DecisionOptions],
) -> dict[str, Any]:
    """Return the result with only what is worth keeping, in every column.

    Every cell is a list with the decision on its query: ``cut["ids"][0].cut.reason``.

    Parameters
    ----------
    result
        What ``collection.query`` returned, with its distances; ask for about 200 (``n_results``).
        Chroma always returns distances.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
    max_tokens, count_tokens
        Largest number of tokens of the documents kept, and what counts them; by default four
        characters count as one token. Needs documents.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    if not isinstance(result, Mapping) or result.get("distances") is None:
        included = result.get("included") if isinstance(result, Mapping) else type(result).__name__
        raise InvalidScoresError(
            "cut_query: the result must have distances: query with include=['distances', ...]; "
            f"got {included}"
        )
    budget = TokenBudget.of("cut_query", max_tokens, count_tokens)
    if max_tokens is not None and result.get("documents") is None:
        raise InvalidScoresError(
            "cut_query: the result must have documents for max_tokens: query with "
            f"include=['documents', ...]; got {result.get('included')}"
        )
    distances = result["distances"]
    read_each(distances, len, who="cut_query", what="lists of distances, one per query")
    decisions, _ = cut_each(
        distances,
        options,
        who="cut_query",
        higher_is_better=False,
        budget=budget,
        text_of=lambda query, i: result["documents"][query][i] or "",
        asked=asked,
        remedy=_REMEDY,
    )
    cut = dict(result)
    for name in _COLUMNS:
        if cut.get(name) is not None:
            lengths = [len(row) for row in cut[name]]
            if lengths != [len(row) for row in distances]:
                raise InvalidScoresError(
                    f"cut_query: {name} must be as many as distances in every list, got {lengths}"
                )
            cells = zip(cut[name], decisions, strict=True)
            cut[name] = [CutList([row[i] for i in one.kept], one.cut) for row, one in cells]
    return cut


def calibrate(
    collection: Any, embed: Embed, *, fetch_k: int = FETCH_K, **options: Any
) -> Calibrated:
    """Return a truncator that knows the collection, learned without judgements.

    Nonsense is made from words of its documents; see `paretocut.calibrate`.

    Parameters
    ----------
    collection
        A collection with documents.
    embed
        Takes texts and returns a vector for each, made like those of the collection.
    fetch_k
        Number of results of each search; ask for as many later.
    **options
        As for `paretocut.calibrate`, such as ``queries`` and ``n``.
    """

    def search(vectors: list[list[float]]) -> Any:
        found = collection.query(query_embeddings=vectors, n_results=fetch_k, include=["distances"])
        return found["distances"]

    texts = collection.get(include=["documents"], limit=SAMPLE)["documents"]
    return calibrate_store(texts, embed, search, higher_is_better=False, **options)
