"""JSONL: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import IO, Any

from paretocut.io.rows import RowsByLine, check_ids, is_utf8, json_object, rows_of, text_lines
from paretocut.io.streams import OpenSource, pass_on
from paretocut.lists import RankedLists


def read(source: OpenSource) -> RowsByLine:
    for text in text_lines(source):
        if text.strip():
            yield source.line, json_object(source, text)


def write(out: IO[bytes], blocks: Iterable[RankedLists]) -> None:
    for lists in blocks:
        check_ids(lists, _WHOLE, _WHOLE)
        out.writelines(map(json_line, rows_of(lists)))
        pass_on(out)


def _come_back(ids: list[str]) -> bool:
    # JSON makes one character of the two halves of a surrogate pair.
    return is_utf8(ids) or json.loads(json.dumps(ids)) == ids


_WHOLE = ("without pairs of surrogates", _come_back)


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return one line of JSON."""
    try:
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # UTF-8 cannot hold half a surrogate pair, but ASCII can spell it
        return json.dumps(row).encode() + b"\n"
