"""``fuse``: make one run of several."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any, get_args

from paretocut.cli import arguments
from paretocut.cli.arguments import option
from paretocut.cli.terminal import noted_warnings
from paretocut.decisions import Cuts
from paretocut.errors import InvalidParameterError
from paretocut.fusion.chosen import ChosenFusion
from paretocut.fusion.options import FUSING
from paretocut.io.formats import json_line
from paretocut.io.streams import open_target
from paretocut.io.tables import Format
from paretocut.lists import RankedLists
from paretocut.truncators.choose import Chosen

SUMMARY = "fuse several runs into one, cut or not: hybrid search"
DESCRIPTION = """Fuses the lists of each query by score and writes one run, best first. A document
that is missing from a run gets the lowest score of that run."""


def add_arguments(parser: ArgumentParser) -> None:
    text = "two or more runs of the same queries"
    parser.add_argument("runs", metavar="RUN", nargs="+", help=text)
    formats = "|".join(get_args(Format))
    option(parser, f"--format {formats}", "format of the runs (default: by their names)")
    text = "this run holds distances: lower is better (may be repeated)"
    option(parser, "--distances RUN", text, action="append", default=[])
    arguments.add_output(
        parser,
        "the run",
        "print one JSON object per query: its results, and the score and rank that each run gave "
        "them; the run is written only with -o",
        required=False,
    )
    how = parser.add_argument_group("how the runs are fused")
    arguments.add_options(how, FUSING, FUSING)
    option(how, "--fusion FILE", "a fusion saved by Fusion.save")
    option(
        parser.add_argument_group("cut the fused lists"),
        "--cut METHOD",
        "cut by a method that needs no training, by one of the options below (those of `paretocut "
        "cut`), or by the scores alone",
        nargs="?",
        const="",
    )
    arguments.add_decision(parser, method=False)


def run(args: Namespace) -> None:
    decider = None if args.cut is None else arguments.chosen(args, "cut")
    given = arguments.given_options(args, (*arguments.DECISION, "query_texts"))
    loose = [arguments.flag(name) for name in given]
    if decider is None and loose:
        raise InvalidParameterError(f"{', '.join(loose)} must come with --cut, got none")
    for name in args.distances:
        if name not in args.runs:
            raise InvalidParameterError(
                f"--distances must name one of the runs {', '.join(args.runs)}, got {name}"
            )
    if args.runs.count("-") > 1:
        raise InvalidParameterError("standard input (-) must be one run, got it twice")
    given = arguments.given_options(args, (*FUSING, "fusion"))
    how = ChosenFusion.of("fuse", given)
    runs = [(run, run not in args.distances) for run in args.runs]
    arguments.in_blocks(args, runs, partial(_fuse, args, how, decider))


def _fuse(
    args: Namespace,
    how: ChosenFusion,
    decider: Chosen | None,
    groups: Iterator[list[RankedLists]],
) -> None:
    names = arguments.short_names(args.runs)
    found: list[tuple[str, ...]] = []

    def fused(group: list[RankedLists]) -> Iterator[tuple[RankedLists, Cuts | None]]:
        with noted_warnings(quiet=args.quiet):
            named = dict(zip(names, group, strict=True))
            lists = how.fuse(named if how.fusion is None else group)
        if decider is None:
            yield lists, None
            return
        for block, cuts in arguments.decisions(args, decider, lists):
            found.extend(cuts.warnings)
            yield block.truncate(cuts.k), cuts

    with open_target("-") as out:

        def written() -> Iterator[RankedLists]:
            for lists, cuts in chain.from_iterable(map(fused, groups)):
                if args.json:
                    out.writelines(map(json_line, _rows(lists, cuts)))
                yield lists

        arguments.write_run(args, args.runs[0], written(), found)


def _rows(lists: RankedLists, cuts: Cuts | None) -> Iterator[dict[str, Any]]:
    assert lists.parts is not None
    for i, one in enumerate(lists):
        assert one.doc_ids is not None
        row: dict[str, Any] = {"query_id": one.query_id}
        if cuts is not None:
            row |= cuts[i].to_dict()
            del row["indices"], row["nearest"]  # the first k of the fused list, and those after
        columns = one.doc_ids.tolist(), one.scores.tolist(), lists.parts.of_list(i)
        row["results"] = [
            {"doc_id": doc_id, "score": score, "parts": parts}
            for doc_id, score, parts in zip(*columns, strict=True)
        ]
        yield row
