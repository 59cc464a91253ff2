"""``/v1/fuse``: the lists of several retrievers become one, cut or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

from paretocut.errors import InvalidParameterError
from paretocut.fusion.fitted import ChosenFusion
from paretocut.fusion.methods import FUSING
from paretocut.lists import Ragged, RankedLists
from paretocut.web.bodies import FuseRequest, RetrieverList, given, one_or_many, read
from paretocut.web.cutting import chosen_by
from paretocut.web.limits import Limits
from paretocut.web.refusals import InvalidBody
from paretocut.web.service import Asked, Service


def fuse_lists(service: Service, asked: Asked) -> Any:
    """Fuse the lists of one query or of each query by score, best first."""
    wanted = read(FuseRequest, asked.body)
    queries, single = one_or_many(wanted, "retrievers", "queries")
    lists = _by_retriever(queries, service.limits)
    fused = _fused(service, wanted, lists)
    asked.deadline.check()
    decisions: Sequence[dict[str, Any] | None] = [None] * len(fused)
    if wanted.cut is not None:
        decider, chosen = chosen_by(service.models, wanted.cut)
        cuts = chosen.cut_batch(fused)
        service.telemetry.cuts(decider, cuts)
        decisions = cuts.to_dicts()
        fused = fused.truncate(cuts.k)
    asked.deadline.check()
    rows = [
        {"results": _results(fused, i), "cut": decision} for i, decision in enumerate(decisions)
    ]
    results = sum(one.scores.values.size for one in lists.values())
    asked.noted |= {"lists": len(rows), "results": int(results)}
    return rows[0] if single else rows


def _fused(service: Service, wanted: FuseRequest, lists: dict[str, RankedLists]) -> RankedLists:
    options = given(wanted, FUSING)
    if wanted.weights is not None:
        options["weights"] = list(_in_order(wanted.weights, lists).values())
    fusion = None if wanted.fusion is None else service.models.fusion(wanted.fusion)
    how = ChosenFusion.of("fuse", {**options, "fusion": fusion})
    fused: RankedLists = how.fuse(lists if fusion is None else _in_order(lists, fusion.names_))
    return fused


def _by_retriever(
    queries: Sequence[Mapping[str, RetrieverList]], limits: Limits
) -> dict[str, RankedLists]:
    """Return the lists of each retriever; for a query that it lacks, its list is empty."""
    limits.check_lists(len(queries))
    names = list(dict.fromkeys(chain.from_iterable(queries)))
    limits.check_ids(chain(names, *(one.ids for query in queries for one in query.values())))
    nothing = RetrieverList(ids=[], scores=[])
    found: dict[str, RankedLists] = {}
    for name in names:
        own = [query.get(name, nothing) for query in queries]
        who = f"retriever {name[:60]!r}"
        for one in own:
            wanted, got = len(one.scores), len(one.ids)
            if wanted != got:
                raise InvalidBody(f"{who} must have as many ids as scores, {wanted}, got {got}")
        directions = {query[name].higher_is_better for query in queries if name in query}
        if len(directions) > 1:
            raise InvalidBody(f"{who} must have one higher_is_better for all queries")
        scores = limits.as_lists([one.scores for one in own])
        ids = Ragged.from_any([one.ids for one in own], dtype=str)
        found[name] = RankedLists(scores, doc_ids=ids, higher_is_better=directions.pop())
    return found


def _in_order(given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the values by name, in the order of the retrievers."""
    if set(given) != set(names):
        raise InvalidParameterError(
            f"retrievers must be {', '.join(names)}, got {', '.join(given)}", who="fuse"
        )
    return {name: given[name] for name in names}


def _results(fused: RankedLists, i: int) -> list[dict[str, Any]]:
    assert fused.parts is not None
    assert fused.doc_ids is not None
    columns = fused.doc_ids[i].tolist(), fused.scores[i].tolist(), fused.parts.of_list(i)
    return [
        {"id": name, "score": score, "parts": parts}
        for name, score, parts in zip(*columns, strict=True)
    ]
