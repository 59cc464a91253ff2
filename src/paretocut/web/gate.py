"""What every request passes: token, limits of size, number and time; and what is noted of it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
import traceback
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paretocut.web.errors import CODES, answer_for, as_refused
from paretocut.web.limits import Limits, Refused
from paretocut.web.logs import LOGGER
from paretocut.web.telemetry import Telemetry

__all__ = ["Gate"]

_OPEN = ("/healthz",)  # needs no token
_FREE = ("/healthz", "/metrics")  # answered however much is under way
_DRAINED = 256 << 20  # bytes that are read and dropped, since most clients send before they listen


class Gate:
    """ASGI middleware that lets a request in, reads its body, and notes what became of it.

    Parameters
    ----------
    app
        What answers.
    limits
        What one request may cost.
    token
        What ``Authorization: Bearer`` must say; None lets everybody in.
    telemetry
        Where requests are counted.
    """

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
        if scope["type"] == "websocket":  # nothing here speaks it, and nothing would check it
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        scope["paretocut.deadline"] = began + self._limits.max_seconds
        told = scope["paretocut.told"] = {}
        seen = _Seen(send)
        self._under_way += 1
        self._telemetry.under_way(1)
        try:
            await self._pass(scope, receive, seen)
        except Exception as error:
            refused = as_refused(error)
            if refused is None:
                told["error"] = type(error).__name__
                told["at"] = _frames(error)
                refused = Refused(500, *CODES[500])
            told.setdefault("code", refused.code)
            if not seen.status:
                await answer_for(refused)(scope, receive, seen)
            del refused  # it may be the exception, which knows this frame
        finally:
            self._under_way -= 1
            self._telemetry.under_way(-1)
            seconds = time.monotonic() - began
            route = _route(scope)
            self._telemetry.request(route, seen.status, seconds)
            level = "error" if seen.status >= 500 else "info"
            getattr(LOGGER, level)(
                "request",
                extra={
                    "told": {
                        "method": scope["method"],
                        "route": route,
                        "status": seen.status,
                        "seconds": round(seconds, 6),
                        **told,
                    }
                },
            )

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        path = scope["path"]
        if self._token is not None and path not in _OPEN:
            self._check_token(headers.get(b"authorization", b""))
        if self._under_way > self._limits.max_concurrency and path not in _FREE:
            raise Refused(
                429,
                "too_many_requests",
                f"{self._limits.max_concurrency} requests are under way, the most allowed; "
                "try again",
                {"Retry-After": "1"},
            )
        encoding = headers.get(b"content-encoding", b"identity")
        if encoding.lower() != b"identity":
            raise Refused(
                415,
                "unsupported_encoding",
                "bodies must not be compressed, got Content-Encoding: "
                + encoding[:60].decode("latin-1"),
            )
        body = await self._body(scope, headers.get(b"content-length", b""), receive)
        scope["paretocut.told"]["bytes"] = len(body)
        await self._app(scope, _replay(body, receive), send)

    def _check_token(self, given: bytes) -> None:
        kind, _, token = given.partition(b" ")
        # Digests are compared, so that the time taken tells nothing, not even the length.
        right = hmac.compare_digest(_digest(token.strip()), self._token or b"")
        if kind.lower() != b"bearer" or not right:
            code, message = CODES[401]
            raise Refused(401, code, message, {"WWW-Authenticate": "Bearer"})

    async def _body(self, scope: Scope, length: bytes, receive: Receive) -> bytes:
        """Return the whole body; one that is too large is read to its end, but not kept."""
        most = self._limits.max_body_bytes
        parts: list[bytes] = []
        size = 0
        more = True
        if length.isdigit() and len(length) < 20 and int(length) > max(most, _DRAINED):
            size = int(length)
        try:
            async with asyncio.timeout_at(_loop_time(scope["paretocut.deadline"])):
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
                raise Refused(408, *CODES[408], {"Connection": "close"}) from None
        if size > most:
            raise Refused(
                413,
                "body_too_large",
                f"a body may have {most:,} bytes, got more",
                {"Connection": "close"} if more else None,
            )
        return b"".join(parts)


class _Seen:
    """A `send` that remembers the status of the answer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once, and then whatever comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _loop_time(deadline: float) -> float:
    return asyncio.get_running_loop().time() + deadline - time.monotonic()


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _route(scope: Scope) -> str:
    """Return the address as the application knows it; an unknown one may hold anything."""
    route: Any = scope.get("route")
    return getattr(route, "path", "unknown")


def _frames(error: Exception) -> list[str]:
    """Return where an error came from, without its message, which may hold what was sent."""
    return [
        f"{frame.name} ({frame.filename}:{frame.lineno})"
        for frame in traceback.extract_tb(error.__traceback__)[-8:]
    ]
