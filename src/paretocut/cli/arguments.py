"""What commands share: options, files to read, methods, and notes on the terminal."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, get_args

from paretocut.decisions.options import OPTIONS, Option
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.io import read_lists, read_qrels, read_texts, with_qrels
from paretocut.io.formats import json_line
from paretocut.io.streams import open_target
from paretocut.io.tables import Format
from paretocut.lists import RankedLists
from paretocut.schema.kinds import Either, Items, Real, Text
from paretocut.truncators import Truncator, from_text, names, read_settings

Commands: TypeAlias = "argparse._SubParsersAction[ArgumentParser]"
FORMATS = "|".join(get_args(Format))


class _Manual(argparse.HelpFormatter):
    """Help that ends each option with its default."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        shown = action.default not in (None, [], argparse.SUPPRESS) and action.default is not False
        return f"{action.help} (default: %(default)s)" if shown else action.help


def command(commands: Commands, run: Callable[[Namespace], None]) -> ArgumentParser:
    """Return the parser of a command; the function that runs it gives its name and its help."""
    summary, _, description = (inspect.getdoc(run) or " ").partition("\n\n")
    help = summary[0].lower() + summary[1:].removesuffix(".")
    how: dict[str, Any] = {"help": help, "description": description}
    parser = commands.add_parser(run.__name__, formatter_class=_Manual, **how)
    parser.set_defaults(run_command=run)
    return parser


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
    return f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"


def positive_int(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {text}")
    return int(text)


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
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def add_input(parser: ArgumentParser, *, needed: bool = True) -> None:
    text = "ranked lists: a file, or - for standard input"
    parser.add_argument("run", metavar="RUN", nargs=None if needed else "?", help=text)
    option(parser, f"--format {FORMATS}", "format of RUN (default: by its name)")
    option(parser, "--distances", "the scores are distances: lower is better")
    text = "refuse a RUN of more than N bytes, decompressed (default: no limit)"
    option(parser, "--max-bytes N", text, positive_int)
    text = "refuse a line or list of more than N bytes (default: 134217728)"
    option(parser, "--max-list-bytes N", text, positive_int)


def add_judgements(parser: ArgumentParser, *, needed: bool = True) -> None:
    text = "judgements in TREC format"
    parser.add_argument("qrels", metavar="QRELS", nargs=None if needed else "?", help=text)
    option(parser, "--min-grade G", "smallest grade that counts as relevant", float, default=1)
    text = "how results not in QRELS count: nonrelevant, as in TREC pools; unknown after `judge`"
    option(parser, "--unjudged nonrelevant|unknown", text, default="nonrelevant")


def add_query_texts(parser: ArgumentParser, why: str, *, needed: bool = False) -> None:
    text = "texts of the queries, one per line: a name, a tab and the text, or JSON with id and "
    text += f"text; {why} (may be repeated)"
    option(parser, "--query-texts FILE", text, action="append", required=needed)


def add_imports(parser: argparse._ActionsContainer) -> None:
    text = "module that defines the class of a saved model of your own (may be repeated)"
    option(parser, "--import MODULE", text, action="append", default=[], dest="imports")


def add_output(parser: ArgumentParser, what: str, json: str = "", **more: Any) -> None:
    option(parser, "-o --output FILE", f"where to write {what}", **({"required": True} | more))
    if json:
        option(parser, "--json", json)
    option(parser, "-q --quiet", "no notes, no warnings, no progress bar")


def bounds(args: Namespace) -> dict[str, Any]:
    return {name: getattr(args, name, None) for name in ("max_bytes", "max_list_bytes")}


def filled(run: str, lists: RankedLists) -> RankedLists:
    if not len(lists):
        raise InvalidScoresError(f"{run} must hold at least one query, got none")
    return lists


def read(args: Namespace, run: str | None = None, **how: Any) -> RankedLists:
    """Return the lists of RUN, or of another run in the same format and direction."""
    how |= {"higher_is_better": not args.distances, **bounds(args)}
    return filled(run or args.run, read_lists(run or args.run, args.format, **how))


def read_judged(args: Namespace, run: str | None = None, **how: Any) -> RankedLists:
    with noted_warnings(quiet=args.quiet):
        lists = read(args, run)
        qrels = read_qrels(args.qrels, max_bytes=args.max_bytes)
        how |= {"min_grade": args.min_grade, "unjudged": args.unjudged}
        lists = with_qrels(lists, qrels, **how)
    if not len(lists):
        both = f"{run or args.run} and {args.qrels}"
        raise InvalidScoresError(f"{both} must have queries in common, got none")
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


def named_files(option: str, given: Sequence[str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise InvalidParameterError(f"{option} must have the form NAME=FILE, got {text!r}")
        if name in files:
            raise InvalidParameterError(f"{option} must have different names, got {name} twice")
        files[name] = path
    return files


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
    must = f"{option} must name a subclass of paretocut.truncators.Truncator or an object of one"
    raise InvalidParameterError(f"{must}, got {name}, which {got} in {module}")


def note(message: str, who: str = "paretocut") -> None:
    sys.stderr.write(f"{who}: {message}\n")


def warn(message: str) -> None:
    note(message, "paretocut: warning")


@contextlib.contextmanager
def noted_warnings(*, quiet: bool) -> Iterator[None]:
    """Turn the warnings that the library raises inside the block into notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in () if quiet else caught:
        warn(str(warning.message))


def print_json(row: Mapping[str, Any]) -> None:
    with open_target("-") as out:
        out.write(json_line(row))
