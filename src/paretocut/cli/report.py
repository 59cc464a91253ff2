"""``report``: write what was found in a run into one file, with the explorer as appendix."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from paretocut.cli.arguments import add_output, option, positive_int
from paretocut.cli.explore import add_explored, exploration
from paretocut.cli.terminal import note
from paretocut.io.streams import open_target

SUMMARY = "write what was found in a run into one file, for readers"
DESCRIPTION = """Writes one HTML file: the finding, a table of methods, a chart, three queries as
examples, and the explorer of the run as an appendix. It needs no server and no network, and can be
printed."""


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
