"""The one way of a request through the service: its body is read and answered as JSON or Arrow."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic_core import to_json

from paretocut.lists import Ragged, RankedLists
from paretocut.tail import limited_threads
from paretocut.web.arrow_streams import ARROW
from paretocut.web.bodies import Strict
from paretocut.web.deciders import Models
from paretocut.web.limits import Limits
from paretocut.web.openapi import BINARY, errors, takes
from paretocut.web.refusals import InvalidBody, Refused
from paretocut.web.telemetry import Telemetry

_BLOCK = 100_000  # results that are decided on between two looks at the deadline
_SMALL = 8 << 10  # bytes of a body that is answered sooner than a thread would take it over


class Deadline(float):
    """When a request must be answered, by the monotonic clock."""

    def check(self) -> None:
        """Give up work that is too late."""
        if time.monotonic() > self:
            raise self.missed()

    @staticmethod
    def missed() -> Refused:
        """Return the answer to a request that took too long."""
        return Refused(503, headers={"Retry-After": "1"})


def in_blocks(
    lists: Ragged, deadline: Deadline, higher_is_better: bool, who: str
) -> Iterator[tuple[int, Ragged]]:
    """Yield lists in blocks, each with the place of its first list, until it is too late."""
    if lists.values.size <= _BLOCK:
        yield 0, lists
        return
    RankedLists.of_scores(lists, higher_is_better, who=who)  # errors name the list of the request
    offsets = lists.offsets
    for start, stop in lists.blocks(_BLOCK):
        deadline.check()
        values = lists.values[offsets[start] : offsets[stop]]
        yield start, Ragged.unchecked(values, offsets[start : stop + 1] - offsets[start])


@dataclass(frozen=True)
class Answer:
    """Plain values, or the bytes of an Arrow stream; `noted` goes into the log: numbers only."""

    content: Any
    noted: Mapping[str, int]

    def encoded(self) -> tuple[bytes, str]:
        """Return the body of the answer and its media type."""
        if isinstance(self.content, bytes):
            return self.content, ARROW
        return to_json(self.content, inf_nan_mode="null"), "application/json"


@dataclass(frozen=True)
class Service:
    """What all routes share: loaded models, limits, metrics, and the threads that do the work."""

    models: Models
    limits: Limits
    threads: ThreadPoolExecutor
    telemetry: Telemetry = field(default_factory=Telemetry)

    async def answer(
        self, work: Callable[[], Answer], deadline: Deadline, *, at_once: bool
    ) -> tuple[bytes, str, Mapping[str, int]]:
        """Return what ``work`` makes of a body, in a thread or, if it is short, at once.

        A request that takes too long is answered 503. Work that still waits for a thread is
        dropped then, and work that has begun stops at its next look at the deadline.
        """

        def alone() -> tuple[bytes, str, Mapping[str, int]]:
            with limited_threads(1):
                answer = work()
                return *answer.encoded(), answer.noted

        if at_once:
            return alone()
        future = asyncio.get_running_loop().run_in_executor(self.threads, alone)
        done, _ = await asyncio.wait({future}, timeout=deadline - time.monotonic())
        if not done:
            future.cancel()
            future.add_done_callback(_forget)
            raise deadline.missed()  # a timer may ring a moment before the deadline
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


@dataclass(frozen=True)
class Route:
    """An address that takes a body of JSON and answers it; `stream` makes it take Arrow too.

    `work` takes the service, the checked body and the deadline; its name and docstring describe
    the address. `stream` has the options that go into the address beside an Arrow stream, and the
    work that takes the service, the stream, these options and the deadline.
    """

    path: str
    summary: str
    body: type[Strict]
    answer: Any
    work: Callable[[Service, Any, Deadline], Answer]
    stream: tuple[type[BaseModel], Callable[[Service, bytes, Any, Deadline], Answer]] | None = None
    quick: bool = False  # small bodies need no thread

    async def respond(
        self, service: Service, kind: str, query: str, body: bytes, deadline: Deadline
    ) -> tuple[bytes, str, Mapping[str, int]]:
        """Return the answer to a body of this media type: content, media type, numbers to log."""
        at_once = self.quick and len(body) <= _SMALL
        if self.stream is not None and kind == ARROW:
            options, of_stream = self.stream
            given = dict(parse_qsl(query, keep_blank_values=True))
            asked = options.model_validate(given, strict=False)
            return await service.answer(
                lambda: of_stream(service, body, asked, deadline), deadline, at_once=at_once
            )
        if self.stream is not None and query:
            raise InvalidBody("the options of a JSON body belong in the body")
        return await service.answer(
            lambda: self.work(service, self.body.read(body), deadline),
            deadline,
            at_once=at_once,
        )

    def describe(self, app: FastAPI) -> None:
        """Add the address to the app, which describes it; admission answers it."""
        options = None if self.stream is None else self.stream[0]
        app.add_api_route(
            self.path,
            _unreached,
            methods=["POST"],
            name=self.work.__name__,
            summary=self.summary,
            description=inspect.getdoc(self.work),
            response_model=self.answer,
            responses=errors() | ({} if options is None else {200: {"content": {ARROW: BINARY}}}),
            openapi_extra=takes(self.body, options),
        )


def _unreached() -> None:
    raise AssertionError("admission answers the addresses that take a body")
