"""Arrow streams: a column of lists comes in, columns of decisions go out."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from paretocut.decisions import Cuts
from paretocut.errors import require
from paretocut.lists import Ragged
from paretocut.web.limits import InvalidBody, Limits, Refused

ARROW = "application/vnd.apache.arrow.stream"
"""Media type of an Arrow stream."""


def read_lists(body: bytes, limits: Limits) -> tuple[Ragged, list[str] | None]:
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


def write_cuts(decided: Sequence[Cuts], *, explain: bool) -> bytes:
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
    """Return a column of the right type, without nulls."""
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
