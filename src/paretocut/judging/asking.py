"""`paretocut.judge`: put planned questions to any judge."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from paretocut.callbacks import waiting
from paretocut.errors import InvalidParameterError
from paretocut.judging.session import JudgingSession
from paretocut.lists import RankedLists


def judge(
    lists: RankedLists,
    ask: Callable[[str, str], Any],
    budget: int = 200,
    *,
    texts: Mapping[str, str] | None = None,
    queries: Mapping[str, str] | None = None,
    path: str | os.PathLike[str] | None = None,
    repeats: float = 0.0,
    tolerance: float | None = None,
    progress: bool | None = None,
    seed: int = 0,
) -> RankedLists:
    """Return the lists with a judge's answers about some results; all others stay unknown (NaN).

    ``Consensus().fit`` learns from such lists. The questions are those of `plan_judgements`,
    planned again after every 50 answers.

    Parameters
    ----------
    lists
        Lists with document ids. Judgements that they hold are kept and not asked for again.
    ask
        The judge: a person, a language model, a click log. It takes query and document; it
        returns True or False, a grade, or None if unsure. It may be asynchronous.
    budget
        Number of answers to collect, including those of earlier runs in the file.
    texts, queries
        Texts of the documents and of the queries, by id; ``ask`` gets them instead of the ids.
    path
        File in which each answer is saved at once. A second call with the same lists, ``seed`` and
        ``repeats`` continues where the first one stopped.
    repeats
        Share of questions that are asked twice, to see how often the answers agree; see
        `JudgingSession.errors`.
    tolerance
        Stop when the cuts lose at most this much F1, with 95 % confidence; None asks for the
        whole budget.
    progress
        Whether to show progress on standard error, and at the end why it stopped; None does so on a
        terminal.
    seed
        Of the plan.

    Examples
    --------
    >>> lists = RankedLists([[0.9, 0.5, 0.1], [0.8, 0.3]], doc_ids=[["a", "b", "c"], ["d", "e"]])
    >>> judged = judge(lists, lambda query, doc: doc in "ad", budget=4)
    >>> judged
    RankedLists(2 lists, 5 results, 4 judged)
    """
    if not callable(ask):
        raise InvalidParameterError(f"ask must be a function, got {ask!r}", who="judge")
    session = JudgingSession(
        lists, budget, path=path, repeats=repeats, tolerance=tolerance, seed=seed
    )
    if lists.doc_ids is None:
        raise InvalidParameterError("lists must have doc_ids to ask about, got none", who="judge")
    shown = sys.stderr.isatty() if progress is None else progress
    with waiting() as wait:
        while (question := session.next()) is not None:
            assert question.doc_id is not None
            query = _text(queries, question.query_id, "queries")
            session.answer(wait(ask(query, _text(texts, question.doc_id, "texts"))))
            if shown:
                sys.stderr.write(f"\rjudge: {session.answers} of {budget} answers")
                sys.stderr.flush()
    if shown:
        sys.stderr.write(f"\njudge: {session.stopped}; {session.summary()}\n")
    return session.lists


def _text(texts: Mapping[str, str] | None, name: str, argument: str) -> str:
    if texts is None:
        return name
    if name not in texts:
        raise InvalidParameterError(
            f"{argument} must hold every id that is asked about, got none for {name!r}", who="judge"
        )
    return texts[name]
