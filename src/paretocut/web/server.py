"""The server: its settings, its connections, and the processes it starts."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from paretocut.errors import InvalidParameterError
from paretocut.schema.parameters import check_port
from paretocut.web.admission import MAX_HEAD_BYTES, Admission
from paretocut.web.app import create_app
from paretocut.web.deciders import Models
from paretocut.web.limits import Limits, Refused
from paretocut.web.telemetry import LOGGER, log_lines

TOKEN = "PARETOCUT_TOKEN"
"""Environment variable of the bearer token."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine in the header `Host`."""

_FAILED = 3  # exit code of a server that could not start; uvicorn uses it too
_MOST_SECONDS = 10.0  # for a head to arrive


@dataclass(frozen=True)
class Settings:
    """How the service runs."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0 is any free one
    models: Mapping[str, str] = field(default_factory=dict)  # files, by the name requests give
    fusions: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None  # of more models
    max_models: int = 1000  # of the folder that are kept in memory
    token_file: str | None = None  # without one, the environment variable `TOKEN` counts
    no_token: bool = False  # let everybody in, from other machines too
    workers: int = 1
    threads: int | None = None  # requests a worker works on at once; None: one per processor
    drain_seconds: int = 30  # for requests under way after SIGTERM
    imports: Sequence[str] = ()  # modules that define classes of saved models
    limits: Limits = field(default_factory=Limits)

    def token(self) -> str | None:
        """Return the bearer token, or None for a service that needs none."""
        if self.no_token:
            return None
        if self.token_file is not None:
            token = Path(self.token_file).read_text(encoding="utf-8").strip()
        else:
            token = os.environ.get(TOKEN, "").strip()
        if token and token.isascii() and token.isprintable() and " " not in token:
            return token
        if token or self.token_file is not None:
            found = "other characters" if token else "an empty file"
            problem = f"the token must be a word of printable ASCII, got {found}"
            raise InvalidParameterError(problem, who="serve")
        if not _is_loopback(self.host):
            raise InvalidParameterError(
                f"a token (--token-file, or {TOKEN}) must be given to listen on "
                f"{self.host}, which others can reach; or --no-token to let everybody in",
                who="serve",
            )
        return None

    def loaded(self) -> Models:
        return Models(self.models, self.fusions, self.folder, self.max_models)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


class Connection(HttpToolsProtocol):
    """One connection of a client: a long head is refused, one that is late is dropped.

    Uvicorn limits neither, and no ASGI application sees a head before it is complete.
    `tests/web/test_service_hostile.py` fails as soon as uvicorn does it; then this class can go.
    """

    _timer: asyncio.TimerHandle | None = None  # runs while a head is awaited
    _head = 0  # bytes that came meanwhile

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is not None and not self.transport.is_closing():
            self._head += len(data)
            if self._head > MAX_HEAD_BYTES:
                self._refuse(Refused(431))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse anything but HTTP, in the shape of all errors."""
        self._refuse(Refused(400, "invalid_request", "this is not HTTP"))

    def _refuse(self, refused: Refused) -> None:
        body = refused.content()
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


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket at an address; a ``shared`` one lets other sockets have the same address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only with its protocol named, asyncio sends small answers at once (TCP_NODELAY).
    own = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two programs have one port
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart binds at once
        if shared:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        own.bind((host, port))
    except OSError as error:
        own.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    return own


def server_of(app: Admission, drain_seconds: int) -> uvicorn.Server:
    """Return a server of the application."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            http=Connection,
            access_log=False,  # admission writes a line for each request
            proxy_headers=False,  # nothing asks who the client is
            server_header=False,
            timeout_graceful_shutdown=drain_seconds,
        )
    )


def end_on_signals(server: uvicorn.Server) -> None:
    """Let SIGINT and SIGTERM end a server also before and after uvicorn listens to them."""

    def end(number: int, frame: object) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def run(settings: Settings) -> None:
    """Serve until a signal comes, then answer the requests under way and end."""
    # Problems with a model, the token or the address are found before anything starts.
    settings.token()
    check_port(settings.port, who="serve")
    models = settings.loaded()
    with bound(settings.host, settings.port) as own:
        alone = settings.workers == 1
        code = _serve(settings, models, own) if alone else _supervise(settings, own)
    if code:
        sys.exit(code)


def _serve(settings: Settings, models: Models, own: socket.socket) -> int:
    # Warnings would be text among the lines of JSON, and some of them name queries.
    warnings.simplefilter("ignore")
    log_lines()
    token = settings.token()
    anybody = settings.no_token or token is not None
    hosts = None if anybody else tuple(dict.fromkeys((*LOOPBACK, settings.host)))
    limits, threads = settings.limits, settings.threads
    app = create_app(models, token=token, limits=limits, threads=threads, hosts=hosts)
    server = server_of(app, settings.drain_seconds)
    end_on_signals(server)
    own.listen(server.config.backlog)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    LOGGER.info("running on http://%s:%d", host, own.getsockname()[1])
    server.run([own])
    return 0 if server.started else _FAILED


def _supervise(settings: Settings, own: socket.socket) -> int:
    """Start the workers, replace those that die, and end them after a signal."""
    log_lines()
    place: Any = own
    if sys.platform == "linux":  # other systems do not spread connections over sockets
        # Workers bind sockets of their own. Of a shared one, the first worker to wake takes nearly
        # all connections. This one never listens; it keeps the port.
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        place = own.getsockname()[:2]
    known = "forkserver" in multiprocessing.get_all_start_methods()
    start_method: Any = multiprocessing.get_context("forkserver" if known else "spawn")
    if known:
        # It has everything imported, so that a dead worker is replaced in no time.
        start_method.set_forkserver_preload(["__main__", __name__])
    workers: list[Any] = []
    code: int | None = None  # known as soon as all are to end

    def start() -> None:
        worker = start_method.Process(target=_worker, args=(settings, place))
        worker.start()
        workers.append(worker)
        if code is not None:  # a signal came meanwhile
            worker.terminate()

    def end(_: object = None, __: object = None) -> None:
        nonlocal code
        code = code or 0
        for worker in workers:
            worker.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    # Workers put their counts here, so that each of them can show the sum.
    with tempfile.TemporaryDirectory(prefix="paretocut-") as counts:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = counts
        while len(workers) < settings.workers and code is None:
            start()
        while workers:
            wait([worker.sentinel for worker in workers])
            for worker in [worker for worker in workers if worker.exitcode is not None]:
                workers.remove(worker)
                mark_process_dead(worker.pid, counts)  # type: ignore[no-untyped-call]
                if code is None and worker.exitcode == _FAILED:
                    code = _FAILED
                    end()
                elif code is None:
                    LOGGER.error("worker %d died", worker.pid)
                    start()
    return code or 0


def _worker(settings: Settings, place: Any) -> None:
    """Serve in a process of its own, until the parent says or dies."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()
    log_lines()
    try:
        for module in settings.imports:
            importlib.import_module(module)
        own = place if isinstance(place, socket.socket) else bound(*place, shared=True)
        code = _serve(settings, settings.loaded(), own)
    except Exception as error:
        LOGGER.error("a worker cannot start: %s", error)
        code = _FAILED
    sys.exit(code)
