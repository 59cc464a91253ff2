"""The rows of a table in any format: their columns, and how rows become lists."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import InvalidScoresError
from paretocut.io.streams import BLOCK_RESULTS, OpenSource
from paretocut.lists import IntArray, RankedLists
from paretocut.lists.columns import as_text, known_or_nan

Row: TypeAlias = Mapping[str, Any]
RowsByLine: TypeAlias = Generator[tuple[int, Row], None, None]
COLUMNS = ("query_id", "scores", "doc_ids", "relevance", "num_relevant")


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
            try:
                found = _checked(row, min_grade)
                name = found["query_id"]
                if (first := first_line.setdefault(name, line)) != line:
                    unique = f"unique (this one is on line {first} too)"
                    raise _Refused("query_id", unique, row["query_id"])
                optional = found.keys() - COLUMNS[:2] if optional is None else optional
                for column in sorted(optional ^ (found.keys() - COLUMNS[:2])):
                    raise _Refused(column, "in all rows or in none", row.get(column))
            except _Refused as error:
                raise source.broken(str(error), line) from None
            block.append(found)
            results += len(found["scores"])
            if source.in_blocks and (results >= BLOCK_RESULTS or source.paused):
                yield built()
                block, results = [], 0
    if block or not first_line:
        yield built()


class _Refused(Exception):
    def __init__(self, column: str, allowed: str, got: object) -> None:
        shown = repr(got)
        shown = shown if len(shown) <= 60 else shown[:60] + "..."
        super().__init__(f"{column} must be {allowed}, got {shown}")


def _checked(row: Row, min_grade: float) -> dict[str, Any]:
    """Return the columns of a row, those that are not None."""
    name = _ids([row.get("query_id")])
    if name is None:
        raise _Refused("query_id", "a string or an integer", row.get("query_id"))
    scores = _finite(row.get("scores"), "iuf")
    if scores is None:
        allowed = "a list of finite numbers"
        if row.get("scores") is None:
            allowed += ", one row per query (one row per result is read from CSV only)"
        raise _Refused("scores", allowed, row.get("scores"))
    n, relevant = len(scores), 0
    found = {"query_id": name.item(), "scores": scores.astype(np.float64)}
    if (given := row.get("doc_ids")) is not None:
        ids = _ids(given)
        if ids is None or len(ids) != n:
            raise _Refused("doc_ids", f"a list of {n} strings or integers", given)
        if len(set(ids.tolist())) < len(set(given)):  # 1 and "1"
            raise _Refused("doc_ids", "different as text", given)
        found["doc_ids"] = ids
    if (given := row.get("relevance")) is not None:
        grades = _grades(given, min_grade)
        if grades is None or len(grades) != n:
            allowed = f"a list of {n} finite numbers, or null if not judged"
            raise _Refused("relevance", allowed, given)
        found["relevance"] = grades
        counts = grades if grades.dtype == bool else grades >= min_grade
        relevant = int(np.count_nonzero(counts))
    if (given := row.get("num_relevant")) is not None:
        if type(given) is not int or not relevant <= given < 2**63:
            allowed = f"an integer, at least the {relevant} relevant results of the row"
            raise _Refused("num_relevant", allowed, given)
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


def text_lines(source: OpenSource) -> Iterator[str]:
    """Yield the lines of a text file and keep count of them."""
    for line in source.lines():
        try:
            yield line.decode("utf-8-sig" if source.line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            got = error.object[error.start : error.start + 8]
            raise source.broken(f"expected UTF-8 text, got {got!r}") from None


def json_object(source: OpenSource, line: str) -> dict[str, Any]:
    """Return the object that a line of a file holds."""
    try:
        found = json.loads(line)
        got = type(found).__name__
    except (ValueError, RecursionError) as error:
        found, got = None, str(error)
    if not isinstance(found, dict):
        raise source.broken(f"expected one JSON object on the line, got {got}")
    return found


def json_line(row: Row) -> bytes:
    """Return one line of JSON."""
    try:
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # UTF-8 cannot hold half a surrogate pair, but ASCII can spell it
        return json.dumps(row).encode() + b"\n"


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
    """Return the number of relevant documents of each list, or None where one is unknown."""
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
