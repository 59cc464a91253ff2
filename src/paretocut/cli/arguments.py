"""Arguments that several commands take: how they are declared, and what they stand for."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import os
import sys
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import paretocut as pc
from paretocut.cli.terminal import note, noted_warnings, report_warnings, warn, with_progress
from paretocut.decisions import Cuts
from paretocut.decisions.options import FITTING, OPTIONS, RULES, Option
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.io import read_lists, read_qrels, read_texts, with_qrels, write_lists
from paretocut.io.streams import NotInBlocks, standard
from paretocut.io.tables import Format, format_of, read_blocks
from paretocut.lists import RankedLists
from paretocut.schema.kinds import Either, Items, Real, Text
from paretocut.tail import limited_threads
from paretocut.truncators import Truncator, from_text, names, read_settings
from paretocut.truncators.choose import GATE_ALPHA, Chosen

RESULTS_PER_BLOCK = 1_000_000
_MOST_NAMED = 50
DECISION = ("model", "background", "gate_alpha", *OPTIONS)


class Manual(argparse.HelpFormatter):
    """Help that ends each option with its default."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        shown = action.default not in (None, [], argparse.SUPPRESS) and action.default is not False
        return f"{action.help} (default: %(default)s)" if shown else action.help


def option(
    parser: argparse._ActionsContainer,
    words: str,
    text: str,
    kind: Callable[[str], Any] = str,
    **more: Any,
) -> None:
    """Add an option: "-o --output FILE" takes a value, "--open" is a switch."""
    *flags, last = words.split()
    if last.startswith("-"):
        parser.add_argument(*flags, last, action="store_true", help=text)
    else:
        choices = {"choices": last.split("|")} if "|" in last else {"metavar": last}
        parser.add_argument(*flags, type=kind, help=text, **choices, **more)


def flag(name: str) -> str:
    """Return an option as it is written on the command line."""
    return f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"


