"""``nonsense``, ``calibrate`` and ``check``: learn from an index without a judgement."""

from __future__ import annotations

import argparse
import json
import sys

import paretocut as pc
from paretocut.calibration import nonsense_queries
from paretocut.cli._common import (
    Commands,
    add_expect,
    add_input,
    add_query_texts,
    add_quiet,
    expect_of,
    load_truncator,
    note,
    positive_int,
    query_texts,
    read,
    read_another,
)
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.io._files import open_target
from paretocut.truncators import Calibrated


def add_commands(commands: Commands) -> None:
    """Add ``nonsense``, ``calibrate`` and ``check`` to the command line."""
    nonsense = commands.add_parser(
        "nonsense",
        help="make queries that mean nothing from the words of an index",
        description="Reads texts of the index, one a line, and writes queries of eight of their "
        "words, one a line: a name, a tab, the words. Search for them, then `paretocut calibrate`.",
    )
    nonsense.add_argument("texts", help="file with some hundred texts, one a line")
    nonsense.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write")
    nonsense.add_argument(
        "-n", type=positive_int, default=100, metavar="N", help="queries (default: 100)"
    )
    nonsense.add_argument(
        "--lexical", action="store_true", help="for word matching (BM25): common words more often"
    )
    nonsense.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default: 0)")
    nonsense.set_defaults(run_command=_nonsense, quiet=False)

    calibrate = commands.add_parser(
        "calibrate",
        help="learn from nonsense and unjudged queries when to return nothing, and how many",
        description="Reads the run of the nonsense queries and, if there is one, the run of real "
        "queries without judgements; writes a model for `paretocut cut --model`. Lexical scores "
        "(BM25) grow with every word of the query: for these give --lexical and --query-texts.",
    )
    add_input(calibrate)
    calibrate.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="where to write the model"
    )
    calibrate.add_argument(
        "--queries", metavar="RUN", help="run of real queries, in the format of the first run"
    )
    calibrate.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="P",
        help="share of the nonsense that gets results, without --queries (default: 0.05)",
    )
    calibrate.add_argument(
        "--unanswered",
        type=float,
        default=0.05,
        metavar="P",
        help="share of the real queries that you believe to have no answer (default: 0.05)",
    )
    calibrate.add_argument(
        "--lexical",
        metavar="TEXTS",
        help="the scores are of word matching (BM25); the file that `nonsense --lexical` read. "
        "Needs --query-texts, and so does every later use of the model",
    )
    add_query_texts(calibrate)
    add_expect(calibrate)
    calibrate.add_argument("--json", action="store_true", help="print what was found as JSON")
    add_quiet(calibrate)
    calibrate.set_defaults(run_command=_calibrate)

    check = commands.add_parser(
        "check",
        help="say whether lists still look like those of the calibration",
        description="Compares the lists of real queries with those of the calibration, and says "
        '"same", "changed" or "unsure".',
    )
    add_input(check)
    check.add_argument(
        "--model", required=True, metavar="FILE", help="what `paretocut calibrate` wrote"
    )
    add_query_texts(check)
    check.add_argument("--json", action="store_true", help="print the verdict as JSON")
    add_quiet(check)
    check.set_defaults(run_command=_check)


def _nonsense(args: argparse.Namespace) -> None:
    with open(args.texts, encoding="utf-8") as file:
        try:
            made = nonsense_queries(file, args.n, lexical=args.lexical, seed=args.seed)
        except UnicodeDecodeError as error:
            raise DataFormatError(args.texts, 1, f"expected UTF-8 text, got {error}") from None
    with open_target(args.output) as out:
        for i, query in enumerate(made, 1):
            out.write(f"nonsense-{i}\t{query}\n".encode())


def _calibrate(args: argparse.Namespace) -> None:
    nonsense = read(args)
    queries = None if args.queries is None else read_another(args, args.queries)
    scale, texts = None, None
    if args.lexical is not None:
        texts = query_texts(args, nonsense, *([] if queries is None else [queries]))
        with open(args.lexical, encoding="utf-8") as file:
            scale = pc.background.QueryScale.from_texts(file)
    t = pc.calibration.calibrated(
        nonsense,
        queries,
        scale=scale,
        texts=texts,
        alpha=args.alpha,
        unanswered=args.unanswered,
        expect=expect_of(args),
    )
    t.save(args.output)
    if args.json:
        told = {"model": args.output, "threshold": t.threshold(), "report": t.report()}
        sys.stdout.write(json.dumps(told) + "\n")
    elif not args.quiet:
        note(t.report())


def _check(args: argparse.Namespace) -> None:
    t = load_truncator(args.model)
    if not isinstance(t, Calibrated):
        raise InvalidParameterError(
            f"check: --model must name what `paretocut calibrate` wrote, got a "
            f"{type(t).__name__} in {args.model}"
        )
    lists = read(args)
    found = t.check(lists, queries=query_texts(args, lists) if t._needs_query() else None)
    if args.json:
        told = {
            "verdict": found.verdict,
            "pvalue": found.pvalue,
            "distance": dict(found.distance),
            "lists": found.lists,
        }
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        sys.stdout.write(f"{found}\n")
