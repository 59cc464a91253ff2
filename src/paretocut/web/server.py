"""The server: its settings, which reach every worker, and the processes it starts."""

from __future__ import annotations

import ctypes
import importlib
import ipaddress
import json
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import uvicorn

from paretocut.errors import InvalidParameterError
from paretocut.schema.parameters import check_port
from paretocut.web.admission import Admission
from paretocut.web.app import create_app
from paretocut.web.deciders import load_models
from paretocut.web.limits import Limits
from paretocut.web.logs import configuration

TOKEN = "PARETOCUT_TOKEN"
"""Environment variable of the bearer token."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine in the header `Host`."""

_SETTINGS = "PARETOCUT_SERVE"
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of <malloc.h>


@dataclass(frozen=True)
class Settings:
    """How the service runs."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0 is any free one
    models: Mapping[str, str] = field(default_factory=dict)  # files, by the name requests give
    fusions: Mapping[str, str] = field(default_factory=dict)
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
            raise InvalidParameterError(
                "the token must be a word of printable ASCII, got "
                f"{'other characters' if token else 'an empty file'}",
                who="serve",
            )
        if not _is_loopback(self.host):
            raise InvalidParameterError(
                f"a token (--token-file, or {TOKEN}) must be given to listen on "
                f"{self.host}, which others can reach; or --no-token to let everybody in",
                who="serve",
            )
        return None

    def hosts(self) -> tuple[str, ...] | None:
        """Return the names by which requests must call a service that needs no token."""
        if self.no_token or self.token() is not None:
            return None
        return (*LOOPBACK, self.host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


def _check_address(host: str, port: int) -> None:
    check_port(port, who="serve")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        # Python appends the address to its message; here it stands in front.
        problem = str(error.strerror).partition(" (while")[0]
        raise OSError(error.errno, problem, f"{host}:{port}") from None


def run(settings: Settings) -> None:
    """Serve until a signal comes, then answer the requests under way and end."""
    # Problems with a model, the token or the address are found before anything starts.
    settings.token()
    _check_address(settings.host, settings.port)
    load_models(settings.models, settings.fusions)
    with ExitStack() as stack:
        if settings.workers > 1:
            # Workers put their counts here, so that each of them can show the sum.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="paretocut-"))
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            if sys.platform == "linux":  # others do not spread connections
                ForkingPickler.register(socket.socket, _to_worker)
        os.environ[_SETTINGS] = json.dumps(asdict(settings))
        uvicorn.run(
            "paretocut.web.server:app",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            log_config=configuration(),
            http="paretocut.web.connection:Connection",
            access_log=False,  # admission writes a line for each request
            proxy_headers=False,  # nothing asks who the client is
            server_header=False,
            timeout_graceful_shutdown=settings.drain_seconds,
            timeout_worker_healthcheck=15,  # 5 would kill workers that start slowly
        )


def _to_worker(
    bound: socket.socket,
) -> tuple[Callable[[int, Any], socket.socket], tuple[int, Any]]:
    """Give a worker its own socket at this address, so that the system spreads connections.

    Of a shared socket the worker that wakes first takes nearly all of them.
    """
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return _own_socket, (bound.family, bound.getsockname())


def _own_socket(family: int, address: Any) -> socket.socket:
    own = socket.socket(family)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(address)
    return own


def app() -> Admission:
    """Return the application that the environment describes; each worker calls this."""
    # Warnings would be text among the lines of JSON, and some of them name queries.
    warnings.simplefilter("ignore")
    _keep_freed_memory()
    given = json.loads(os.environ[_SETTINGS])
    settings = Settings(**given | {"limits": Limits(**given["limits"])})
    for module in settings.imports:
        importlib.import_module(module)
    return create_app(
        load_models(settings.models, settings.fusions),
        token=settings.token(),
        limits=settings.limits,
        threads=settings.threads,
        hosts=settings.hosts(),
    )


def _keep_freed_memory() -> None:
    """Let glibc keep up to 64 MB for the next request: fresh pages cost more than most batches."""
    with suppress(AttributeError, OSError, TypeError):  # other libraries have no `mallopt`
        adjust = ctypes.CDLL(None).mallopt
        adjust(_TRIM_THRESHOLD, 64 << 20)
        adjust(_MMAP_THRESHOLD, 32 << 20)  # the most it takes
