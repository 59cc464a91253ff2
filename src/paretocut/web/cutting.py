"""``/v1/cut``: how many results to keep, of one list or of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from paretocut.ragged import IntArray, Ragged, offsets_of
from paretocut.web.limits import Limits, Refused
from paretocut.web.models import chosen
from paretocut.web.schemas import CutOptions, CutRequest, Decision
from paretocut.web.service import Answer, Service

__all__ = ["Decided", "decide", "limited", "router"]


def router(service: Service) -> APIRouter:
    """Return the route of ``/v1/cut``.

    Parameters
    ----------
    service
        What all routes share.
    """
    routes = APIRouter()

    @routes.post("/v1/cut", response_model=Decision | list[Decision])
    async def cut(request: Request) -> Response:
        """Say how many results to keep, of one list or of each list."""
        return await service.answer(request, lambda body: _from_json(service, body))

    return routes


@dataclass(frozen=True)
class Decided:
    """Decisions in columns; `reasons` and `warnings` are empty if nobody asked for them."""

    k: IntArray
    n: IntArray
    indices: Ragged
    method: str
    reasons: Sequence[str]
    warnings: Sequence[tuple[str, ...]]

    def rows(self) -> list[dict[str, Any]]:
        """Return one `Decision` for each list, as plain values."""
        rows = [
            {"k": k, "n": n, "indices": indices.tolist(), "method": self.method}
            for k, n, indices in zip(self.k.tolist(), self.n.tolist(), self.indices, strict=True)
        ]
        for row, reason, names in zip(rows, self.reasons, self.warnings, strict=False):
            row["reason"], row["warnings"] = reason, names
        return rows

    @property
    def told(self) -> dict[str, int]:
        """What the log may know."""
        return {"lists": len(self.k), "results": int(self.n.sum()), "kept": int(self.k.sum())}


def decide(
    service: Service,
    lists: Ragged,
    asked: CutOptions,
    queries: Sequence[str] | None,
    *,
    single: bool = False,
) -> Decided:
    """Return the decisions on lists, and count them.

    Parameters
    ----------
    service
        What all routes share.
    lists
        The scores.
    asked
        Who decides, and how.
    queries
        Texts of the queries, where the model needs them.
    single
        Whether it is one list, for `Truncator.cut`.
    """
    decider, truncator = chosen(service.models, asked)
    options: dict[str, Any] = {
        "higher_is_better": asked.higher_is_better,
        "min_k": asked.min_k,
        "max_k": asked.max_k,
    }
    reasons: Sequence[str] = ()
    warnings: Sequence[tuple[str, ...]] = ()
    if single:
        if truncator._needs_query():
            options["query"] = queries[0] if queries else None
        one = truncator.cut(lists.values, **options)
        indices = Ragged(one.indices, np.array([0, one.k]))
        k, n, method = np.array([one.k]), np.array([one.n]), one.method
        if asked.explain:
            reasons, warnings = [one.reason], [one.warnings]
    else:
        if truncator._needs_query():
            options["queries"] = queries
        many = truncator.cut_batch(lists, **options)
        k, n, indices, method = many.k, many.n, many.indices, many.method
        if asked.explain:
            reasons, warnings = many.reasons, many.warnings
    service.telemetry.cuts(decider, k, n, warnings)
    if asked.model is not None:
        service.telemetry.watch(asked.model, truncator, lists, queries)
    return Decided(k, n, indices, method, reasons, warnings)


def limited(lists: Sequence[Sequence[float]], limits: Limits) -> Ragged:
    """Return lists of numbers in two arrays, if they are not too many or too long.

    Parameters
    ----------
    lists
        The lists.
    limits
        What is allowed.
    """
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    limits.check_lists(len(lists), int(lengths.max(initial=0)))
    offsets = offsets_of(lengths)
    values = np.fromiter(chain.from_iterable(lists), dtype=np.float64, count=int(offsets[-1]))
    return Ragged(values, offsets)


def _from_json(service: Service, body: bytes) -> Answer:
    asked = CutRequest.model_validate_json(body)
    if (asked.scores is None) == (asked.lists is None):
        raise Refused(422, "invalid_body", "exactly one of scores and lists must be given")
    if asked.scores is not None:
        lists = limited([asked.scores], service.limits)
        queries = None if asked.query is None else [asked.query]
        decided = decide(service, lists, asked, queries, single=True)
        return Answer(to_json(decided.rows()[0]), decided.told)
    assert asked.lists is not None
    lists = limited(asked.lists, service.limits)
    if asked.queries is not None and len(asked.queries) != len(lists):
        raise Refused(
            422,
            "invalid_body",
            f"queries must be as many as lists, {len(lists)}, got {len(asked.queries)}",
        )
    decided = decide(service, lists, asked, asked.queries)
    return Answer(to_json(decided.rows()), decided.told)
