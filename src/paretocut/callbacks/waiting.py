"""Waiting for the results of asynchronous functions of users."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Thread
from typing import Any


@contextmanager
def waiting() -> Iterator[Callable[[Any], Any]]:
    """Yield a function that waits for an awaitable, and returns anything else as it is.

    All of them run on one event loop in a thread of its own, because clients belong to one loop
    and the caller may be inside another one (a notebook is).
    """
    import asyncio  # slow to import, and seldom needed

    loop: asyncio.AbstractEventLoop | None = None
    thread: Thread | None = None
    lock = Lock()

    async def finished(given: Awaitable[Any]) -> Any:
        return await given

    def wait(given: Any) -> Any:
        nonlocal loop, thread
        if not inspect.isawaitable(given):
            return given
        with lock:
            if loop is None:
                loop = asyncio.new_event_loop()
                thread = Thread(target=loop.run_forever, daemon=True)
                thread.start()
        return asyncio.run_coroutine_threadsafe(finished(given), loop).result()

    try:
        yield wait
    finally:
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
