"""Judging one result after another: the question on the page, and what its keys do."""

from __future__ import annotations

from typing import Any, Literal

from paretocut.errors import InvalidParameterError
from paretocut.judging import JudgingSession
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.views import judged_counts

Key = Literal["yes", "no", "unsure", "skip", "undo", "more"]

_ANSWERS = {"yes": True, "no": False, "unsure": None}
_MORE = 50  # answers, after the last one


def question_view(run: Exploration) -> dict[str, Any]:
    """Return the question to ask, how many were answered, and what is known by now."""
    asking = run.asking
    if run.lists.doc_ids is None:
        return {"stopped": "This run names no documents, so there is nothing to read.", "next": ""}
    asked, planned = asking.next(), isinstance(asking, JudgingSession)
    view: dict[str, Any] = {
        "answers": asking.answers,
        "budget": asking.budget,
        "summary": asking.summary(),
        "stopped": asking.stopped,
        "planned": planned,
        "more": planned and asking.answers >= asking.budget,
        "said": [] if isinstance(asking, JudgingSession) else asking.summaries(),
        "far": _how_far(run),
    }
    if asked is None and planned and not view["more"]:
        view["next"] = (
            "All results are judged: those that the judgements do not name count as not relevant. "
            "To be asked about them, start with --unjudged unknown."
        )
    if asked is not None:
        view |= {
            "i": asked.list_index,
            "rank": asked.rank,
            "query": run.query_texts.get(asked.query_id, asked.query_id),
            "query_id": asked.query_id,
            "doc": asked.doc_id,
            "text": run.doc_texts.get(str(asked.doc_id)),
        }
    return view


def _how_far(run: Exploration) -> str:
    """Return how much is judged, in words."""
    counts = judged_counts(run)
    return (
        f"{counts['judged']:,} results judged, {counts['relevant']:,} of them relevant, "
        f"in {counts['lists']:,} of {len(run.lists):,} queries"
    )


def press(run: Exploration, key: Key, i: int, rank: int) -> dict[str, Any]:
    """Do what a key says about the question ``(i, rank)``, and return the next question."""
    asking = run.asking
    asked = asking.next()
    if key == "undo":
        asking.undo()
    elif key == "more":
        run.session.budget = run.session.answers + _MORE
    elif asked is None or (asked.list_index, asked.rank) != (i, rank):
        raise InvalidParameterError("this question was answered in another window", who="judge")
    elif key == "skip":
        run.session.skip_query()
    else:
        asking.answer(_ANSWERS[key])
    run.take_judgements()
    return question_view(run)
