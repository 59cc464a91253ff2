"""``/v1/cut``: how many results to keep, of one list or of many, as JSON or as Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import numpy as np
from starlette.responses import Response

from paretocut.decisions import Cuts
from paretocut.decisions.options import OPTIONS, RULES
from paretocut.lists import Ragged, RankedLists
from paretocut.truncators.choose import Chosen
from paretocut.web.arrow_streams import ARROW, read_lists, write_cuts
from paretocut.web.bodies import CutOptions, CutRequest, Deciding, given, one_or_many, read
from paretocut.web.deciders import Models, method_of, ready_methods
from paretocut.web.limits import Deadline
from paretocut.web.refusals import InvalidBody
from paretocut.web.service import Asked, Service

_BLOCK = 100_000  # results that are decided on between two looks at the deadline


def cut(service: Service, asked: Asked) -> Any:
    """Say how many results to keep, of one list or of each list.

    The answer has the type of the body: JSON, or an Arrow stream. An Arrow stream has a column
    of lists, `scores`, and for models that need it a column of texts, `query`; its options are
    in the address.
    """
    kind = asked.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind == ARROW.encode():
        return _cut_stream(service, asked)
    if asked.query_string:
        raise InvalidBody("the options of a JSON body belong in the body")
    wanted = read(CutRequest, asked.body)
    several, single = one_or_many(wanted, "scores", "lists")
    if (wanted.queries if single else wanted.query) is not None:
        pairs = "query goes with scores, and queries with lists"
        raise InvalidBody(f"{pairs}; got {'queries with scores' if single else 'query with lists'}")
    if not single:
        lists = service.limits.as_lists(several)
        decided = _decide(service, asked, wanted, lists, wanted.queries)
        return [row for cuts in decided for row in cuts.to_dicts(explain=wanted.explain)]
    scores, up = several[0], wanted.higher_is_better
    service.limits.check_lists(1, len(scores))
    decider, chosen = chosen_by(service.models, wanted)
    cut = chosen.cut(scores, query=wanted.query, higher_is_better=up)
    row = cut.to_dict(explain=wanted.explain)
    found = 1, cut.n, cut.k, int(cut.k == 0)
    asked.noted |= service.telemetry.decided(decider, found, row.get("warnings", ()))
    if wanted.model is not None:
        one = Ragged.unchecked(np.array(scores), np.array([0, len(scores)]))
        texts = None if wanted.query is None else [wanted.query]
        service.telemetry.watch(wanted.model, chosen.truncator, one, texts)
    return row


def _cut_stream(service: Service, asked: Asked) -> Response:
    options = dict(parse_qsl(asked.query_string.decode("latin-1"), keep_blank_values=True))
    wanted = msgspec.convert(options, CutOptions, strict=False)
    with suppress(TypeError, ValueError):  # a word
        wanted.expect = float(wanted.expect)
    lists, queries = read_lists(asked.body, service.limits)
    decided = _decide(service, asked, wanted, lists, queries)
    return Response(write_cuts(decided, explain=wanted.explain), media_type=ARROW)


def _decide(
    service: Service,
    asked: Asked,
    wanted: CutOptions,
    lists: Ragged,
    queries: Sequence[str] | None,
) -> list[Cuts]:
    """Return the decisions on the lists of a request, in blocks."""
    if queries is not None and len(queries) != len(lists):
        raise InvalidBody(f"queries must be {len(lists)}, as the lists, got {len(queries)}")
    decider, chosen = chosen_by(service.models, wanted)
    up = wanted.higher_is_better
    if up is None:
        up = chosen.truncator.direction is not False
    decided: list[Cuts] = []
    for start, block in in_blocks(lists, asked.deadline, up, "cut_batch"):
        own = None if queries is None else queries[start : start + len(block)]
        cuts = chosen.cut_batch(block, queries=own, higher_is_better=up)
        numbers = service.telemetry.cuts(decider, cuts, explain=wanted.explain)
        for name, count in numbers.items():
            asked.noted[name] = asked.noted.get(name, 0) + count
        if wanted.model is not None:
            service.telemetry.watch(wanted.model, chosen.truncator, block, own)
        decided.append(cuts)
    return decided


def chosen_by(models: Models, wanted: Deciding) -> tuple[str, Chosen]:
    """Return who decides: the name in the metrics, and the choice itself."""
    options = given(wanted, OPTIONS)
    decider = next((name for name in ("expect", *RULES) if name in options), "default")
    if wanted.method is not None:
        decider, options["method"] = "method", method_of(wanted.method, ready_methods())
    if wanted.model is not None:
        decider, options["model"] = f"model:{wanted.model}", models.truncator(wanted.model)
    return decider, Chosen.of("cut", options, models=("model", "method"))


def in_blocks(
    lists: Ragged, deadline: Deadline, higher_is_better: bool, who: str
) -> Iterator[tuple[int, Ragged]]:
    """Yield lists in blocks, each with the place of its first list, until it is too late."""
    if lists.values.size <= _BLOCK:
        yield 0, lists
        return
    RankedLists.of_scores(lists, higher_is_better, who=who)  # errors name the list of the request
    offsets = lists.offsets
    for start, stop in lists.blocks(_BLOCK):
        deadline.check()
        values = lists.values[offsets[start] : offsets[stop]]
        yield start, Ragged.unchecked(values, offsets[start : stop + 1] - offsets[start])
