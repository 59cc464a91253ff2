"""The explorer as a server for the person at this machine."""

from __future__ import annotations

from collections.abc import Callable

from paretocut.schema.parameters import check_port
from paretocut.web.admission import Admission
from paretocut.web.app import create_app
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.routes import MAX_BYTES, explorer_routes
from paretocut.web.limits import Limits
from paretocut.web.server import LOOPBACK, bound, server_of

_HOST = "127.0.0.1"


def explorer_app(first: Exploration | None, other: Exploration | None = None) -> Admission:
    """Return the service with the explorer at its root; without a run, the page asks for one."""
    limits = Limits(max_body_bytes=MAX_BYTES, max_seconds=600.0)
    return create_app(limits=limits, routes=explorer_routes(first, other), hosts=LOOPBACK)


def serve(
    first: Exploration | None,
    other: Exploration | None = None,
    *,
    port: int,
    ready: Callable[[str], None],
) -> None:
    """Serve the explorer on the loopback until interrupted; ``ready`` gets the address."""
    with bound(_HOST, check_port(port, who="explore")) as listening:
        listening.listen()
        ready(f"http://{_HOST}:{listening.getsockname()[1]}/")
        server_of(explorer_app(first, other), 2, "warning").run(sockets=[listening])
