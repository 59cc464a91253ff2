"""The explorer as a server for the person at this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware

from paretocut.schema.parameters import check_port
from paretocut.web.app import create_app
from paretocut.web.explorer.routes import MAX_BYTES, router
from paretocut.web.explorer.session import Session
from paretocut.web.limits import Limits
from paretocut.web.logs import configuration

__all__ = ["explorer_app", "serve"]

_HOST = "127.0.0.1"


def explorer_app(session: Session | None) -> FastAPI:
    """Return the service with the explorer at its root.

    Parameters
    ----------
    session
        What is looked at first; None asks for a run.
    """
    limits = Limits(max_body_bytes=MAX_BYTES, max_seconds=600.0)
    app = create_app(limits=limits, routers=[router(session)])
    # A page of a stranger that makes its own name point to this machine is refused.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[_HOST, "localhost"])
    return app


def serve(session: Session | None, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve the explorer on the loopback until interrupted.

    Parameters
    ----------
    session
        As for `explorer_app`.
    port
        Where to listen; 0 takes one that is free.
    ready
        Told the address, once it is taken.
    """
    with socket.create_server((_HOST, check_port(port, who="explore"))) as listening:
        config = uvicorn.Config(
            explorer_app(session),
            log_config=configuration("warning"),
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        ready(f"http://{_HOST}:{listening.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listening])
