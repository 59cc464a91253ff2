"""``cut``: shorten every list to the results worth returning."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import numpy as np

from paretocut.cli import arguments
from paretocut.cli.terminal import json_line, note
from paretocut.io.streams import open_target

SUMMARY = "shorten every list to the results worth returning"
DESCRIPTION = """Writes the shortened run, in the format of the input. A TREC run cannot hold a
query without results: such queries are named on standard error."""


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser)
    arguments.add_output(
        parser,
        "the run; a known suffix (.run, .jsonl, ...) sets its format",
        "print the decisions, one JSON object per query; the run is written only with -o",
        required=False,
    )
    arguments.add_decision(parser)


def run(args: Namespace) -> None:
    decider = arguments.chosen(args, args.method)
    lists = arguments.read(args)
    k = [np.empty(0, dtype=np.int64)]
    found: list[tuple[str, ...]] = []
    with open_target("-") as out:
        for block, cuts in arguments.decisions(args, decider, lists):
            k.append(cuts.k)
            found += cuts.warnings
            if args.json:
                for query_id, cut in zip(block.query_ids.tolist(), cuts, strict=True):
                    row = {"query_id": query_id, **cut.to_dict()}
                    del row["indices"]  # the first k of the run
                    out.write(json_line(row))
    kept = lists.truncate(np.concatenate(k))
    arguments.write_run(args, args.run, kept, found)
    if args.output is not None and not args.quiet:
        sizes = f"{kept.scores.values.size:,} of {lists.scores.values.size:,} results"
        note(f"{args.output}: kept {sizes} of {len(lists):,} queries")
