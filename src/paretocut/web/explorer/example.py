"""A small run to look at, made by searching the docstrings of Python's own functions."""

from __future__ import annotations

import math
import runpy
from importlib import resources

from paretocut.lists import RankedLists
from paretocut.web.explorer.copied import Source
from paretocut.web.explorer.exploration import Exploration


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
