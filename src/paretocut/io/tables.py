"""Ranked lists as JSONL, CSV, Parquet and Arrow tables, one row per query.

The columns have one meaning in all formats:

================ =======================================================
``query_id``     name of the query
``scores``       list of scores
``doc_ids``      list of document ids (optional)
``relevance``    list of grades (optional)
``num_relevant`` relevant documents in the collection (optional)
================ =======================================================

Other columns are ignored; embeddings are not stored. In CSV a list is written with spaces between
its items. CSV files with one row per *result* are read too: ``query_id`` and ``score``, and if
there are any ``doc_id`` and ``relevance``. JSONL and CSV need nothing but Python and are read line
by line; Parquet and Arrow need the extra ``arrow``.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import threading
from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paretocut._extras import require
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.io._files import OpenSource, Source, Target, open_source, open_target
from paretocut.io.trec import Qrels, judge, read_qrels, read_trec, write_trec
from paretocut.lists import RankedLists
from paretocut.ragged import Ragged

__all__ = ["Format", "read_lists", "write_lists"]

Format: TypeAlias = Literal["trec", "jsonl", "csv", "parquet", "arrow"]

_SUFFIXES: dict[str, Format] = {
    "": "trec",
    ".run": "trec",
    ".trec": "trec",
    ".txt": "trec",
    ".res": "trec",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))


def read_lists(
    source: Source,
    format: Format | None = None,
    *,
    qrels: Source | Qrels | None = None,
    min_grade: float = 1,
    missing: Literal["drop", "empty"] = "drop",
    higher_is_better: bool = True,
    max_bytes: int | None = None,
) -> RankedLists:
    """Return the ranked lists of a file of any known format.

    Parameters
    ----------
    source
        Path, "-" for standard input, or an open binary file; plain, gzip or xz.
    format
        "trec", "jsonl", "csv", "parquet" or "arrow"; by default what the name ends in says, and
        TREC where there is no name.
    qrels
        Judgements in TREC format; they replace relevance from the file. See `judge`.
    min_grade
        Smallest grade that counts as relevant.
    missing
        What becomes of judged queries without results; see `judge`.
    higher_is_better
        False for distances.
    max_bytes
        Refuse a file that is larger than this once decompressed; for files from strangers.

    Raises
    ------
    DataFormatError
        What the file holds is not what its format asks for; the message gives path and line (for
        Parquet and Arrow the row, counted from 1).

    Examples
    --------
    >>> import io
    >>> rows = io.BytesIO(b'{"query_id": "q1", "scores": [3, 1, 2], "doc_ids": ["a", "b", "c"]}')
    >>> read_lists(rows, "jsonl")[0].doc_ids.tolist()
    ['a', 'c', 'b']
    """
    chosen = format_of(source, format, who="read_lists")
    if chosen == "trec":
        return read_trec(
            source,
            qrels,
            min_grade=min_grade,
            missing=missing,
            higher_is_better=higher_is_better,
            max_bytes=max_bytes,
        )
    with open_source(source, max_bytes) as opened, closing(_READERS[chosen](opened)) as rows:
        columns = _Columns(opened.name, min_grade)
        for line, row in rows:
            columns.add(line, row)
    lists = columns.build(higher_is_better=higher_is_better)
    if qrels is None:
        return lists
    judgements = qrels if isinstance(qrels, Qrels) else read_qrels(qrels)
    return judge(lists, judgements, min_grade=min_grade, missing=missing)


def write_lists(target: Target, lists: RankedLists, format: Format | None = None) -> list[str]:
    """Write ranked lists and return the ids of the queries the format cannot hold.

    Only a TREC run cannot hold a query, one without results; tables hold all. The file appears
    whole or not at all; distances are written as distances.

    Parameters
    ----------
    target
        Where to write; .gz and .xz are compressed; "-" is standard output.
    lists
        What to write.
    format
        As for `read_lists`.
    """
    chosen = format_of(target, format, who="write_lists")
    if chosen == "trec":
        return write_trec(target, lists)
    with open_target(target) as out:
        _WRITERS[chosen](out, lists)
    return []


def format_of(source: Source, format: Format | None = None, *, who: str) -> Format:
    """Return the format of a file: the one given, else what its name ends in says."""
    if format is not None:
        if format not in _FORMATS:
            raise InvalidParameterError(
                f"{who}: format must be one of {', '.join(_FORMATS)}, got {format!r}"
            )
        return format
    if not isinstance(source, (str, os.PathLike)) or os.fspath(source) == "-":
        return "trec"
    stem, suffix = os.path.splitext(os.fspath(source).lower())
    if suffix in (".gz", ".xz"):
        suffix = os.path.splitext(stem)[1]
    found = _SUFFIXES.get(suffix)
    if found is None:
        raise InvalidParameterError(
            f"{who}: the name must end in one of {', '.join(filter(None, _SUFFIXES))} "
            f"(or .gz, .xz after it), or format must say what it is, got {os.fspath(source)!r}"
        )
    return found


# --- rows in ---

_Row: TypeAlias = Mapping[str, Any]
_RowsByLine: TypeAlias = Generator[tuple[int, _Row], None, None]
_OPTIONAL = ("doc_ids", "relevance", "num_relevant")


class _Columns:
    """The rows of a table, checked as they come and gathered in columns."""

    def __init__(self, name: str, min_grade: float) -> None:
        self._name = name
        self._min_grade = min_grade
        self._first_line: dict[str, int] = {}
        self._lengths = array("q")
        self._scores = array("d")
        self._doc_ids: list[NDArray[np.bytes_]] = []
        self._grades: list[NDArray[Any]] = []
        self._num_relevant = array("q")
        self._optional: set[str] | None = None

    def add(self, line: int, row: _Row) -> None:
        """Take one row: lists under the names of the columns; None is the same as absent."""

        def refuse(column: str, allowed: str, got: object) -> DataFormatError:
            shown = repr(got)
            shown = shown if len(shown) <= 60 else shown[:60] + "..."
            return DataFormatError(self._name, line, f"{column} must be {allowed}, got {shown}")

        query_id = row.get("query_id")
        if _as_id(query_id) is None:
            raise refuse("query_id", "a string or an integer", query_id)
        first = self._first_line.setdefault(str(query_id), line)
        if first != line:
            raise refuse("query_id", f"unique (this one is on line {first} too)", query_id)

        scores = _numbers(row.get("scores"), "iuf")
        if scores is None:
            allowed = "a list of finite numbers"
            if row.get("scores") is None:
                allowed += ", one row per query (one row per result is read from CSV only)"
            raise refuse("scores", allowed, row.get("scores"))
        n = len(scores)

        given = {name for name in _OPTIONAL if row.get(name) is not None}
        if self._optional is None:
            self._optional = given
        for name in sorted(given ^ self._optional):
            raise refuse(name, "in all rows or in none", row.get(name))

        if "doc_ids" in given:
            ids = list(map(_as_id, row["doc_ids"])) if isinstance(row["doc_ids"], list) else [None]
            if len(ids) != n or None in ids:
                raise refuse("doc_ids", f"a list of {n} strings or integers", row["doc_ids"])
            self._doc_ids.append(np.array(ids, dtype=np.bytes_))
        relevant = 0
        if "relevance" in given:
            grades = _numbers(row["relevance"], "biuf")
            if grades is None or len(grades) != n:
                raise refuse("relevance", f"a list of {n} finite numbers", row["relevance"])
            self._grades.append(grades)
            is_relevant = grades if grades.dtype == bool else grades >= self._min_grade
            relevant = int(np.count_nonzero(is_relevant))
        if "num_relevant" in given:
            count = row["num_relevant"]
            if type(count) is not int or not relevant <= count < 2**63:
                allowed = f"an integer, at least the {relevant} relevant results of the row"
                raise refuse("num_relevant", allowed, count)
            self._num_relevant.append(count)
        self._lengths.append(n)
        self._scores.frombytes(scores.astype(np.float64).tobytes())

    def build(self, *, higher_is_better: bool) -> RankedLists:
        """Return the rows as ranked lists."""
        offsets = np.zeros(len(self._lengths) + 1, dtype=np.int64)
        np.cumsum(np.frombuffer(self._lengths, dtype=np.int64), out=offsets[1:])
        optional = self._optional or ()

        def ragged(name: str, parts: list[NDArray[Any]], empty: str) -> Ragged | None:
            # An empty list has no type of its own and must not widen the others.
            filled = [part for part in parts if part.size] or [np.empty(0, dtype=empty)]
            return Ragged(np.concatenate(filled), offsets) if name in optional else None

        return RankedLists(
            Ragged(np.frombuffer(self._scores, dtype=np.float64), offsets),
            relevance=ragged("relevance", self._grades, "i8"),
            query_ids=np.array(list(self._first_line), dtype=np.str_),
            doc_ids=ragged("doc_ids", self._doc_ids, "S1"),
            num_relevant=(
                np.frombuffer(self._num_relevant, dtype=np.int64)
                if "num_relevant" in optional
                else None
            ),
            higher_is_better=higher_is_better,
            min_grade=self._min_grade,
        )


def _as_id(item: object) -> bytes | None:
    """Return an id as UTF-8, or None when it is no string or integer."""
    if isinstance(item, int) and not isinstance(item, bool):
        return b"%d" % item
    try:
        encoded = item.encode() if isinstance(item, str) else item
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell
        return None
    # NumPy's fixed-width strings drop a NUL at the end, and two ids would become one.
    return encoded if isinstance(encoded, bytes) and b"\0" not in encoded else None


def _numbers(items: object, kinds: str) -> NDArray[Any] | None:
    """Return a list as an array, or None when it is not a list of finite numbers of these kinds."""
    if not isinstance(items, (list, np.ndarray)):
        return None
    try:
        numbers = np.asarray(items)
    except (ValueError, OverflowError):  # lists inside the list, integers without end
        return None
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in kinds):
        return None
    return numbers if np.isfinite(numbers).all() else None


def _text_lines(source: OpenSource) -> Iterator[str]:
    """Yield the lines of a text file and keep count of them."""
    for line in source.stream:
        source.line += 1
        try:
            yield line.decode("utf-8-sig" if source.line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            got = error.object[error.start : error.start + 8]
            raise DataFormatError(
                source.name, source.line, f"expected UTF-8 text, got {got!r}"
            ) from None


def _jsonl_rows(source: OpenSource) -> _RowsByLine:
    for text in _text_lines(source):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(
                source.name, source.line, f"expected one JSON object on the line, got {error}"
            ) from None
        if not isinstance(row, dict):
            raise DataFormatError(
                source.name,
                source.line,
                f"expected one JSON object on the line, got {type(row).__name__}",
            )
        yield source.line, row


_csv_limit_lock = threading.Lock()


@contextmanager
def _csv_fields_of_any_size() -> Iterator[None]:
    # The csv module has one limit for the whole process, too low for the scores of a deep list.
    with _csv_limit_lock:
        before = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _csv_rows(source: OpenSource) -> _RowsByLine:
    with _csv_fields_of_any_size():
        records = csv.reader(_text_lines(source), strict=True)
        try:
            header = [name.strip() for name in next(records, [])]
            rows = (
                (source.line, dict(zip(header, record, strict=True)))
                for record in records
                if _has_fields(source, record, len(header))
            )
            if {"query_id", "scores"} <= set(header):
                yield from ((line, _parsed(row)) for line, row in rows)
            elif {"query_id", "score"} <= set(header):
                yield from _grouped(source, rows)
            else:
                raise DataFormatError(
                    source.name,
                    1,
                    "expected a header with query_id and scores (one row per query) or query_id "
                    f"and score (one row per result), got {', '.join(header) or 'nothing'}",
                )
        except csv.Error as error:
            raise DataFormatError(source.name, source.line, f"expected CSV, got {error}") from None


def _has_fields(source: OpenSource, record: Sequence[str], expected: int) -> bool:
    """Return False for a blank line; refuse a row of another width than the header."""
    if record and len(record) != expected:
        raise DataFormatError(
            source.name, source.line, f"expected {expected} fields, got {len(record)}"
        )
    return bool(record)


def _parsed(row: Mapping[str, str]) -> _Row:
    """Return a row of texts with lists and numbers; what is none stays text, to be refused."""
    parsed: dict[str, Any] = dict(row)
    if "doc_ids" in row:
        parsed["doc_ids"] = row["doc_ids"].split()
    for name, convert in (("scores", _floats), ("relevance", _grades), ("num_relevant", int)):
        if name in row:
            parsed[name] = _attempt(convert, row[name])
    return parsed


def _attempt(convert: Callable[[str], Any], text: str) -> Any:
    try:
        return convert(text)
    except ValueError:
        return text


def _floats(text: str) -> NDArray[np.float64]:
    return np.array([float(item) for item in text.split()], dtype=np.float64)


def _grades(text: str) -> NDArray[Any]:
    return _whole(_floats(text))


def _whole(grades: NDArray[np.float64]) -> NDArray[Any]:
    """Return grades as integers when that is what they are."""
    whole = bool(np.all((np.abs(grades) < 2**31) & (grades == np.rint(grades))))
    return grades.astype(np.int64) if whole else grades


def _grouped(source: OpenSource, rows: Iterator[tuple[int, Mapping[str, str]]]) -> _RowsByLine:
    """Yield one row per query from rows with one result each, whatever their order."""
    queries: dict[str, dict[str, Any]] = {}
    for line, row in rows:
        found = queries.setdefault(
            row["query_id"],
            {"line": line, "score": array("d"), "doc_id": bytearray(), "relevance": array("d")},
        )
        for name in {"score", "relevance"} & row.keys():
            value = _attempt(float, row[name])
            if not isinstance(value, float) or not np.isfinite(value):
                raise DataFormatError(
                    source.name, line, f"{name} must be a finite number, got {row[name]!r}"
                )
            found[name].append(value)
        if "doc_id" in row:
            doc_id = _as_id(row["doc_id"])
            if doc_id is None:
                raise DataFormatError(
                    source.name, line, f"doc_id must have no NUL, got {row['doc_id']!r}"
                )
            found["doc_id"] += doc_id + b"\0"
    for query_id, found in queries.items():
        n = len(found["score"])
        grouped: dict[str, Any] = {"query_id": query_id, "scores": np.array(found["score"])}
        if found["doc_id"]:
            grouped["doc_ids"] = bytes(found["doc_id"]).split(b"\0")[:n]
        if found["relevance"]:
            grouped["relevance"] = _whole(np.array(found["relevance"]))
        yield found["line"], grouped


def _parquet_rows(source: OpenSource) -> _RowsByLine:
    parquet = require("pyarrow.parquet", feature="reading Parquet", extra="arrow")
    return _arrow_rows(source, lambda file: parquet.ParquetFile(file).iter_batches())


def _ipc_rows(source: OpenSource) -> _RowsByLine:
    pyarrow = require("pyarrow", feature="reading Arrow files", extra="arrow")

    def batches(file: Any) -> Iterator[Any]:
        reader = pyarrow.ipc.open_file(file)
        return map(reader.get_batch, range(reader.num_record_batches))

    return _arrow_rows(source, batches)


def _arrow_rows(source: OpenSource, batches: Callable[[Any], Iterator[Any]]) -> _RowsByLine:
    pyarrow = require("pyarrow", feature="reading Parquet and Arrow", extra="arrow")
    # Both formats are read from their end, which a pipe or a compressed stream cannot do.
    file = pyarrow.BufferReader(source.stream.read())
    try:
        for batch in batches(file):
            known = [
                name for name in ("query_id", "scores", *_OPTIONAL) if name in batch.schema.names
            ]
            columns = [_arrow_column(batch.column(name)) for name in known]
            for values in zip(*columns, strict=True):
                source.line += 1
                yield source.line, dict(zip(known, values, strict=True))
    except pyarrow.ArrowException as error:
        raise DataFormatError(
            source.name, source.line + 1, f"expected a readable table, got {error}"
        ) from None


def _arrow_column(column: Any) -> Sequence[Any]:
    """Return one object per row: an array for a list of numbers, else what Arrow makes of it."""
    pyarrow = require("pyarrow", feature="reading Parquet and Arrow", extra="arrow")
    of_lists = pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type)
    numbers = of_lists and pyarrow.types.is_primitive(column.type.value_type)
    if numbers and column.null_count == 0 and column.flatten().null_count == 0:
        return list(Ragged.from_any(column))
    return list(column.to_pylist())


# --- rows out ---


def _write_jsonl(out: IO[bytes], lists: RankedLists) -> None:
    for row in _rows(lists):
        out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _write_csv(out: IO[bytes], lists: RankedLists) -> None:
    writer = csv.writer(codecs.getwriter("utf-8")(out), lineterminator="\n")
    header = next(_rows(lists), ("query_id", "scores"))  # the names are the keys of any row
    writer.writerow(header)
    for row in _rows(lists):
        words = " ".join(row.get("doc_ids", ()))
        if len(words.split()) != len(row.get("doc_ids", ())):
            raise InvalidParameterError(
                "write_lists: doc_ids must be words without spaces in CSV, "
                f"got such in query {row['query_id']!r}; JSONL and Parquet take any"
            )
        writer.writerow(
            " ".join(map(str, item)) if isinstance(item, list) else item for item in row.values()
        )


def _rows(lists: RankedLists) -> Iterator[dict[str, Any]]:
    for ranked in lists:
        scores = ranked.scores.tolist()
        row: dict[str, Any] = {"query_id": ranked.query_id, "scores": scores}
        if ranked.doc_ids is not None:
            row["doc_ids"] = _as_text(ranked.doc_ids)
        if ranked.relevance is not None:
            row["relevance"] = ranked.relevance.tolist()
        if ranked.num_relevant is not None:
            row["num_relevant"] = ranked.num_relevant
        yield row


def _as_text(ids: NDArray[Any]) -> list[str]:
    texts: list[str] = ids.tolist()
    for text in texts:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raw = text.encode("utf-8", "surrogateescape")
                raise InvalidParameterError(
                    f"write_lists: doc_ids must be UTF-8 in a table, got {raw!r}"
                ) from None
    return texts


def _write_parquet(out: IO[bytes], lists: RankedLists) -> None:
    parquet = require("pyarrow.parquet", feature="writing Parquet", extra="arrow")
    parquet.write_table(_table(lists), out)


def _write_ipc(out: IO[bytes], lists: RankedLists) -> None:
    pyarrow = require("pyarrow", feature="writing Arrow files", extra="arrow")
    table = _table(lists)
    with pyarrow.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)


def _table(lists: RankedLists) -> Any:
    pyarrow = require("pyarrow", feature="writing Parquet and Arrow", extra="arrow")

    def column(ragged: Ragged, values: Any) -> Any:
        return pyarrow.LargeListArray.from_arrays(ragged.offsets, values)

    columns = {
        "query_id": pyarrow.array(lists.query_ids.tolist(), pyarrow.string()),
        "scores": column(lists.scores, lists.scores.values),
    }
    if lists.doc_ids is not None:
        texts = pyarrow.chunked_array(map(_as_text, lists.doc_ids), pyarrow.large_string())
        columns["doc_ids"] = column(lists.doc_ids, texts.combine_chunks())
    if lists.relevance is not None:
        columns["relevance"] = column(lists.relevance, lists.relevance.values)
    if len(lists) and lists[0].num_relevant is not None:
        columns["num_relevant"] = pyarrow.array(lists.num_relevant)
    return pyarrow.table(columns)


_READERS: dict[str, Callable[[OpenSource], _RowsByLine]] = {
    "jsonl": _jsonl_rows,
    "csv": _csv_rows,
    "parquet": _parquet_rows,
    "arrow": _ipc_rows,
}
_WRITERS: dict[str, Callable[[IO[bytes], RankedLists], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "arrow": _write_ipc,
}
