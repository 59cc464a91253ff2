"""Judgements of a review so far, from a spreadsheet or an export of ASReview."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from paretocut.errors import DataFormatError
from paretocut.io import csv
from paretocut.io.streams import OpenSource, Source, open_source

_LABELS = ("asreview_label", "relevant", "relevance", "included", "label", "decision")
_IDS = ("doc_id", "record_id", "id")
_TIME = "asreview_time"
_YES = {"1", "1.0", "true", "yes", "y", "relevant", "include", "included"}
_NO = {"0", "0.0", "false", "no", "n", "irrelevant", "exclude", "excluded"}


@dataclass(frozen=True)
class Screening:
    """The judgements of a review so far.

    Attributes
    ----------
    judged
        Whether each document read is relevant, by its id, in the order of reading.
    total
        Number of documents, read or not.
    """

    judged: dict[str, bool]
    total: int


def read_screening(source: Source) -> Screening:
    r"""Return the judgements of a CSV file that has one row per document.

    The column ``asreview_label``, ``relevant``, ``relevance``, ``included``, ``label`` or
    ``decision`` holds 1 or 0, yes or no, included or excluded; it is empty for documents not read
    yet. The column ``doc_id``, ``record_id`` or ``id`` names the documents; without one they are
    numbered from 1. The order of reading comes from the column ``asreview_time`` if there is one,
    and otherwise from the order of the rows.

    Parameters
    ----------
    source
        Path, "-" for standard input, or an open binary file; plain, gzip or xz.

    Raises
    ------
    DataFormatError
        For a file without such columns, a label of another kind, a document with two labels, or an
        export of ASReview 1, which does not say in what order the records were read.

    Examples
    --------
    >>> import io
    >>> read_screening(io.BytesIO(b"id,title,relevant\n7,Ferns,yes\n8,Mosses,no\n9,Palms,\n"))
    Screening(judged={'7': True, '8': False}, total=3)
    """
    with open_source(source) as opened:
        header, rows = csv.table(opened)
        label = next((name for name in _LABELS if name in header), None)
        if label is None:
            got = ", ".join(header) or "nothing"
            raise DataFormatError(
                opened.name, 1, f"expected a column {' or '.join(_LABELS)}, got {got}"
            )
        if "asreview_ranking" in header and _TIME not in header:
            raise DataFormatError(
                opened.name,
                1,
                "expected the order of reading, got an export of ASReview 1, which does not have "
                "it; export from ASReview 2, or put the rows in the order of reading",
            )
        key = next((name for name in _IDS if name in header), None)
        found: dict[str, tuple[float, bool] | None] = {}
        for line, row in rows:
            name = str(len(found) + 1) if key is None else row[key]
            answer = _answer(opened, line, label, row[label])
            judged = None if answer is None else (_moment(opened, line, row.get(_TIME, "")), answer)
            before = found.setdefault(name, judged)
            if before is None:
                found[name] = judged
            elif judged is not None and before[1] != answer:
                raise DataFormatError(
                    opened.name, line, f"{name} must have one judgement, got yes and no"
                )
    read = [(name, judged) for name, judged in found.items() if judged is not None]
    read.sort(key=lambda one: one[1][0])  # stable: without times the rows stay in order
    return Screening({name: answer for name, (_, answer) in read}, len(found))


def _answer(source: OpenSource, line: int, label: str, text: str) -> bool | None:
    word = text.strip().lower()
    if word and word not in _YES | _NO:
        raise DataFormatError(
            source.name, line, f"{label} must be 1, 0 or empty, or yes or no, got {text!r:.60}"
        )
    return word in _YES if word else None


def _moment(source: OpenSource, line: int, text: str) -> float:
    """Return when a document was read: 0 for one that was known before the reading began."""
    try:
        return float(text) if text.strip() else 0.0
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except ValueError:
        raise DataFormatError(
            source.name, line, f"{_TIME} must be a time, such as 2026-01-31 12:00, got {text!r:.60}"
        ) from None
