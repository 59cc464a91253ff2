"""``score`` and ``cut``: the commands that need a run and nothing else."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import csv
import json
import os
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeAlias

import numpy as np

import paretocut as pc
from paretocut.cli._common import (
    Commands,
    add_expect,
    add_fit_options,
    add_input,
    add_query_texts,
    add_quiet,
    blocks,
    expect_of,
    fit_options,
    load_background,
    load_truncator,
    note,
    progress,
    query_texts,
    read,
    report_warnings,
)
from paretocut.decisions.options import IF_SHALLOW, RULES, FitOptions, check_bounds
from paretocut.errors import InvalidParameterError
from paretocut.io import write_lists
from paretocut.io._files import open_target
from paretocut.io.tables import Format, format_of
from paretocut.lists import IntArray, RankedList
from paretocut.tail import SurpriseFits, limited_threads
from paretocut.truncators import Gated, Truncator, from_text
from paretocut.truncators.choose import choose

_COLUMNS = ("query_id", "rank", "doc_id", "score", "surprise", "pvalue", "evalue")
_MOST_NAMED = 50

_Row: TypeAlias = tuple[Any, ...]


def add_commands(commands: Commands) -> None:
    """Add ``score`` and ``cut`` to the command line."""
    score = commands.add_parser(
        "score",
        help="give every result its surprise, p-value and E-value",
        description="Prints a line for every result, best first: " + ", ".join(_COLUMNS) + ".",
    )
    add_input(score)
    score.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="where to write (default: - )"
    )
    score.add_argument("--json", action="store_true", help="JSON lines instead of TSV")
    add_quiet(score)
    add_fit_options(score)
    score.set_defaults(run_command=_score)

    cut = commands.add_parser(
        "cut",
        help="shorten every list to the results worth returning",
        description="Writes the shortened run, in the format of the input. A TREC run cannot hold "
        "a query without results: those are named on standard error.",
    )
    add_input(cut)
    cut.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write the run; a known suffix (.run, .jsonl, ...) sets its format",
    )
    cut.add_argument(
        "--json",
        action="store_true",
        help="print decisions, one JSON object per query; the run is written only with -o",
    )
    add_query_texts(cut)
    add_quiet(cut)
    deciders = cut.add_argument_group(
        "who decides (at most one; without any, untrained consensus)"
    ).add_mutually_exclusive_group()
    add_expect(deciders)
    deciders.add_argument("--model", metavar="FILE", help="what `fit` or `calibrate` wrote")
    deciders.add_argument(
        "--method",
        metavar="METHOD",
        help="a method that needs no training, such as largest_gap, minmax:threshold=0.5 or "
        "fixed_k:k=20; `paretocut fit --help` lists the names",
    )
    deciders.add_argument("--alpha", type=float, metavar="A", help="rule: p-value <= A")
    deciders.add_argument(
        "--evalue",
        type=float,
        metavar="E",
        help="rule: chance alone would bring at most E such results",
    )
    deciders.add_argument(
        "--fdr", type=float, metavar="Q", help="rule: at most a share Q of those kept by chance"
    )
    deciders.add_argument("--min-surprise", type=float, metavar="S", help="rule: surprise >= S")
    cut.add_argument(
        "--if-shallow",
        choices=IF_SHALLOW,
        help="what a rule does with a list of fewer than 50 results of which it keeps none "
        "(default: keep)",
    )
    gate = cut.add_argument_group("nothing, where there is no answer")
    gate.add_argument(
        "--background",
        metavar="FILE",
        help="what `paretocut background` has learned: nothing is kept unless the best score is "
        "beyond what queries without an answer reach",
    )
    gate.add_argument(
        "--gate-alpha",
        type=float,
        metavar="A",
        help="share of the queries without an answer that get results all the same (default: 0.05)",
    )
    bounds = cut.add_argument_group("bounds, whatever the rule says")
    bounds.add_argument("--min-k", type=int, default=0, metavar="K", help="keep at least K results")
    bounds.add_argument("--max-k", type=int, metavar="K", help="keep at most K results")
    add_fit_options(cut)
    cut.set_defaults(run_command=_cut)


def _score(args: argparse.Namespace) -> None:
    FitOptions(**fit_options(args)).check("score")  # bad options are found before any file is read
    lists = read(args)
    found: list[tuple[str, ...]] = []
    with open_target(args.output) as out, progress(len(lists), "query", quiet=args.quiet) as bar:
        write = _json_writer(out) if args.json else _tsv_writer(out)
        for block in blocks(lists):
            fits = pc.fit_tails(block, threads=args.threads, **fit_options(args))
            for i, ranked in enumerate(block):
                write(_rows(ranked, fits, i))
            found += fits.warnings
            bar.update(len(block))
    if not args.quiet:
        report_warnings(found, len(lists))


def _rows(ranked: RankedList, fits: SurpriseFits, i: int) -> Iterator[_Row]:
    """Yield the columns of each result of one list."""
    n = len(ranked)
    surprise = fits.surprise[i]
    ids = [None] * n if ranked.doc_ids is None else ranked.doc_ids.tolist()
    yield from zip(
        [ranked.query_id] * n,
        range(1, n + 1),
        ids,
        ranked.scores.tolist(),
        surprise.tolist(),
        np.exp(-surprise).tolist(),
        (fits.tests[i] * np.exp(-surprise)).tolist(),
        strict=True,
    )


def _json_writer(out: IO[bytes]) -> Callable[[Iterator[_Row]], None]:
    """Return what writes rows as JSON objects, with all digits."""

    def write(rows: Iterator[_Row]) -> None:
        for row in rows:
            _write_json(out, dict(zip(_COLUMNS, row, strict=True)))

    return write


def _tsv_writer(out: IO[bytes]) -> Callable[[Iterator[_Row]], None]:
    """Return what writes rows of a table for the eye: the score as it came, six digits else."""
    writer = csv.writer(codecs.getwriter("utf-8")(out), delimiter="\t", lineterminator="\n")
    writer.writerow(_COLUMNS)

    def write(rows: Iterator[_Row]) -> None:
        writer.writerows([*row[:4], *(f"{number:.6g}" for number in row[4:])] for row in rows)

    return write


def _write_json(out: IO[bytes], row: dict[str, Any]) -> None:
    out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _cut(args: argparse.Namespace) -> None:
    truncator = _decider(args)
    check_bounds("cut", args.min_k, args.max_k)
    lists = read(args)
    texts = query_texts(args, lists) if truncator._needs_query() else None
    parts: list[IntArray] = []
    start = 0
    found: list[tuple[str, ...]] = []
    with (
        open_target("-") as out,
        progress(len(lists), "query", quiet=args.quiet) as bar,
        limited_threads(args.threads),
    ):
        for block in blocks(lists):
            asked: dict[str, Any] = {}
            if texts is not None:
                asked["queries"] = texts[start : start + len(block)]
            start += len(block)
            cuts = truncator.cut_batch(block, min_k=args.min_k, max_k=args.max_k, **asked)
            parts.append(cuts.k)
            found += cuts.warnings
            if args.json:
                for query_id, cut in zip(block.query_ids.tolist(), cuts, strict=True):
                    told = cut.to_dict()
                    del told["indices"]  # the first k of the run
                    _write_json(out, {"query_id": query_id, **told})
            bar.update(len(block))
    emptied: list[str] = []
    if args.output is not None or not args.json:
        k = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        emptied = write_lists(args.output or "-", lists.truncate(k), _output_format(args))
    if args.quiet:
        return
    report_warnings(found, len(lists))
    if emptied:
        more = len(emptied) - _MOST_NAMED
        names = " ".join(emptied[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        note(
            f"{len(emptied)} of {len(lists)} queries keep no result and so are not in the run: "
            + names
        )


def _decider(args: argparse.Namespace) -> Truncator:
    """Return the truncator that the options name; bad ones are found before any file is read."""
    given = fit_options(args) | {name: getattr(args, name) for name in RULES}
    given |= {"if_shallow": args.if_shallow, "expect": expect_of(args)}
    if args.model is not None:
        given["truncator"] = load_truncator(args.model)
    elif args.method is not None:
        given["truncator"] = from_text(args.method)
    truncator = choose("cut", **given)
    if args.background is not None:
        background = load_background(args.background)
        alpha = 0.05 if args.gate_alpha is None else args.gate_alpha
        truncator = Gated(truncator, background, alpha=alpha)
    elif args.gate_alpha is not None:
        raise InvalidParameterError("cut: --gate-alpha must come with --background, got none")
    truncator._validate()
    truncator._require_fitted()
    return truncator


def _output_format(args: argparse.Namespace) -> Format:
    """Return the format of the input, unless the name of the output tells another one."""
    if args.output is not None and os.path.splitext(args.output)[1]:
        with contextlib.suppress(InvalidParameterError):
            return format_of(args.output, who="cut")
    return format_of(args.run, args.format, who="cut")
