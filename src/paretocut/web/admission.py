"""Requests: each is admitted by host, token, size, number and time, handled, and logged."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from paretocut.tail import limited_threads
from paretocut.web.deciders import Models
from paretocut.web.limits import Deadline, Limits, Refused, as_refused
from paretocut.web.telemetry import Telemetry, note

MAX_HEAD_BYTES = 64 << 10
"""Size of the address and the headers of a request."""

_OPEN = re.compile(r"/|/healthz|/docs|/static/[^/]*")  # needs no token
_FREE = ("/healthz", "/metrics")  # answered however much is under way
_PORT = re.compile(r":\d*$")
_DRAINED = 256 << 20  # bytes to read and drop: most clients send everything before they listen
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


class Admission:
    """ASGI middleware that admits a request, reads its body, and logs and counts the outcome.

    Handlers find the body in `Asked`; whatever they raise becomes an answer here.
    """

    def __init__(
        self, app: Router, service: Service, token: str | None, hosts: Sequence[str] | None
    ) -> None:
        self.app = app
        self._limits, self._telemetry, self._hosts = service.limits, service.telemetry, hosts
        self._token = None if token is None else _digest(token.encode())
        self._routes = {str(getattr(route, "path", "")) for route in app.routes}
        self._working = 0  # requests whose body is complete
        self._held = 0  # bytes of bodies that are not complete

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the router itself refuses websockets
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        deadline = Deadline(self._limits.max_seconds)
        asked = Asked(dict(scope["headers"]), scope["query_string"], deadline)
        # With an "app" in its scope, Starlette raises what it would otherwise answer itself.
        scope["paretocut.asked"], scope["app"] = asked, self
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._telemetry.under_way.inc()
        try:
            self._check_head(scope, asked)
            asked.body = await self._body(asked, receive)
            asked.noted["bytes"] = len(asked.body)
            if self._working >= self._limits.max_concurrency and scope["path"] not in _FREE:
                raise self._busy()
            self._working += 1
            try:
                await self.app(scope, receive, watched)
            finally:
                self._working -= 1
        except Exception as error:
            refused = as_refused(error)
            if refused is None:
                # Where it came from, without its message, which may quote the request.
                frames = traceback.extract_tb(error.__traceback__)[-8:]
                at = [f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in frames]
                asked.noted |= {"error": type(error).__name__, "at": at}
                refused = Refused(500)
            asked.noted["code"] = refused.code
            if not status:
                await refused.answer()(scope, receive, watched)
            del refused  # it may be the exception, which refers to this frame
        finally:
            self._telemetry.under_way.dec()
            seconds = time.monotonic() - began
            route = self._route_of(scope["path"])
            self._telemetry.request(route, status, seconds)
            level = logging.ERROR if status >= 500 else logging.INFO
            about = {"method": scope["method"], "route": route, "status": status}
            note("request", level, **about, seconds=round(seconds, 6), **asked.noted)

    def _route_of(self, path: str) -> str:
        """Return the route of an address; an unknown one may hold anything, so it is not logged."""
        if path in self._routes:
            return path
        routes: list[Any] = self.app.routes
        return next((route.path for route in routes if route.path_regex.match(path)), "unknown")

    def _check_head(self, scope: Scope, asked: Asked) -> None:
        size = len(scope.get("raw_path", b"")) + len(asked.query_string)
        if size + len(b"".join(map(b"".join, scope["headers"]))) > MAX_HEAD_BYTES:
            raise Refused(431)
        if self._hosts is not None:
            # A stranger's page could otherwise let its own host name point to this machine.
            host = _PORT.sub("", asked.headers.get(b"host", b"").decode("latin-1")).lower()
            if host not in self._hosts:
                problem = f"Host must be one of {', '.join(self._hosts)}, got {host[:60]!r}"
                raise Refused(400, "unknown_host", problem)
        if self._token is not None and not _OPEN.fullmatch(scope["path"]):
            kind, _, token = asked.headers.get(b"authorization", b"").partition(b" ")
            # Digests are compared, so the time taken reveals nothing, not even the length.
            right = hmac.compare_digest(_digest(token.strip()), self._token)
            if kind.lower() != b"bearer" or not right:
                raise Refused(401)
        encoding = asked.headers.get(b"content-encoding", b"identity")
        if encoding.lower() != b"identity":
            found = encoding[:60].decode("latin-1")
            problem = f"bodies must not be compressed, got Content-Encoding: {found}"
            raise Refused(415, message=problem)

    def _busy(self) -> Refused:
        most = self._limits.max_concurrency
        return Refused(429, message=f"{most} requests are under way, the most allowed; try again")

    async def _body(self, asked: Asked, receive: Receive) -> bytes:
        """Return the whole body; one that is too large is read to its end, but not kept.

        All bodies that are on their way may take as much memory as those that are worked on.
        """
        most = self._limits.max_body_bytes
        parts: list[bytes] = []
        size = held = 0
        more = True
        length = asked.headers.get(b"content-length", b"")
        if length.isdigit() and len(length) < 20 and int(length) > max(most, _DRAINED):
            size = int(length)
        try:
            async with asyncio.timeout(self._limits.max_seconds):
                while more and size <= max(most, _DRAINED):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "disconnected", "the body ended too early")
                    part = message.get("body", b"")
                    more = message.get("more_body", False)
                    size += len(part)
                    if size > most:
                        parts.clear()
                        self._held, held = self._held - held, 0
                        continue
                    parts.append(part)
                    self._held, held = self._held + len(part), held + len(part)
                    if self._held > self._limits.max_concurrency * most:
                        raise self._busy()
        except TimeoutError:
            if size <= most:
                raise Refused(408) from None
        finally:
            self._held -= held
        if size > most:
            headers = {"Connection": "close"} if more else {}
            raise Refused(413, message=f"a body may have {most:,} bytes, got more", **headers)
        return b"".join(parts)


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


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
