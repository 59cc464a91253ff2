"""``fuse``: several runs of the same queries become one; ``compare --fuse`` measures the gain."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

import paretocut as pc
from paretocut.cli._common import (
    Commands,
    add_quiet,
    note,
    positive_int,
    report_warnings,
)
from paretocut.errors import InvalidParameterError
from paretocut.evaluation import Evaluation, evaluate
from paretocut.fusion import METHODS, Fusion, QueryCoverageWarning
from paretocut.io import read_lists, write_lists
from paretocut.io._files import open_target
from paretocut.io.tables import Format, format_of
from paretocut.lists import RankedLists
from paretocut.truncators import Truncator, from_text
from paretocut.truncators.choose import choose
from paretocut.truncators.consensus import EXPECT

__all__ = ["add_commands", "compared", "names_of"]


def add_commands(commands: Commands) -> None:
    """Add ``fuse`` to the command line."""
    fuse = commands.add_parser(
        "fuse",
        help="make one run of several: hybrid search, cut or not",
        description="Fuses the lists of each query by score and writes one run, best first. A "
        "document that a run lacks counts as low as the last one that run has.",
    )
    fuse.add_argument("runs", metavar="RUN", nargs="+", help="two or more runs of the same queries")
    fuse.add_argument(
        "--format", choices=get_args(Format), help="format of the runs (default: by their names)"
    )
    fuse.add_argument(
        "--distances",
        metavar="RUN",
        action="append",
        default=[],
        help="this run holds distances: lower is better (may be repeated)",
    )
    fuse.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="where to write the run (default: - )"
    )
    fuse.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per query instead: the results and what each run said of them",
    )
    add_quiet(fuse)
    how = fuse.add_argument_group("how the runs are fused")
    how.add_argument(
        "--method",
        choices=list(METHODS),
        help="how scores become comparable (default: z)",
    )
    how.add_argument(
        "--weights", metavar="W", type=float, nargs="+", help="one weight for each run"
    )
    how.add_argument(
        "--depth", type=positive_int, metavar="N", help="use the first N results of each list"
    )
    how.add_argument(
        "--fusion", metavar="FILE", help="a fusion saved by Fusion.save, instead of a method"
    )
    fuse.add_argument(
        "--cut",
        nargs="?",
        const="",
        metavar="HOW",
        help="cut the fused lists: "
        f"{', '.join(EXPECT)} or a number of relevant results to expect, the file of a model, or "
        "a method such as surprise:evalue=0.05; without HOW, untrained consensus",
    )
    fuse.set_defaults(run_command=_fuse)


def _fuse(args: argparse.Namespace) -> None:
    decider = None if args.cut is None else _decider(args.cut)
    strange = [run for run in args.distances if run not in args.runs]
    if strange:
        raise InvalidParameterError(
            f"fuse: --distances must name one of the runs {', '.join(args.runs)}, got {strange[0]}"
        )
    if args.runs.count("-") > 1:
        raise InvalidParameterError("fuse: standard input (-) must be one run, got it twice")
    given = [
        f"--{name}" for name in ("method", "weights", "depth") if getattr(args, name) is not None
    ]
    if args.fusion is not None and given:
        raise InvalidParameterError(
            f"fuse: --fusion must come without {', '.join(given)}, which it has learned"
        )
    fusion = None if args.fusion is None else Fusion.load(args.fusion)
    lists = {
        name: read_lists(
            run,
            format_of(run, args.format, who="fuse"),
            higher_is_better=run not in args.distances,
        )
        for name, run in names_of(args.runs).items()
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", QueryCoverageWarning)
        if fusion is not None:
            fused = fusion.fuse(list(lists.values()))
        else:
            fused = pc.fuse(
                lists, method=args.method or "z", weights=args.weights, depth=args.depth
            )
    if not args.quiet:
        for warning in caught:
            note(str(warning.message), who="warning: ")
    cuts = None if decider is None else decider.cut_batch(fused)
    kept = fused if cuts is None else fused.truncate(cuts.k)
    if cuts is not None and not args.quiet:
        report_warnings(cuts.warnings, len(cuts))
    if args.json:
        _print_json(kept, cuts)
        if args.output == "-":
            return
    emptied = write_lists(args.output, kept, _output_format(args))
    if emptied and not args.quiet:
        note(f"{len(emptied)} of {len(kept)} queries have no result and so are not in the run")


def names_of(runs: Sequence[str]) -> dict[str, str]:
    """Return the files of runs by short names: what their paths differ in, or numbers."""
    stems = [Path(run).name.partition(".")[0] or run for run in runs]
    if len(set(stems)) < len(stems):
        stems = [str(i) for i in range(1, len(runs) + 1)]
    return dict(zip(stems, runs, strict=True))


def _decider(how: str) -> Truncator:
    """Return the truncator that ``--cut`` names."""
    if how == "":
        return choose("fuse")
    if how in EXPECT:
        return choose("fuse", expect=how)
    try:
        return choose("fuse", expect=float(how))
    except ValueError:
        pass
    if os.path.exists(how):
        return choose("fuse", truncator=how)
    return from_text(how)


def _print_json(lists: RankedLists, cuts: Any) -> None:
    assert lists.parts is not None
    assert lists.doc_ids is not None
    with open_target("-") as out:
        for i, one in enumerate(lists):
            assert one.doc_ids is not None
            told: dict[str, Any] = {"query_id": one.query_id}
            if cuts is not None:
                told |= cuts[i].to_dict()
                del told["indices"]  # the first k of the fused list
            told["results"] = [
                {
                    "doc_id": doc_id,
                    "score": score,
                    "parts": {
                        name: {"score": float(scores[i][j]), "rank": int(ranks[i][j])}
                        for name, scores, ranks in zip(
                            lists.parts.names, lists.parts.scores, lists.parts.ranks, strict=True
                        )
                        if ranks[i][j]
                    },
                }
                for j, (doc_id, score) in enumerate(
                    zip(one.doc_ids.tolist(), one.scores.tolist(), strict=True)
                )
            ]
            out.write(json.dumps(told, ensure_ascii=False).encode() + b"\n")


def _output_format(args: argparse.Namespace) -> Format:
    if args.output != "-" and os.path.splitext(args.output)[1]:
        return format_of(args.output, who="fuse")
    return format_of(args.runs[0], args.format, who="fuse")


# --- compare --fuse ---


def compared(
    runs: Mapping[str, RankedLists], methods: Mapping[str, Truncator], metrics: Any, **protocol: Any
) -> Evaluation:
    """Return one table of every method on single runs and on their fusions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryCoverageWarning)  # told when the runs were read
        fused = {f"fused, {method}": pc.fuse(runs, method=method) for method in ("rrf", "z")}
        fused["fused, fitted"] = Fusion().fit({n: _bare(x) for n, x in runs.items()}).fuse(runs)
    order = next(iter(fused.values())).query_ids.tolist()
    tables = {name: _aligned(lists, order) for name, lists in runs.items()} | fused
    found = [evaluate(dict(methods), lists, metrics, **protocol) for lists in tables.values()]
    first = found[0]
    names = [
        f"{name}: {truncator}"
        for name, one in zip(tables, found, strict=True)
        for truncator in one.truncators
    ]
    return dataclasses.replace(
        first,
        truncators=tuple(names),
        ceiling=tuple(
            f"{name}: {ceiling}"
            for name, one in zip(tables, found, strict=True)
            for ceiling in one.ceiling
        ),
        baseline=f"{next(iter(tables))}: {first.baseline}",
        k=np.concatenate([one.k for one in found], axis=1),
        values=np.concatenate([one.values for one in found], axis=1),
    )


def _bare(lists: RankedLists) -> RankedLists:
    return RankedLists(
        lists.scores,
        query_ids=lists.query_ids,
        doc_ids=lists.doc_ids,
        higher_is_better=lists.higher_is_better,
    )


def _aligned(lists: RankedLists, order: Sequence[str]) -> RankedLists:
    """Return the lists of these queries, in this order; all of them must be there."""
    place = {name: i for i, name in enumerate(lists.query_ids.tolist())}
    return lists[[place[name] for name in order]]
