"""Model files: JSON that is written whole or not at all, and read with care."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from paretocut.errors import DataFormatError, InvalidParameterError

__all__ = ["read_model", "read_whole", "write_model", "write_whole"]

_VERSION = 1
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate the ends of lines


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
    InvalidParameterError
        For anything but a path.
    """
    import json

    if not isinstance(path, (str, os.PathLike)):
        raise InvalidParameterError(
            f"load: path must be the path of a model file, got {path!r:.60}"
        )
    try:
        content = json.loads(read_whole(path), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # also an integer of 5,000 digits
        if isinstance(error, DataFormatError):
            raise
        line = getattr(error, "lineno", 1)
        raise DataFormatError(str(path), line, f"not JSON: {error}") from None
    named = content.get("format") if isinstance(content, dict) else None
    if not isinstance(named, str) or named not in formats:
        expected = " or ".join(f'"{name}"' for name in formats)
        raise DataFormatError(str(path), 1, f'expected "format": {expected}')
    version = content.get("version")
    if type(version) is not int or version != _VERSION:
        raise DataFormatError(str(path), 1, f"expected version {_VERSION}, got {version!r:.60}")
    return content  # type: ignore[no-any-return]


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, or of the file that a link leads to.

    A pipe may never end and a device has no end, so both are refused.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    DataFormatError
        For anything but a file.
    """
    try:
        # Without waiting: opening a pipe that nobody writes to would never return.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, ValueError) as error:  # a circle of links, a folder, a name with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise DataFormatError(str(path), 1, f"expected a file, got {reason}") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise DataFormatError(str(path), 1, "expected a file, got a folder, a pipe or a device")
    with open(number, "rb") as file:
        return file.read()


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number in JSON")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step: a reader sees the old content or the new one, never a part."""
    final = Path(os.path.realpath(path))  # a link keeps pointing to the file that is replaced
    temporary = final.with_name(f"{final.name}.{os.urandom(4).hex()}.tmp")
    try:
        if final.exists() and not final.is_file():
            path.write_bytes(data)  # a pipe or a device cannot be replaced, only written to
            return
        temporary.write_bytes(data)
        temporary.replace(final)
    except OSError as error:
        # Name the file that was asked for, not the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
