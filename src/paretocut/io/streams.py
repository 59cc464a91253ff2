"""Streams of bytes: decompressed on the way in, never half-written on the way out."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal, TextIO, TypeAlias

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.schema.files import naming, replacing
from paretocut.schema.kinds import Either, Whole
from paretocut.schema.parameters import check, shown

Source: TypeAlias = str | os.PathLike[str] | IO[bytes]
"""A path, "-" for standard input, or an open binary file."""

Target: TypeAlias = str | os.PathLike[str]
"""A path, or "-" for standard output."""

CHUNK_BYTES = 4 << 20
BLOCK_RESULTS = 100_000  # of a table
_PAUSE = 0.2  # seconds after which a slow pipe gives what it has
NO_LIMIT = 1 << 62
_LIST_BYTES = 128 << 20


class NotInBlocks(Exception):
    """A file that must be read as a whole; the message says why."""


@dataclass
class OpenSource:
    """A stream of decompressed bytes, its name, and how far the reader has come."""

    name: str
    stream: Any
    max_bytes: int
    max_list_bytes: int
    again: bool = True  # whether it can be read once more
    line: int = 0
    taken: int = 0  # bytes
    in_blocks: bool = False  # whether rows must come in the order of their lists
    paused: bool = False  # whether a pipe has nothing more for a moment

    def broken(self, problem: str, line: int | None = None) -> DataFormatError:
        """Return the error of a line, by default the last one."""
        return DataFormatError(self.name, self.line if line is None else line, problem)

    def read(self, most: int = CHUNK_BYTES) -> bytes:
        """Return some bytes; none at the end."""
        # One more than allowed tells a file that ends there from one that goes on.
        most = min(most, self.max_bytes + 1 - self.taken)
        found: bytes = getattr(self.stream, "read1", self.stream.read)(most)
        self.taken += len(found)
        if self.taken > self.max_bytes:
            allowed = f"{self.max_bytes:,} bytes of text, decompressed (max_bytes)"
            raise self.broken(f"expected at most {allowed}, got more", self.line + 1)
        return found

    def chunk(self, most: int = CHUNK_BYTES) -> bytes:
        """Return up to ``most`` bytes, fewer where a pipe pauses; none at the end."""
        parts, size, self.paused = [b""], 0, False
        while size < most and not self.paused and (part := self.read(most - size)):
            parts.append(part)
            size += len(part)
            self.paused = _pauses(self.stream)
        return b"".join(parts)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file and count them; ``paused`` before the next one must wait."""
        rest = b""
        while chunk := self.chunk():
            *lines, rest = (rest + chunk).split(b"\n")
            paused, self.paused = self.paused, False
            for left, line in zip(range(len(lines) - 1, -1, -1), lines, strict=True):
                self.check_size(len(line))
                self.line += 1
                self.paused = paused and not left
                yield line + b"\n"
            self.check_size(len(rest))
        if rest:
            self.line += 1
            yield rest + b"\n"

    def check_size(self, size: int) -> None:
        """Refuse a line or a list of so many bytes."""
        if size > self.max_list_bytes:
            allowed = f"{self.max_list_bytes:,} bytes in one line or list (max_list_bytes)"
            raise self.broken(f"expected at most {allowed}, got more", self.line + 1)


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
    """Yield the bytes of a source, unpacked if they are gzip or xz; damage is a format error."""
    for what, most in (("max_bytes", max_bytes), ("max_list_bytes", max_list_bytes)):
        check(Either(Whole(high=NO_LIMIT)), most, who="read", name=what)
    with ExitStack() as stack:
        raw: Any = source
        name = str(getattr(source, "name", "<file>"))
        if isinstance(source, (str, os.PathLike)):
            name = os.fspath(source)
            if name == "-":
                name, raw = "<stdin>", standard("input").buffer
            else:
                raw = stack.enter_context(open(name, "rb"))
        elif isinstance(raw.read(0), str):
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
        most = NO_LIMIT if max_bytes is None else max_bytes
        longest = _LIST_BYTES if max_list_bytes is None else max_list_bytes
        opened = OpenSource(name, stream, most, longest, again=raw.seekable())
        try:
            yield opened
        except damage as error:
            problem = f"expected whole compressed data, got damage: {error}"
            raise opened.broken(problem, opened.line + 1) from error


def _first_bytes(raw: Any) -> bytes:
    """Return the first bytes of a stream without consuming them; b"" if it cannot be rewound."""
    if hasattr(raw, "peek"):
        return bytes(raw.peek(6)[:6])
    if not raw.seekable():
        return b""
    start = raw.tell()
    first: bytes = raw.read(6)
    raw.seek(start)
    return first


@contextmanager
def open_target(target: Target) -> Iterator[IO[bytes]]:
    """Yield a stream to write, packed by the name's end; the file appears whole or not at all."""
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
        stream: Any = stack.enter_context(replacing(name))
        suffix = os.path.splitext(name)[1].lower()
        if suffix == ".gz":
            import gzip

            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=0)
            stream = stack.enter_context(packed)
        elif suffix == ".xz":
            import lzma

            stream = stack.enter_context(lzma.LZMAFile(stream, "wb"))
        yield stream


def pass_on(out: IO[bytes]) -> None:
    """Flush standard output, so that results leave as they are made; files wait for their end."""
    if out is getattr(sys.stdout, "buffer", None):  # a notebook has none
        out.flush()


def standard(which: Literal["input", "output"]) -> TextIO:
    found: TextIO | None = sys.stdin if which == "input" else sys.stdout
    if found is None:
        raise InvalidParameterError(f"standard {which} must be open, got a closed one; name a file")
    return found
