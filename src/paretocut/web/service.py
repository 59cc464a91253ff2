"""What all routes share: models, limits, threads, metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from paretocut.web.limits import Limits
from paretocut.web.models import Models
from paretocut.web.telemetry import Telemetry
from paretocut.web.work import Workshop

__all__ = ["Service"]


@dataclass(frozen=True)
class Service:
    """What all routes share.

    Attributes
    ----------
    models
        Truncators and fusions that were loaded at the start, by name.
    limits
        What one request may cost.
    workshop
        The threads.
    telemetry
        The metrics.
    """

    models: Models
    limits: Limits
    workshop: Workshop
    telemetry: Telemetry

    async def answer(self, request: Request, work: Callable[[bytes], Answer]) -> Response:
        """Return the answer that ``work`` makes of the request's body, in a thread.

        Parameters
        ----------
        request
            The request; its body has been read by the gate.
        work
            Takes the body.
        """
        body = await request.body()
        left = request.scope["paretocut.deadline"] - time.monotonic()
        answer = await self.workshop.run(lambda: work(body), left)
        request.scope["paretocut.told"].update(answer.told)
        return Response(answer.content, media_type=answer.media_type)


@dataclass(frozen=True)
class Answer:
    """The bytes of an answer, and what the log is told of it: numbers, never scores or ids."""

    content: bytes
    told: Mapping[str, Any]
    media_type: str = "application/json"
