"""Texts of queries and documents by id: JSON lines, or lines of a name, a tab and the text."""

from __future__ import annotations

from collections.abc import Container

from paretocut.io.rows import json_object, text_lines
from paretocut.io.streams import OpenSource, Source, open_source


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
