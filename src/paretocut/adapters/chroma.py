"""Chroma: the answers of ``collection.query``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from paretocut.adapters._base import CutOptions, kept_of_each
from paretocut.errors import InvalidScoresError

__all__ = ["cut_query"]

_COLUMNS = ("ids", "embeddings", "documents", "uris", "data", "metadatas", "distances")


def cut_query(result: Mapping[str, Any], **options: Unpack[CutOptions]) -> dict[str, Any]:
    """Return the result with those that stand out, in every column.

    Parameters
    ----------
    result
        What ``collection.query`` returned, with its distances; ask for ``n_results=200`` or so.
        Chroma gives distances in every space.
    **options
        Options of `paretocut.cut`.
    """
    if result.get("distances") is None:
        raise InvalidScoresError(
            "cut_query: the result must have distances: query with include=['distances', ...]; "
            f"got {result.get('included')}"
        )
    kept = kept_of_each(result["distances"], who="cut_query", higher_is_better=False, **options)
    cut = dict(result)
    for name in _COLUMNS:
        if cut.get(name) is not None:
            cut[name] = [[row[i] for i in one] for row, one in zip(cut[name], kept, strict=True)]
    return cut
