"""Admission of requests: token, size, number and time. Each request becomes one log line."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
import traceback

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paretocut.web.limits import Limits
from paretocut.web.logs import LOGGER
from paretocut.web.refusals import Refused, answer_for, as_refused
from paretocut.web.telemetry import Telemetry

_OPEN = ("/healthz",)  # needs no token
_FREE = ("/healthz", "/metrics")  # answered however much is under way
_DRAINED = 256 << 20  # bytes to read and drop: most clients send everything before they listen


class Admission:
    """ASGI middleware that admits a request, reads its body, and logs and counts the outcome."""

    def __init__(
        self, app: ASGIApp, *, limits: Limits, token: str | None, telemetry: Telemetry
    ) -> None:
        self._app = app
        self._limits = limits
        self._token = None if token is None else _digest(token.encode())
        self._telemetry = telemetry
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "websocket":  # no route uses them, and nothing here would check them
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        scope["paretocut.deadline"] = began + self._limits.max_seconds
        noted = scope["paretocut.noted"] = {}
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._under_way += 1
        self._telemetry.under_way(1)
        try:
            await self._admit(scope, receive, watched)
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
            self._under_way -= 1
            self._telemetry.under_way(-1)
            seconds = time.monotonic() - began
            # An unknown address may hold anything, so it is not logged.
            route: str = getattr(scope.get("route"), "path", "unknown")
            self._telemetry.request(route, status, seconds)
            line = {"method": scope["method"], "route": route, "status": status}
            line |= {"seconds": round(seconds, 6), **noted}
            log = LOGGER.error if status >= 500 else LOGGER.info
            log("request", extra={"noted": line})

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        path = scope["path"]
        if self._token is not None and path not in _OPEN:
            self._check_token(headers.get(b"authorization", b""))
        most = self._limits.max_concurrency
        if self._under_way > most and path not in _FREE:
            message = f"{most} requests are under way, the most allowed; try again"
            raise Refused(429, message=message, headers={"Retry-After": "1"})
        encoding = headers.get(b"content-encoding", b"identity")
        if encoding.lower() != b"identity":
            found = encoding[:60].decode("latin-1")
            raise Refused(
                415, message=f"bodies must not be compressed, got Content-Encoding: {found}"
            )
        body = await self._body(scope, headers.get(b"content-length", b""), receive)
        scope["paretocut.noted"]["bytes"] = len(body)
        await self._app(scope, _replay(body, receive), send)

    def _check_token(self, given: bytes) -> None:
        kind, _, token = given.partition(b" ")
        # Digests are compared, so the time taken reveals nothing, not even the length.
        right = hmac.compare_digest(_digest(token.strip()), self._token or b"")
        if kind.lower() != b"bearer" or not right:
            raise Refused(401, headers={"WWW-Authenticate": "Bearer"})

    async def _body(self, scope: Scope, length: bytes, receive: Receive) -> bytes:
        """Return the whole body; one that is too large is read to its end, but not kept."""
        most = self._limits.max_body_bytes
        parts: list[bytes] = []
        size = 0
        more = True
        if length.isdigit() and len(length) < 20 and int(length) > max(most, _DRAINED):
            size = int(length)
        left = scope["paretocut.deadline"] - time.monotonic()
        try:
            async with asyncio.timeout(left):
                while more and size <= max(most, _DRAINED):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "disconnected", "the body ended too early")
                    part = message.get("body", b"")
                    more = message.get("more_body", False)
                    size += len(part)
                    if size <= most:
                        parts.append(part)
                    else:
                        parts.clear()
        except TimeoutError:
            if size <= most:
                raise Refused(408, headers={"Connection": "close"}) from None
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
