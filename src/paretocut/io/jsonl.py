"""JSONL: one JSON object per line."""

from __future__ import annotations

import json
from typing import IO

from paretocut.io.rows import RowsByLine, json_object, rows_of, text_lines
from paretocut.io.streams import OpenSource
from paretocut.lists import RankedLists


def read(source: OpenSource) -> RowsByLine:
    for text in text_lines(source):
        if text.strip():
            yield source.line, json_object(source, text)


def write(out: IO[bytes], lists: RankedLists) -> None:
    for row in rows_of(lists):
        out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
