"""A file of JSON lines that only grows, so that work goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.schema.files import naming


class Journal:
    """Entries of a file, one JSON object a line; without a path they are not kept.

    The first line names the content of the file and its owner. A file that begins otherwise is
    refused and left as it is. Half a line at the end, from a process that was killed, is removed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        holds: str,
        head: Mapping[str, Any],
        who: str,
        name: str,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.entries: list[dict[str, Any]] = []
        """Entries of the file when it was opened."""
        if self.path is None:
            return
        wanted = {"format": f"paretocut-{holds}", "version": 1, **head}
        lines = _lines(self.path, wanted, holds)
        if not lines:
            self.add(wanted)
            return
        first, *self.entries = lines
        for key, value in wanted.items():
            if first.get(key) != value:
                other = f"other {key}"
                if not isinstance(value, str):
                    other = f"{key} {first.get(key)!r}, not {value!r}"
                raise InvalidParameterError(
                    f"{name} must name a new file or one of an equal run, "
                    f"got {str(path)!r}, which holds {holds} of {other}",
                    who=who,
                )

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write one line; it is in the file when this returns."""
        if self.path is not None:
            with naming(str(self.path)), self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def _lines(path: Path, head: Mapping[str, Any], holds: str) -> list[dict[str, Any]]:
    """Return the objects of the file; half a line at its end is removed."""
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    first = _object(data.partition(b"\n")[0])
    # Nothing is removed from a file that is not ours.
    ours = first is not None and first.get("format") == head["format"]
    if not ours and not json.dumps(head).encode().startswith(data):
        raise DataFormatError(str(path), 1, f"not a file of {holds}")
    if whole != len(data):
        if _object(data[whole:]) is not None:  # only the end of the line is missing
            with path.open("ab") as file:
                file.write(b"\n")
        else:
            os.truncate(path, whole)
            data = data[:whole]
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        entry = _object(line)
        if entry is None:
            raise DataFormatError(str(path), number, f"expected a JSON object, got {line[:60]!r}")
        found.append(entry)
    return found


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # bytes that are no UTF-8 too
        return None
    return found if isinstance(found, dict) else None
