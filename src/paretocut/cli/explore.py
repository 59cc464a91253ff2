"""``explore`` and ``report``: a run to look at, in the browser or in one file."""

from __future__ import annotations

import argparse
import errno
import sys
import warnings
from pathlib import Path
from typing import Any

import paretocut as pc
from paretocut.background import Background
from paretocut.cli._common import (
    Commands,
    add_grading,
    add_input,
    add_quiet,
    note,
    positive_int,
    read,
    read_another,
)
from paretocut.cli.fusion import names_of
from paretocut.errors import InvalidParameterError
from paretocut.io import read_texts
from paretocut.io._files import open_target
from paretocut.lists import RankedLists
from paretocut.schema.extras import require
from paretocut.truncators import Truncator
from paretocut.web.explorer.exploration import Exploration


def add_commands(commands: Commands) -> None:
    """Add ``explore`` and ``report`` to the command line."""
    explore = commands.add_parser(
        "explore",
        help="look at a run in the browser, and drag the cut (needs paretocut[serve])",
        description="Serves a page on which the cut of every list can be dragged, beside what "
        "each method would do. Without RUN the page asks for one. Ctrl-C ends it.",
    )
    _add_looked_at(explore, needed=False)
    explore.add_argument(
        "--port", type=int, default=8765, metavar="P", help="default: 8765; 0 takes a free one"
    )
    explore.add_argument("--open", action="store_true", help="open the page in the browser")
    explore.set_defaults(run_command=_explore)

    report = commands.add_parser(
        "report",
        help="write the explorer of a run as one file",
        description="Writes one HTML file with the run, its methods and its most interesting "
        "queries. It needs no server and no network, and can be printed.",
    )
    _add_looked_at(report)
    report.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="where to write the report"
    )
    report.add_argument(
        "--max-size",
        type=positive_int,
        default=1_900_000,
        metavar="BYTES",
        help="largest size of the file; queries that do not fit are left out (default: 1900000)",
    )
    report.set_defaults(run_command=_report)


def _add_looked_at(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    add_input(parser, needed=needed)
    parser.add_argument("qrels", metavar="QRELS", nargs="?", help="judgements in TREC format")
    add_grading(parser)
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a saved truncator or background, shown beside the others (may be repeated)",
    )
    parser.add_argument(
        "--fuse",
        nargs="+",
        default=[],
        metavar="RUN",
        help="more runs of the same queries, fused with RUN; each one's scores are shown",
    )
    parser.add_argument(
        "--queries",
        metavar="FILE",
        help="texts of the queries: JSON lines (id, text), or lines of name, tab, text",
    )
    parser.add_argument("--corpus", metavar="FILE", help="texts of the documents, likewise")
    add_quiet(parser)


def _session(args: argparse.Namespace) -> Exploration:
    models = dict(_model(args, text) for text in args.model)
    queries = read_texts(args.queries) if args.queries else {}
    lists, notes = _lists(args)
    if not args.quiet:
        for text in notes:
            note(text, who="warning: ")
    wanted = set() if lists.doc_ids is None else set(lists.doc_ids.values.tolist())
    documents = read_texts(args.corpus, wanted) if args.corpus else {}
    name = " + ".join([Path(args.run).name, *(Path(run).name for run in args.fuse)])
    session = Exploration(
        lists,
        name=name,
        models=models,
        query_texts=queries,
        doc_texts=documents,
        source=Path(args.run).name,
    )
    for key in session.methods:
        session.cuts(key)  # what a model does not suit is told before anything is shown
    return session


def _model(args: argparse.Namespace, text: str) -> tuple[str, Truncator | Background]:
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise InvalidParameterError(
            f"{args.command}: --model must have the form NAME=FILE, got {text!r}"
        )
    found = pc.load(path)
    if isinstance(found, pc.Fusion):
        raise InvalidParameterError(
            f"{args.command}: --model must name a saved truncator or background, got a fusion in "
            f"{path}"
        )
    return name, found


def _lists(args: argparse.Namespace) -> tuple[RankedLists, list[str]]:
    """Return the lists, fused or not, and what the user should know of them."""
    judged: dict[str, Any] = {}
    if args.qrels is not None:
        judged = {
            "qrels": args.qrels,
            "min_grade": args.min_grade,
            "unjudged": args.unjudged,
        }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lists = read(args, **judged)
        if args.fuse:
            own, *others = names_of([args.run, *args.fuse]).items()
            more = {name: read_another(args, run, **judged) for name, run in others}
            lists = pc.fuse({own[0]: lists, **more})
    return lists, [str(warning.message) for warning in caught]


def _explore(args: argparse.Namespace) -> None:
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, feature="paretocut explore", extra="serve")
    from paretocut.web.explorer.server import serve

    if args.run is None and (args.model or args.fuse or args.queries or args.corpus):
        raise InvalidParameterError("explore: options of a run must come with RUN, got none")
    session = None if args.run is None else _session(args)

    def ready(address: str) -> None:
        sys.stdout.write(f"paretocut explorer: {address}  (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if args.open:
            import webbrowser

            webbrowser.open(address)

    try:
        serve(session, port=args.port, ready=ready)
    except KeyboardInterrupt:
        pass  # how it is meant to end
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise InvalidParameterError(
            f"explore: --port must be free, got {args.port}, which another program uses; "
            "--port 0 takes a free one"
        ) from None


def _report(args: argparse.Namespace) -> None:
    from paretocut.web.explorer.report import render

    session = _session(args)
    page = render(session, max_size=args.max_size)
    with open_target(args.output) as out:
        out.write(page)
    if not args.quiet:
        note(f"{args.output}: {len(page) / 1e6:.1f} MB")
