"""``serve``: decide over HTTP."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from paretocut.cli import arguments
from paretocut.cli.arguments import option, positive_int
from paretocut.errors import require

SUMMARY = "decide over HTTP: JSON or Arrow in and out (needs paretocut[serve])"
DESCRIPTION = """Serves /v1/cut, /v1/score, /v1/fuse, /healthz and /metrics until SIGTERM or Ctrl-C;
then it finishes the open requests and exits. Logs are JSON lines on standard error. /openapi.json
describes the service."""

_SETTINGS = (
    "host",
    "port",
    "max_models",
    "token_file",
    "no_token",
    "workers",
    "threads",
    "drain_seconds",
    "imports",
)
_LIMITS = {
    "max_body_bytes": "bytes in the body of a request (default: 32 MiB)",
    "max_lists": "lists in one request (default: 10000)",
    "max_list_length": "results in one list (default: 100000)",
    "max_concurrency": "open requests per worker (default: 64)",
    "max_seconds": "seconds for one request (default: 30)",
}


def add_arguments(parser: ArgumentParser) -> None:
    option(parser, "--host H", "address to listen on", default="127.0.0.1")
    option(parser, "--port P", "port; 0 takes a free one", int, default=8000)
    for name, written in (("model", "fit, calibrate or Truncator.save"), ("fusion", "Fusion.save")):
        text = f"what {written} wrote; requests refer to it by this name (may be repeated)"
        option(parser, f"--{name} NAME=FILE", text, action="append", default=[])
    text = "folder of more models, NAME.json each, loaded when a request first names them"
    option(parser, "--models DIR", text)
    text = "models of the folder that are kept in memory (default: the last 1000 used)"
    option(parser, "--max-models N", text, positive_int, default=1000)
    arguments.add_imports(parser)
    option(parser, "--workers N", "processes", positive_int, default=1)
    text = "requests that a process handles at once (default: one per processor)"
    option(parser, "--threads N", text, positive_int)
    text = "seconds to finish open requests after SIGTERM"
    option(parser, "--drain-seconds S", text, positive_int, default=30)
    who = parser.add_argument_group("who may ask")
    text = "file of the bearer token (default: the environment variable PARETOCUT_TOKEN)"
    option(who, "--token-file FILE", text)
    option(who, "--no-token", "let everybody in, even from other machines")
    limits = parser.add_argument_group("what one request may cost")
    for name, text in _LIMITS.items():
        kind = float if name == "max_seconds" else positive_int
        option(limits, f"{arguments.flag(name)} N", text, kind)


def run(args: Namespace) -> None:
    for package in ("starlette", "msgspec", "httptools", "uvicorn", "prometheus_client"):
        require(package, feature="paretocut serve", extra="serve")
    from paretocut.web import server
    from paretocut.web.limits import Limits

    server.run(
        server.Settings(
            **{name: getattr(args, name) for name in _SETTINGS},
            models=arguments.named_files("--model", args.model),
            folder=args.models,
            fusions=arguments.named_files("--fusion", args.fusion),
            limits=Limits(**arguments.given_options(args, _LIMITS)),
        )
    )