def positive_int(text: str) -> int:
    """Return a number of at least 1; argparse turns the error into bad usage."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {text}")
    return number


# --- what a command reads and writes ---


def add_input(parser: ArgumentParser, *, needed: bool = True) -> None:
    """Add the run and how to read it."""
    text = "ranked lists: a file, or - for standard input"
    parser.add_argument("run", metavar="RUN", nargs=None if needed else "?", help=text)
    option(parser, f"--format {'|'.join(get_args(Format))}", "format of RUN (default: by its name)")
    option(parser, "--distances", "the scores are distances: lower is better")
    text = "refuse a RUN of more than N bytes, decompressed (default: no limit)"
    option(parser, "--max-bytes N", text, positive_int)
    text = "refuse a line or list of more than N bytes (default: 134217728)"
    option(parser, "--max-list-bytes N", text, positive_int)


def add_judgements(parser: ArgumentParser, *, needed: bool = True) -> None:
    """Add the judgements and how to read them."""
    text = "judgements in TREC format"
    parser.add_argument("qrels", metavar="QRELS", nargs=None if needed else "?", help=text)
    option(parser, "--min-grade G", "smallest grade that counts as relevant", float, default=1)
    option(
        parser,
        "--unjudged nonrelevant|unknown",
        "how results that are not in QRELS count: nonrelevant, as in TREC pools, or unknown, as "
        "after `paretocut judge`",
        default="nonrelevant",
    )


def add_query_texts(parser: ArgumentParser, why: str, *, needed: bool = False) -> None:
    """Add the texts of the queries."""
    option(
        parser,
        "--query-texts FILE",
        "texts of the queries, one per line: a name, a tab and the text, or JSON with id and "
        f"text; {why} (may be repeated)",
        action="append",
        required=needed,
    )


def add_output(parser: ArgumentParser, what: str, json: str = "", **more: Any) -> None:
    """Add the file to write, the choice of JSON, and the choice of silence."""
    option(parser, "-o --output FILE", f"where to write {what}", **({"required": True} | more))
    if json:
        option(parser, "--json", json)
    option(parser, "-q --quiet", "no notes, no warnings, no progress bar")


def read(args: Namespace, run: str | None = None, **how: Any) -> RankedLists:
    """Return the lists of RUN, or of another run in the same format and direction."""
    how |= {"higher_is_better": not args.distances, **_bounds(args)}
    return _filled(run or args.run, read_lists(run or args.run, args.format, **how))


def _bounds(args: Namespace) -> dict[str, Any]:
    return {name: getattr(args, name, None) for name in ("max_bytes", "max_list_bytes")}


def _filled(run: str, lists: RankedLists) -> RankedLists:
    if not len(lists):
        raise InvalidScoresError(f"{run} must hold at least one query, got none")
    return lists


def read_judged(args: Namespace, run: str | None = None, **how: Any) -> RankedLists:
    """Return the lists of a run with the judgements of QRELS, and note what they lack."""
    with noted_warnings(quiet=args.quiet):
        lists = read(args, run)
        qrels = read_qrels(args.qrels, max_bytes=args.max_bytes)
        how |= {"min_grade": args.min_grade, "unjudged": args.unjudged}
        lists = with_qrels(lists, qrels, **how)
    if not len(lists):
        raise InvalidScoresError(
            f"{run or args.run} and {args.qrels} must have queries in common, got none"
        )
    grades = lists.relevance
    # An unknown grade is NaN, which is not above anything.
    if grades is not None and not (grades.values >= args.min_grade).any() and not args.quiet:
        warn(f"no result has grade {args.min_grade:g} or more: there is nothing to learn")
    return lists


def short_names(runs: Sequence[str]) -> dict[str, str]:
    """Return runs by short names: the beginnings of their file names, or else numbers."""
    stems = [Path(run).name.partition(".")[0] or run for run in runs]
    if len(set(stems)) < len(stems):
        stems = [str(i) for i in range(1, len(runs) + 1)]
    return dict(zip(stems, runs, strict=True))


def in_blocks(
    args: Namespace,
    runs: Sequence[tuple[str, bool]],
    work: Callable[[Iterator[list[RankedLists]]], None],
) -> None:
    """Do the work on blocks of lists of the same queries, one from each run.

    The runs come with their directions. If a run must be read as a whole, the work begins anew,
    with one block, unless results have left or a pipe would have to be read twice.
    """
    how = _bounds(args)
    formats = [format_of(run, args.format, who=args.command) for run, _ in runs]

    def readers(read: Callable[..., Any]) -> list[tuple[str, Any]]:
        given = zip(files, formats, runs, strict=True)
        return [
            (run, read(file, kind, higher_is_better=up, **how)) for file, kind, (run, up) in given
        ]

    with contextlib.ExitStack() as stack:
        files = [
            standard("input").buffer if run == "-" else stack.enter_context(open(run, "rb"))
            for run, _ in runs
        ]
        groups = _together(readers(read_blocks))
        if not all(file.seekable() for file in files):
            try:
                return work(groups)
            except NotInBlocks as reason:
                raise InvalidScoresError(
                    f"{reason}: results in a pipe must be grouped by query; sort them, or name a "
                    "file"
                ) from None
        starts, begun = [file.tell() for file in files], False
        try:
            first = list(islice(groups, 2))  # finds most runs that are not grouped
            begun = True
            return work(with_progress(files, chain(first, groups), quiet=args.quiet))
        except NotInBlocks as reason:
            if begun and (args.output in (None, "-") or args.json):
                raise InvalidScoresError(
                    f"{reason}, and results have left already; -o FILE writes them at the end"
                ) from None
            if not args.quiet:
                note(f"{reason}, so the whole run is read into memory")
        for file, start in zip(files, starts, strict=True):
            file.seek(start)
        return work(iter([[_filled(run, lists) for run, lists in readers(read_lists)]]))


def _together(runs: list[tuple[str, Iterator[RankedLists]]]) -> Iterator[list[RankedLists]]:
    """Yield lists of the same queries from all runs."""
    held = [_filled(run, next(blocks)) for run, blocks in runs]
    while True:
        count = min(map(len, held))
        group = [lists[:count] for lists in held]
        if any((lists.query_ids != group[0].query_ids).any() for lists in group):
            break
        yield group
        rest = [(lists[count:], blocks) for lists, (_, blocks) in zip(held, runs, strict=True)]
        held = [lists if len(lists) else next(blocks, lists) for lists, blocks in rest]
        if not any(map(len, held)):
            return
        if not all(map(len, held)):
            break
    raise NotInBlocks("the runs do not have the same queries in the same order")


def write_run(
    args: Namespace, run: str, blocks: Iterable[RankedLists], found: Sequence[Any] = ()
) -> None:
    """Write blocks of lists, unless JSON takes their place; then note warnings and empty lists.

    Their format is the one that their new name says, or else that of the old run.
    """
    target, format, emptied = args.output or "-", args.format, []
    queries = 0

    def counted() -> Iterator[RankedLists]:
        nonlocal queries
        for lists in blocks:
            queries += len(lists)
            yield lists

    if args.output is not None or not args.json:
        if os.path.splitext(target)[1]:
            format = format_of(target, who="--output")
        format = format or format_of(run, who=args.command)
        if target == "-" and format in ("parquet", "arrow") and sys.stdout.isatty():
            raise InvalidParameterError(
                f"-o must name a file for {format}, which a terminal cannot show; got none"
            )
        emptied = write_lists(target, counted(), format)
    else:
        deque(counted(), maxlen=0)
    if args.quiet:
        return
    report_warnings(found, queries)
    if emptied:
        more = len(emptied) - _MOST_NAMED
        names = " ".join(emptied[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        share = f"{len(emptied)} of {queries} queries"
        note(f"{share} have no results left and are not in the run: {names}")


def texts_of(option: str, files: Sequence[str], names: Iterable[str]) -> dict[str, str]:
    """Return the text of each of these ids; an option named the files."""
    wanted = dict.fromkeys(names)
    found: dict[str, str] = {}
    for file in files:
        for name, text in read_texts(file, wanted).items():
            if found.setdefault(name, text) != text:
                raise InvalidParameterError(f"{option} must give one text per id, got two: {name}")
    missing = [name for name in wanted if name not in found]
    if missing:
        some = f"{len(missing)} of {len(wanted)}, such as {missing[0]}"
        raise InvalidParameterError(f"{option} must have a text for every id, got none for {some}")
    return found


def query_texts(args: Namespace, *runs: RankedLists, lexical: bool) -> list[str] | None:
    """Return the text of each query of the runs, if there are texts; lexical scores need them."""
    if args.query_texts is None:
        if lexical:
            raise InvalidParameterError(
                "--query-texts must name a file with the texts of the queries, because lexical "
                "scores depend on the words of the query; got none"
            )
        return None
    names = [name for run in runs for name in run.query_ids.tolist()]
    texts = texts_of("--query-texts", args.query_texts, names)
    return [texts[name] for name in names]


# --- models and methods ---


def add_imports(parser: argparse._ActionsContainer) -> None:
    """Add the modules that define the classes of saved models."""
    text = "module that defines the class of a saved model of your own (may be repeated)"
    option(parser, "--import MODULE", text, action="append", default=[], dest="imports")


def import_module(name: str, option: str) -> ModuleType:
    """Return a module, which may lie in the current directory as with ``python -m``."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there; something that it imports is not
        got = f"{name}, which is neither installed nor in this directory"
        raise InvalidParameterError(f"{option} must name a module, got {got}") from None


