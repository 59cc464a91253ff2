"""The work behind ``/v1/cut``, ``/v1/score`` and ``/v1/fuse``: bodies in, plain values out."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import numpy as np
from starlette.responses import Response

from paretocut.decisions import Cuts
from paretocut.decisions.options import FITTING, OPTIONS, RULES
from paretocut.errors import InvalidParameterError, InvalidScoresError, require
from paretocut.fusion.fitted import ChosenFusion
from paretocut.fusion.methods import FUSING
from paretocut.lists import Ragged, RankedLists
from paretocut.tail import fit_tails
from paretocut.truncators.choose import Chosen
from paretocut.web import bodies
from paretocut.web.admission import Asked, Service
from paretocut.web.bodies import given, one_or_many, read
from paretocut.web.deciders import Models, method_of
from paretocut.web.limits import Deadline, InvalidBody, Limits, Refused

ARROW = "application/vnd.apache.arrow.stream"
"""Media type of an Arrow stream."""

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
    wanted = read(bodies.CutRequest, asked.body)
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
    decider, chosen = _chosen(service.models, wanted)
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
    wanted = msgspec.convert(options, bodies.CutOptions, strict=False)
    with suppress(TypeError, ValueError):  # a word
        wanted.expect = float(wanted.expect)
    lists, queries = _read_arrow(asked.body, service.limits)
    decided = _decide(service, asked, wanted, lists, queries)
    return Response(_written(decided, explain=wanted.explain), media_type=ARROW)


def _decide(
    service: Service,
    asked: Asked,
    wanted: bodies.CutOptions,
    lists: Ragged,
    queries: Sequence[str] | None,
) -> list[Cuts]:
    if queries is not None and len(queries) != len(lists):
        raise InvalidBody(f"queries must be {len(lists)}, as the lists, got {len(queries)}")
    decider, chosen = _chosen(service.models, wanted)
    up = wanted.higher_is_better
    if up is None:
        up = chosen.truncator.direction is not False
    decided: list[Cuts] = []
    for start, block in _in_blocks(lists, asked.deadline):
        own = None if queries is None else queries[start : start + len(block)]
        try:
            cuts = chosen.cut_batch(block, queries=own, higher_is_better=up)
        except InvalidScoresError:
            RankedLists.of_scores(lists, up, who="cut_batch")  # names the list of the request
            raise
        numbers = service.telemetry.cuts(decider, cuts, explain=wanted.explain)
        asked.noted |= {name: asked.noted.get(name, 0) + n for name, n in numbers.items()}
        if wanted.model is not None:
            service.telemetry.watch(wanted.model, chosen.truncator, block, own)
        decided.append(cuts)
    return decided


def _chosen(models: Models, wanted: bodies.Deciding) -> tuple[str, Chosen]:
    """Return who decides: the name in the metrics, and the choice itself."""
    options = given(wanted, OPTIONS)
    decider = next((name for name in ("expect", *RULES) if name in options), "default")
    if wanted.method is not None:
        decider, options["method"] = "method", method_of(wanted.method)
    if wanted.model is not None:
        decider, options["model"] = f"model:{wanted.model}", models.truncator(wanted.model)
    return decider, Chosen.of("cut", options, models=("model", "method"))


def _in_blocks(lists: Ragged, deadline: Deadline) -> Iterator[tuple[int, Ragged]]:
    """Yield lists in blocks, each with the place of its first list, until it is too late."""
    if lists.values.size <= _BLOCK:
        yield 0, lists
        return
    offsets = lists.offsets
    for start, stop in lists.blocks(_BLOCK):
        deadline.check()
        values = lists.values[offsets[start] : offsets[stop]]
        yield start, Ragged.unchecked(values, offsets[start : stop + 1] - offsets[start])


def _read_arrow(body: bytes, limits: Limits) -> tuple[Ragged, list[str] | None]:
    """Return the column ``scores`` of a stream, and the column ``query`` if there is one."""
    pa = _pyarrow()
    try:
        _check_buffers(pa, body)
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)  # or offsets could point anywhere
    except (pa.ArrowException, ValueError, OSError) as error:
        raise Refused(400, message=f"the body is not an Arrow stream: {error}") from None
    limits.check_lists(table.num_rows)
    scores = _column(pa, table, "scores")
    lists = limits.checked(Ragged.from_any(scores))
    return lists, _column(pa, table, "query").to_pylist() if "query" in table.schema.names else None


def _written(decided: Sequence[Cuts], *, explain: bool) -> bytes:
    """Return a stream with the columns of `Cuts.to_dicts`, but the method in its metadata."""
    pa = _pyarrow()
    whole, places = pa.int64(), pa.large_list(pa.int64())
    kinds = {"k": whole, "n": whole, "indices": places, "nearest": places, "chance": pa.float64()}
    if explain:
        kinds |= {"reason": pa.string(), "warnings": pa.list_(pa.string())}
    schema = pa.schema(kinds, metadata={"method": decided[0].method})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        for cuts in decided:
            positions = (
                pa.LargeListArray.from_arrays(lists.offsets, lists.values)
                for lists in (cuts.indices, cuts.nearest)
            )
            chance = pa.nulls(len(cuts), pa.float64()) if cuts.chance is None else cuts.chance
            said = (cuts.reasons, cuts.warnings) if explain else ()
            columns = [cuts.k, cuts.n, *positions, chance, *said]
            named = dict(zip(kinds, columns, strict=True))
            stream.write_batch(pa.record_batch(named, schema=schema))
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _pyarrow() -> Any:
    require("pyarrow.ipc", feature=f"a body of type {ARROW}", extra="arrow")
    return require("pyarrow", feature=f"a body of type {ARROW}", extra="arrow")


def _check_buffers(pa: Any, body: bytes) -> None:
    """Refuse compressed buffers, which could unpack to any size, before anything is unpacked."""
    schema = pa.schema([])
    for message in pa.ipc.MessageReader.open_stream(body):
        if message.type == "schema":
            schema = pa.ipc.read_schema(message)
        elif message.type == "dictionary":
            raise InvalidBody("Arrow columns must not have dictionaries")
        elif message.type == "record batch":
            # With zeros in place of its body a batch can be read only if nothing is compressed.
            metadata = message.metadata
            blank = bytearray(8 + metadata.size + message.body.size)
            blank[: 8 + metadata.size] = struct.pack("<iI", -1, metadata.size) + metadata
            try:
                pa.ipc.read_record_batch(pa.ipc.read_message(blank), schema)
            except OSError as error:
                if "decompress" not in str(error):
                    raise
                raise Refused(415, message="Arrow buffers must not be compressed") from None


def _column(pa: Any, table: Any, name: str) -> Any:
    count = table.schema.names.count(name)
    if count != 1:
        raise InvalidBody(f"the stream must have one column named {name}, got {count}")
    column = table.column(name)
    kind, types = column.type, pa.types
    if name == "query":
        what, right = "texts", types.is_string(kind) or types.is_large_string(kind)
    else:
        lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        of = kind.value_type if lists else None
        what = "lists of numbers"
        right = lists and (types.is_floating(of) or types.is_integer(of))
    if not right or column.null_count:
        found = f"{kind} with nulls" if column.null_count else kind
        raise InvalidBody(f"the column {name} must hold {what}, got {found}")
    return column


def score(service: Service, asked: Asked) -> Any:
    """Fit the tail of one list or of each list, and say how unusual each result is."""
    wanted = read(bodies.ScoreRequest, asked.body)
    several, single = one_or_many(wanted, "scores", "lists")
    lists, up = service.limits.as_lists(several), wanted.higher_is_better
    names = bodies.Tail.__struct_fields__
    rows: list[dict[str, Any]] = []
    for _, block in _in_blocks(lists, asked.deadline):
        fits = fit_tails(block, higher_is_better=up, **given(wanted, FITTING))
        tails = zip(*(getattr(fits, name).tolist() for name in names), strict=True)
        columns = (fits.surprise, fits.pvalues, fits.evalues, tails, fits.warnings)
        rows += (
            {
                "surprise": surprise.tolist(),
                "pvalues": pvalues.tolist(),
                "evalues": evalues.tolist(),
                "fit": dict(zip(names, tail, strict=True)),
                "warnings": warnings,
            }
            for surprise, pvalues, evalues, tail, warnings in zip(*columns, strict=True)
        )
    asked.noted |= {"lists": len(lists), "results": int(lists.values.size)}
    return rows[0] if single else rows


def fuse_lists(service: Service, asked: Asked) -> Any:
    """Fuse the lists of one query or of each query by score, best first."""
    wanted = read(bodies.FuseRequest, asked.body)
    queries, single = one_or_many(wanted, "retrievers", "queries")
    lists = _by_retriever(queries, service.limits)
    options = given(wanted, FUSING)
    if wanted.weights is not None:
        options["weights"] = list(_in_order(wanted.weights, lists).values())
    fusion = None if wanted.fusion is None else service.models.fusion(wanted.fusion)
    how = ChosenFusion.of("fuse", {**options, "fusion": fusion})
    fused: RankedLists = how.fuse(lists if fusion is None else _in_order(lists, fusion.names_))
    asked.deadline.check()
    decisions: Sequence[dict[str, Any] | None] = [None] * len(fused)
    if wanted.cut is not None:
        decider, chosen = _chosen(service.models, wanted.cut)
        cuts = chosen.cut_batch(fused)
        service.telemetry.cuts(decider, cuts)
        decisions = cuts.to_dicts()
        fused = fused.truncate(cuts.k)
    asked.deadline.check()
    assert fused.parts is not None
    assert fused.doc_ids is not None
    rows: list[dict[str, Any]] = []
    for i, decision in enumerate(decisions):
        found = zip(
            fused.doc_ids[i].tolist(), fused.scores[i].tolist(), fused.parts.of_list(i), strict=True
        )
        results = [{"id": name, "score": score, "parts": parts} for name, score, parts in found]
        rows.append({"results": results, "cut": decision})
    size = sum(one.scores.values.size for one in lists.values())
    asked.noted |= {"lists": len(rows), "results": int(size)}
    return rows[0] if single else rows


def _by_retriever(
    queries: Sequence[Mapping[str, bodies.RetrieverList]], limits: Limits
) -> dict[str, RankedLists]:
    """Return the lists of each retriever; for a query that it lacks, its list is empty."""
    limits.check_lists(len(queries))
    names = list(dict.fromkeys(chain.from_iterable(queries)))
    limits.check_ids(chain(names, *(one.ids for query in queries for one in query.values())))
    nothing = bodies.RetrieverList(ids=[], scores=[])
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
    if set(given) != set(names):
        raise InvalidParameterError(
            f"retrievers must be {', '.join(names)}, got {', '.join(given)}", who="fuse"
        )
    return {name: given[name] for name in names}
