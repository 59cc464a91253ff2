"""Judgements made on the page, and what the cut-off learns from them."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.io import write_qrels
from paretocut.judging import plan_judgements
from paretocut.truncators import Consensus
from paretocut.web.explorer.session import LEARNED, Method, Session

__all__ = ["judge", "judging_view", "learn_at_start", "qrels_text"]

_PLANNED = 50  # then the answers say where the next questions belong


def learn_at_start(session: Session) -> None:
    """Learn from the judgements that came with lists which are judged in part.

    Lists judged in full are measured, and what learned from them would look too good.

    Parameters
    ----------
    session
        What is looked at.
    """
    if session.lists.relevance is not None and not session.lists.fully_judged:
        _learn(session)


def judge(session: Session, i: int, rank: int, relevant: bool | None) -> None:
    """Judge one result, and learn again from all that are judged.

    Parameters
    ----------
    session
        What is looked at; its lists are replaced.
    i, rank
        The list, and the result in it, from 0.
    relevant
        None takes the judgement back.
    """
    lists = session.lists
    n = len(lists[i])
    if not 0 <= rank < n:
        raise InvalidParameterError(f"judge: rank must be in 0..{n - 1}, got {rank}")
    column = lists.relevance
    grades = (
        np.full(lists.scores.values.size, np.nan)
        if column is None
        else column.values.astype(np.float64)
    )
    at = int(lists.scores.offsets[i]) + rank
    before, grades[at] = grades[at], np.nan
    if relevant is not None:
        grades[at] = math.ceil(lists.min_grade) if relevant else 0
    number = None
    if lists.fully_judged and relevant is not None:
        # Those that were not retrieved are still there.
        number = lists.num_relevant.copy()
        number[i] += int(relevant) - int(before >= lists.min_grade)
    session.replace_lists(lists.with_relevance(lists.scores.with_values(grades), number))
    _learn(session)


def _learn(session: Session) -> None:
    """Fit `Consensus` to what is judged; without a judgement there is nothing to learn."""
    session.forget(LEARNED)
    if not session.lists.judged.values.any():
        return
    session.add(
        Method(
            LEARNED,
            "Learned here",
            Consensus().fit(session.lists),
            "learned",
            'pc.load("model.json").cut_batch(lists)',
            "--model model.json",
        )
    )


def judging_view(session: Session, i: int) -> dict[str, Any]:
    """Return what is judged, what was learned from it, and what to judge next.

    Parameters
    ----------
    session
        What is looked at.
    i
        The list on the page.
    """
    lists = session.lists
    known = np.zeros(lists.scores.values.size, dtype=bool)
    hits = known
    if lists.relevance is not None:
        known = lists.judged.values
        hits = known & lists._counts(lists.relevance.values)
    view: dict[str, Any] = {
        "judged": int(known.sum()),
        "relevant": int(hits.sum()),
        "lists": int(np.count_nonzero(lists.scores.count(known))),
        "next": _next(session),
        "learned": None,
    }
    if LEARNED in session.methods:
        before, after = session.cuts("consensus").k, session.cuts(LEARNED).k
        view["learned"] = {
            "kept": [float(before.mean()), float(after.mean())],
            "changed": int(np.count_nonzero(before != after)),
            "k": [int(before[i]), int(after[i])],
            "reason": session.cut(LEARNED, i).reason,
        }
    return view


def _next(session: Session) -> list[int] | None:
    """Return list and rank of the result to judge next, or None when all are judged."""
    lists = session.lists
    if lists.fully_judged:
        return None
    size = lists.scores.values.size
    known = np.zeros(size, dtype=bool) if lists.relevance is None else lists.judged.values
    for _ in range(2):
        for i, rank in session.plan:
            if not known[lists.scores.offsets[i] + rank]:
                return [i, rank]
        # A plan spreads its questions over the ranks, so it is followed to its end.
        session.plan = plan_judgements(lists, _PLANNED, seed=int(known.sum()))
    return None


def qrels_text(session: Session) -> str:
    """Return the judgements as TREC qrels."""
    if session.lists.relevance is None:
        raise InvalidParameterError("qrels: there must be a judgement, got none")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "qrels.txt")
        write_qrels(path, session.lists)
        return path.read_text(encoding="utf-8", errors="surrogateescape")
