"""``/v1/cut``: how many results to keep, of one list or of many, as JSON or as Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paretocut.decisions import Cuts
from paretocut.errors import InvalidParameterError
from paretocut.lists import Ragged
from paretocut.truncators import Truncator
from paretocut.truncators.choose import _chosen
from paretocut.web.arrow_streams import read_lists, write_cuts
from paretocut.web.bodies import DECIDERS, CutOptions, CutRequest, Deciding, Decision, one_or_many
from paretocut.web.deciders import Models, method_of, ready_methods
from paretocut.web.refusals import Refused
from paretocut.web.service import Answer, Route, Service

__all__ = ["ROUTE", "chosen"]


def cut(service: Service, asked: CutRequest) -> Answer:
    """Say how many results to keep, of one list or of each list.

    The answer has the type of the body: JSON, or an Arrow stream. An Arrow stream has a column
    of lists, `scores`, and for models that need it a column of texts, `query`; its options are
    in the address.
    """
    given, single = one_or_many(asked, "scores", "lists")
    queries = asked.queries
    if single:
        queries = None if asked.query is None else [asked.query]
    cuts = _decide(service, asked, service.limits.as_lists(given), queries)
    rows = _rows(cuts, explain=asked.explain)
    return Answer(rows[0] if single else rows, _noted(cuts))


def _cut_stream(service: Service, body: bytes, asked: CutOptions) -> Answer:
    cuts = _decide(service, asked, *read_lists(body, service.limits))
    return Answer(write_cuts(cuts, explain=asked.explain), _noted(cuts))


def _decide(
    service: Service, asked: CutOptions, lists: Ragged, queries: Sequence[str] | None
) -> Cuts:
    """Return the decisions on the lists of a request, and count them."""
    if queries is not None and len(queries) != len(lists):
        raise Refused(
            422, "invalid_body", f"queries must be {len(lists)}, as the lists, got {len(queries)}"
        )
    decider, truncator = chosen(service.models, asked)
    more: dict[str, Any] = {"queries": queries} if truncator._needs_query() else {}
    cuts = truncator.cut_batch(
        lists,
        higher_is_better=asked.higher_is_better,
        min_k=asked.min_k,
        max_k=asked.max_k,
        **more,
    )
    service.telemetry.cuts(decider, cuts, explain=asked.explain)
    if asked.model is not None:
        service.telemetry.watch(asked.model, truncator, lists, queries)
    return cuts


def chosen(models: Models, asked: Deciding) -> tuple[str, Truncator]:
    """Return who decides, by its name in the metrics, and the truncator itself."""
    options = asked.choice()
    if asked.model is not None and asked.method is not None:
        raise InvalidParameterError("cut: at most one of model and method may be given, got both")
    if asked.model is not None:
        truncator = models.truncator(asked.model)
        return f"model:{asked.model}", _chosen("cut", truncator=truncator, **options)
    if asked.method is not None:
        truncator = method_of(asked.method, ready_methods())
        return "method", _chosen("cut", truncator=truncator, **options)
    return next((name for name in DECIDERS if name in options), "default"), _chosen(
        "cut", **options
    )


def _rows(cuts: Cuts, *, explain: bool) -> list[dict[str, Any]]:
    if explain:
        return [cut.to_dict() for cut in cuts]
    return [{"k": c.k, "n": c.n, "indices": c.indices.tolist(), "method": c.method} for c in cuts]


def _noted(cuts: Cuts) -> dict[str, int]:
    return {"lists": len(cuts), "results": int(cuts.n.sum()), "kept": int(cuts.k.sum())}


ROUTE = Route(
    "/v1/cut",
    "How many results to keep, and why",
    CutRequest,
    Decision | list[Decision],
    cut,
    stream=(CutOptions, _cut_stream),
)
