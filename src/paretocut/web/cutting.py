"""``/v1/cut``: how many results to keep, of one list or of many, as JSON or as Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paretocut.decisions import Cuts
from paretocut.decisions.options import OPTIONS, RULES
from paretocut.lists import Ragged
from paretocut.truncators.choose import Chosen
from paretocut.web.arrow_streams import read_lists, write_cuts
from paretocut.web.bodies import CutOptions, CutRequest, Deciding, Decision
from paretocut.web.deciders import Models, method_of, ready_methods
from paretocut.web.refusals import InvalidBody
from paretocut.web.service import Answer, Deadline, Route, Service, in_blocks


def cut(service: Service, asked: CutRequest, deadline: Deadline) -> Answer:
    """Say how many results to keep, of one list or of each list.

    The answer has the type of the body: JSON, or an Arrow stream. An Arrow stream has a column
    of lists, `scores`, and for models that need it a column of texts, `query`; its options are
    in the address.
    """
    lists, single = asked.ragged(service.limits)
    queries = asked.queries
    if single:
        queries = None if asked.query is None else [asked.query]
    decided, counts = _decide(service, asked, lists, queries, deadline)
    rows = [row for cuts in decided for row in cuts.to_dicts(explain=asked.explain)]
    return Answer(rows[0] if single else rows, counts)


def _cut_stream(service: Service, body: bytes, asked: CutOptions, deadline: Deadline) -> Answer:
    decided, counts = _decide(service, asked, *read_lists(body, service.limits), deadline)
    return Answer(write_cuts(decided, explain=asked.explain), counts)


def _decide(
    service: Service,
    asked: CutOptions,
    lists: Ragged,
    queries: Sequence[str] | None,
    deadline: Deadline,
) -> tuple[list[Cuts], Mapping[str, int]]:
    """Return the decisions on the lists of a request in blocks, and their counts."""
    if queries is not None and len(queries) != len(lists):
        raise InvalidBody(f"queries must be {len(lists)}, as the lists, got {len(queries)}")
    decider, chosen = chosen_by(service.models, asked)
    up = asked.higher_is_better
    decided: list[Cuts] = []
    counts: dict[str, int] = {}
    for start, block in in_blocks(lists, deadline, up, "cut_batch"):
        own = None if queries is None else queries[start : start + len(block)]
        cuts = chosen.cut_batch(block, queries=own, higher_is_better=up)
        for name, count in service.telemetry.cuts(decider, cuts, explain=asked.explain).items():
            counts[name] = counts.get(name, 0) + count
        if asked.model is not None:
            service.telemetry.watch(asked.model, chosen.truncator, block, own)
        decided.append(cuts)
    return decided, counts


def chosen_by(models: Models, asked: Deciding) -> tuple[str, Chosen]:
    """Return who decides: the name in the metrics, and the choice itself."""
    options = asked.given(*OPTIONS)
    decider = next((name for name in ("expect", *RULES) if name in options), "default")
    if asked.method is not None:
        decider, options["method"] = "method", method_of(asked.method, ready_methods())
    if asked.model is not None:
        decider, options["model"] = f"model:{asked.model}", models.truncator(asked.model)
    return decider, Chosen.of("cut", options, models=("model", "method"))


ROUTE = Route(
    "/v1/cut",
    "How many results to keep, and why",
    CutRequest,
    Decision | list[Decision],
    cut,
    stream=(CutOptions, _cut_stream),
    quick=True,
)
