"""``background``: learn how high queries without an answer score."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import paretocut as pc
from paretocut.cli import arguments
from paretocut.cli.arguments import option, positive_int
from paretocut.cli.terminal import note, print_json

SUMMARY = "learn how high queries without an answer score"
DESCRIPTION = """Learns how high queries without an answer score, and writes the result as JSON for
`paretocut cut --background`. RUN holds at least ten such queries, preferably a hundred: questions
on another topic, or nonsense."""


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser)
    arguments.add_output(parser, "the background", "print what was learned as JSON")
    text = "number of documents in the index, so that the background can follow its growth"
    option(parser, "--size N", text, positive_int)
    text = "compare the best score with the score at this rank (default: no comparison)"
    option(parser, "--context RANK", text, positive_int)


def run(args: Namespace) -> None:
    lists = arguments.read(args)
    found = pc.Background.fit(lists, size=args.size, context=args.context)
    found.save(args.output)
    limit = found.limit(0.05)
    if args.json:
        print_json({"background": args.output, "queries": len(lists), "limit": limit})
    elif not args.quiet:
        best = "below" if args.distances else "above"
        share = f"5 % of such queries have a best score {best} {limit:.4g}"
        note(f"{len(lists)} queries without an answer: {share}")
