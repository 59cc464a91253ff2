"""What the commands share: options, input, notes on standard error, progress."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, get_args

import numpy as np

import paretocut as pc
from paretocut.decisions.options import TRANSFORMS, FitOptions
from paretocut.errors import InvalidParameterError
from paretocut.io import read_lists, read_texts
from paretocut.io.tables import Format, format_of
from paretocut.lists import RankedLists
from paretocut.truncators import Truncator
from paretocut.truncators.consensus import EXPECT

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

RESULTS_PER_BLOCK = 1_000_000


class Bar(Protocol):
    """What progress is reported to."""

    def update(self, n: int) -> Any:
        """Move on by this much."""


class _NoBar:
    def update(self, n: int) -> None:
        """Move on unseen."""


def note(message: str, *, who: str = "") -> None:
    """Tell the user something that is not the output."""
    sys.stderr.write(f"paretocut: {who}{message}\n")


def progress(total: int, unit: str, *, quiet: bool) -> AbstractContextManager[Bar]:
    """Return a progress bar, where somebody watches and tqdm is installed."""
    if quiet or not sys.stderr.isatty() or importlib.util.find_spec("tqdm") is None:
        return contextlib.nullcontext(_NoBar())
    from tqdm import tqdm

    bar: AbstractContextManager[Bar] = tqdm(total=total, unit=unit, delay=1, leave=False)
    return bar


def positive_int(text: str) -> int:
    """Return the number an option gives; argparse turns the error into bad usage."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {text}")
    return number


def add_input(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Add the run and how to read it."""
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs=None if needed else "?",
        help="ranked lists: a file, or - for standard input",
    )
    parser.add_argument(
        "--format", choices=get_args(Format), help="format of RUN (default: by its name)"
    )
    parser.add_argument(
        "--distances", action="store_true", help="the scores are distances: lower is better"
    )
    parser.add_argument(
        "--max-bytes",
        type=positive_int,
        metavar="N",
        help="refuse a RUN of more than N bytes, decompressed (default: no limit)",
    )


def add_grading(parser: argparse.ArgumentParser) -> None:
    """Add what a grade means, and what the lack of one means."""
    parser.add_argument(
        "--min-grade",
        type=float,
        default=1,
        metavar="G",
        help="smallest grade that counts as relevant (default: 1)",
    )
    parser.add_argument(
        "--unjudged",
        choices=("nonrelevant", "unknown"),
        default="nonrelevant",
        help="results that QRELS does not name: not relevant, as in TREC pools, or unknown, as "
        "after `paretocut judge` (default: nonrelevant)",
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add the option that silences notes, warnings and progress."""
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no notes, no warnings, no progress bar"
    )


def add_fit_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `paretocut.fit_tails`; left out, they are None."""
    group = parser.add_argument_group("how the tail is fitted")
    group.add_argument(
        "--transform",
        choices=TRANSFORMS,
        help="scale of the scores; logit for probabilities (default: identity)",
    )
    group.add_argument(
        "--selection",
        choices=("greedy", "gof"),
        help="how the window is found: the paper's search, or goodness of fit (default: greedy)",
    )
    group.add_argument(
        "--refit",
        choices=("window", "all"),
        help="fit the window, or everything from the threshold up (default: window)",
    )
    group.add_argument("--min-window", type=int, metavar="N", help="smallest window (default: 5)")
    group.add_argument(
        "--threads", type=positive_int, metavar="N", help="threads (default: one per processor)"
    )


def fit_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_fit_options` read, as arguments of `paretocut.fit_tail`."""
    given = {name: getattr(args, name) for name in FitOptions.names()}
    return {name: value for name, value in given.items() if value is not None}


def add_expect(parser: Any) -> None:
    """Add the word about the questions."""
    words = ", ".join(EXPECT)
    parser.add_argument(
        "--expect",
        metavar="N",
        help=f"about how many relevant results a query has: {words} or a number",
    )


