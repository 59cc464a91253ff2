"""Decisions on lists that a request brings, in columns and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import to_json

from paretocut.lists import IntArray, Ragged
from paretocut.web.limits import Refused
from paretocut.web.lists import limited, one_or_many
from paretocut.web.models import chosen
from paretocut.web.schemas import CutOptions, CutRequest
from paretocut.web.service import Answer, Service

__all__ = ["Decided", "decide", "from_json"]


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
    if queries is not None and len(queries) != len(lists):
        raise Refused(
            422, "invalid_body", f"queries must be {len(lists)}, as the lists, got {len(queries)}"
        )
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


def from_json(service: Service, body: bytes) -> Answer:
    """Return the answer to a body of JSON.

    Parameters
    ----------
    service
        What all routes share.
    body
        The body.
    """
    asked = CutRequest.model_validate_json(body)
    given, single = one_or_many(asked.scores, asked.lists)
    lists = limited(given, service.limits)
    queries = asked.queries
    if single:
        queries = None if asked.query is None else [asked.query]
    decided = decide(service, lists, asked, queries, single=single)
    rows = decided.rows()
    return Answer(to_json(rows[0] if single else rows), decided.told)
