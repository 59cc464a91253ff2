"""Streams of bytes: decompressed on the way in, never half-written on the way out."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal, TextIO, TypeAlias, cast

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.schema.files import naming, replacing
from paretocut.schema.parameters import shown

Source: TypeAlias = str | os.PathLike[str] | IO[bytes]
"""A path, "-" for standard input, or an open binary file."""

Target: TypeAlias = str | os.PathLike[str]
"""A path, or "-" for standard output."""

CHUNK_BYTES = 4 << 20
BLOCK_RESULTS = 100_000  # of a table
_PAUSE = 0.2  # seconds after which a slow pipe gives what it has
MAX_LIST_BYTES = 128 << 20


class NotInBlocks(Exception):
    """A file that must be read as a whole; the message says why."""


@dataclass
class OpenSource:
    """A stream of decompressed bytes, its name, and how far the reader has come."""

    name: str
    stream: IO[bytes]
    line: int = 0
    in_blocks: bool = False  # whether rows must come in the order of their lists
    again: bool = True  # whether it can be read once more
    paused: bool = False  # whether a pipe has nothing more for a moment
    max_list_bytes: int = MAX_LIST_BYTES

    def chunk(self, most: int = CHUNK_BYTES) -> tuple[bytes, bool]:
        """Return up to ``most`` bytes, fewer where a pipe pauses, and whether there may be more."""
        parts: list[bytes] = []
        read, size = getattr(self.stream, "read1", self.stream.read), 0
        self.paused = False
        while size < most and not self.paused:
            part = read(most - size)
            if not part:
                return b"".join(parts), False
            parts.append(part)
            size += len(part)
            self.paused = _pauses(self.stream)
        return b"".join(parts), True

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file and count them; ``paused`` before the next one must wait."""
        rest, more = b"", True
        while more:
            chunk, more = self.chunk()
            *lines, rest = (rest + chunk).split(b"\n")
            if rest and not more:
                lines.append(rest)
            paused, self.paused = self.paused, False
            for left, line in zip(range(len(lines) - 1, -1, -1), lines, strict=True):
                self.check_size(len(line))
                self.line += 1
                self.paused = paused and not left
                yield line + b"\n"
            self.check_size(len(rest))

    def check_size(self, size: int) -> None:
        """Refuse a line or a list of so many bytes."""
        if size > self.max_list_bytes:
            raise DataFormatError(
                self.name,
                self.line + 1,
                f"expected at most {self.max_list_bytes:,} bytes in one line or list "
                "(max_list_bytes), got more",
            )


class _Limited:
    """A stream that refuses to give more than ``most`` bytes."""

    def __init__(self, stream: IO[bytes], most: int, opened: OpenSource) -> None:
        self._stream = stream
        self._left = most
        self._most = most
        self._opened = opened

    def read(self, size: int = -1) -> bytes:
        # One more than allowed tells a file that ends there from one that goes on.
        wanted = self._left + 1 if size < 0 else min(size, self._left + 1)
        found = self._stream.read(wanted)
        self._left -= len(found)
        if self._left < 0:
            raise DataFormatError(
                self._opened.name,
                self._opened.line + 1,
                f"expected at most {self._most:,} bytes of text, decompressed (max_bytes), "
                "got more",
            )
        return found


def _pauses(stream: IO[bytes]) -> bool:
    """Return whether nothing comes for a moment; what is no file of the system never pauses."""
    try:
        return not select.select([stream], [], [], _PAUSE)[0]
    except (OSError, TypeError, ValueError):
        return False


@contextmanager
def open_source(
    source: Source, max_bytes: int | None = None, max_list_bytes: int | None = None
) -> Iterator[OpenSource]:
    """Yield the bytes of a source, decompressed when they are gzip or xz whatever the name.

    Damaged compressed data raises `DataFormatError` after the line the reader noted, and so does
    a source with more than ``max_bytes``, counted after decompression.
    """
    for name, most in (("max_bytes", max_bytes), ("max_list_bytes", max_list_bytes)):
        if most is not None and not (isinstance(most, int) and 0 <= most < 2**62):
            raise InvalidParameterError(
                f"read: {name} must be an integer of at least 0, or None, got {shown(most)}"
            )
    with ExitStack() as stack:
        raw: IO[bytes]
        if isinstance(source, (str, os.PathLike)):
            name = os.fspath(source)
            if name == "-":
                name, raw = "<stdin>", standard("input").buffer
            else:
                raw = stack.enter_context(open(name, "rb"))
        else:
            name, raw = str(getattr(source, "name", "<file>")), source
            if isinstance(raw.read(0), str):
                raise InvalidParameterError(f"{name}: the file must be open as binary, got text")
        stream: Any = raw
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
        bound = MAX_LIST_BYTES if max_list_bytes is None else max_list_bytes
        opened = OpenSource(name, stream, again=raw.seekable(), max_list_bytes=bound)
        if max_bytes is not None:
            opened.stream = cast(IO[bytes], _Limited(stream, max_bytes, opened))
        try:
            yield opened
        except damage as error:
            raise DataFormatError(
                name, opened.line + 1, f"expected whole compressed data, got damage: {error}"
            ) from error


def _first_bytes(raw: IO[bytes]) -> bytes:
    """Return the first bytes of a stream without consuming them; b"" if it cannot be rewound."""
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

    Standard output is written at once. A name that ends in .gz or .xz is compressed, without a time
    stamp, so that equal contents make equal files.
    """
    if not isinstance(target, (str, os.PathLike)):
        raise InvalidParameterError(
            f"write: the file must be a path or '-', the first argument, got {shown(target):.60}"
        )
    name = os.fspath(target)
    if name == "-":
        with naming("<stdout>"):
            out = standard("output").buffer
            yield out
            out.flush()
        return
    with ExitStack() as stack:
        raw = stack.enter_context(replacing(name))
        yield _compressed(raw, os.path.splitext(name)[1].lower(), stack)


def pass_on(out: IO[bytes]) -> None:
    """Flush standard output, so that results leave as they are made; files wait for their end."""
    if out is getattr(sys.stdout, "buffer", None):  # a notebook has none
        out.flush()


def standard(which: Literal["input", "output"]) -> TextIO:
    """Return standard input or output, if the shell has not closed it."""
    found: TextIO | None = sys.stdin if which == "input" else sys.stdout
    if found is None:
        raise InvalidParameterError(f"standard {which} must be open, got a closed one; name a file")
    return found


def _compressed(raw: IO[bytes], suffix: str, stack: ExitStack) -> IO[bytes]:
    if suffix == ".gz":
        import gzip

        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
        return cast(IO[bytes], stack.enter_context(packed))
    if suffix == ".xz":
        import lzma

        return stack.enter_context(lzma.LZMAFile(raw, "wb"))
    return raw
