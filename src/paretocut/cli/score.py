"""``score``: give every result its surprise, p-value and E-value."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

import numpy as np

import paretocut as pc
from paretocut import _kernel
from paretocut.cli import arguments
from paretocut.cli.terminal import report_warnings
from paretocut.decisions.options import FITTING, check_options
from paretocut.io.formats import is_utf8
from paretocut.io.streams import open_target, pass_on
from paretocut.lists import FloatArray, RankedLists

_COLUMNS = ("query_id", "rank", "doc_id", "score", "surprise", "pvalue", "evalue")
SUMMARY = "give every result its surprise, p-value and E-value"
DESCRIPTION = f"Prints one line for every result, best first: {', '.join(_COLUMNS)}."

_QUOTE = '"'
_SPECIAL = re.compile('[\t\n\r"]')


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser)
    arguments.add_output(
        parser, "the lines", "JSON lines instead of TSV", required=False, default="-"
    )
    arguments.add_options(parser.add_argument_group("how the tail is fitted"), FITTING)
    arguments.add_threads(parser)


def run(args: Namespace) -> None:
    fitting = check_options("", arguments.given_options(args, FITTING), FITTING, arguments.flag)
    arguments.in_blocks(args, [(args.run, not args.distances)], partial(_score, args, fitting))


def _score(
    args: Namespace, fitting: Mapping[str, Any], groups: Iterator[list[RankedLists]]
) -> None:
    found: list[tuple[str, ...]] = []
    lines = _json if args.json else _tsv
    with open_target(args.output) as out:
        if not args.json:
            out.write("\t".join(_COLUMNS).encode() + b"\n")
        for block in chain.from_iterable(arguments.blocks(lists) for (lists,) in groups):
            fits = pc.fit_tails(block, threads=args.threads, **fitting)
            columns = (fits.surprise, fits.pvalues, fits.evalues)
            for ranked, *of_results in zip(block, *columns, strict=True):
                numbers = np.stack([ranked.scores, *of_results])
                ids = [None] * len(ranked) if ranked.doc_ids is None else ranked.doc_ids.tolist()
                out.write(lines(ranked.query_id, ids, numbers))
            pass_on(out)
            found += fits.warnings
    if not args.quiet:
        report_warnings(found, len(found))


def _json(query_id: str, ids: list[str | None], numbers: FloatArray) -> bytes:
    whole = is_utf8([query_id, *filter(None, ids)])
    text = encode_basestring if whole else encode_basestring_ascii
    query, *names = ("null" if name is None else text(name) for name in (query_id, *ids))
    heads = [
        f'{{"query_id": {query}, "rank": {rank}, "doc_id": {name}, "score": '
        for rank, name in enumerate(names, start=1)
    ]
    ends = [*(f', "{name}": ' for name in _COLUMNS[4:]), "}\n"]
    return _kernel.lines(heads, numbers, [0, 0, 0, 0], ends)


def _tsv(query_id: str, ids: list[str | None], numbers: FloatArray) -> bytes:
    """Return lines of a table for the eye: the score as given, the rest in six digits."""
    query, *names = texts = [query_id, *(name or "" for name in ids)]
    if _SPECIAL.search("".join(texts)):
        query, *names = (f'"{name.replace(_QUOTE, 2 * _QUOTE)}"' for name in texts)
    heads = [f"{query}\t{rank}\t{name}\t" for rank, name in enumerate(names, start=1)]
    return _kernel.lines(heads, numbers, [0, 6, 6, 6], ["\t", "\t", "\t", "\n"])
