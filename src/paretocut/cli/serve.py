"""``serve``: decisions over HTTP."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields

from paretocut.cli._common import Commands, positive_int
from paretocut.errors import InvalidParameterError
from paretocut.schema.extras import require

_LIMITS: dict[str, tuple[Callable[[str], float], str, str]] = {
    "max_body_bytes": (positive_int, "N", "bytes of a request's body (default: 32 MiB)"),
    "max_lists": (positive_int, "N", "lists of one request (default: 10000)"),
    "max_list_length": (positive_int, "N", "results of one list (default: 100000)"),
    "max_concurrency": (positive_int, "N", "requests under way in a worker (default: 64)"),
    "max_seconds": (float, "S", "seconds for one request (default: 30)"),
}


def add_commands(commands: Commands) -> None:
    """Add ``serve`` to the command line."""
    serve = commands.add_parser(
        "serve",
        help="answer over HTTP: JSON or Arrow in and out",
        description="Serves /v1/cut, /v1/score, /v1/fuse, /v1/evaluate, /healthz and /metrics "
        "until SIGTERM or Ctrl-C, then answers what is under way and ends. Logs are JSON lines "
        "on standard error. The description is at /openapi.json.",
    )
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="where to listen (default: 127.0.0.1)"
    )
    serve.add_argument(
        "--port", type=int, default=8000, metavar="P", help="port; 0 is any (default: 8000)"
    )
    for what, written in (("model", "fit, calibrate or Truncator.save"), ("fusion", "Fusion.save")):
        serve.add_argument(
            f"--{what}",
            action="append",
            default=[],
            metavar="NAME=FILE",
            help=f"load what {written} wrote; requests use it by name (may be repeated)",
        )
    serve.add_argument(
        "--workers", type=positive_int, default=1, metavar="N", help="processes (default: 1)"
    )
    serve.add_argument(
        "--threads",
        type=positive_int,
        metavar="N",
        help="requests worked on at once in a process (default: one per processor)",
    )
    serve.add_argument(
        "--drain-seconds",
        type=positive_int,
        default=30,
        metavar="S",
        help="time for requests under way after SIGTERM (default: 30)",
    )
    who = serve.add_argument_group("who may ask")
    who.add_argument(
        "--token-file",
        metavar="FILE",
        help="file of the bearer token (default: the environment variable PARETOCUT_TOKEN)",
    )
    who.add_argument(
        "--no-token", action="store_true", help="let everybody in, also from other machines"
    )
    limits = serve.add_argument_group("what one request may cost")
    for name, (kind, metavar, text) in _LIMITS.items():
        limits.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=text)
    serve.set_defaults(run_command=_serve)


def _serve(args: argparse.Namespace) -> None:
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, feature="paretocut serve", extra="serve")
    from paretocut.web.limits import Limits
    from paretocut.web.server import Settings, run

    given = {field.name: getattr(args, field.name) for field in fields(Limits)}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})
    run(
        Settings(
            host=args.host,
            port=args.port,
            models=_by_name(args.model, "--model"),
            fusions=_by_name(args.fusion, "--fusion"),
            token_file=args.token_file,
            no_token=args.no_token,
            workers=args.workers,
            threads=args.threads,
            drain_seconds=args.drain_seconds,
            limits=limits,
        )
    )


def _by_name(given: Sequence[str], option: str) -> dict[str, str]:
    files: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise InvalidParameterError(f"serve: {option} must have the form NAME=FILE, got {text}")
        if name in files:
            raise InvalidParameterError(
                f"serve: {option} must have different names, got {name} twice"
            )
        files[name] = path
    return files
