"""Functions of users: waiting for asynchronous ones, and a file that keeps their answers."""

from __future__ import annotations

import errno
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.schema.files import naming

if TYPE_CHECKING:
    import asyncio


class Waiter:
    """A function that waits for an awaitable, and returns anything else as it is.

    All of them run on one event loop in a thread of its own, because clients belong to one loop
    and the caller may be inside another one (a notebook is).
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()
        self._given_up = False

    def __call__(self, given: Any) -> Any:
        if not inspect.isawaitable(given):
            return given
        import asyncio  # slow to import, and seldom needed

        async def finished(given: Awaitable[Any]) -> Any:
            return await given

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(finished(given), self._loop)
            if self._given_up:  # by another thread, while this one was on its way here
                future.cancel()
        return future.result()

    def cancel(self) -> None:
        """Give up everything that is waited for, in all threads."""
        import asyncio

        def cancel_all(loop: asyncio.AbstractEventLoop) -> None:
            for task in asyncio.all_tasks(loop):
                task.cancel()

        with self._lock:
            self._given_up = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(cancel_all, self._loop)

    def close(self) -> None:
        """End the loop and its thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def waiting() -> closing[Waiter]:
    """Return a context with a function that waits for awaitables, until the block ends."""
    return closing(Waiter())


def stamp(reviewer: str | None) -> dict[str, Any]:
    """Return when, by whom and by which version of the package a line is written."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": now, "reviewer": reviewer, "paretocut": version("paretocut")}


def lock(path: str | os.PathLike[str], *, name: str) -> IO[bytes]:
    """Return the file, open and locked until it is closed or the process ends, however it ends.

    Raises InvalidParameterError if another process holds it; ``name`` is the option that names it.
    """
    file = open(path, "ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 30)  # a byte that nobody reads, because others cannot read a locked one
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        got = f"{os.fspath(path)!r}, which another paretocut has open"
        must = f"{name} must name a file that no other program writes to"
        raise InvalidParameterError(f"{must}, got {got}") from None
    return file


class Journal:
    """Entries of a file, one JSON object a line; without a path they are not kept.

    The first line says what the file ``holds``, for whom (``head``), and in a new file a ``note``.
    A file that begins otherwise is refused and left as it is; ``who`` refuses, and ``name`` is the
    argument that names the file. Half a line at the end, of a process that was killed, is removed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        holds: str,
        head: Mapping[str, Any],
        who: str,
        name: str,
        note: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.entries: list[dict[str, Any]] = []  # of the file when it was opened
        if self.path is None:
            return
        wanted = {"format": f"paretocut-{holds}", "version": 1, **head}
        data = self.path.read_bytes() if self.path.exists() else b""
        *lines, rest = data.split(b"\n")
        first = _object(lines[0] if lines else rest)
        if first is None or first.get("format") != wanted["format"]:
            # New, or its first line was cut off: before its note, or in it.
            begun = json.dumps(wanted).encode()
            if not begun.startswith(data) and (lines or not data.startswith(begun[:-1])):
                raise DataFormatError(str(path), 1, f"this is not a paretocut-{holds} file")
            self.path.write_bytes(b"")
            self.add({**wanted, **(note or {})})
            return
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
        whole = _object(rest) is not None  # only the end of the line is missing
        for number, line in enumerate([*lines, rest] if whole else lines, 1):
            entry = _object(line)
            if entry is None:
                problem = f"expected a JSON object, got {line[:60]!r}"
                raise DataFormatError(str(path), number, problem)
            self.entries.append(entry)
        del self.entries[0]
        if whole:
            self._append(b"\n")
        elif rest:
            os.truncate(self.path, len(data) - len(rest))

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write one line; it is in the file when this returns, or nothing of it is."""
        if self.path is not None:
            self._append(json.dumps(entry).encode() + b"\n")

    def _append(self, data: bytes) -> None:
        assert self.path is not None
        with naming(str(self.path)), self.path.open("ab", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                while data:
                    data = data[file.write(data) :]
            except BaseException:
                file.truncate(end)  # half a line would ruin the file for the next answer
                raise


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # bytes that are no UTF-8 too
        return None
    return found if isinstance(found, dict) else None
