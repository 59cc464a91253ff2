"""JSONL, CSV, Parquet and Arrow: rows of tables, how they become lists, and lists become rows."""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import shutil
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import chain
from tempfile import TemporaryFile
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import DataFormatError, InvalidScoresError, require
from paretocut.io.streams import (
    BLOCK_RESULTS,
    NO_LIMIT,
    NotInBlocks,
    OpenSource,
    Source,
    open_source,
)
from paretocut.lists import IntArray, Ragged, RankedLists
from paretocut.lists.columns import as_text, known_or_nan

Row: TypeAlias = Mapping[str, Any]
RowsByLine: TypeAlias = Generator[tuple[int, Row], None, None]
COLUMNS = ("query_id", "scores", "doc_ids", "relevance", "num_relevant")
_ROWS = 500  # of a Parquet file, read at a time
_TRUTHS = {"True": True, "False": False, "nan": None}  # as we and pandas write yes and no


# --- rows and lists ---


def lists_of_rows(
    source: OpenSource, rows: RowsByLine, higher_is_better: bool, min_grade: float = 1
) -> Iterator[RankedLists]:
    """Yield the rows of a table as lists: in blocks if the source is read in blocks, else once."""
    first_line: dict[str, int] = {}
    block: list[dict[str, Any]] = []
    optional: set[str] | None = None  # columns, which all rows must share
    results = 0

    def built() -> RankedLists:
        names = block[0] if block else COLUMNS[:2]
        columns = {name: [row[name] for row in block] for name in names}
        return RankedLists(
            query_ids=columns.pop("query_id"),
            **columns,
            higher_is_better=higher_is_better,
            min_grade=min_grade,
        )

    with closing(rows):
        for line, row in rows:
            refuse = partial(_refused, source, line)
            found = _checked(row, min_grade, refuse)
            if (first := first_line.setdefault(found["query_id"], line)) != line:
                unique = f"unique (this one is on line {first} too)"
                raise refuse("query_id", unique, row["query_id"])
            optional = found.keys() - COLUMNS[:2] if optional is None else optional
            for column in sorted(optional ^ (found.keys() - COLUMNS[:2])):
                raise refuse(column, "in all rows or in none", row.get(column))
            block.append(found)
            results += len(found["scores"])
            if source.in_blocks and (results >= BLOCK_RESULTS or source.paused):
                yield built()
                block, results = [], 0
    if block or not first_line:
        yield built()


def _refused(
    source: OpenSource, line: int, column: str, allowed: str, got: object
) -> DataFormatError:
    text = repr(got)
    text = text if len(text) <= 60 else text[:60] + "..."
    return source.broken(f"{column} must be {allowed}, got {text}", line)


def _checked(
    row: Row, min_grade: float, refuse: Callable[[str, str, object], DataFormatError]
) -> dict[str, Any]:
    """Return the columns of a row, those that are not None."""
    name = _ids([row.get("query_id")])
    if name is None:
        raise refuse("query_id", "a string or an integer", row.get("query_id"))
    scores = _finite(row.get("scores"), "iuf")
    if scores is None:
        allowed = "a list of finite numbers"
        if row.get("scores") is None:
            allowed += ", one row per query (one row per result is read from CSV only)"
        raise refuse("scores", allowed, row.get("scores"))
    n, relevant = len(scores), 0
    found = {"query_id": name.item(), "scores": scores.astype(np.float64)}
    if (given := row.get("doc_ids")) is not None:
        ids = _ids(given)
        if ids is None or len(ids) != n:
            raise refuse("doc_ids", f"a list of {n} strings or integers", given)
        if len(set(ids.tolist())) < len(set(given)):  # 1 and "1"
            raise refuse("doc_ids", "different as text", given)
        found["doc_ids"] = ids
    if (given := row.get("relevance")) is not None:
        grades = _grades(given, min_grade)
        if grades is None or len(grades) != n:
            allowed = f"a list of {n} finite numbers, or null if not judged"
            raise refuse("relevance", allowed, given)
        found["relevance"] = grades
        counts = grades if grades.dtype == bool else grades >= min_grade
        relevant = int(np.count_nonzero(counts))
    if (given := row.get("num_relevant")) is not None:
        if type(given) is not int or not relevant <= given < 2**63:
            allowed = f"an integer, at least the {relevant} relevant results of the row"
            raise refuse("num_relevant", allowed, given)
        found["num_relevant"] = given
    return found


