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
from paretocut.web.bodies import EvaluateRequest, read
from paretocut.web.deciders import learning_methods, method_of
from paretocut.web.limits import Limits
from paretocut.web.refusals import InvalidBody
from paretocut.web.service import Asked, Service

_MOST_FITS = 50  # of each method


def compare(service: Service, asked: Asked) -> Any:
    """Fit each method on part of the queries, cut the others, and say how well it went."""
    wanted = read(EvaluateRequest, asked.body)
    fits = wanted.splits * (wanted.folds or 1)
    if fits > _MOST_FITS:
        raise InvalidParameterError(
            f"splits times folds must be at most {_MOST_FITS}, got {fits}", who="evaluate"
        )
    known = learning_methods()
    methods = {text: method_of(text, known, wanted.metrics[0]) for text in wanted.methods}
    run = _run(wanted, service.limits)
    qrels = _qrels(wanted, service.limits)
    _, both, judged = np.intersect1d(run.query_ids, qrels.query_ids, return_indices=True)
    if not both.size:
        raise InvalidScoresError(
            "run and qrels must have queries in common, got none", who="evaluate"
        )
    common = Qrels(qrels.query_ids[judged], qrels.doc_ids.take(judged), qrels.grades.take(judged))
    lists = with_qrels(run[np.sort(both)], common, min_grade=wanted.min_grade)
    names = ("splits", "train", "folds", "baseline", "seed")
    options = {name: getattr(wanted, name) for name in names}
    result = evaluate(methods, lists, wanted.metrics, progress=asked.deadline.check, **options)
    asked.noted |= {"lists": len(lists), "results": int(lists.scores.values.size)}
    left_out = {"run": len(run) - both.size, "qrels": len(qrels) - both.size}
    return result.to_dict() | {"left_out": left_out}


class _Text(io.BytesIO):
    """A text of the body with a name for errors; nothing is read from a file."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text.encode())
        self.name = name


def _run(wanted: EvaluateRequest, limits: Limits) -> RankedLists:
    up, least = wanted.higher_is_better, wanted.min_grade
    if isinstance(wanted.run, str):
        limits.check_words(wanted.run)
        lists = read_trec(_Text("run", wanted.run), higher_is_better=up, min_grade=least)
        limits.check_lists(len(lists), int(lists.scores.lengths.max(initial=0)))
        return lists
    _check_values(wanted.run, "run", (int, float), "a score must be a number")
    scores = limits.as_lists([list(found.values()) for found in wanted.run.values()])
    return RankedLists(
        scores,
        query_ids=list(wanted.run),
        doc_ids=_names(wanted.run, limits),
        higher_is_better=up,
        min_grade=least,
    )


def _qrels(wanted: EvaluateRequest, limits: Limits) -> Qrels:
    if isinstance(wanted.qrels, str):
        limits.check_words(wanted.qrels)
        return read_qrels(_Text("qrels", wanted.qrels))
    _check_values(wanted.qrels, "qrels", (int,), "a grade must be a whole number")
    grades = limits.as_lists([list(judged.values()) for judged in wanted.qrels.values()])
    if np.abs(grades.values).max(initial=0.0) >= 2**31:
        raise InvalidScoresError("grades must be 32-bit integers, got larger ones", who="evaluate")
    return Qrels(
        as_text(list(wanted.qrels)),
        _names(wanted.qrels, limits),
        grades.with_values(grades.values.astype(np.int32)),
    )


def _check_values(
    by_query: Mapping[str, Mapping[str, Any]], name: str, kinds: tuple[type, ...], problem: str
) -> None:
    for query, found in by_query.items():
        for document, value in found.items():
            if type(value) not in kinds:
                place = f"{name}: query {query!r:.60}, document {document!r:.60}"
                raise InvalidBody(f"{place}: {problem}")


def _names(by_query: Mapping[str, Mapping[str, Any]], limits: Limits) -> Ragged:
    """Return the documents of each query."""
    limits.check_ids(chain(by_query, *by_query.values()))
    return Ragged.from_any([list(found) for found in by_query.values()], array=as_text)