def expect_of(args: argparse.Namespace) -> str | float | None:
    """Return what `add_expect` read: a word, a number or None."""
    if args.expect is None or args.expect in EXPECT:
        word: str | None = args.expect
        return word
    try:
        return float(args.expect)
    except ValueError:
        raise InvalidParameterError(
            f"{args.command}: --expect must be {', '.join(EXPECT)} or a number, got {args.expect!r}"
        ) from None


def add_query_texts(parser: Any) -> None:
    """Add the texts of the queries, for models of lexical scores."""
    parser.add_argument(
        "--query-texts",
        nargs="+",
        metavar="FILE",
        help="texts of the queries, one a line: name, tab, text, or JSON with id and text; needed "
        "for lexical models only",
    )


def query_texts(args: argparse.Namespace, *runs: RankedLists) -> list[str]:
    """Return the text of each query of these runs, as ``--query-texts`` tells them."""
    if args.query_texts is None:
        raise InvalidParameterError(
            f"{args.command}: --query-texts must name a file for lexical scores, which are "
            "compared by what their query asks for; got none"
        )
    known: dict[str, str] = {}
    for path in args.query_texts:
        for name, text in read_texts(path).items():
            if known.setdefault(name, text) != text:
                raise InvalidParameterError(
                    f"{args.command}: --query-texts must give one text to a query, got two for "
                    f"{name}"
                )
    names = [name for run in runs for name in run.query_ids.tolist()]
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidParameterError(
            f"{args.command}: --query-texts must have the text of every query, got none for "
            f"{len(missing)} of {len(names)}, such as {missing[0]}"
        )
    return [known[name] for name in names]


def load_truncator(path: str) -> Truncator:
    """Return the saved truncator that ``--model`` names."""
    found = pc.load(path)
    if not isinstance(found, Truncator):
        raise InvalidParameterError(
            f"cut: --model must name a saved truncator, got a {_other(found)} in {path}"
        )
    return found


def _other(found: object) -> str:
    """Return what another model is, in a word."""
    return "truncator" if isinstance(found, Truncator) else type(found).__name__.lower()


def load_background(path: str) -> pc.Background:
    """Return the saved background that ``--background`` names."""
    found = pc.load(path)
    if not isinstance(found, pc.Background):
        raise InvalidParameterError(
            f"cut: --background must name a saved background, got a {_other(found)} in {path}"
        )
    return found


def read(args: argparse.Namespace, **judged: Any) -> RankedLists:
    """Return the lists of the run."""
    # Asked here, so that what is wrong with the name is told by the command.
    kind = format_of(args.run, args.format, who=args.command)
    given = {"higher_is_better": not args.distances, "max_bytes": args.max_bytes}
    return read_lists(args.run, kind, **given, **judged)


def read_another(args: argparse.Namespace, run: str, **judged: Any) -> RankedLists:
    """Return the lists of a second run, in the format and direction of the first."""
    kind = format_of(run, args.format, who=args.command)
    given = {"higher_is_better": not args.distances, "max_bytes": args.max_bytes}
    return read_lists(run, kind, **given, **judged)


def blocks(lists: RankedLists) -> Iterator[RankedLists]:
    """Yield the lists in blocks of about a million results, for progress and for memory."""
    offsets = lists.scores.offsets
    start = 0
    while start < len(lists):
        reach = np.searchsorted(offsets, offsets[start] + RESULTS_PER_BLOCK, side="right")
        stop = max(start + 1, int(reach) - 1)
        yield lists[start:stop]
        start = stop


def report_warnings(found: Iterable[Sequence[str]], queries: int) -> None:
    """Say which warnings the lists carry, each once, with its remedy."""
    counts = Counter(name for names in found for name in names)
    for name in pc.WARNINGS:
        if counts[name]:
            where = f"{counts[name]} of {queries} queries"
            note(f"{name} in {where}: {pc.WARNINGS[name]}", who="warning: ")
