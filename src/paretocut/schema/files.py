"""Model files: one file of JSON each, written whole or not at all, and read with care."""

from __future__ import annotations

import base64
import json
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import DataFormatError, InvalidParameterError, MissingExtraError
from paretocut.schema.parameters import shown

_VERSION = 1
_READABLE = 1000  # numbers of an array that are written as numbers; more are packed
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_DTYPES = {
    order + kind for order in "<>|" for kind in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()
}
# Exceptions that wrong content causes, wherever in the checks.
_REFUSALS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


# The class, how its objects become plain data, and plain data such an object; by tag.
_CODERS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {}


def register(
    tag: str, type: type, to_plain: Callable[[Any], Any], from_plain: Callable[[Any], Any]
) -> None:
    """Let models of this class, and models that hold one, be saved; files call it ``tag``."""
    _CODERS[tag] = type, to_plain, from_plain


def save_model(path: str | os.PathLike[str], tag: str, model: Any) -> None:
    """Write a model of a registered class in one step: readers see the old file or the new one."""
    content = {"format": f"paretocut-{tag}", "version": _VERSION, **_CODERS[tag][1](model)}
    text = json.dumps(content, indent=2, allow_nan=False)
    with replacing(path) as stream:
        stream.write((text + "\n").encode())


def load_model(path: str | os.PathLike[str], *tags: str) -> Any:
    """Return the model that a file holds; it must be of one of these registered classes."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidParameterError(
            f"load: path must be the path of a model file, got {shown(path):.60}"
        )
    text = read_whole(path)
    try:
        content = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # also an integer of 5,000 digits
        line = getattr(error, "lineno", 1)
        raise DataFormatError(str(path), line, f"not JSON: {error}") from None
    formats = {f"paretocut-{tag}": tag for tag in tags}
    named = content.pop("format", None) if isinstance(content, dict) else None
    if not isinstance(named, str) or named not in formats:
        expected = " or ".join(f'"{name}"' for name in formats)
        raise DataFormatError(str(path), 1, f'expected "format": {expected}')
    version = content.pop("version", None)
    if type(version) is not int or version != _VERSION:
        raise DataFormatError(str(path), 1, f"expected version {_VERSION}, got {version!r:.60}")
    try:
        return _CODERS[formats[named]][2](content)
    except _REFUSALS as error:
        if isinstance(error, (DataFormatError, MissingExtraError)):
            raise
        said = f"{error}" if str(error) else type(error).__name__
        raise DataFormatError(str(path), 1, f"not a {formats[named]}: {said:.300}") from error


def encode(value: Any, *, who: str, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, (list, tuple)):
        items = [encode(item, who=who, name=name) for item in value]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        return {str(key): encode(item, who=who, name=name) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        about: dict[str, Any] = {"dtype": value.dtype.str, "shape": list(value.shape)}
        if value.size <= _READABLE:
            if value.size:  # lists can say it, but for (0, 4)
                del about["shape"]
            return {"$array": encode(value.tolist(), who=who, name=name), **about}
        data = np.ascontiguousarray(value).tobytes()
        return {"$array": base64.b64encode(data).decode("ascii"), **about}
    for tag, (kind, to_plain, _) in _CODERS.items():
        if isinstance(value, kind):
            return {f"${tag}": to_plain(value)}
    raise InvalidParameterError(
        f"{name} must be plain data or a metric known by name to be saved, got {value!r}", who=who
    )


def decode(value: Any) -> Any:
    """Return the value that `encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), "")
    if not tag:
        return {key: decode(item) for key, item in value.items()}
    inside = value[tag]
    if tag == "$float":
        return _NOT_FINITE[inside]
    if tag == "$tuple":
        return tuple(decode(item) for item in inside)
    if tag == "$array":
        return _unpacked(inside, value)
    return _CODERS[tag[1:]][2](inside)


def _unpacked(items: Any, about: Mapping[str, Any]) -> NDArray[Any]:
    """Return an array of a type that JSON can hold, without turning words into numbers."""
    if about["dtype"] not in _DTYPES:
        raise ValueError(f"an array must hold numbers, got {about['dtype']!r:.60}")
    wanted = np.dtype(about["dtype"])
    shape = tuple(about.get("shape", ()))
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"an array must have sizes, got {about['shape']!r:.60}")
    if isinstance(items, str):
        data = base64.b64decode(items, validate=True)
        # A copy, so that it may be written to.
        return np.frombuffer(data, dtype=wanted).reshape(shape).astype(wanted.newbyteorder("="))
    found = np.asarray(decode(items))
    if found.size and found.dtype.kind not in ("b" if wanted.kind == "b" else "iuf"):
        raise ValueError(f"an array must hold numbers, got {found.dtype}")
    if found.size and wanted.kind in "iu" and found.dtype.kind == "f":
        raise ValueError("an array of integers must hold integers, got other numbers")
    whole = found.astype(wanted.newbyteorder("="))
    return whole.reshape(shape) if shape else whole


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; a pipe may never end, and a device has no end."""
    reason = "a folder, a pipe or a device"
    try:
        if os.path.isfile(path) or not os.path.exists(path):
            return Path(path).read_bytes()
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, ValueError) as error:  # a circle of links, a name with a NUL
        reason = getattr(error, "strerror", None) or str(error)
    raise DataFormatError(str(path), 1, f"expected a file, got {reason}")


def shipped(name: str) -> dict[str, Any]:
    from importlib.resources import files  # costs as much to import as all of the package

    return dict(json.loads((files("paretocut") / "data" / name).read_bytes()))


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number in JSON")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a stream; a file or what a link leads to is replaced, whole, if no error comes."""
    final = os.path.realpath(path)
    unfinished = os.path.join(os.path.dirname(final), f".{os.urandom(8).hex()}.part")
    try:
        with naming(os.fspath(path), unfinished):
            if os.path.exists(final) and not os.path.isfile(final):
                with open(final, "wb") as stream:  # a pipe or a device cannot be replaced
                    yield stream
                return
            with open(unfinished, "xb") as stream:
                if os.path.exists(final):
                    os.chmod(unfinished, stat.S_IMODE(os.stat(final).st_mode))
                yield stream
            os.replace(unfinished, final)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)


@contextmanager
def naming(name: str, *others: str) -> Iterator[None]:
    """Make errors of the system, a full disk say, name a file where they name none or another."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None or error.filename not in (None, *others):
            raise
        raise OSError(error.errno, error.strerror, name) from error