def method_of(text: str, option: str, metric: str = "f1") -> Truncator:
    """Return the method that an option describes: a name of ours or MODULE:NAME, and parameters."""
    module, _, rest = text.partition(":")
    name, _, settings = rest.partition(":")
    if module in names() or not name.isidentifier():
        return from_text(text, metric)
    found = getattr(import_module(module, option), name, None)
    params = read_settings(settings)
    if isinstance(found, type) and issubclass(found, Truncator):
        if "metric" in inspect.signature(found).parameters:
            params = {"metric": metric, **params}
        try:
            return found(**params)
        except TypeError as error:
            raise InvalidParameterError(f"{option} {text}: {error}") from None
    if isinstance(found, Truncator):
        return found.set_params(**params)
    got = "is not there" if found is None else f"is of type {type(found).__name__}"
    raise InvalidParameterError(
        f"{option} must name a subclass of paretocut.truncators.Truncator or an object of one, "
        f"got {name}, which {got} in {module}"
    )


def named_files(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return the files by the names that NAME=FILE gives them."""
    files: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise InvalidParameterError(f"{option} must have the form NAME=FILE, got {text!r}")
        if name in files:
            raise InvalidParameterError(f"{option} must have different names, got {name} twice")
        files[name] = path
    return files


def methods_and_metrics(leave_out: str = "") -> str:
    """Return the names that ``--method`` and ``--metric`` take, for the end of a help text."""
    methods = ", ".join(name for name in pc.truncators.names() if name != leave_out)
    return (
        f"A method is one of {methods}, or MODULE:CLASS for a class of your own. Parameters may "
        "follow a colon: surprise:refit=all,transform=log. "
        f"A metric is one of {', '.join(pc.metrics.names())}. The recall in f1 counts the relevant "
        "results in the list; f1/collection counts all relevant documents, as set_F of trec_eval "
        "does. In penalized_dcg an irrelevant result counts -1; plain dcg never favours a cut."
    )


# --- the decision ---


def _word_or_number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def add_options(
    parser: argparse._ActionsContainer,
    names: Iterable[str],
    declared: Mapping[str, Option] = OPTIONS,
) -> None:
    """Add options as they are declared, by default those of a decision."""
    for name in names:
        kind, default, text = declared[name]
        kind = kind.kind if isinstance(kind, Either) else kind
        text = text.replace("%", "%%")
        if default is not None:  # the parser's own default is None: not given
            text += f" (default: {default})"
        if isinstance(kind, Text):
            option(parser, f"{flag(name)} {'|'.join(kind.choices)}", text)
        elif isinstance(kind, Items):
            option(parser, f"{flag(name)} N", text, float, nargs="+")
        else:
            number = float if isinstance(kind, Real) else int
            option(parser, f"{flag(name)} N", text, _word_or_number if name == "expect" else number)


def given_options(args: Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def add_threads(parser: ArgumentParser) -> None:
    """Add the number of threads."""
    option(parser, "--threads N", "threads (default: one per processor)", positive_int)


def add_decision(parser: ArgumentParser, *, method: bool = True) -> None:
    """Add what decides, and within which bounds."""
    group = parser.add_argument_group(
        "what decides (at most one; by default the scores alone, with untrained consensus)"
    )
    add_options(group, ["expect"])
    option(group, "--model FILE", "a model from `fit` or `calibrate`")
    if method:
        option(
            group,
            "--method METHOD",
            "a method that needs no training, such as largest_gap, minmax:threshold=0.5 or "
            "fixed_k:k=20; `paretocut fit --help` lists the names",
        )
    add_options(group, RULES)
    add_options(parser.add_argument_group("with one of the rules"), ["if_unsure", *FITTING])
    gate = parser.add_argument_group("keep nothing if there is no answer")
    option(
        gate,
        "--background FILE",
        "a file from `paretocut calibrate --background`; results are kept only if the best score "
        "is better than queries without an answer reach",
    )
    add_options(gate, ["gate_alpha"], {"gate_alpha": GATE_ALPHA})
    add_options(parser.add_argument_group("bounds on the number of results"), ["min_k", "max_k"])
    add_query_texts(parser, "needed only by a model calibrated for lexical scores")
    add_imports(parser)
    add_threads(parser)


def chosen(args: Namespace, method: str = "method") -> Chosen:
    """Return what decides; bad options are found before any run is read.

    ``method`` is the option that describes a method.
    """
    options = given_options(args, DECISION)
    text = getattr(args, method)
    if text:
        options[method] = method_of(text, flag(method))
    found = Chosen.of("", options, models=("model", method, "background"), spelt=flag)
    found.truncator.check()
    try:
        found.truncator.require_fitted()
    except NotFittedError as error:
        needs = " or ".join(getattr(options.get(method), "instead_of_fit", ()))
        if not needs:
            raise
        raise InvalidParameterError(
            f"{flag(method)} {text} must come with its {needs} ({text}:{needs}=...), or be learned "
            "(`paretocut fit`, then --model); got neither"
        ) from error
    return found


def decisions(
    args: Namespace, decider: Chosen, lists: RankedLists
) -> Iterator[tuple[RankedLists, Cuts]]:
    """Yield blocks of lists with their cuts."""
    with limited_threads(args.threads):
        for block in blocks(lists):
            texts = query_texts(args, block, lexical=decider.truncator.needs_queries)
            yield block, decider.cut_batch(block, queries=texts)


def blocks(lists: RankedLists) -> Iterator[RankedLists]:
    """Return an iterator over blocks of about a million results, for memory."""
    return (lists[start:stop] for start, stop in lists.scores.blocks(RESULTS_PER_BLOCK))
