"""One connection of a client: a head that grows too long is refused, one that is late is dropped.

Uvicorn limits neither, and no ASGI application sees a head before it is complete.
`tests/web/test_service_hostile.py` fails as soon as uvicorn does it; then this file can go.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from paretocut.web.admission import MAX_HEAD_BYTES
from paretocut.web.refusals import Refused, content_of

_MOST_SECONDS = 10.0  # for a head to arrive


class Connection(HttpToolsProtocol):
    """Uvicorn's own protocol, with limits on heads that are not complete."""

    _timer: asyncio.TimerHandle | None = None  # runs while a head is awaited
    _head = 0  # bytes that came meanwhile

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless it makes the head too long."""
        super().data_received(data)
        if self._timer is not None and not self.transport.is_closing():
            self._head += len(data)
            if self._head > MAX_HEAD_BYTES:
                self._refuse(Refused(431))

    def on_message_begin(self) -> None:
        """Start to wait for a later head."""
        super().on_message_begin()
        if self._timer is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        """Hand the request over."""
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP in the shape of all errors."""
        self._refuse(Refused(400, "invalid_request", "this is not HTTP"))

    def _refuse(self, refused: Refused) -> None:
        body = content_of(refused)
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        head += "connection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[refused.status] + head.encode() + body)
        self.transport.close()

    def _await_head(self) -> None:
        self._head = 0
        self._timer = self.loop.call_later(_MOST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
