"""``explore``, ``report`` and ``serve``: a run in the browser or in one file, decisions by HTTP."""

from __future__ import annotations

import errno
import sys
import webbrowser
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import paretocut as pc
from paretocut.callbacks import lock
from paretocut.cli import arguments
from paretocut.cli.arguments import Commands, note, noted_warnings, option, positive_int
from paretocut.cli.stop import add_rule, rule_given
from paretocut.errors import InvalidParameterError, require
from paretocut.io import read_qrels, read_texts
from paretocut.io.streams import open_target
from paretocut.judging.session import StoppingRule
from paretocut.loading import load_decider

if TYPE_CHECKING:
    from paretocut.web.explorer.exploration import Exploration

_LIMITS = {
    "max_body_bytes": "bytes in the body of a request (default: 32 MiB)",
    "max_lists": "lists in one request (default: 10000)",
    "max_list_length": "results in one list (default: 100000)",
    "max_concurrency": "open requests per worker (default: 64)",
    "max_seconds": "seconds for one request (default: 30)",
}


def _require_server(command: str) -> None:
    for package in ("starlette", "msgspec", "httptools", "uvicorn", "prometheus_client"):
        require(package, feature=f"paretocut {command}", extra="serve")


def add_explore(commands: Commands) -> None:
    parser = arguments.command(commands, explore)
    _add_explored(parser, needed=False)
    option(parser, "-q --quiet", "no warnings")
    option(parser, "--port P", "port; 0 takes a free one", int, default=8765)
    option(parser, "--open", "open the page in the browser")
    option(parser, "--answers FILE", "keep the judgements made on the page, as `judge` does")
    option(parser, "--against RUN", "another run of the same queries, to compare with")
    add_rule(parser)


def _add_explored(parser: ArgumentParser, *, needed: bool = True) -> None:
    arguments.add_input(parser, needed=needed)
    arguments.add_judgements(parser, needed=False)
    option(parser, "--unanswered", "queries that are not in QRELS have no answer")
    text = "a saved truncator or background to show next to the others (may be repeated)"
    option(parser, "--model NAME=FILE", text, action="append", default=[])
    arguments.add_imports(parser)
    text = "more runs of the same queries, to be fused with RUN; the page shows the scores of each"
    option(parser, "--fuse RUN", text, nargs="+", default=[])
    text = "metric that methods are measured by (default: f1; f1/collection with --fuse)"
    option(parser, "--metric METRIC", text)
    arguments.add_query_texts(parser, "the page shows them")
    option(parser, "--corpus FILE", "texts of the documents, in the same form")


