"""Judgements of a review so far, from a spreadsheet or an export of ASReview."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from paretocut.io.streams import OpenSource, Source, open_source

_LABELS = ("asreview_label", "relevant", "relevance", "included", "label", "decision")
_IDS = ("doc_id", "record_id", "id")
_TIMES = ("asreview_time", "time")
_YES = {"1", "1.0", "true", "yes", "y", "relevant", "include", "included"}
_NO = {"0", "0.0", "false", "no", "n", "irrelevant", "exclude", "excluded"}
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx is a zip archive, .xls an OLE file
_FEW = 2  # of each decision, before rows sorted by it look sorted


@dataclass(frozen=True)
class Screening:
    """The judgements of a review so far.

    ``judged`` says whether each document read is relevant, by its id, and ``total`` is the number
    of all. ``judged`` is in the order of reading if the file is ``timed``, and else in that of the
    rows; ``disorder`` says why this cannot be the order of reading, if it cannot.
    """

    judged: dict[str, bool]
    total: int
    timed: bool = False
    disorder: str = ""


def read_screening(source: Source) -> Screening:
    r"""Return the judgements of a CSV file that has one row per document.

    The column ``asreview_label``, ``relevant``, ``relevance``, ``included``, ``label`` or
    ``decision`` holds 1 or 0, yes or no, included or excluded; it is empty for documents not read
    yet. The column ``doc_id``, ``record_id`` or ``id`` names the documents; without one they are
    numbered from 1. The order of reading comes from the column ``asreview_time`` or ``time``.
    Commas, semicolons or tabs separate the columns; text is UTF-8, UTF-16 or Windows-1252.

    Parameters
    ----------
    source
        Path, "-" for standard input, or an open binary file; plain, gzip or xz.

    Examples
    --------
    >>> import io
    >>> found = read_screening(io.BytesIO(b"id;Decision\n7;yes\n8;no\n9;\n"))
    >>> found.judged, found.total
    ({'7': True, '8': False}, 3)
    """
    with open_source(source) as opened:
        rows = _rows(opened)
        header = [name.strip().lower() for name in next(rows, [])]
        labels = [i for i, name in enumerate(header) if name in _LABELS]
        key = next((header.index(name) for name in _IDS if name in header), None)
        clock = next((header.index(name) for name in _TIMES if name in header), None)
        if not labels:
            got = ", ".join(header) or "nothing"
            raise opened.broken(f"expected a column {' or '.join(_LABELS)}, got {got}", 1)
        if "asreview_ranking" in header and clock is None:
            raise opened.broken(
                "expected the order of reading, got an export of ASReview 1, which does not have "
                "it; export from ASReview 2, or put the rows in the order of reading",
                1,
            )
        names: dict[str, int] = {}  # and their lines
        answers: list[bool | None] = []
        times: list[float] = []
        for row in rows:
            line = opened.line
            name = str(len(names) + 1) if key is None else row[key].strip()
            if not name:
                raise opened.broken(f"{header[key or 0]} must name a document, got nothing")
            if (before := names.setdefault(name, line)) != line:
                problem = f"{header[key or 0]} must name each document once, got {name} here and in"
                raise opened.broken(f"{problem} line {before}")
            answers.append(_answer(opened, {header[i]: row[i] for i in labels}))
            text = "" if clock is None or answers[-1] is None else row[clock]
            times.append(_moment(opened, header[clock or 0], text))
    read = [i for i, answer in enumerate(answers) if answer is not None]
    timed = clock is not None and any(times)
    in_order = sorted(read, key=lambda i: times[i])  # stable
    ids = list(names)
    judged = {ids[i]: bool(answers[i]) for i in in_order}
    return Screening(judged, len(ids), timed, "" if timed else _disorder(answers))


def _rows(source: OpenSource) -> Iterator[list[str]]:
    """Yield every row, the header first; the source knows the line it ends on."""
    data = source.stream.read(source.max_list_bytes + 1)
    source.check_size(len(data))
    if data.startswith(_WORKBOOKS):
        problem = "expected text, got a workbook; in the spreadsheet, use Save As and choose CSV"
        raise source.broken(problem, 1)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", errors="replace")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    width = 0
    try:
        for row in reader:
            source.line = reader.line_num
            if not row or (len(row) > 1 and not any(map(str.strip, row))):
                continue
            width = width or len(row)
            if len(row) != width:
                raise source.broken(f"expected {width} fields, got {len(row)}")
            yield row
    except csv.Error as error:
        raise source.broken(f"expected CSV, got {error}") from None


def _answer(source: OpenSource, texts: dict[str, str]) -> bool | None:
    """Return the judgement of a row, on which all its columns must agree."""
    found: dict[str, bool] = {}
    for label, text in texts.items():
        word = text.strip().lower()
        if word and word not in _YES | _NO:
            raise source.broken(f"{label} must be 1, 0 or empty, or yes or no, got {text!r:.60}")
        if word:
            found[label] = word in _YES
    if len(set(found.values())) > 1:
        both = " and ".join(found)
        raise source.broken(f"{both} must agree, got yes and no; keep the one that counts")
    return next(iter(found.values()), None)


def _moment(source: OpenSource, column: str, text: str) -> float:
    """Return when a document was read: 0 for one that was known before the reading began."""
    word, moment = text.strip() or "0", math.nan
    with suppress(ValueError):
        moment = datetime.fromisoformat(word).timestamp()
    with suppress(ValueError):
        moment = float(word)
    if not math.isfinite(moment):
        expected = "must be a time, such as 2026-01-31 12:00"
        raise source.broken(f"{column} {expected}, got {text!r:.60}")
    return moment


def _disorder(answers: list[bool | None]) -> str:
    """Return why these rows cannot be in the order of reading; nothing if they can."""
    last = max((i for i, answer in enumerate(answers) if answer is not None), default=-1)
    if gaps := answers[: last + 1].count(None):
        return f"{gaps} rows without a judgement stand above rows with one"
    read = [answer for answer in answers if answer is not None]
    several = min(read.count(True), read.count(False)) >= _FEW
    if several and read in (sorted(read), sorted(read, reverse=True)):
        return "the rows are sorted by the judgement"
    return ""
