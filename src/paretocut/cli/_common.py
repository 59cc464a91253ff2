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
from paretocut.io import read_lists
from paretocut.io.tables import Format, format_of
from paretocut.surprise import SurpriseFits
from paretocut.types import RankedLists

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

RESULTS_PER_BLOCK = 1_000_000
FIT_DEFAULTS = {
    "transform": "identity",
    "selection": "greedy",
    "refit": "window",
    "min_window": 5,
}


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


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the run and how to read it."""
    parser.add_argument("run", metavar="RUN", help="ranked lists: a file, or - for standard input")
    parser.add_argument(
        "--format", choices=get_args(Format), help="format of RUN; by default its name says"
    )
    parser.add_argument(
        "--distances", action="store_true", help="the scores are distances: lower is better"
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add the option that silences notes, warnings and progress."""
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no notes, no warnings, no progress bar"
    )


def add_fit_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `paretocut.fit_batch`."""
    group = parser.add_argument_group("how the tail is fitted")
    group.add_argument(
        "--transform",
        choices=("identity", "log", "logit", "auto"),
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
    parser.set_defaults(**FIT_DEFAULTS)


def fit_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_fit_options` read, as arguments of `paretocut.fit`."""
    return {name: getattr(args, name) for name in FIT_DEFAULTS}


def read(args: argparse.Namespace, **judged: Any) -> RankedLists:
    """Return the lists of the run."""
    # Asked here, so that what is wrong with the name is told by the command.
    kind = format_of(args.run, args.format, who=args.command)
    return read_lists(args.run, kind, higher_is_better=not args.distances, **judged)


def blocks(lists: RankedLists) -> Iterator[RankedLists]:
    """Yield the lists in blocks of about a million results, for progress and for memory."""
    offsets = lists.scores.offsets
    start = 0
    while start < len(lists):
        reach = np.searchsorted(offsets, offsets[start] + RESULTS_PER_BLOCK, side="right")
        stop = max(start + 1, int(reach) - 1)
        yield lists[start:stop]
        start = stop


def fit_block(lists: RankedLists, args: argparse.Namespace) -> SurpriseFits:
    """Return the fits of some lists; distances are seen as the file has them."""
    scores = lists.scores
    if args.distances:
        scores = scores.with_values(-scores.values)
    return pc.fit_batch(
        scores, higher_is_better=not args.distances, threads=args.threads, **fit_options(args)
    )


def report_warnings(found: Iterable[Sequence[str]], queries: int) -> None:
    """Say which warnings the lists carry, each once, with its remedy."""
    counts = Counter(name for names in found for name in names)
    for name in pc.WARNINGS:
        if counts[name]:
            where = f"{counts[name]} of {queries} queries"
            note(f"{name} in {where}: {pc.WARNINGS[name]}", who="warning: ")
