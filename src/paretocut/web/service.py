"""The one way of a request through the service: read in a thread, answered as JSON or Arrow."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from paretocut.tail import limited_threads
from paretocut.web.arrow_streams import ARROW
from paretocut.web.deciders import Models
from paretocut.web.limits import Limits
from paretocut.web.openapi import BINARY, errors, takes
from paretocut.web.refusals import InvalidBody, Refused
from paretocut.web.telemetry import Telemetry


@dataclass(frozen=True)
class Answer:
    """Plain values, or the bytes of an Arrow stream; `noted` goes into the log: numbers only."""

    content: Any
    noted: Mapping[str, int]


@dataclass(frozen=True)
class Service:
    """What all routes share: loaded models, limits, metrics, and the threads that do the work."""

    models: Models
    limits: Limits
    threads: ThreadPoolExecutor
    telemetry: Telemetry = field(default_factory=Telemetry)

    async def answer(self, request: Request, work: Callable[[bytes], Answer]) -> Response:
        """Return the answer that ``work`` makes of the body, in a thread; 503 if it takes too long.

        Work that has begun cannot be stopped: it goes on, and its thread is busy until it ends.
        Work that still waits for a thread is dropped.
        """
        body = await request.body()

        def alone() -> tuple[Response, Mapping[str, int]]:
            with limited_threads(1):
                answer = work(body)
            content = answer.content
            if isinstance(content, bytes):
                return Response(content, media_type=ARROW), answer.noted
            text = to_json(content, inf_nan_mode="null")
            return Response(text, media_type="application/json"), answer.noted

        future = asyncio.get_running_loop().run_in_executor(self.threads, alone)
        left = request.scope["paretocut.deadline"] - time.monotonic()
        done, _ = await asyncio.wait({future}, timeout=left)
        if not done:
            future.cancel()
            future.add_done_callback(_forget)
            raise Refused(503, headers={"Retry-After": "1"})
        try:
            response, noted = future.result()
        finally:
            # The exception refers to this frame and the future to the exception: a circle that
            # would keep the whole body until the next garbage collection.
            del future, done
        request.scope["paretocut.noted"].update(noted)
        return response


def _forget(future: asyncio.Future[Any]) -> None:
    """Take the late answer, or Python would complain that nobody did."""
    if not future.cancelled():
        future.exception()


@dataclass(frozen=True)
class Route:
    """An address that takes a body of JSON and answers it; `stream` makes it take Arrow too.

    `work` takes the service and the checked body; its name and docstring describe the address.
    `stream` has the options that go into the address beside an Arrow stream, and the work that
    takes the service, the stream and these options.
    """

    path: str
    summary: str
    body: type[BaseModel]
    answer: Any
    work: Callable[[Service, Any], Answer]
    stream: tuple[type[BaseModel], Callable[[Service, bytes, Any], Answer]] | None = None

    def add_to(self, app: FastAPI, service: Service) -> None:
        """Serve the address."""

        async def endpoint(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if self.stream is not None and kind == ARROW:
                options, of_stream = self.stream
                asked = options.model_validate(dict(request.query_params), strict=False)
                return await service.answer(request, lambda body: of_stream(service, body, asked))
            if self.stream is not None and request.query_params:
                raise InvalidBody("the options of a JSON body belong in the body")
            return await service.answer(
                request, lambda body: self.work(service, self.body.model_validate_json(body))
            )

        options = None if self.stream is None else self.stream[0]
        app.add_api_route(
            self.path,
            endpoint,
            methods=["POST"],
            name=self.work.__name__,
            summary=self.summary,
            description=inspect.getdoc(self.work),
            response_model=self.answer,
            responses=errors() | ({} if options is None else {200: {"content": {ARROW: BINARY}}}),
            openapi_extra=takes(self.body, options),
        )
