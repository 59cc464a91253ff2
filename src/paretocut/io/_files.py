"""Files as readers and writers need them: decompressed on the way in, never half-written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TypeAlias, cast

from paretocut.errors import DataFormatError, InvalidParameterError

Source: TypeAlias = str | os.PathLike[str] | IO[bytes]
"""A path, "-" for standard input, or an open binary file."""

Target: TypeAlias = str | os.PathLike[str]
"""A path, or "-" for standard output."""

CHUNK_BYTES = 4 << 20


@dataclass
class OpenSource:
    """A stream of decompressed bytes, its name, and how far the reader has come."""

    name: str
    stream: IO[bytes]
    line: int = 0


@contextmanager
def open_source(source: Source) -> Iterator[OpenSource]:
    """Yield the bytes of a source, decompressed when they are gzip or xz whatever the name.

    Damaged compressed data raises `DataFormatError` after the line the reader noted.
    """
    with ExitStack() as stack:
        if isinstance(source, (str, os.PathLike)):
            name = os.fspath(source)
            if name == "-":
                name, raw = "<stdin>", sys.stdin.buffer
            else:
                raw = stack.enter_context(open(name, "rb"))
        else:
            name, raw = str(getattr(source, "name", "<file>")), source
            if isinstance(raw.read(0), str):
                raise InvalidParameterError(f"{name}: the file must be open as binary, got text")
        stream = raw
        damage: tuple[type[Exception], ...] = ()
        magic = _first_bytes(raw)
        if magic.startswith(b"\x1f\x8b"):
            import gzip
            import zlib

            stream = stack.enter_context(gzip.GzipFile(fileobj=raw))
            damage = (EOFError, zlib.error, gzip.BadGzipFile)
        elif magic == b"\xfd7zXZ\0":
            import lzma

            stream = stack.enter_context(lzma.LZMAFile(raw))
            damage = (EOFError, lzma.LZMAError)
        opened = OpenSource(name, stream)
        try:
            yield opened
        except damage as error:
            raise DataFormatError(
                name, opened.line + 1, f"expected whole compressed data, got damage: {error}"
            ) from error


def _first_bytes(raw: IO[bytes]) -> bytes:
    """Return what a stream begins with and leave it there; nothing when that is impossible."""
    if hasattr(raw, "peek"):
        return bytes(raw.peek(6)[:6])
    if raw.seekable():
        start = raw.tell()
        first = raw.read(6)
        raw.seek(start)
        return first
    return b""


@contextmanager
def open_target(target: Target) -> Iterator[IO[bytes]]:
    """Yield a stream for writing; the file appears, whole, when the block ends without error.

    A name that ends in .gz or .xz is compressed, without a time stamp, so that equal contents
    make equal files.
    """
    name = os.fspath(target)
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    final = os.path.realpath(name)  # a link keeps pointing to the file that is replaced
    if os.path.exists(final) and not os.path.isfile(final):
        # A pipe or a device cannot be replaced, only written to.
        with open(final, "wb") as stream:
            yield stream
        return
    folder, base = os.path.split(final)
    unfinished = os.path.join(folder, f".{base}.{os.urandom(4).hex()}.part")
    try:
        with ExitStack() as stack:
            try:
                raw: IO[bytes] = stack.enter_context(open(unfinished, "xb"))
            except OSError as error:
                raise OSError(error.errno, error.strerror, name) from None
            yield _compressed(raw, os.path.splitext(name)[1].lower(), stack)
        os.replace(unfinished, final)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise


def _compressed(raw: IO[bytes], suffix: str, stack: ExitStack) -> IO[bytes]:
    if suffix == ".gz":
        import gzip

        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
        return cast(IO[bytes], stack.enter_context(packed))
    if suffix == ".xz":
        import lzma

        return stack.enter_context(lzma.LZMAFile(raw, "wb"))
    return raw
