"""The file that keeps the answers of a judge: one JSON object a line, only ever added to."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import RankedLists

__all__ = ["Record", "fingerprint"]

_FORMAT = "paretocut-judgements"


def fingerprint(lists: RankedLists) -> str:
    """Return what tells these lists from others: the names of queries and documents.

    Without document ids the scores take their place.

    Parameters
    ----------
    lists
        The lists.
    """
    digest = hashlib.sha256(json.dumps(lists.query_ids.tolist()).encode())
    digest.update(lists.scores.offsets.tobytes())
    if lists.doc_ids is None:
        digest.update(lists.scores.values.tobytes())
    else:
        digest.update(json.dumps(lists.doc_ids.values.tolist()).encode())
    return digest.hexdigest()


class Record:
    """The events of a session, in memory and in a file if there is a path.

    Parameters
    ----------
    path
        The file; None keeps nothing. A new one gets a first line that names the session.
    head
        What the first line says: whose answers these are.

    Attributes
    ----------
    events
        What the file held.
    """

    def __init__(self, path: Path | None, head: dict[str, Any]) -> None:
        self._path = path
        self.events: list[dict[str, Any]] = []
        wanted = {"format": _FORMAT, "version": 1, **head}
        if path is None:
            return
        lines = _lines(path, json.dumps(wanted).encode())
        if not lines:
            self.add(wanted)
            return
        for key, value in wanted.items():
            if lines[0].get(key) != value:
                what = "other lists" if key == "lists" else f"{key} {lines[0].get(key)!r}"
                hint = "" if key == "lists" else f", not {value!r}"
                raise InvalidParameterError(
                    f"judge: path must name a new file or one of these lists, got {str(path)!r}, "
                    f"which holds judgements of {what}{hint}"
                )
        self.events = lines[1:]

    def add(self, event: dict[str, Any]) -> None:
        """Write one line; it is in the file when this returns.

        Parameters
        ----------
        event
            Plain data.
        """
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(event) + "\n")


def _lines(path: Path, head: bytes) -> list[dict[str, Any]]:
    """Return the objects of the file; what was cut off at its end is removed from it."""
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    first = data[: data.find(b"\n")] if whole else data
    # Nothing is removed from a file that is not ours.
    if not head.startswith(data) and not (
        _is_object(first) and json.loads(first).get("format") == _FORMAT
    ):
        raise DataFormatError(str(path), 1, "not a file of judgements")
    if whole != len(data):
        if _is_object(data[whole:]):  # only the end of the line is missing
            with path.open("ab") as file:
                file.write(b"\n")
        else:
            with path.open("r+b") as file:
                file.truncate(whole)
            data = data[:whole]
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        if not _is_object(line):
            raise DataFormatError(str(path), number, f"not a judgement: {line[:60]!r}")
        found.append(json.loads(line))
    return found


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:  # bytes that are no UTF-8 too
        return False
