"""``calibrate``: learn from an index without a judgement, and see later whether it changed."""

from __future__ import annotations

import contextlib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import IO

from paretocut.background import QueryScale
from paretocut.calibration import calibrated, nonsense_queries
from paretocut.cli import arguments
from paretocut.cli.arguments import option, positive_int
from paretocut.cli.terminal import json_line, note, print_json
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.io.streams import open_target
from paretocut.truncators import Calibrated

SUMMARY = "learn without judgements when to return nothing, and how many results to expect"
DESCRIPTION = """Three steps. First, `calibrate --texts FILE` makes queries that mean nothing from
words of your index. Search for them. Second, `calibrate RUN` learns from the run of this nonsense,
and from --query-run, real queries without judgements, if you have some; it writes a model for
`paretocut cut --model`. Later, `calibrate --check MODEL RUN` compares new lists with those of
--query-run, and says "same", "changed" or "unsure". Lexical scores (BM25) grow with every word of
the query: for these, give --lexical in the first two steps and --query-texts in the last two."""

_READING = ("format", "distances", "max_bytes")
_TAKES = {
    "--texts and no RUN": ("texts", "lexical", "n", "seed", "output"),
    "RUN": (
        *(*_READING, "texts", "lexical", "query_texts", "query_run"),
        *("alpha", "unanswered", "expect", "output"),
    ),
    "--check": (*_READING, "check", "query_texts"),
}
"""The options of each form, beside --json and --quiet."""


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser, needed=False)
    arguments.add_output(
        parser, "the queries or the model", "print what was found as JSON", required=False
    )
    text = "some hundred texts of the index, one on each line; with RUN, only for --lexical"
    option(parser, "--texts FILE", text)
    option(parser, "--lexical", "the scores come from word matching (BM25)")
    arguments.add_query_texts(parser, "for lexical scores only")
    make = parser.add_argument_group("make the queries: calibrate --texts FILE")
    option(make, "-n N", "how many (default: 100)", positive_int)
    option(make, "--seed N", "seed (default: 0)", int)
    learn = parser.add_argument_group("learn: calibrate RUN")
    option(learn, "--query-run RUN", "run of real queries, in the format of RUN")
    text = "share of the nonsense that gets results, without --query-run (default: 0.05)"
    option(learn, "--alpha P", text, float)
    text = "share of the real queries that have no answer, as you believe (default: 0.05)"
    option(learn, "--unanswered P", text, float)
    arguments.add_options(learn, ["expect"])
    check = parser.add_argument_group("compare later: calibrate --check MODEL RUN")
    option(check, "--check MODEL", "what `calibrate RUN` wrote")


def run(args: Namespace) -> None:
    if args.check and args.run:
        form, step = "--check", _check
    elif args.run:
        form, step = "RUN", _learn
    elif args.texts and not args.check:
        form, step = "--texts and no RUN", _make
    else:
        got = "--check without RUN" if args.check else "none of them"
        raise InvalidParameterError(
            f"calibrate: --texts FILE, RUN or --check MODEL RUN must be given, got {got}"
        )
    every = {name for names in _TAKES.values() for name in names}
    for name in sorted(every.difference(_TAKES[form])):
        if (given := getattr(args, name)) not in (None, False):
            raise InvalidParameterError(
                f"calibrate: {arguments.flag(name)} must be left out with {form}, got {given}"
            )
    step(args)


def _make(args: Namespace) -> None:
    with _texts(args.texts) as file:
        made = nonsense_queries(file, args.n or 100, lexical=args.lexical, seed=args.seed or 0)
    with open_target(args.output or "-") as out:
        for i, query in enumerate(made, 1):
            row = {"id": f"nonsense-{i}", "text": query}
            out.write(json_line(row) if args.json else "\t".join(row.values()).encode() + b"\n")


def _learn(args: Namespace) -> None:
    if args.output is None:
        raise InvalidParameterError("calibrate: -o must name the file of the model, got none")
    together = {"--lexical": args.lexical, "--texts": args.texts, "--query-texts": args.query_texts}
    given = [option for option, value in together.items() if value]
    if given and len(given) < len(together):
        raise InvalidParameterError(
            f"calibrate: {', '.join(together)} must come together with RUN, got {', '.join(given)}"
        )
    nonsense = arguments.read(args)
    queries = None if args.query_run is None else arguments.read(args, args.query_run)
    scale = texts = None
    if args.lexical:
        texts = arguments.query_texts(
            args, nonsense, *([] if queries is None else [queries]), lexical=True
        )
        with _texts(args.texts) as file:
            scale = QueryScale.from_texts(file)
    model = calibrated(
        nonsense,
        queries,
        scale=scale,
        texts=texts,
        alpha=0.05 if args.alpha is None else args.alpha,
        unanswered=0.05 if args.unanswered is None else args.unanswered,
        expect=args.expect,
    )
    model.save(args.output)
    if args.json:
        found = {"threshold": model.threshold(), "report": model.report()}
        print_json({"model": args.output, **found})
    elif not args.quiet:
        note(model.report())


def _check(args: Namespace) -> None:
    what = "a model that `paretocut calibrate` wrote"
    model = arguments.load_as(Calibrated, what, args.check, args, "--check")
    lists = arguments.read(args)
    found = model.check(
        lists, queries=arguments.query_texts(args, lists, lexical=arguments.is_lexical(model))
    )
    if args.json:
        print_json(
            {name: getattr(found, name) for name in ("verdict", "pvalue", "distance", "lists")}
        )
    else:
        sys.stdout.write(f"{found}\n")


@contextlib.contextmanager
def _texts(path: str) -> Iterator[IO[str]]:
    """Yield the texts of the index, one on each line."""
    with open(path, encoding="utf-8") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise DataFormatError(path, 1, f"expected UTF-8 text, got {error}") from None
