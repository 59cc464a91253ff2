"""What is given as text: runs pasted or uploaded, and the texts of queries and documents."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Container
from typing import Any

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.io import read_lists
from paretocut.io._files import Source, open_source
from paretocut.io.tables import Format
from paretocut.lists import RankedLists

__all__ = ["pasted_lists", "read_texts"]

_SCORES = re.compile(r"[\s,;\[\]]*(?:[+-]?[\d.][\d.eE+-]*[\s,;\[\]]*)+")


def pasted_lists(
    run: str, qrels: str | None = None, *, higher_is_better: bool = True
) -> RankedLists:
    """Return the lists of a text: bare scores of one list, a TREC run, JSONL or CSV.

    Parameters
    ----------
    run
        The text; what it begins with says which it is.
    qrels
        Judgements in TREC's format.
    higher_is_better
        False for distances.
    """
    if not run.strip():
        raise InvalidParameterError("upload: the run must have at least one score, got no text")
    if _SCORES.fullmatch(run):
        words = re.sub(r"[\[\],;]", " ", run).split()
        try:
            scores = [float(word) for word in words]
        except ValueError:
            bad = next(word for word in words if not _is_number(word))
            raise InvalidParameterError(f"upload: scores must be numbers, got {bad!r}") from None
        return RankedLists([scores], query_ids=["pasted"], higher_is_better=higher_is_better)
    given: dict[str, Any] = {"higher_is_better": higher_is_better}
    if qrels is not None and qrels.strip():
        given["qrels"] = io.BytesIO(qrels.encode())
    lists = read_lists(io.BytesIO(run.encode()), _format_of(run), **given)
    if not len(lists):
        raise InvalidParameterError("upload: the run must have at least one query, got none")
    return lists


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _format_of(text: str) -> Format:
    first = text.lstrip().partition("\n")[0]
    if first.startswith("{"):
        return "jsonl"
    return "csv" if first.startswith("query_id") and "," in first else "trec"


def read_texts(source: Source, wanted: Container[str] | None = None) -> dict[str, str]:
    """Return texts by id, of JSON lines (id or _id, title, text) or of lines ``id, tab, text``.

    Parameters
    ----------
    source
        A path or an open binary file; plain, gzip or xz.
    wanted
        Ids of the texts to keep; by default all.
    """
    texts: dict[str, str] = {}
    with open_source(source) as opened:
        for number, raw in enumerate(opened.stream, 1):
            try:
                line = raw.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise DataFormatError(opened.name, number, "expected UTF-8") from None
            if not line.strip():
                continue
            name, text = _entry(line, opened.name, number)
            if wanted is None or name in wanted:
                texts[name] = text
    return texts


def _entry(line: str, path: str, number: int) -> tuple[str, str]:
    if line.lstrip().startswith("{"):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataFormatError(path, number, f"not JSON: {error}") from None
        name = row.get("id", row.get("_id"))
        if name is None or "text" not in row:
            raise DataFormatError(path, number, "expected an id and a text")
        title = str(row.get("title") or "").strip()
        return str(name), ". ".join(filter(None, [title, str(row["text"])]))
    name, tab, text = line.partition("\t")
    if not tab:
        raise DataFormatError(path, number, "expected a JSON object, or a name, a tab and a text")
    return name, text
