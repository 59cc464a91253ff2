"""CSV and TSV: one row per query, with spaces between the items of a list; or one per result."""

from __future__ import annotations

import codecs
import csv
import math
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import DataFormatError
from paretocut.io.rows import Row, RowsByLine, check_ids, is_utf8, rows_of, text_lines
from paretocut.io.streams import NotInBlocks, OpenSource, pass_on
from paretocut.lists import RankedLists

_limit_lock = threading.Lock()
_TRUTHS = {"True": 1.0, "False": 0.0}  # as we and pandas write grades that are only yes or no


def _records(source: OpenSource) -> Iterator[list[str]]:
    lines = text_lines(source)
    first = next(lines, "")
    tabs = "\t" in first and "," not in first
    reader = csv.reader(chain([first], lines), delimiter="\t" if tabs else ",", strict=True)
    while True:
        # The csv module has one limit for the whole process, too low for the scores of a deep list.
        with _limit_lock:
            before = csv.field_size_limit(2**31 - 1)
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                problem = f"expected CSV, got {error}"
                raise DataFormatError(source.name, source.line, problem) from None
            finally:
                csv.field_size_limit(before)
        yield record


def table(source: OpenSource) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """Return the header, and every row by its names with the line it ends on."""
    records = _records(source)
    header = [name.strip() for name in next(records, [])]
    if twice := [name for name in header if name and header.count(name) > 1]:
        raise DataFormatError(
            source.name, 1, f"expected a name for each column, got {twice[0]} more than once"
        )
    rows = (
        (source.line, dict(zip(header, record, strict=True)))
        for record in records
        if _has_fields(source, record, len(header))
    )
    return header, rows


def read(source: OpenSource) -> RowsByLine:
    header, rows = table(source)
    if {"query_id", "scores"} <= set(header):
        yield from ((line, _with_lists(row)) for line, row in rows)
    elif {"query_id", "score"} <= set(header):
        yield from _one_per_query(source, rows)
    else:
        raise DataFormatError(
            source.name,
            1,
            "expected a header with query_id and scores (one row per query) or query_id "
            f"and score (one row per result), got {', '.join(header) or 'nothing'}",
        )


def _has_fields(source: OpenSource, record: Sequence[str], expected: int) -> bool:
    """Return False for a blank line; refuse a row of another width than the header."""
    if record and len(record) != expected:
        raise DataFormatError(
            source.name, source.line, f"expected {expected} fields, got {len(record)}"
        )
    return bool(record)


def _with_lists(row: Mapping[str, str]) -> Row:
    """Return a row of texts with lists and numbers; the rest stays text and is refused later."""
    parsed: dict[str, Any] = dict(row)
    if "doc_ids" in row:
        parsed["doc_ids"] = row["doc_ids"].split()
    for name, convert in (("scores", _floats), ("relevance", _grades), ("num_relevant", _whole)):
        with suppress(KeyError, ValueError):
            if name in row:
                parsed[name] = convert(row[name])
    return parsed


def _floats(text: str) -> NDArray[np.float64]:
    if "_" in text:  # Python would read 1_0 as 10
        raise ValueError
    return np.array(text.split(), dtype=np.float64)


def _whole(text: str) -> int:
    return int(text if "_" not in text else "no number")


def _grades(text: str) -> NDArray[Any] | list[bool | None]:
    words = text.split()
    if _TRUTHS.keys() & set(words):
        return _as_truths(math.nan if word == "nan" else _TRUTHS[word] for word in words)
    return _as_integers(_floats(text))


def _as_truths(grades: Iterable[float]) -> list[bool | None]:
    return [None if math.isnan(grade) else grade > 0 for grade in grades]


def _as_integers(grades: NDArray[np.float64]) -> NDArray[Any]:
    """Return grades as integers if all are whole numbers."""
    whole = bool(np.all((np.abs(grades) < 2**31) & (grades == np.rint(grades))))
    return grades.astype(np.int64) if whole else grades


def _one_per_query(source: OpenSource, rows: Iterator[tuple[int, Mapping[str, str]]]) -> RowsByLine:
    """Yield one row per query from rows with one result each, whatever their order."""
    if source.in_blocks and source.again:
        raise NotInBlocks(f"{source.name} has one row per result")
    queries: dict[str, dict[str, Any]] = {}
    for line, row in rows:
        found = queries.setdefault(
            row["query_id"],
            {"line": line, "score": array("d"), "doc_id": [], "relevance": array("d")},
        )
        for name in {"score", "relevance"} & row.keys():
            word, value = row[name].strip(), math.nan
            if name == "relevance" and word in _TRUTHS:
                found["truths"], word = True, str(_TRUTHS[word])
            with suppress(ValueError):
                value = float(word if "_" not in word else "no number")
            if not (math.isfinite(value) or (name == "relevance" and not word)):
                raise DataFormatError(
                    source.name, line, f"{name} must be a finite number, got {row[name]!r}"
                )
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


def write(out: IO[bytes], blocks: Iterable[RankedLists], delimiter: str = ",") -> None:
    text = codecs.getwriter("utf-8")(out)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    header = None
    for lists in blocks:
        check_ids(lists, _LINES, _WORDS)
        if header is None:  # the names are the keys of any row
            header = tuple(next(rows_of(lists), ("query_id", "scores")))
            writer.writerow(header)
        for row in rows_of(lists):
            writer.writerow(
                " ".join("nan" if one is None else str(one) for one in item)
                if isinstance(item, list)
                else item
                for item in row.values()
            )
        pass_on(out)


def _are_lines(ids: list[str]) -> bool:
    return is_utf8(ids) and "\r" not in "".join(ids)  # the writer does not quote it


def _are_words(ids: list[str]) -> bool:
    return is_utf8(ids) and " ".join(ids).split() == ids


_LINES = ("UTF-8 without carriage returns", _are_lines)
_WORDS = ("words of UTF-8 without spaces", _are_words)
