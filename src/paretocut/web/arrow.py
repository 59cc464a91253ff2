"""Arrow streams in and out: a column of lists becomes columns of decisions."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from paretocut.lists import Ragged
from paretocut.schema.extras import require
from paretocut.web.decide import Decided
from paretocut.web.limits import Limits, Refused

__all__ = ["ARROW", "read_lists", "write_decisions"]

ARROW = "application/vnd.apache.arrow.stream"
"""Media type of an Arrow stream."""

_COMPRESSION = 3  # field of a record batch, in Arrow's format/Message.fbs
_HEADER = 2  # field of a message


def read_lists(body: bytes, limits: Limits) -> tuple[Ragged, list[str] | None]:
    """Return the column ``scores`` of a stream, and the texts in ``query`` if it is there.

    Parameters
    ----------
    body
        The stream. Its buffers must not be compressed: a small stream may hide a large one.
    limits
        What is allowed.
    """
    pa = _pyarrow()
    try:
        for message in _messages(pa, body):
            if message.type == "record batch" and _field(message.metadata, _COMPRESSION):
                raise Refused(415, "unsupported_encoding", "Arrow buffers must not be compressed")
            if message.type == "dictionary":
                raise Refused(422, "invalid_body", "Arrow columns must not have dictionaries")
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)  # or offsets could point anywhere
    except (pa.ArrowException, ValueError, OSError, struct.error) as error:
        raise Refused(400, "invalid_body", f"the body is not an Arrow stream: {error}") from None
    if "scores" not in table.schema.names:
        raise Refused(422, "invalid_body", "the stream must have a column named scores")
    lists = Ragged.from_any(_column(pa, table, "scores", "lists of numbers"))
    limits.check_lists(len(lists), int(lists.lengths.max(initial=0)))
    if "query" not in table.schema.names:
        return lists, None
    return lists, _column(pa, table, "query", "texts").to_pylist()


def write_decisions(decided: Decided) -> bytes:
    """Return the decisions as a stream: k, n, indices, and if asked for reason and warnings.

    Parameters
    ----------
    decided
        The decisions.
    """
    pa = _pyarrow()
    columns = {
        "k": pa.array(decided.k),
        "n": pa.array(decided.n),
        "indices": pa.LargeListArray.from_arrays(
            pa.array(decided.indices.offsets), pa.array(decided.indices.values)
        ),
    }
    if len(decided.reasons) == len(decided.k):
        columns["reason"] = pa.array(decided.reasons, pa.string())
        columns["warnings"] = pa.array(decided.warnings, pa.list_(pa.string()))
    table = pa.table(columns).replace_schema_metadata({"method": decided.method})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _pyarrow() -> Any:
    pa = require("pyarrow", feature=f"a body of type {ARROW}", extra="arrow")
    require("pyarrow.ipc", feature=f"a body of type {ARROW}", extra="arrow")
    return pa


def _messages(pa: Any, body: bytes) -> Iterator[Any]:
    reader = pa.ipc.MessageReader.open_stream(body)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _column(pa: Any, table: Any, name: str, what: str) -> Any:
    """Return a column without nulls that has the type asked for."""
    column = table.column(name)
    kind = column.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    numbers = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ) and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
    if not (texts if what == "texts" else numbers) or column.null_count:
        found = f"{kind} with nulls" if column.null_count else kind
        raise Refused(422, "invalid_body", f"the column {name} must hold {what}, got {found}")
    return column


def _field(metadata: Any, number: int) -> int:
    """Return where a field of the message's header is, or 0 if it has none (flatbuffers)."""
    data = memoryview(metadata)
    message = struct.unpack_from("<I", data, 0)[0]
    place = message + _offset(data, message, _HEADER)
    header = place + struct.unpack_from("<I", data, place)[0]
    return _offset(data, header, number)


def _offset(data: memoryview, table: int, number: int) -> int:
    fields = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, fields)[0]:
        return 0
    found: int = struct.unpack_from("<H", data, fields + 4 + 2 * number)[0]
    return found
