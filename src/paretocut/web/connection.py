"""One connection of a client: heads of requests must be short and must arrive in time."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from paretocut.web.refusals import Refused, content_of

_MOST_BYTES = 64 << 10  # of the first line and the headers
_MOST_SECONDS = 10.0  # for them to arrive


class Connection(HttpToolsProtocol):
    """Uvicorn's own protocol, with limits on heads and without waiting for more to send."""

    _late: asyncio.TimerHandle | None = None
    _head: int | None = None  # bytes of the head so far; None: no head has begun, or it is complete
    _refused: Refused | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first head."""
        super().connection_made(transport)
        # A socket that the parent process or we ourselves opened would wait for 40 ms to send.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._late = self.loop.call_later(_MOST_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless it makes the head too long."""
        begun = self._head
        super().data_received(data)
        if begun is not None and self._head is not None and not self.transport.is_closing():
            self._head += len(data)
            if self._head > _MOST_BYTES:
                self._refused = Refused(431)
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start a head."""
        super().on_message_begin()
        self._head = 0
        if self._late is None:
            self._late = self.loop.call_later(_MOST_SECONDS, self._give_up)

    def on_headers_complete(self) -> None:
        """Hand the request over."""
        self._head = None
        self._stop_waiting()
        size = sum(len(name) + len(value) for name, value in self.headers)
        if len(self.url) + size > _MOST_BYTES:
            self._refused = Refused(431)
            raise self._refused  # the parser passes it on, and uvicorn calls send_400_response
        super().on_headers_complete()
        if self.cycle is not None and self.scope["method"] != "HEAD":
            self.cycle.transport = cast("asyncio.Transport", _Joined(self.cycle))

    def send_400_response(self, msg: str) -> None:
        """Refuse in the shape of all errors, and close."""
        refused = self._refused or Refused(400, "invalid_request", "this is not HTTP")
        body = content_of(refused)
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(
            STATUS_LINE[refused.status] + f"{head}connection: close\r\n\r\n".encode() + body
        )
        self.transport.close()

    def _give_up(self) -> None:
        self._late = None
        self.transport.close()

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Joined:
    """The transport of one answer: its head waits for its body, and both are sent at once."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle, self._transport = cycle, cycle.transport
        self._head: bytes | None = None
        self.is_closing, self.close = cycle.transport.is_closing, cycle.transport.close

    def write(self, data: bytes) -> None:
        """Send all but the head, which is the first to come once the answer has begun."""
        if self._head is None and self._cycle.response_started:
            self._head = data
        else:
            self._transport.write((self._head or b"") + data)
            self._head = self._head and b""
