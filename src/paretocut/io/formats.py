"""JSONL, CSV, Parquet and Arrow: how rows are read, and how lists are written."""

from __future__ import annotations

import codecs
import csv
import io
import math
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import chain
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import DataFormatError, require
from paretocut.io.rows import (
    COLUMNS,
    Row,
    RowsByLine,
    json_line,
    json_object,
    numbers_of_relevant,
    rows_of,
    text_lines,
)
from paretocut.io.streams import BLOCK_RESULTS, NO_LIMIT, NotInBlocks, OpenSource
from paretocut.lists import Ragged, RankedLists

_ROWS = 500  # of a Parquet file, read at a time
_TRUTHS = {"True": 1.0, "False": 0.0}  # as we and pandas write grades that are only yes or no


# --- JSONL ---


def read_jsonl(source: OpenSource) -> RowsByLine:
    for text in text_lines(source):
        if text.strip():
            yield source.line, json_object(source, text)


def write_jsonl(out: IO[bytes], blocks: Iterable[RankedLists]) -> None:
    for lists in blocks:
        out.writelines(map(json_line, rows_of(lists)))


# --- CSV: one row per query, with spaces between the items of a list; or one row per result ---


def read_csv(source: OpenSource) -> RowsByLine:
    records = _records(source)
    header = [name.strip() for name in next(records, [])]
    if twice := [name for name in header if name and header.count(name) > 1]:
        raise source.broken(f"expected a name for each column, got {twice[0]} more than once", 1)
    rows = (dict(zip(header, record, strict=True)) for record in records)
    if {"query_id", "scores"} <= set(header):
        yield from ((source.line, _with_lists(row)) for row in rows)
    elif {"query_id", "score"} <= set(header):
        yield from _one_per_query(source, rows)
    else:
        raise source.broken(
            "expected a header with query_id and scores (one row per query) or query_id "
            f"and score (one row per result), got {', '.join(header) or 'nothing'}",
            1,
        )


def _records(source: OpenSource) -> Iterator[list[str]]:
    """Yield the header and every row, but no blank line; all are of one width."""
    lines = text_lines(source)
    first = next(lines, "")
    tabs = "\t" in first and "," not in first
    # The limit of the whole process is too low for the scores of a deep list.
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    width = 0
    reader = csv.reader(chain([first], lines), delimiter="\t" if tabs else ",", strict=True)
    try:
        for record in reader:
            width = width or len(record)
            if record and len(record) != width:
                raise source.broken(f"expected {width} fields, got {len(record)}")
            if record:
                yield record
    except csv.Error as error:
        raise source.broken(f"expected CSV, got {error}") from None


def _with_lists(row: Mapping[str, str]) -> Row:
    """Return a row of texts with lists and numbers; the rest stays text and is refused later."""
    parsed: dict[str, Any] = dict(row)
    for name, convert in _CONVERT.items():
        with suppress(KeyError, ValueError):
            parsed[name] = convert(row[name])
    return parsed


def _plain(text: str) -> str:
    """Return a text without the underscores that Python takes in numbers: 1_0 is not 10."""
    return text.replace("_", "?")


def _floats(text: str) -> NDArray[np.float64]:
    return np.array(_plain(text).split(), dtype=np.float64)


def _grades(text: str) -> NDArray[Any] | list[bool | None]:
    words = text.split()
    if _TRUTHS.keys() & set(words):
        return _as_truths(math.nan if word == "nan" else _TRUTHS[word] for word in words)
    return _as_integers(_floats(text))


_CONVERT: dict[str, Callable[[str], Any]] = {
    "scores": _floats,
    "doc_ids": str.split,
    "relevance": _grades,
    "num_relevant": lambda text: int(_plain(text)),
}


def _as_truths(grades: Iterable[float]) -> list[bool | None]:
    return [None if math.isnan(grade) else grade > 0 for grade in grades]


def _as_integers(grades: NDArray[np.float64]) -> NDArray[Any]:
    """Return grades as integers if all are whole numbers."""
    whole = bool(np.all((np.abs(grades) < 2**31) & (grades == np.rint(grades))))
    return grades.astype(np.int64) if whole else grades


