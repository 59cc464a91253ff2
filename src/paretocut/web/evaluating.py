"""``/v1/evaluate``: methods compared on a run and its judgements."""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.evaluation import evaluate
from paretocut.io.trec import Qrels, read_qrels, read_trec, with_qrels
from paretocut.lists import Ragged, RankedLists
from paretocut.web.limits import Limits
from paretocut.web.lists import check_ids, check_words, limited
from paretocut.web.models import learning_methods, method_of
from paretocut.web.openapi import errors, takes
from paretocut.web.schemas import EvaluateRequest, EvaluationAnswer
from paretocut.web.service import Answer, Service

__all__ = ["router"]

_PARTS = 50  # parts of the queries that each method may be asked to learn from


def router(service: Service) -> APIRouter:
    """Return the route of ``/v1/evaluate``.

    Parameters
    ----------
    service
        What all routes share.
    """
    routes = APIRouter()

    @routes.post(
        "/v1/evaluate",
        summary="Methods compared on a judged run",
        response_model=EvaluationAnswer,
        responses=errors(),
        openapi_extra=takes(EvaluateRequest),
    )
    async def compare(request: Request) -> Response:
        """Learn each method on part of the queries, cut the others, and say how well it went."""
        return await service.answer(request, lambda body: _evaluate(service, body))

    return routes


def _evaluate(service: Service, body: bytes) -> Answer:
    asked = EvaluateRequest.model_validate_json(body)
    if asked.splits * (asked.folds or 1) > _PARTS:
        raise InvalidParameterError(
            f"evaluate: splits times folds must be at most {_PARTS}, "
            f"got {asked.splits * (asked.folds or 1)}"
        )
    known = learning_methods()
    methods = {text: method_of(text, known, asked.metrics[0]) for text in asked.methods}
    run = _run(asked, service.limits)
    qrels = _qrels(asked, service.limits)
    judged = set(qrels.query_ids.tolist())
    both = [i for i, name in enumerate(run.query_ids.tolist()) if name in judged]
    if not both:
        raise InvalidScoresError("evaluate: run and qrels must have queries in common, got none")
    left_out = {"run": len(run) - len(both), "qrels": len(qrels) - len(both)}
    common = _of_queries(qrels, set(run.query_ids.tolist()))
    lists = with_qrels(run[both], common, min_grade=asked.min_grade)
    result = evaluate(
        methods,
        lists,
        asked.metrics,
        splits=asked.splits,
        train=asked.train,
        folds=asked.folds,
        baseline=asked.baseline,
        seed=asked.seed,
    )
    told = {"lists": len(lists), "results": int(lists.scores.values.size)}
    return Answer(to_json(result.to_dict() | {"left_out": left_out}, inf_nan_mode="null"), told)


class _Text(io.BytesIO):
    """A text of the body, under the name that errors give it; nothing is read from a file."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text.encode())
        self.name = name


def _run(asked: EvaluateRequest, limits: Limits) -> RankedLists:
    up = asked.higher_is_better
    if isinstance(asked.run, str):
        check_words(asked.run, limits)
        lists = read_trec(_Text("run", asked.run), higher_is_better=up, min_grade=asked.min_grade)
        limits.check_lists(len(lists), int(lists.scores.lengths.max(initial=0)))
        return lists
    scores = limited([list(found.values()) for found in asked.run.values()], limits)
    return RankedLists(
        scores,
        query_ids=list(asked.run),
        doc_ids=_names(asked.run, limits),
        higher_is_better=up,
        min_grade=asked.min_grade,
    )


def _qrels(asked: EvaluateRequest, limits: Limits) -> Qrels:
    if isinstance(asked.qrels, str):
        check_words(asked.qrels, limits)
        return read_qrels(_Text("qrels", asked.qrels))
    grades = limited([list(judged.values()) for judged in asked.qrels.values()], limits)
    if np.abs(grades.values).max(initial=0.0) >= 2**31:
        raise InvalidScoresError("evaluate: grades must be 32-bit integers, got larger ones")
    return Qrels(
        np.array(list(asked.qrels), dtype=np.str_),
        _names(asked.qrels, limits),
        grades.with_values(grades.values.astype(np.int32)),
    )


def _names(by_query: Mapping[str, Mapping[str, Any]], limits: Limits) -> Ragged:
    """Return the documents of each query."""
    check_ids(chain(by_query, *by_query.values()), limits)
    return Ragged.from_any([list(found) for found in by_query.values()], dtype=np.str_)


def _of_queries(qrels: Qrels, names: set[str]) -> Qrels:
    kept = [i for i, name in enumerate(qrels.query_ids.tolist()) if name in names]
    return Qrels(qrels.query_ids[kept], qrels.doc_ids.take(kept), qrels.grades.take(kept))
