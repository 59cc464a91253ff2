"""``explore``: look at a run in the browser."""

from __future__ import annotations

import errno
import sys
import webbrowser
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import paretocut as pc
from paretocut.callbacks.journal import lock
from paretocut.cli import arguments
from paretocut.cli.arguments import option
from paretocut.cli.stop import add_rule, rule_given
from paretocut.cli.terminal import noted_warnings
from paretocut.errors import InvalidParameterError, require
from paretocut.io import read_qrels, read_texts
from paretocut.judging.reading import StoppingRule
from paretocut.loading import load_decider

if TYPE_CHECKING:
    from paretocut.web.explorer.exploration import Exploration

SUMMARY = "look at a run in the browser, and drag the cut (needs paretocut[serve])"
DESCRIPTION = """Serves a page that shows every list with a cut you can drag, next to the cut of
each method, and asks about one result after another. Without RUN the page asks for one. Ctrl-C
ends it."""


def add_arguments(parser: ArgumentParser) -> None:
    add_explored(parser, needed=False)
    option(parser, "-q --quiet", "no warnings")
    option(parser, "--port P", "port; 0 takes a free one", int, default=8765)
    option(parser, "--open", "open the page in the browser")
    text = "file that keeps each judgement made on the page, as `judge` keeps them in FILE.jsonl"
    option(parser, "--answers FILE", text)
    text = "another run of the same queries: the page shows which queries win and lose"
    option(parser, "--against RUN", text)
    add_rule(parser)


def add_explored(parser: ArgumentParser, *, needed: bool = True) -> None:
    """Add the run and what is shown with it."""
    arguments.add_input(parser, needed=needed)
    arguments.add_judgements(parser, needed=False)
    option(parser, "--unanswered", "queries that are not in QRELS have no answer")
    text = "a saved truncator or background to show next to the others (may be repeated)"
    option(parser, "--model NAME=FILE", text, action="append", default=[])
    arguments.add_imports(parser)
    text = "more runs of the same queries, to be fused with RUN; the page shows the scores of each"
    option(parser, "--fuse RUN", text, nargs="+", default=[])
    text = "metric that methods are measured and learned by"
    option(parser, "--metric METRIC", f"{text} (default: f1; f1/collection with --fuse)")
    arguments.add_query_texts(parser, "the page shows them")
    option(parser, "--corpus FILE", "texts of the documents, in the same form")


def run(args: Namespace) -> None:
    for package in ("starlette", "msgspec", "httptools", "uvicorn", "prometheus_client"):
        require(package, feature="paretocut explore", extra="serve")
    rule = rule_given(args)
    extras = (
        args.model,
        args.fuse,
        args.query_texts,
        args.corpus,
        args.answers,
        args.against,
        rule,
    )
    if args.run is None and any((*extras, rule)):
        raise InvalidParameterError("options of a run must come with RUN, got none")
    if args.against is not None and args.qrels is None:
        raise InvalidParameterError("--against must come with QRELS, got none")
    with nullcontext() if args.answers is None else lock(args.answers, name="--answers"):
        explored = None if args.run is None else exploration(args, args.answers, rule)
        other = None if args.against is None else exploration(_against(args))
        _serve(args, explored, other)


def _against(args: Namespace) -> Namespace:
    """Return the arguments of the run that RUN is compared with."""
    return Namespace(**{**vars(args), "run": args.against, "fuse": []})


def _serve(args: Namespace, explored: Exploration | None, other: Exploration | None) -> None:
    from paretocut.web.explorer.routes import serve

    def ready(address: str) -> None:
        sys.stdout.write(f"paretocut explorer: {address}  (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if args.open:
            webbrowser.open(address)

    try:
        serve(explored, other, port=args.port, ready=ready)
    except KeyboardInterrupt:
        pass  # the way to end it
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise InvalidParameterError(
            f"--port must be free, got {args.port}, which another program uses; "
            "--port 0 takes a free one"
        ) from None


def exploration(
    args: Namespace, answers: str | None = None, rule: StoppingRule | None = None
) -> Exploration:
    """Return what the page shows; every method must be able to cut the lists."""
    from paretocut.web.explorer.exploration import Exploration, Source, with_all_queries

    if args.unanswered and args.qrels is None:
        raise InvalidParameterError("--unanswered must come with QRELS, got none")
    # A run gains nothing from relevant documents that it did not find, as in `evaluate --fuse`.
    metric = pc.metrics.get(args.metric or ("f1/collection" if args.fuse else "f1")).name
    saved = arguments.named_files("--model", args.model)
    models = {name: load_decider(path) for name, path in saved.items()}
    files = arguments.short_names([args.run, *args.fuse])
    grade = {"min_grade": args.min_grade}
    with noted_warnings(quiet=args.quiet):
        runs = {name: arguments.read(args, file, **grade) for name, file in files.items()}
        if args.qrels is not None:
            qrels = read_qrels(args.qrels, max_bytes=args.max_bytes)
            how = {"unjudged": args.unjudged, **grade}
            runs = {name: with_all_queries(own, qrels, **how) for name, own in runs.items()}
        lists = pc.fuse(runs) if args.fuse else next(iter(runs.values()))
        judged = set(qrels.query_ids.tolist()) if args.qrels is not None else set()
    documents = {}
    if args.corpus:
        wanted = set() if lists.doc_ids is None else set(lists.doc_ids.values.tolist())
        documents = read_texts(args.corpus, wanted)
    found = Exploration(
        lists,
        name=" + ".join(Path(file).name for file in files.values())
        + (f", judged by {Path(args.qrels).name}" if args.qrels else ""),
        models=models,
        query_texts={k: v for file in args.query_texts or [] for k, v in read_texts(file).items()},
        doc_texts=documents,
        unanswered=set(lists.query_ids.tolist()) - judged if args.unanswered else (),
        source=Source(
            tuple(files.values()), args.distances, args.format, saved, tuple(args.query_texts or ())
        ),
        answers=answers,
        rule=rule,
        metric=metric,
    )
    for key in found.methods:
        found.cuts(key)  # a model that does not suit the lists is refused before the page opens
    return found
