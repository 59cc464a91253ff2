"""Pasted or uploaded runs: the format of the text, and the lists in it."""

from __future__ import annotations

import io
import re
from typing import Any

from paretocut.errors import InvalidParameterError
from paretocut.io import read_lists
from paretocut.io.tables import Format
from paretocut.lists import RankedLists

_SCORES = re.compile(r"[\s,;\[\]]*(?:[+-]?[\d.][\d.eE+-]*[\s,;\[\]]*)+")


def pasted_lists(
    run: str, qrels: str | None = None, *, higher_is_better: bool = True
) -> RankedLists:
    """Return the lists of a text: bare scores of one list, a TREC run, JSONL or CSV."""
    if not run.strip():
        raise InvalidParameterError("upload: the run must have at least one score, got no text")
    if _SCORES.fullmatch(run):
        scores = []
        for word in re.sub(r"[\[\],;]", " ", run).split():
            try:
                scores.append(float(word))
            except ValueError:
                problem = f"upload: scores must be numbers, got {word!r}"
                raise InvalidParameterError(problem) from None
        return RankedLists([scores], query_ids=["pasted"], higher_is_better=higher_is_better)
    given: dict[str, Any] = {"higher_is_better": higher_is_better}
    if qrels is not None and qrels.strip():
        given["qrels"] = io.BytesIO(qrels.encode())
    lists = read_lists(io.BytesIO(run.encode()), _format_of(run), **given)
    if not len(lists):
        raise InvalidParameterError("upload: the run must have at least one query, got none")
    return lists


def _format_of(text: str) -> Format:
    first = text.lstrip().partition("\n")[0]
    if first.startswith("{"):
        return "jsonl"
    return "csv" if first.startswith("query_id") and "," in first else "trec"
