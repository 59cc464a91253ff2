"""Model files: JSON that is written whole or not at all, and read with care."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from paretocut.errors import DataFormatError

__all__ = ["read_model", "write_model", "write_whole"]

_VERSION = 1


def write_model(path: str | os.PathLike[str], format: str, content: dict[str, Any]) -> None:
    """Write a model as JSON, in one step: a reader sees the old file or the new one.

    Parameters
    ----------
    path
        The file.
    format
        What kind of model it is.
    content
        Plain data.
    """
    import json  # here, as most programs never save: importing paretocut stays quick

    named = {"format": format, "version": _VERSION, **content}
    text = json.dumps(named, indent=2, allow_nan=False)
    write_whole(Path(path), (text + "\n").encode())


def read_model(path: str | os.PathLike[str], formats: tuple[str, ...]) -> dict[str, Any]:
    """Return the content of a model file of one of these kinds.

    Parameters
    ----------
    path
        The file.
    formats
        Kinds of models that are expected.

    Raises
    ------
    DataFormatError
        For a file that is not such a model.
    """
    import json

    try:
        content = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:  # also an integer of 5,000 digits
        line = getattr(error, "lineno", 1)
        raise DataFormatError(str(path), line, f"not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") not in formats:
        expected = " or ".join(f'"{name}"' for name in formats)
        raise DataFormatError(str(path), 1, f'expected "format": {expected}')
    if content.get("version") != _VERSION:
        raise DataFormatError(
            str(path), 1, f"expected version {_VERSION}, got {content.get('version')!r}"
        )
    return content


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step: a reader sees the old content or the new one, never a part."""
    final = Path(os.path.realpath(path))  # a link keeps pointing to the file that is replaced
    if final.exists() and not final.is_file():
        path.write_bytes(data)  # a pipe or a device cannot be replaced, only written to
        return
    temporary = final.with_name(f"{final.name}.{os.urandom(4).hex()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(final)
    except OSError as error:
        # Name the file that was asked for, not the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