def _one_per_query(source: OpenSource, rows: Iterator[Mapping[str, str]]) -> RowsByLine:
    """Yield one row per query from rows with one result each, whatever their order."""
    if source.in_blocks and source.again:
        raise NotInBlocks(f"{source.name} has one row per result")
    queries: dict[str, dict[str, Any]] = {}
    for row in rows:
        found = queries.setdefault(
            row["query_id"],
            {"line": source.line, "score": array("d"), "doc_id": [], "relevance": array("d")},
        )
        for name in {"score", "relevance"} & row.keys():
            word, value = row[name].strip(), math.nan
            if name == "relevance" and word in _TRUTHS:
                found["truths"], word = True, str(_TRUTHS[word])
            with suppress(ValueError):
                value = float(_plain(word))
            if not (math.isfinite(value) or (name == "relevance" and not word)):
                raise source.broken(f"{name} must be a finite number, got {row[name]!r}")
            found[name].append(value)
        if "doc_id" in row:
            found["doc_id"].append(row["doc_id"])
    for query_id, found in queries.items():
        grouped: dict[str, Any] = {"query_id": query_id, "scores": np.array(found["score"])}
        if found["doc_id"]:
            grouped["doc_ids"] = found["doc_id"]
        if found["relevance"]:
            as_found = _as_truths if "truths" in found else _as_integers
            grouped["relevance"] = as_found(np.array(found["relevance"]))
        yield found["line"], grouped


def write_csv(out: IO[bytes], blocks: Iterable[RankedLists], delimiter: str = ",") -> None:
    writer = csv.writer(codecs.getwriter("utf-8")(out), delimiter=delimiter, lineterminator="\n")
    header = None
    for lists in blocks:
        if header is None:  # the names are the keys of any row
            header = tuple(next(rows_of(lists), COLUMNS[:2]))
            writer.writerow(header)
        for row in rows_of(lists):
            writer.writerow(
                " ".join("nan" if one is None else str(one) for one in item)
                if isinstance(item, list)
                else item
                for item in row.values()
            )


# --- Arrow and Parquet ---


def read_arrow(source: OpenSource, parquet: bool = False) -> RowsByLine:
    pyarrow = require("pyarrow", feature="reading Parquet and Arrow", extra="arrow")
    file = source.stream
    with ExitStack() as stack:
        # Both formats are read from their end, which a pipe or a compressed stream cannot do.
        seekable = isinstance(file, (io.BufferedReader, io.BytesIO)) and file.seekable()
        if source.max_bytes < NO_LIMIT or not seekable:
            file = stack.enter_context(TemporaryFile())
            shutil.copyfileobj(source, file)
            file.seek(0)
        try:
            for batch in _batches(file, parquet):
                batch.validate(full=True)  # or offsets could point anywhere
                known = [name for name in COLUMNS if name in batch.schema.names]
                columns = [_objects(batch.column(name), pyarrow.types) for name in known]
                for values in zip(*columns, strict=True):
                    source.line += 1
                    yield source.line, dict(zip(known, values, strict=True))
        except (pyarrow.ArrowException, LookupError, OSError, TypeError, ValueError) as error:
            if isinstance(error, DataFormatError):
                raise
            problem = f"expected a readable table, got {error}"
            raise source.broken(problem, source.line + 1) from None


def _batches(file: Any, parquet: bool) -> Iterator[Any]:
    if parquet:
        found = require("pyarrow.parquet", feature="reading Parquet", extra="arrow")
        return iter(found.ParquetFile(file).iter_batches(_ROWS))
    reader = require("pyarrow", feature="reading Arrow", extra="arrow").ipc.open_file(file)
    return map(reader.get_batch, range(reader.num_record_batches))


def _objects(column: Any, types: Any) -> Any:
    """Return one object per row: an array for a list of numbers, else a Python object."""
    of_lists = types.is_list(column.type) or types.is_large_list(column.type)
    numbers = of_lists and types.is_primitive(column.type.value_type)
    if numbers and column.null_count == 0 and column.flatten().null_count == 0:
        return Ragged.from_any(column)
    return column.to_pylist()


def write_arrow(out: IO[bytes], blocks: Iterable[RankedLists], parquet: bool = False) -> None:
    name = "pyarrow.parquet" if parquet else "pyarrow.ipc"
    module = require(name, feature="writing Parquet and Arrow", extra="arrow")
    opened = module.ParquetWriter if parquet else module.new_file
    with ExitStack() as stack:
        writer = None
        for lists in blocks:
            table = _table_of(lists)
            writer = writer or stack.enter_context(opened(out, table.schema))
            results = max(lists.scores.values.size, 1)
            writer.write_table(table, max(BLOCK_RESULTS * len(lists) // results, 1))


def _table_of(lists: RankedLists) -> Any:
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
