"""The handlers of the addresses that take a body, and the threads that do their work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from paretocut.tail import limited_threads
from paretocut.web.deciders import Models
from paretocut.web.limits import Deadline, Limits
from paretocut.web.telemetry import Telemetry

_SMALL = 8 << 10  # bytes of a body that is answered sooner than a thread would take it over
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Asked:
    """A request that was admitted: its body, and the numbers that its line in the log will have."""

    headers: dict[bytes, bytes]
    query_string: bytes
    deadline: Deadline
    noted: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Service:
    """What all handlers share: models, limits, metrics, and the threads that do the work."""

    models: Models
    limits: Limits
    threads: ThreadPoolExecutor
    telemetry: Telemetry = field(default_factory=Telemetry)


@dataclass(frozen=True)
class Handler:
    """Answers a request with what ``work`` makes of it, as a small ASGI application.

    Work returns the plain values of the answer, or the response itself. ``quick`` work on a small
    body is done at once, all other work in a thread. A request that takes too long is answered
    503. Work that still waits for a thread is dropped then, and work that has begun stops at its
    next look at the deadline.
    """

    service: Service
    work: Callable[[Service, Asked], Any]
    quick: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        asked: Asked = scope["paretocut.asked"]
        small = self.quick and len(asked.body) <= _SMALL
        if small and not self.service.models.may_load(asked.body):
            response = self._answer(asked)
        else:
            response = await self._in_thread(asked)
        await response(scope, receive, send)

    def _answer(self, asked: Asked) -> Response:
        found = self.work(self.service, asked)
        if isinstance(found, Response):
            return found
        return Response(_encode(found), media_type="application/json")

    def _alone(self, asked: Asked) -> Response:
        with limited_threads(1):
            return self._answer(asked)

    async def _in_thread(self, asked: Asked) -> Response:
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self.service.threads, self._alone, asked)
        try:
            done, _ = await asyncio.wait({future}, timeout=asked.deadline.left())
        except asyncio.CancelledError:  # the server ends
            done = set()
        if not done:
            future.cancel()
            future.add_done_callback(_forget)
            raise asked.deadline.missed()
        try:
            return future.result()
        finally:
            # The exception refers to this frame and the future to the exception: a circle that
            # would keep the whole body until the next garbage collection.
            del future, done


def _forget(future: asyncio.Future[Any]) -> None:
    """Take the late answer, or Python would complain that nobody did."""
    if not future.cancelled():
        future.exception()