def _grades(items: Any, min_grade: float) -> NDArray[Any] | None:
    """Return grades as an array, NaN where they are null; None when they are no numbers."""
    if isinstance(items, list) and None in items:
        items = known_or_nan(items, min_grade)
    if isinstance(items, np.ndarray) and items.dtype.kind == "f" and np.isnan(items).any():
        return None if np.isinf(items).any() else items
    return _finite(items, "biuf")


def _ids(items: object) -> NDArray[Any] | None:
    """Return ids as text, or None when they are no list of strings and integers."""
    with suppress(InvalidScoresError):
        if isinstance(items, (list, np.ndarray)):
            return as_text(items)
    return None


def _finite(items: object, kinds: str) -> NDArray[Any] | None:
    """Return a list as an array, or None when it is not a list of finite numbers of these kinds."""
    if not isinstance(items, (list, np.ndarray)):
        return None
    try:
        numbers = np.asarray(items if len(items) else np.empty(0, dtype=np.int64))
    except (ValueError, OverflowError):  # lists inside the list, integers without end
        return None
    if numbers.ndim != 1 or numbers.dtype.kind not in kinds:
        return None
    return numbers if np.isfinite(numbers).all() else None


def rows_of(lists: RankedLists) -> Iterator[dict[str, Any]]:
    """Yield one row per query, with plain lists; grades are None where nobody judged."""
    numbers = numbers_of_relevant(lists)
    for i, ranked in enumerate(lists):
        row: dict[str, Any] = {"query_id": ranked.query_id, "scores": ranked.scores.tolist()}
        if ranked.doc_ids is not None:
            row["doc_ids"] = ranked.doc_ids.tolist()
        if ranked.relevance is not None:
            grades = ranked.relevance.tolist()
            row["relevance"] = [None if grade != grade else grade for grade in grades]
        if numbers is not None:
            row["num_relevant"] = int(numbers[i])
        yield row


def numbers_of_relevant(lists: RankedLists) -> IntArray | None:
    with suppress(InvalidScoresError):
        return lists.num_relevant if len(lists) else None
    return None


def is_utf8(texts: list[str]) -> bool:
    """Return whether UTF-8 can hold these texts; it cannot hold half a surrogate pair."""
    try:
        "".join(texts).encode()
        return True
    except UnicodeEncodeError:
        return False


# --- JSONL, and texts ---


