"""Admission of requests: host, token, size, number, time. Each request becomes one log line."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import time
import traceback
from collections.abc import Sequence

from fastapi import FastAPI
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from paretocut.web.logs import LOGGER
from paretocut.web.refusals import Refused, answer_for, as_refused
from paretocut.web.service import Deadline, Route, Service

_OPEN = re.compile(r"/|/healthz|/docs|/static/[^/]*")  # needs no token
_FREE = ("/healthz", "/metrics")  # answered however much is under way
_DRAINED = 256 << 20  # bytes to read and drop: most clients send everything before they listen


class Admission:
    """ASGI middleware that admits a request, reads its body, and logs and counts the outcome.

    Addresses that take a body are answered here, by ``routes``: the way through FastAPI would take
    longer than most decisions. `app` answers all others.
    """

    def __init__(
        self,
        app: FastAPI,
        *,
        service: Service,
        routes: Sequence[Route],
        token: str | None,
        hosts: Sequence[str] | None,
    ) -> None:
        self.app = app
        self._service = service
        self._limits, self._telemetry = service.limits, service.telemetry
        self._routes = {route.path: route for route in routes}
        self._token = None if token is None else _digest(token.encode())
        self._hosts = hosts
        self._working = 0  # requests whose body is complete
        self._held = 0  # bytes of bodies that are not complete

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "websocket":  # no route uses them, and nothing here would check them
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        noted = scope["paretocut.noted"] = {}
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._telemetry.under_way(1)
        try:
            await self._admit(scope, receive, watched, Deadline(began + self._limits.max_seconds))
        except Exception as error:
            refused = as_refused(error)
            if refused is None:
                noted |= {"error": type(error).__name__, "at": _frames(error)}
                refused = Refused(500)
            noted.setdefault("code", refused.code)
            if not status:
                await answer_for(refused)(scope, receive, watched)
            del refused  # it may be the exception, which refers to this frame
        finally:
            self._telemetry.under_way(-1)
            seconds = time.monotonic() - began
            route = self._route_of(scope)
            self._telemetry.request(route, status, seconds)
            line = {"method": scope["method"], "route": route, "status": status}
            line |= {"seconds": round(seconds, 6), **noted}
            log = LOGGER.error if status >= 500 else LOGGER.info
            log("request", extra={"noted": line})

    def _route_of(self, scope: Scope) -> str:
        """Return the route of an address; an unknown one may hold anything, so it is not logged."""
        if scope["path"] in self._routes:
            return str(scope["path"])
        found = (one for one in self.app.routes if one.matches(scope)[0] is not Match.NONE)
        return getattr(scope.get("route") or next(found, None), "path", "unknown")

    async def _admit(self, scope: Scope, receive: Receive, send: Send, deadline: Deadline) -> None:
        headers = dict(scope["headers"])
        path = scope["path"]
        self._check_host(headers.get(b"host", b""))
        if self._token is not None and not _OPEN.fullmatch(path):
            self._check_token(headers.get(b"authorization", b""))
        encoding = headers.get(b"content-encoding", b"identity")
        if encoding.lower() != b"identity":
            found = encoding[:60].decode("latin-1")
            raise Refused(
                415, message=f"bodies must not be compressed, got Content-Encoding: {found}"
            )
        body = await self._body(deadline, headers.get(b"content-length", b""), receive)
        noted = scope["paretocut.noted"]
        noted["bytes"] = len(body)
        if self._working >= self._limits.max_concurrency and path not in _FREE:
            raise self._busy()
        self._working += 1
        try:
            route = self._routes.get(path) if scope["method"] == "POST" else None
            if route is None:
                await self.app(scope, _replay(body, receive), send)
                return
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            query = scope["query_string"].decode("latin-1")
            content, media, numbers = await route.respond(
                self._service, kind.decode("latin-1"), query, body, deadline
            )
        finally:
            self._working -= 1
        noted |= numbers
        length = str(len(content)).encode()
        own = [(b"content-type", media.encode()), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body", "body": content})

    def _busy(self) -> Refused:
        most = self._limits.max_concurrency
        message = f"{most} requests are under way, the most allowed; try again"
        return Refused(429, message=message, headers={"Retry-After": "1"})

    def _check_host(self, given: bytes) -> None:
        """Refuse pages of strangers whose own host name points to this machine."""
        host = re.sub(r":\d*$", "", given.decode("latin-1")).lower()
        if self._hosts is not None and host not in self._hosts:
            allowed = ", ".join(self._hosts)
            raise Refused(400, "unknown_host", f"Host must be one of {allowed}, got {host[:60]!r}")

    def _check_token(self, given: bytes) -> None:
        kind, _, token = given.partition(b" ")
        # Digests are compared, so the time taken reveals nothing, not even the length.
        right = hmac.compare_digest(_digest(token.strip()), self._token or b"")
        if kind.lower() != b"bearer" or not right:
            raise Refused(401, headers={"WWW-Authenticate": "Bearer"})

    async def _body(self, deadline: Deadline, length: bytes, receive: Receive) -> bytes:
        """Return the whole body; one that is too large is read to its end, but not kept.

        All bodies that are on their way may take as much memory as those that are worked on.
        """
        most = self._limits.max_body_bytes
        parts: list[bytes] = []
        size = held = 0
        more = True
        if length.isdigit() and len(length) < 20 and int(length) > max(most, _DRAINED):
            size = int(length)
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
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
                raise Refused(408, headers={"Connection": "close"}) from None
        finally:
            self._held -= held
        if size > most:
            headers = {"Connection": "close"} if more else None
            raise Refused(413, message=f"a body may have {most:,} bytes, got more", headers=headers)
        return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once, then whatever comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _frames(error: Exception) -> list[str]:
    """Return where an error came from, without its message, which may quote the request."""
    return [
        f"{frame.name} ({frame.filename}:{frame.lineno})"
        for frame in traceback.extract_tb(error.__traceback__)[-8:]
    ]
