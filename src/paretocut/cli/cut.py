"""``cut``: shorten every list to the results worth returning."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from paretocut.cli import arguments
from paretocut.cli.terminal import note
from paretocut.decisions import Cuts
from paretocut.errors import InvalidParameterError
from paretocut.io.formats import json_line
from paretocut.io.streams import open_target, pass_on
from paretocut.lists import RankedLists
from paretocut.truncators.choose import Chosen

SUMMARY = "shorten every list to the results worth returning"
DESCRIPTION = """Writes the shortened run, in the format of the input. A TREC run cannot hold a
query without results: such queries are named on standard error. A run whose results are grouped
by query is read in blocks, so memory does not grow with the file."""


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser)
    arguments.add_output(
        parser,
        "the run; a known suffix (.run, .jsonl, ...) sets its format",
        "print the decisions, one JSON object per query; the run is written only with -o",
        required=False,
    )
    arguments.option(parser, "--in-place", "write the shortened run over RUN")
    arguments.add_decision(parser)


def run(args: Namespace) -> None:
    if args.in_place:
        if args.output is not None or args.run == "-":
            raise InvalidParameterError(
                "--in-place must come with a file as RUN and without -o, got "
                + ("-" if args.output is None else f"-o {args.output}")
            )
        args.output = args.run
    decider = arguments.chosen(args)
    arguments.in_blocks(args, [(args.run, not args.distances)], partial(_cut, args, decider))


def _cut(args: Namespace, decider: Chosen, groups: Iterator[list[RankedLists]]) -> None:
    found: list[tuple[str, ...]] = []
    sizes = np.zeros(3, dtype=np.int64)  # queries, results, results kept
    with open_target("-") as out:

        def shortened() -> Iterator[RankedLists]:
            nonlocal sizes
            for (lists,) in groups:
                for block, cuts in arguments.decisions(args, decider, lists):
                    sizes += len(cuts), cuts.n.sum(), cuts.k.sum()
                    found.extend(cuts.warnings)
                    if args.json:
                        out.writelines(map(json_line, _rows(block, cuts)))
                        pass_on(out)
                    yield block.truncate(cuts.k)

        arguments.write_run(args, args.run, shortened(), found)
    if args.output is not None and not args.quiet:
        queries, results, kept = sizes.tolist()
        note(f"{args.output}: kept {kept:,} of {results:,} results of {queries:,} queries")


def _rows(lists: RankedLists, cuts: Cuts) -> Iterator[dict[str, Any]]:
    for query_id, row in zip(lists.query_ids.tolist(), cuts.to_dicts(), strict=True):
        del row["indices"], row["nearest"]  # the first k of the run, and those after them
        yield {"query_id": query_id, **row}