def text_lines(source: OpenSource) -> Iterator[str]:
    """Yield the lines of a text file and keep count of them."""
    for line in source.lines():
        try:
            yield line.decode("utf-8-sig" if source.line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            got = error.object[error.start : error.start + 8]
            raise source.broken(f"expected UTF-8 text, got {got!r}") from None


def json_object(source: OpenSource, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
        got = type(found).__name__
    except (ValueError, RecursionError) as error:
        found, got = None, str(error)
    if not isinstance(found, dict):
        raise source.broken(f"expected one JSON object on the line, got {got}")
    return found


def json_line(row: Row) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # UTF-8 cannot hold half a surrogate pair, but ASCII can spell it
        return json.dumps(row).encode() + b"\n"


def read_jsonl(source: OpenSource) -> RowsByLine:
    for text in text_lines(source):
        if text.strip():
            yield source.line, json_object(source, text)


def write_jsonl(out: IO[bytes], blocks: Iterable[RankedLists]) -> None:
    for lists in blocks:
        out.writelines(map(json_line, rows_of(lists)))


def read_texts(source: Source, wanted: Container[str] | None = None) -> dict[str, str]:
    r"""Return texts by id.

    A line is a JSON object with ``id`` (or ``_id``), ``text`` and, if there is one, ``title``; or
    it is a name, a tab and the text.

    Parameters
    ----------
    source
        Path, "-" for standard input, or an open binary file; plain, gzip or xz.
    wanted
        Ids of the texts to keep; by default all. The others cost no memory.

    Examples
    --------
    >>> import io
    >>> read_texts(io.BytesIO(b'{"id": 7, "title": "Ferns", "text": "They like shade."}\n'))
    {'7': 'Ferns. They like shade.'}
    """
    texts: dict[str, str] = {}
    with open_source(source) as opened:
        for line in text_lines(opened):
            if not line.strip():
                continue
            name, text = _entry(opened, line)
            if wanted is not None and name not in wanted:
                continue
            if texts.setdefault(name, text) != text:
                raise opened.broken(f"{name} must have one text, got another before")
    return texts


def _entry(source: OpenSource, line: str) -> tuple[str, str]:
    if line.lstrip().startswith("{"):
        row = json_object(source, line)
        name, text = row.get("id", row.get("_id")), row.get("text")
        if not isinstance(name, (str, int)) or not isinstance(text, str):
            got = ", ".join(row) or "nothing"
            raise source.broken(f"expected an id and a text, got {got}")
        title = str(row.get("title") or "").strip()
        return str(name), f"{title}. {text}" if title else text
    name, tab, text = line.rstrip("\r\n").partition("\t")
    if not tab:
        raise source.broken("expected a JSON object, or a name, a tab and a text, got neither")
    return name, text


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


def _grades_in(text: str) -> NDArray[Any] | list[bool | None]:
    words = text.split()
    if {"True", "False"} & set(words):
        return [_TRUTHS[word] for word in words]
    grades = _floats(text)
    whole = bool(np.all((np.abs(grades) < 2**31) & (grades == np.rint(grades))))
    return grades.astype(np.int64) if whole else grades


_CONVERT: dict[str, Callable[[str], Any]] = {
    "scores": _floats,
    "doc_ids": str.split,
    "relevance": _grades_in,
    "num_relevant": lambda text: int(_plain(text)),
}


def _one_per_query(source: OpenSource, rows: Iterator[Mapping[str, str]]) -> RowsByLine:
    """Yield one row per query from rows with one result each, whatever their order."""
    if source.in_blocks and source.again:
        raise NotInBlocks(f"{source.name} has one row per result")
    queries: dict[str, tuple[int, dict[str, list[str]]]] = {}
    for row in rows:
        _, found = queries.setdefault(row["query_id"], (source.line, {}))
        for name in {"score", "relevance"} & row.keys():
            word, value = row[name].strip(), math.nan
            with suppress(ValueError):
                value = float(_plain(word))
            known = name == "relevance" and (word or "nan") in _TRUTHS
            if not (math.isfinite(value) or known):
                raise source.broken(f"{name} must be a finite number, got {row[name]!r}")
            found.setdefault(name, []).append(word or "nan")
        if "doc_id" in row:
            found.setdefault("doc_id", []).append(row["doc_id"])
    for query_id, (line, found) in queries.items():
        texts = {"query_id": query_id, "scores": " ".join(found["score"])}
        if "relevance" in found:
            texts["relevance"] = " ".join(found["relevance"])
        yield line, {**_with_lists(texts), "doc_ids": found.get("doc_id")}


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
    pa = require("pyarrow", feature="writing Parquet and Arrow", extra="arrow")

    def column(ragged: Ragged, values: Any) -> Any:
        return pa.LargeListArray.from_arrays(ragged.offsets, values)

    table = {
        "query_id": pa.array(lists.query_ids.tolist(), pa.string()),
        "scores": column(lists.scores, lists.scores.values),
    }
    if lists.doc_ids is not None:
        texts = pa.array(lists.doc_ids.values.tolist(), pa.large_string())
        table["doc_ids"] = column(lists.doc_ids, texts)
    if lists.relevance is not None:  # NaN, where nobody judged, becomes null
        grades = pa.array(lists.relevance.values, from_pandas=True)
        table["relevance"] = column(lists.relevance, grades)
    if (numbers := numbers_of_relevant(lists)) is not None:
        table["num_relevant"] = pa.array(numbers)
    return pa.table(table)


read_parquet, write_parquet = partial(read_arrow, parquet=True), partial(write_arrow, parquet=True)
