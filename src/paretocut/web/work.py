"""Work in threads, so that the event loop stays free to answer health checks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from paretocut.tail import limited_threads
from paretocut.web.limits import Refused

__all__ = ["Workshop"]

_Answer = TypeVar("_Answer")


class Workshop:
    """A few threads, each of which works on one request at a time.

    Parameters
    ----------
    threads
        How many; None for one per processor.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, "paretocut")

    async def run(self, work: Callable[[], _Answer], seconds: float) -> _Answer:
        """Return what ``work`` returns, or refuse with 503 once its time is over.

        Work that has begun cannot be stopped: it goes on unheard, and its thread is taken until
        it ends. Work that waits for a thread is dropped.

        Parameters
        ----------
        work
            What to do; the kernel uses one thread for it.
        seconds
            Time that is left.
        """
        future = asyncio.get_running_loop().run_in_executor(self._pool, _alone, work)
        done, _ = await asyncio.wait({future}, timeout=seconds)
        if not done:
            future.cancel()
            future.add_done_callback(_forget)
            raise Refused(
                503,
                "out_of_time",
                "the request took longer than max_seconds; send fewer or shorter lists",
                {"Retry-After": "1"},
            )
        try:
            return future.result()
        finally:
            # An exception knows this frame, and the future the exception: a circle that would
            # keep the whole body until the next collection of garbage.
            del future, done

    def close(self) -> None:
        """Take no more work; what is under way goes on."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _alone(work: Callable[[], _Answer]) -> _Answer:
    with limited_threads(1):
        return work()


def _forget(future: asyncio.Future[_Answer]) -> None:
    """Take the late answer, or Python would complain that nobody did."""
    if not future.cancelled():
        future.exception()
