"""Runs that are opened on the page: the format of a pasted text or a file, and the example."""

from __future__ import annotations

import io
import math
import re
import runpy
from importlib import resources
from typing import Any

from paretocut.errors import InvalidParameterError
from paretocut.io import read_lists, read_qrels
from paretocut.io.tables import Format, format_of
from paretocut.lists import RankedLists
from paretocut.web.explorer.exploration import Exploration, Source, with_all_queries

_SCORES = re.compile(r"[\s,;\[\]]*(?:[+-]?[\d.][\d.eE+-]*[\s,;\[\]]*)+")
_COMMAS = re.compile(r"\s*(?:[+-]?\d+,\d+[\s;]+)+[+-]?\d+,\d+[\s;]*")  # 0,9 0,8: one number each
_SEVERAL = re.compile(r"[\s,;\[]*(?:\[[^\[\]]*\][\s,;\]]*){2,}")  # nothing but lists in brackets


def pasted_lists(
    run: str | bytes,
    qrels: str | bytes | None = None,
    *,
    name: str = "",
    higher_is_better: bool = True,
    max_bytes: int | None = None,
) -> RankedLists:
    """Return the lists of a text: bare scores, a TREC run, JSONL or CSV; or of a file by its name.

    Bare scores are one list, unless each list stands in brackets of its own.
    """
    if not run.strip():
        raise InvalidParameterError("upload: the run must have at least one score, got no text")
    if isinstance(run, str) and _COMMAS.fullmatch(run):
        run = run.replace(",", ".")
    if isinstance(run, str) and _SCORES.fullmatch(run):
        own = re.findall(r"\[([^\[\]]*)\]", run) if _SEVERAL.fullmatch(run) else [run]
        words = [re.sub(r"[\[\],;]", " ", text).split() for text in own]
        try:
            scores = [[float(word) for word in one] for one in words]
        except ValueError as error:
            raise InvalidParameterError(f"upload: scores must be numbers, but {error}") from None
        names = [str(i) for i in range(1, len(scores) + 1)]
        return RankedLists(scores, query_ids=names, higher_is_better=higher_is_better)
    how: dict[str, Any] = {"higher_is_better": higher_is_better, "max_bytes": max_bytes}
    kind = _format_of(run) if isinstance(run, str) else format_of(name or "-", who="upload")
    lists = read_lists(_file(run, name or "run"), kind, **how)
    if qrels is not None and qrels.strip():
        judged = read_qrels(_file(qrels, "judgements"), max_bytes=max_bytes)
        lists = with_all_queries(lists, judged)
    if not len(lists):
        raise InvalidParameterError("upload: the run must have at least one query, got none")
    return lists


def _file(given: str | bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(given.encode() if isinstance(given, str) else given)
    file.name = name  # errors say it
    return file


def _format_of(text: str) -> Format:
    first = text.lstrip().partition("\n")[0]
    if first.startswith("{"):
        return "jsonl"
    columns = {name.strip(' \r"') for name in re.split(r"[,\t]", first)}
    return "csv" if "query_id" in columns and len(columns) > 1 else "trec"


def example_run() -> Exploration:
    """Return the run of ``paretocut example``, judged, with its texts and unanswered questions."""
    notes = runpy.run_path(str(resources.files("paretocut") / "data" / "notes.py"))
    asked = {f"q{i:02}": text for i, text in enumerate(notes["questions"], 1)}
    none = {f"no{i:02}": text for i, text in enumerate(notes["unanswered"], 1)}
    texts = asked | none
    doc_ids, scores = zip(*map(notes["search_vectors"], texts.values()), strict=True)
    wanted = [set(notes["questions"].get(text, "").split()) for text in texts.values()]
    # Questions without an answer stay unjudged.
    grades = [
        [float(doc in own) if own else math.nan for doc in docs]
        for docs, own in zip(doc_ids, wanted, strict=True)
    ]
    lists = RankedLists(scores, query_ids=list(texts), doc_ids=doc_ids)
    return Exploration(
        lists.with_relevance(grades, [len(own) for own in wanted]),
        name="example: docstrings of Python",
        query_texts=texts,
        doc_texts=dict(zip(notes["names"], notes["texts"], strict=True)),
        unanswered=set(none),
        source=Source(()),
    )
