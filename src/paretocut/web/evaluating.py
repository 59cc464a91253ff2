"""``/v1/evaluate``: methods compared on a run and its judgements."""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.evaluation import evaluate
from paretocut.io.trec import Qrels, read_qrels, read_trec, with_qrels
from paretocut.lists import Ragged, RankedLists
from paretocut.lists.columns import as_text
from paretocut.web.bodies import EvaluateRequest, EvaluationAnswer
from paretocut.web.deciders import learning_methods, method_of
from paretocut.web.limits import Limits
from paretocut.web.service import Answer, Deadline, Route, Service

_MOST_FITS = 50  # of each method


def compare(service: Service, asked: EvaluateRequest, deadline: Deadline) -> Answer:
    """Fit each method on part of the queries, cut the others, and say how well it went."""
    fits = asked.splits * (asked.folds or 1)
    if fits > _MOST_FITS:
        raise InvalidParameterError(
            f"splits times folds must be at most {_MOST_FITS}, got {fits}", who="evaluate"
        )
    known = learning_methods()
    methods = {text: method_of(text, known, asked.metrics[0]) for text in asked.methods}
    run = _run(asked, service.limits)
    qrels = _qrels(asked, service.limits)
    _, both, judged = np.intersect1d(run.query_ids, qrels.query_ids, return_indices=True)
    if not both.size:
        raise InvalidScoresError(
            "run and qrels must have queries in common, got none", who="evaluate"
        )
    common = Qrels(qrels.query_ids[judged], qrels.doc_ids.take(judged), qrels.grades.take(judged))
    lists = with_qrels(run[np.sort(both)], common, min_grade=asked.min_grade)
    options = asked.given("splits", "train", "folds", "baseline", "seed")
    result = evaluate(methods, lists, asked.metrics, progress=deadline.check, **options)
    left_out = {"run": len(run) - both.size, "qrels": len(qrels) - both.size}
    noted = {"lists": len(lists), "results": int(lists.scores.values.size)}
    return Answer(result.to_dict() | {"left_out": left_out}, noted)


class _Text(io.BytesIO):
    """A text of the body with a name for errors; nothing is read from a file."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text.encode())
        self.name = name


def _run(asked: EvaluateRequest, limits: Limits) -> RankedLists:
    up = asked.higher_is_better
    if isinstance(asked.run, str):
        limits.check_words(asked.run)
        lists = read_trec(_Text("run", asked.run), higher_is_better=up, min_grade=asked.min_grade)
        limits.check_lists(len(lists), int(lists.scores.lengths.max(initial=0)))
        return lists
    scores = limits.as_lists([list(found.values()) for found in asked.run.values()])
    return RankedLists(
        scores,
        query_ids=list(asked.run),
        doc_ids=_names(asked.run, limits),
        higher_is_better=up,
        min_grade=asked.min_grade,
    )


def _qrels(asked: EvaluateRequest, limits: Limits) -> Qrels:
    if isinstance(asked.qrels, str):
        limits.check_words(asked.qrels)
        return read_qrels(_Text("qrels", asked.qrels))
    grades = limits.as_lists([list(judged.values()) for judged in asked.qrels.values()])
    if np.abs(grades.values).max(initial=0.0) >= 2**31:
        raise InvalidScoresError("grades must be 32-bit integers, got larger ones", who="evaluate")
    return Qrels(
        as_text(list(asked.qrels)),
        _names(asked.qrels, limits),
        grades.with_values(grades.values.astype(np.int32)),
    )


def _names(by_query: Mapping[str, Mapping[str, Any]], limits: Limits) -> Ragged:
    """Return the documents of each query."""
    limits.check_ids(chain(by_query, *by_query.values()))
    return Ragged.from_any([list(found) for found in by_query.values()], array=as_text)


ROUTE = Route(
    "/v1/evaluate",
    "Methods compared on a judged run",
    EvaluateRequest,
    EvaluationAnswer,
    compare,
)
