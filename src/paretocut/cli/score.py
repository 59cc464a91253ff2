"""``score``: give every result its surprise, p-value and E-value."""

from __future__ import annotations

import codecs
import csv
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import IO, Any, TypeAlias

import numpy as np

import paretocut as pc
from paretocut.cli import arguments
from paretocut.cli.terminal import report_warnings
from paretocut.decisions.options import FITTING, check_options
from paretocut.io.jsonl import json_line
from paretocut.io.streams import open_target
from paretocut.lists import RankedList, RankedLists
from paretocut.tail import SurpriseFits

_COLUMNS = ("query_id", "rank", "doc_id", "score", "surprise", "pvalue", "evalue")
SUMMARY = "give every result its surprise, p-value and E-value"
DESCRIPTION = f"Prints one line for every result, best first: {', '.join(_COLUMNS)}."

_Row: TypeAlias = tuple[Any, ...]


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser)
    arguments.add_output(
        parser, "the lines", "JSON lines instead of TSV", required=False, default="-"
    )
    arguments.add_options(parser.add_argument_group("how the tail is fitted"), FITTING)
    arguments.add_threads(parser)


def run(args: Namespace) -> None:
    fitting = check_options("score", arguments.given_options(args, FITTING), FITTING)
    arguments.in_blocks(args, [(args.run, not args.distances)], partial(_score, args, fitting))


def _score(
    args: Namespace, fitting: Mapping[str, Any], groups: Iterator[list[RankedLists]]
) -> None:
    found: list[tuple[str, ...]] = []
    with open_target(args.output) as out:
        write = _json_writer(out) if args.json else _tsv_writer(out)
        for block in chain.from_iterable(arguments.blocks(lists) for (lists,) in groups):
            fits = pc.fit_tails(block, threads=args.threads, **fitting)
            for i, ranked in enumerate(block):
                write(_rows(ranked, fits, i))
            found += fits.warnings
    if not args.quiet:
        report_warnings(found, len(found))


def _rows(ranked: RankedList, fits: SurpriseFits, i: int) -> Iterator[_Row]:
    """Return the columns of each result of one list."""
    n, surprise = len(ranked), fits.surprise[i]
    ids = [None] * n if ranked.doc_ids is None else ranked.doc_ids.tolist()
    pvalues = np.exp(-surprise)
    numbers = (ranked.scores, surprise, pvalues, fits.tests[i] * pvalues)
    columns = [column.tolist() for column in numbers]
    return zip([ranked.query_id] * n, range(1, n + 1), ids, *columns, strict=True)


def _json_writer(out: IO[bytes]) -> Callable[[Iterable[_Row]], None]:
    return lambda rows: out.writelines(
        json_line(dict(zip(_COLUMNS, row, strict=True))) for row in rows
    )


def _tsv_writer(out: IO[bytes]) -> Callable[[Iterable[_Row]], None]:
    """Return a writer of a table for the eye: the score as given, the rest in six digits."""
    writer = csv.writer(codecs.getwriter("utf-8")(out), delimiter="\t", lineterminator="\n")
    writer.writerow(_COLUMNS)
    return lambda rows: writer.writerows(
        [*row[:4], *(f"{number:.6g}" for number in row[4:])] for row in rows
    )
