"""Arrow files, and the tables that Parquet shares with them."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any

from paretocut.errors import DataFormatError, require
from paretocut.io.rows import COLUMNS, UTF8, RowsByLine, check_ids, numbers_of_relevant
from paretocut.io.streams import BLOCK_RESULTS, OpenSource
from paretocut.lists import Ragged, RankedLists

ROWS = 500  # read at a time


def read(source: OpenSource) -> RowsByLine:
    pyarrow = require("pyarrow", feature="reading Arrow files", extra="arrow")

    def batches(file: Any) -> Iterator[Any]:
        reader = pyarrow.ipc.open_file(file)
        return map(reader.get_batch, range(reader.num_record_batches))

    return rows_of_batches(source, batches)


def rows_of_batches(source: OpenSource, batches: Callable[[Any], Iterator[Any]]) -> RowsByLine:
    """Yield the rows of a file that ``batches`` opens and reads as Arrow record batches."""
    pyarrow = require("pyarrow", feature="reading Parquet and Arrow", extra="arrow")
    file: Any = source.stream
    with ExitStack() as stack:
        # Both formats are read from their end, which a pipe or a compressed stream cannot do.
        if not (isinstance(file, (io.BufferedReader, io.BytesIO)) and file.seekable()):
            file = stack.enter_context(TemporaryFile())
            shutil.copyfileobj(source.stream, file)
            file.seek(0)
        try:
            for batch in batches(file):
                batch.validate(full=True)  # or offsets could point anywhere
                known = [name for name in COLUMNS if name in batch.schema.names]
                columns = [_objects(batch.column(name)) for name in known]
                for values in zip(*columns, strict=True):
                    source.line += 1
                    yield source.line, dict(zip(known, values, strict=True))
        except (pyarrow.ArrowException, LookupError, OSError, TypeError, ValueError) as error:
            if isinstance(error, DataFormatError):
                raise
            raise DataFormatError(
                source.name, source.line + 1, f"expected a readable table, got {error}"
            ) from None


def _objects(column: Any) -> Sequence[Any]:
    """Return one object per row: an array for a list of numbers, else a Python object."""
    pyarrow = require("pyarrow", feature="reading Parquet and Arrow", extra="arrow")
    of_lists = pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type)
    numbers = of_lists and pyarrow.types.is_primitive(column.type.value_type)
    if numbers and column.null_count == 0 and column.flatten().null_count == 0:
        return list(Ragged.from_any(column))
    return list(column.to_pylist())


def write(out: IO[bytes], blocks: Iterable[RankedLists]) -> None:
    pyarrow = require("pyarrow", feature="writing Arrow files", extra="arrow")
    write_tables(blocks, lambda schema: pyarrow.ipc.new_file(out, schema))


def write_tables(blocks: Iterable[RankedLists], opened: Callable[[Any], Any]) -> None:
    """Write blocks of lists with the writer that ``opened`` gives for their schema."""
    with ExitStack() as stack:
        writer = None
        for lists in blocks:
            table = table_of(lists)
            writer = writer or stack.enter_context(opened(table.schema))
            results = max(lists.scores.values.size, 1)
            writer.write_table(table, max(BLOCK_RESULTS * len(lists) // results, 1))


def table_of(lists: RankedLists) -> Any:
    """Return the lists as an Arrow table, one row per query."""
    check_ids(lists, UTF8, UTF8)
    pyarrow = require("pyarrow", feature="writing Parquet and Arrow", extra="arrow")

    def column(ragged: Ragged, values: Any) -> Any:
        return pyarrow.LargeListArray.from_arrays(ragged.offsets, values)

    columns = {
        "query_id": pyarrow.array(lists.query_ids.tolist(), pyarrow.string()),
        "scores": column(lists.scores, lists.scores.values),
    }
    if lists.doc_ids is not None:
        texts = pyarrow.array(lists.doc_ids.values.tolist(), pyarrow.large_string())
        columns["doc_ids"] = column(lists.doc_ids, texts)
    if lists.relevance is not None:
        # NaN, where nobody judged, becomes null.
        grades = pyarrow.array(lists.relevance.values, from_pandas=True)
        columns["relevance"] = column(lists.relevance, grades)
    numbers = numbers_of_relevant(lists)
    if numbers is not None:
        columns["num_relevant"] = pyarrow.array(numbers)
    return pyarrow.table(columns)
