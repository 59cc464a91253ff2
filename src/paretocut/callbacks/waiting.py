"""Waiting for the results of asynchronous functions of users."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from contextlib import closing
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

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
