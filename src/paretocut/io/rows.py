"""The rows of a table in any format: their columns, and how rows become lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import DataFormatError, InvalidParameterError, InvalidScoresError
from paretocut.io.streams import OpenSource
from paretocut.lists import IntArray, Ragged, RankedLists, offsets_of
from paretocut.lists.columns import as_text, known_or_nan

Row: TypeAlias = Mapping[str, Any]
RowsByLine: TypeAlias = Generator[tuple[int, Row], None, None]
COLUMNS = ("query_id", "scores", "doc_ids", "relevance", "num_relevant")


class RowGatherer:
    """The rows of a table, checked as they come and gathered in columns."""

    def __init__(self, name: str, min_grade: float) -> None:
        self._name = name
        self._min_grade = min_grade
        self._first_line: dict[str, int] = {}
        self._names: list[str] = []
        self._scores: list[NDArray[np.float64]] = []
        self.rows = self.results = 0  # since the last `build`
        self._optional: dict[str, list[Any]] | None = None

    def add(self, line: int, row: Row) -> None:
        """Take one row: lists under the names of the columns; None is the same as absent."""

        def refuse(column: str, allowed: str, got: object) -> DataFormatError:
            shown = repr(got)
            shown = shown if len(shown) <= 60 else shown[:60] + "..."
            return DataFormatError(self._name, line, f"{column} must be {allowed}, got {shown}")

        query_id = row.get("query_id")
        text = _ids([query_id])
        if text is None:
            raise refuse("query_id", "a string or an integer", query_id)
        first = self._first_line.setdefault(text.item(), line)
        if first != line:
            raise refuse("query_id", f"unique (this one is on line {first} too)", query_id)
        self._names.append(text.item())

        scores = finite_numbers(row.get("scores"), "iuf")
        if scores is None:
            allowed = "a list of finite numbers"
            if row.get("scores") is None:
                allowed += ", one row per query (one row per result is read from CSV only)"
            raise refuse("scores", allowed, row.get("scores"))
        n = len(scores)

        given = {name for name in COLUMNS[2:] if row.get(name) is not None}
        if self._optional is None:
            self._optional = {name: [] for name in given}
        for name in sorted(given ^ self._optional.keys()):
            raise refuse(name, "in all rows or in none", row.get(name))

        relevant = 0
        if "doc_ids" in given:
            ids = _ids(row["doc_ids"])
            if ids is None or len(ids) != n:
                raise refuse("doc_ids", f"a list of {n} strings or integers", row["doc_ids"])
            if len(set(ids.tolist())) < len(set(row["doc_ids"])):  # 1 and "1"
                raise refuse("doc_ids", "different as text", row["doc_ids"])
            self._optional["doc_ids"].append(ids)
        if "relevance" in given:
            grades = self._grades(row["relevance"])
            if grades is None or len(grades) != n:
                allowed = f"a list of {n} finite numbers, or null if not judged"
                raise refuse("relevance", allowed, row["relevance"])
            self._optional["relevance"].append(grades)
            counts = grades if grades.dtype == bool else grades >= self._min_grade
            relevant = int(np.count_nonzero(counts))
        if "num_relevant" in given:
            count = row["num_relevant"]
            if type(count) is not int or not relevant <= count < 2**63:
                allowed = f"an integer, at least the {relevant} relevant results of the row"
                raise refuse("num_relevant", allowed, count)
            self._optional["num_relevant"].append(count)
        self._scores.append(scores.astype(np.float64))
        self.rows += 1
        self.results += n

    def _grades(self, items: object) -> NDArray[Any] | None:
        """Return grades as an array, NaN where they are null; None when they are no numbers."""
        if isinstance(items, list) and None in items:
            items = known_or_nan(items, self._min_grade)
        if isinstance(items, np.ndarray) and items.dtype.kind == "f" and np.isnan(items).any():
            return None if np.isinf(items).any() else items
        return finite_numbers(items, "biuf")

    def build(self, *, higher_is_better: bool) -> RankedLists:
        """Return the rows since the last time as ranked lists."""
        offsets = offsets_of(np.array([part.size for part in self._scores], dtype=np.int64))
        optional = self._optional or {}

        def ragged(parts: list[NDArray[Any]] | None, empty: str) -> Ragged | None:
            # An empty list has no type of its own and must not widen the others.
            filled = [part for part in parts or () if part.size] or [np.empty(0, dtype=empty)]
            return None if parts is None else Ragged(np.concatenate(filled), offsets)

        numbers = optional.get("num_relevant")
        lists = RankedLists(
            Ragged(np.concatenate([np.empty(0), *self._scores]), offsets),
            relevance=ragged(optional.get("relevance"), "i8"),
            query_ids=self._names,
            doc_ids=ragged(optional.get("doc_ids"), "U1"),
            num_relevant=None if numbers is None else np.array(numbers, dtype=np.int64),
            higher_is_better=higher_is_better,
            min_grade=self._min_grade,
        )
        self._names, self._scores = [], []
        self.rows = self.results = 0
        self._optional = {name: [] for name in optional} if self._first_line else None
        return lists


def _ids(items: object) -> NDArray[Any] | None:
    """Return ids as text, or None when they are no list of strings and integers."""
    with suppress(InvalidScoresError):
        if isinstance(items, (list, np.ndarray)):
            return as_text(items)
    return None


def finite_numbers(items: object, kinds: str) -> NDArray[Any] | None:
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


def text_lines(source: OpenSource) -> Iterator[str]:
    """Yield the lines of a text file and keep count of them."""
    for line in source.lines():
        try:
            yield line.decode("utf-8-sig" if source.line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            got = error.object[error.start : error.start + 8]
            raise DataFormatError(
                source.name, source.line, f"expected UTF-8 text, got {got!r}"
            ) from None


def json_object(source: OpenSource, line: str) -> dict[str, Any]:
    """Return the object that a line of a file holds."""
    try:
        found = json.loads(line)
        got = type(found).__name__
    except (ValueError, RecursionError) as error:
        found, got = None, str(error)
    if not isinstance(found, dict):
        raise DataFormatError(
            source.name, source.line, f"expected one JSON object on the line, got {got}"
        )
    return found


def rows_of(lists: RankedLists) -> Iterator[dict[str, Any]]:
    """Yield one row per query, with plain lists; grades are None where nobody judged."""
    numbered = numbers_of_relevant(lists) is not None
    for ranked in lists:
        scores = ranked.scores.tolist()
        row: dict[str, Any] = {"query_id": ranked.query_id, "scores": scores}
        if ranked.doc_ids is not None:
            row["doc_ids"] = ranked.doc_ids.tolist()
        if ranked.relevance is not None:
            grades = ranked.relevance.tolist()
            row["relevance"] = [None if grade != grade else grade for grade in grades]
        if numbered:
            row["num_relevant"] = ranked.num_relevant
        yield row


def numbers_of_relevant(lists: RankedLists) -> IntArray | None:
    """Return the number of relevant documents of each list, or None where one is unknown."""
    if not len(lists) or any(ranked.num_relevant is None for ranked in lists):
        return None
    return lists.num_relevant


Rule: TypeAlias = tuple[str, Callable[[list[str]], bool]]
"""Allowed types of ids in words, and a check of them."""


def check_ids(lists: RankedLists, queries: Rule, docs: Rule) -> None:
    """Refuse ids that a format cannot hold."""
    columns = [("query_ids", lists.query_ids, queries)]
    columns += [("doc_ids", ids, docs) for ids in lists.doc_ids or ()]
    for name, ids, (allowed, fits) in columns:
        texts: list[str] = ids.tolist()
        if not fits(texts):
            odd = next(text for text in texts if not fits([text]))
            raise InvalidParameterError(
                f"write_lists: {name} must be {allowed} in this format, got {odd!r}"
            )


def is_utf8(texts: list[str]) -> bool:
    """Return whether UTF-8 can hold these texts; it cannot hold half a surrogate pair."""
    try:
        "".join(texts).encode()
        return True
    except UnicodeEncodeError:
        return False


UTF8: Rule = ("UTF-8", is_utf8)
