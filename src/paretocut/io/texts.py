"""Texts of queries and documents by id: JSON lines, or lines of a name, a tab and the text."""

from __future__ import annotations

import json
from collections.abc import Container

from paretocut.errors import DataFormatError
from paretocut.io._files import Source, open_source

__all__ = ["read_texts"]


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
        for raw in opened.stream:
            opened.line += 1
            try:
                line = raw.decode("utf-8-sig" if opened.line == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                got = error.object[error.start : error.start + 8]
                raise DataFormatError(
                    opened.name, opened.line, f"expected UTF-8 text, got {got!r}"
                ) from None
            if not line.strip():
                continue
            name, text = _entry(line, opened.name, opened.line)
            if wanted is not None and name not in wanted:
                continue
            if texts.setdefault(name, text) != text:
                raise DataFormatError(opened.name, opened.line, f"{name} has another text before")
    return texts


def _entry(line: str, path: str, number: int) -> tuple[str, str]:
    if line.lstrip().startswith("{"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(path, number, f"expected a JSON object, got {error}") from None
        name, text = row.get("id", row.get("_id")), row.get("text")
        if not isinstance(name, (str, int)) or not isinstance(text, str):
            raise DataFormatError(
                path, number, f"expected an id and a text, got {', '.join(row) or 'nothing'}"
            )
        title = str(row.get("title") or "").strip()
        return str(name), f"{title}. {text}" if title else text
    name, tab, text = line.partition("\t")
    if not tab:
        raise DataFormatError(
            path, number, "expected a JSON object, or a name, a tab and a text, got neither"
        )
    return name, text