def explore(args: Namespace) -> None:
    """Look at a run in the browser, and drag the cut (needs paretocut[serve]).

    Serves a page that shows every list with a cut you can drag, next to the cut of each method,
    and asks about one result after another. Without RUN the page asks for one. Ctrl-C ends it.
    """
    _require_server("explore")
    from paretocut.web.explorer.routes import serve

    rule = rule_given(args)
    extras = (args.model, args.fuse, args.query_texts, args.corpus, args.answers, args.against)
    if args.run is None and any((*extras, rule)):
        raise InvalidParameterError("options of a run must come with RUN, got none")
    if args.against is not None and args.qrels is None:
        raise InvalidParameterError("--against must come with QRELS, got none")

    def ready(address: str) -> None:
        sys.stdout.write(f"paretocut explorer: {address}  (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if args.open:
            webbrowser.open(address)

    with nullcontext() if args.answers is None else lock(args.answers, name="--answers"):
        explored = None if args.run is None else exploration(args, args.answers, rule)
        other = None
        if args.against is not None:
            other = exploration(Namespace(**{**vars(args), "run": args.against, "fuse": []}))
        try:
            serve(explored, other, port=args.port, ready=ready)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            got = f"{args.port}, which another program uses; --port 0 takes a free one"
            raise InvalidParameterError(f"--port must be free, got {got}") from None


def exploration(
    args: Namespace, answers: str | None = None, rule: StoppingRule | None = None
) -> Exploration:
    """Return the run that the page shows; every method must be able to cut the lists."""
    from paretocut.web.explorer.exploration import Exploration, Source, with_all_queries

    if args.unanswered and args.qrels is None:
        raise InvalidParameterError("--unanswered must come with QRELS, got none")
    # A run gains nothing from relevant documents that it did not find, as in `evaluate --fuse`.
    metric = pc.metrics.get(args.metric or ("f1/collection" if args.fuse else "f1")).name
    saved = arguments.named_files("--model", args.model)
    models = {name: load_decider(path) for name, path in saved.items()}
    files = arguments.short_names([args.run, *args.fuse])
    name = " + ".join(Path(file).name for file in files.values())
    grade, judged = {"min_grade": args.min_grade}, set()
    with noted_warnings(quiet=args.quiet):
        runs = {name: arguments.read(args, file, **grade) for name, file in files.items()}
        if args.qrels is not None:
            name += f", judged by {Path(args.qrels).name}"
            qrels = read_qrels(args.qrels, max_bytes=args.max_bytes)
            judged = set(qrels.query_ids.tolist())
            how = {"unjudged": args.unjudged, **grade}
            runs = {name: with_all_queries(own, qrels, **how) for name, own in runs.items()}
        lists = pc.fuse(runs) if args.fuse else next(iter(runs.values()))
    wanted = set() if lists.doc_ids is None else set(lists.doc_ids.values.tolist())
    texts = tuple(args.query_texts or ())
    found = Exploration(
        lists,
        name=name,
        models=models,
        query_texts={k: v for file in texts for k, v in read_texts(file).items()},
        doc_texts=read_texts(args.corpus, wanted) if args.corpus else {},
        unanswered=set(lists.query_ids.tolist()) - judged if args.unanswered else (),
        source=Source(tuple(files.values()), args.distances, args.format, saved, texts),
        answers=answers,
        rule=rule,
        metric=metric,
    )
    for key in found.methods:
        found.cuts(key)  # a model that does not suit the lists is refused before the page opens
    return found


def add_report(commands: Commands) -> None:
    parser = arguments.command(commands, report)
    _add_explored(parser)
    arguments.add_output(parser, "the report")


def report(args: Namespace) -> None:
    """Write the findings on a run into one file, for readers.

    Writes one HTML file: the finding, a table of methods, a chart, three queries as examples,
    and the explorer of the run as an appendix. It needs no server and no network, and can be
    printed.
    """
    from paretocut.web.explorer.report import render

    page = render(exploration(args))
    with open_target(args.output) as out:
        out.write(page)
    if not args.quiet:
        note(f"{args.output}: {len(page) / 1e6:.1f} MB")


def add_serve(commands: Commands) -> None:
    parser = arguments.command(commands, serve)
    option(parser, "--host H", "address to listen on", default="127.0.0.1")
    option(parser, "--port P", "port; 0 takes a free one", int, default=8000)
    for name, written in (("model", "fit, calibrate or Truncator.save"), ("fusion", "Fusion.save")):
        text = f"a file of {written}; requests refer to it by this name (may be repeated)"
        option(parser, f"--{name} NAME=FILE", text, action="append", default=[])
    option(parser, "--models DIR", "folder of more models, NAME.json each, loaded on request")
    text = "models of the folder that are kept in memory (default: the last 1000 used)"
    option(parser, "--max-models N", text, positive_int, default=1000)
    arguments.add_imports(parser)
    option(parser, "--workers N", "processes", positive_int, default=1)
    text = "requests that a process handles at once (default: one per processor)"
    option(parser, "--threads N", text, positive_int)
    option(parser, "--drain-seconds S", "seconds to finish after SIGTERM", positive_int, default=30)
    who = parser.add_argument_group("who may ask")
    option(who, "--token-file FILE", "file of the bearer token (default: $PARETOCUT_TOKEN)")
    option(who, "--no-token", "let everybody in, even from other machines")
    limits = parser.add_argument_group("what one request may cost")
    for name, text in _LIMITS.items():
        kind = float if name == "max_seconds" else positive_int
        option(limits, f"{arguments.flag(name)} N", text, kind)


def serve(args: Namespace) -> None:
    """Decide over HTTP: JSON or Arrow in and out (needs paretocut[serve]).

    Serves /v1/cut, /v1/score, /v1/fuse, /healthz and /metrics until SIGTERM or
    Ctrl-C; then it finishes the open requests and exits. Logs are JSON lines on standard error.
    /openapi.json describes the service.
    """
    _require_server("serve")
    from paretocut.web import server
    from paretocut.web.limits import Limits

    given = {name: value for name, value in vars(args).items() if hasattr(server.Settings, name)}
    given["models"] = arguments.named_files("--model", args.model)
    given["fusions"] = arguments.named_files("--fusion", args.fusion)
    limits = Limits(**arguments.given_options(args, _LIMITS))
    server.run(server.Settings(**given, folder=args.models, limits=limits))
