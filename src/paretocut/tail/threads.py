"""How many threads a fit uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from paretocut.schema.parameters import check_positive_int

_LIMIT: ContextVar[int | None] = ContextVar("_LIMIT", default=None)


@contextmanager
def limited_threads(threads: int | None) -> Iterator[None]:
    """Let fits inside the block use at most so many threads; None means one per processor."""
    if threads is not None:
        check_positive_int(threads, who="threads", name="threads")
    token = _LIMIT.set(threads)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def threads_of(threads: int | None = None) -> int:
    """Return how many threads a fit uses."""
    threads = _LIMIT.get() if threads is None else threads
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    return check_positive_int(threads, who="fit_tails", name="threads")
