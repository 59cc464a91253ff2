"""The explorer as a server of its own."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

from paretocut._extras import require

require("fastapi", feature="the explorer", extra="serve")
uvicorn = require("uvicorn", feature="the explorer", extra="serve")

from fastapi import FastAPI, Request, Response

from paretocut.web.explorer.routes import router
from paretocut.web.explorer.session import Session

__all__ = ["explorer_app", "serve"]

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def explorer_app(session: Session | None, *, hosts: frozenset[str] = _LOOPBACK) -> FastAPI:
    """Return an application that is the explorer alone.

    Parameters
    ----------
    session
        What is looked at first; None asks for a run.
    hosts
        Names under which it may be asked. A page of a stranger that makes its own name point to
        this machine is refused.
    """
    app = FastAPI(title="paretocut explorer", openapi_url=None)

    @app.middleware("http")
    async def known_host(
        request: Request, go_on: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        if request.url.hostname not in hosts:
            return Response("this name is not mine\n", 421)
        return await go_on(request)

    app.include_router(router(session))
    return app


def serve(
    session: Session | None, *, host: str, port: int, ready: Callable[[str], None]
) -> None:
    """Serve the explorer until interrupted.

    Parameters
    ----------
    session
        As for `explorer_app`.
    host, port
        Where to listen; port 0 takes one that is free.
    ready
        Told the address, once it is taken.
    """
    with socket.create_server((host, port)) as listening:
        taken = listening.getsockname()[1]
        app = explorer_app(session, hosts=_LOOPBACK | {host})
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
        ready(f"http://{host}:{taken}/")
        uvicorn.Server(config).run(sockets=[listening])
