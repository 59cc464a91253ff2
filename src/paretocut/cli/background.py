"""``background``: learn which best scores queries without an answer reach."""

from __future__ import annotations

import argparse
import json
import sys

import paretocut as pc
from paretocut.cli._common import Commands, add_input, add_quiet, note, positive_int, read


def add_commands(commands: Commands) -> None:
    """Add ``background`` to the command line."""
    background = commands.add_parser(
        "background",
        help="learn which best scores queries without an answer reach",
        description="Learns which best scores queries without an answer reach, and writes them as "
        "JSON for `paretocut cut --background`. It needs ten such queries, better a hundred: "
        "questions on another topic, or nonsense made of words.",
    )
    add_input(background)
    background.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="where to write the background"
    )
    background.add_argument(
        "--size",
        type=positive_int,
        metavar="N",
        help="documents in the index, so that its growth can be followed",
    )
    background.add_argument(
        "--context",
        type=positive_int,
        metavar="RANK",
        help="compare the best score with the one at this rank (default: no comparison)",
    )
    background.add_argument("--json", action="store_true", help="print what was learned as JSON")
    add_quiet(background)
    background.set_defaults(run_command=_background)


def _background(args: argparse.Namespace) -> None:
    lists = read(args)
    found = pc.Background.fit(lists, size=args.size, context=args.context)
    found.save(args.output)
    limit = found.limit(0.05)
    if args.json:
        told = {"background": args.output, "queries": len(lists), "limit": limit}
        sys.stdout.write(json.dumps(told) + "\n")
    elif not args.quiet:
        best = "below" if args.distances else "above"
        note(
            f"{len(lists)} queries without an answer: 5 % of such have a best score {best} "
            f"{limit:.4g}"
        )
