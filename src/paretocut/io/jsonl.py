"""JSONL: one JSON object per line."""

from __future__ import annotations

import json
from typing import IO

from paretocut.errors import DataFormatError
from paretocut.io._files import OpenSource
from paretocut.io._rows import RowsByLine, rows_of, text_lines
from paretocut.lists import RankedLists


def read(source: OpenSource) -> RowsByLine:
    """Yield the rows of a JSONL file."""
    for text in text_lines(source):
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


def write(out: IO[bytes], lists: RankedLists) -> None:
    """Write the lists as JSONL."""
    for row in rows_of(lists):
        out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
