"""``score`` and ``cut``: what can be done with a run and nothing else."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy as np

import paretocut as pc
from paretocut._rules import check_bounds
from paretocut.cli._common import (
    FIT_DEFAULTS,
    Commands,
    add_fit_options,
    add_input,
    add_quiet,
    blocks,
    fit_block,
    fit_options,
    note,
    progress,
    read,
    report_warnings,
)
from paretocut.errors import InvalidParameterError
from paretocut.io import write_lists
from paretocut.io._files import open_target
from paretocut.io.tables import Format, format_of
from paretocut.surprise import SurpriseFits
from paretocut.truncators import Surprise
from paretocut.types import IntArray, RankedList, RankedLists

_RULES = ("alpha", "evalue", "threshold", "fdr")
_COLUMNS = ("query_id", "rank", "doc_id", "score", "surprise", "p_value", "e_value")
_MOST_NAMED = 50

_Row: TypeAlias = tuple[Any, ...]


def add_commands(commands: Commands) -> None:
    """Add ``score`` and ``cut`` to the command line."""
    score = commands.add_parser(
        "score",
        help="give every result its surprise, p-value and E-value",
        description="Prints a line for every result, best first: " + ", ".join(_COLUMNS) + ".",
    )
    add_input(score)
    score.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="where to write (default: - )"
    )
    score.add_argument("--json", action="store_true", help="JSON lines instead of TSV")
    add_quiet(score)
    add_fit_options(score)
    score.set_defaults(run_command=_score)

    cut = commands.add_parser(
        "cut",
        help="shorten every list to the results worth returning",
        description="Writes the shortened run, in the format of the input. A TREC run cannot hold "
        "a query without results: those are named on standard error.",
    )
    add_input(cut)
    cut.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write the run; a known suffix (.run, .jsonl, ...) sets its format",
    )
    cut.add_argument(
        "--json",
        action="store_true",
        help="print decisions, one JSON object per query; the run is written only with -o",
    )
    add_quiet(cut)
    rules = cut.add_argument_group("rule (one of)").add_mutually_exclusive_group()
    rules.add_argument("--alpha", type=float, metavar="A", help="p-value <= A (default: 0.05)")
    rules.add_argument(
        "--evalue", type=float, metavar="E", help="chance alone would bring at most E such results"
    )
    rules.add_argument("--threshold", type=float, metavar="S", help="surprise >= S")
    rules.add_argument(
        "--fdr",
        type=float,
        metavar="Q",
        help="at most a share Q of those kept by chance",
    )
    rules.add_argument("--model", metavar="FILE", help="what `paretocut fit` has learned")
    bounds = cut.add_argument_group("bounds, whatever the rule says")
    bounds.add_argument("--min-k", type=int, default=0, metavar="K", help="keep at least K results")
    bounds.add_argument("--max-k", type=int, metavar="K", help="keep at most K results")
    add_fit_options(cut)
    cut.set_defaults(run_command=_cut)


def _score(args: argparse.Namespace) -> None:
    pc.fit([], **fit_options(args))  # bad options are found before any file is read
    lists = read(args)
    found: list[tuple[str, ...]] = []
    with open_target(args.output) as out, progress(len(lists), "query", quiet=args.quiet) as bar:
        write = _json_writer(out) if args.json else _tsv_writer(out)
        for block in blocks(lists):
            fits = fit_block(block, args)
            for i, ranked in enumerate(block):
                write(_rows(ranked, fits, i, args.distances))
            found += fits.warnings
            bar.update(len(block))
    if not args.quiet:
        report_warnings(found, len(lists))


def _rows(ranked: RankedList, fits: SurpriseFits, i: int, distances: bool) -> Iterator[_Row]:
    """Yield the columns of each result of one list."""
    n = len(ranked)
    surprise = fits.surprise[i]
    pvalues = np.exp(-surprise)
    ids = [None] * n if ranked.doc_ids is None else map(_text, ranked.doc_ids.tolist())
    yield from zip(
        [ranked.query_id] * n,
        range(1, n + 1),
        ids,
        (-ranked.scores if distances else ranked.scores).tolist(),
        surprise.tolist(),
        pvalues.tolist(),
        ((n - fits.lower[i]) * pvalues).tolist(),
        strict=True,
    )


def _text(item: bytes | str) -> str:
    return item.decode(errors="backslashreplace") if isinstance(item, bytes) else item


def _json_writer(out: IO[bytes]) -> Callable[[Iterator[_Row]], None]:
    """Return what writes rows as JSON objects, with all digits."""

    def write(rows: Iterator[_Row]) -> None:
        for row in rows:
            _write_json(out, dict(zip(_COLUMNS, row, strict=True)))

    return write


def _tsv_writer(out: IO[bytes]) -> Callable[[Iterator[_Row]], None]:
    """Return what writes rows of a table for the eye: the score as it came, six digits else."""
    writer = csv.writer(codecs.getwriter("utf-8")(out), delimiter="\t", lineterminator="\n")
    writer.writerow(_COLUMNS)

    def write(rows: Iterator[_Row]) -> None:
        writer.writerows([*row[:4], *(f"{number:.6g}" for number in row[4:])] for row in rows)

    return write


def _write_json(out: IO[bytes], row: dict[str, Any]) -> None:
    out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _cut(args: argparse.Namespace) -> None:
    decide = _rule_decider(args) if args.model is None else _model_decider(args)
    lists = read(args)
    parts: list[IntArray] = []
    found: list[tuple[str, ...]] = []
    with open_target("-") as out, progress(len(lists), "query", quiet=args.quiet) as bar:
        for block in blocks(lists):
            decisions = decide(block)
            parts.append(decisions.k)
            found += decisions.warnings
            if args.json:
                for decision in decisions.explained():
                    _write_json(out, decision)
            bar.update(len(block))
    emptied: list[str] = []
    if args.output is not None or not args.json:
        k = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        emptied = write_lists(
            args.output or "-",
            lists.truncate(k),
            _output_format(args),
            higher_is_better=not args.distances,
        )
    if args.quiet:
        return
    report_warnings(found, len(lists))
    if emptied:
        more = len(emptied) - _MOST_NAMED
        names = " ".join(emptied[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        note(
            f"{len(emptied)} of {len(lists)} queries keep no result and so are not in the run: "
            + names
        )


@dataclass(frozen=True)
class _Decisions:
    """The cuts of some lists, their warnings, and what explains them when asked."""

    k: IntArray
    warnings: Sequence[tuple[str, ...]]
    explained: Callable[[], Iterator[dict[str, Any]]]


def _rule_decider(args: argparse.Namespace) -> Callable[[RankedLists], _Decisions]:
    """Return what cuts lists by a rule on their surprise."""
    options = {name: getattr(args, name) for name in (*_RULES, "min_k", "max_k")}
    pc.cut([], **options, **fit_options(args))  # bad options are found before any file is read

    def decide(lists: RankedLists) -> _Decisions:
        fits = fit_block(lists, args)

        def explained() -> Iterator[dict[str, Any]]:
            for query_id, fit, warnings in zip(
                lists.query_ids.tolist(), fits, fits.warnings, strict=True
            ):
                cut = fit.cut(**options)
                yield _decision(query_id, cut.k, cut.n, cut.rule, cut.level, cut.reason, warnings)

        return _Decisions(fits.cut(**options), fits.warnings, explained)

    return decide


def _model_decider(args: argparse.Namespace) -> Callable[[RankedLists], _Decisions]:
    """Return what cuts lists as a fitted truncator says."""
    for name, value in fit_options(args).items():
        if value != FIT_DEFAULTS[name]:
            raise InvalidParameterError(
                f"cut: --{name.replace('_', '-')} must be left out with --model, which has its "
                f"own, got {value}"
            )
    low, high = check_bounds("cut", args.min_k, args.max_k)
    model = pc.load(args.model)
    numbers = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, (int, float))
    }
    learned = ", ".join(f"{name.rstrip('_')} {value:.4g}" for name, value in numbers.items())
    who = f"{model!r} with {learned}" if learned else repr(model)

    def decide(lists: RankedLists) -> _Decisions:
        n = lists.scores.lengths
        k = np.minimum(np.clip(model.predict(lists), low, high), n)
        warnings: Sequence[tuple[str, ...]] = [()] * len(lists)
        if isinstance(model, Surprise):
            fitted_as = {name: getattr(model, name) for name in FIT_DEFAULTS}
            warnings = pc.fit_batch(lists, threads=args.threads, **fitted_as).warnings

        def explained() -> Iterator[dict[str, Any]]:
            columns = (column.tolist() for column in (lists.query_ids, k, n))
            for query_id, kept, of, names in zip(*columns, warnings, strict=True):
                reason = f"kept {kept} of {of}: {who}"
                yield _decision(query_id, kept, of, "model", None, reason, names)

        return _Decisions(k, warnings, explained)

    return decide


def _decision(
    query_id: str,
    k: int,
    n: int,
    rule: str,
    level: float | None,
    reason: str,
    warnings: Sequence[str],
) -> dict[str, Any]:
    return {
        "query_id": query_id,
        "k": k,
        "n": n,
        "rule": rule,
        "level": level,
        "reason": reason,
        "warnings": list(warnings),
    }


def _output_format(args: argparse.Namespace) -> Format:
    """Return the format of the input, unless the name of the output tells another one."""
    if args.output is not None and os.path.splitext(args.output)[1]:
        with contextlib.suppress(InvalidParameterError):
            return format_of(args.output, who="cut")
    return format_of(args.run, args.format, who="cut")
