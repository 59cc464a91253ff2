"""``report``: write the explorer of a run as one file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from paretocut.cli.arguments import add_output, option, positive_int
from paretocut.cli.explore import add_explored, exploration
from paretocut.cli.terminal import note
from paretocut.io.streams import open_target

SUMMARY = "write the explorer of a run as one file"
DESCRIPTION = """Writes one HTML file with the run, its methods and its most interesting queries. It
needs no server and no network, and can be printed."""


def add_arguments(parser: ArgumentParser) -> None:
    add_explored(parser)
    add_output(parser, "the report")
    text = "largest size of the file; queries that do not fit are left out"
    option(parser, "--max-size BYTES", text, positive_int, default=1_900_000)


def run(args: Namespace) -> None:
    from paretocut.web.explorer.report import render

    page = render(exploration(args), max_size=args.max_size)
    with open_target(args.output) as out:
        out.write(page)
    if not args.quiet:
        note(f"{args.output}: {len(page) / 1e6:.1f} MB")
