"""What every ``python -m experiments.NAME`` does: measure, keep the numbers, write the pages.

Each experiment has a module ``report``, whose ``pages()`` returns the text of its pages by their
paths, made of the kept numbers alone. ``draw()``, if it has one, draws pictures of these numbers.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from experiments import results
from experiments.data import ROOT

__all__ = ["Again", "parser", "run", "say", "show_again", "write_pages"]

Again = Iterator[tuple[str, float, float]]
"""What was measured, the kept number, and the same measured now."""

_START = time.perf_counter()
ROUNDED = 2e-4
"""Numbers are kept with four digits, or six."""


def say(text: str) -> None:
    """Tell the terminal how far the work is."""
    sys.stderr.write(f"{time.perf_counter() - _START:6.0f} s  {text}\n")


def parser(
    name: str,
    about: str | None,
    *,
    ships: str | None = None,
    quick: bool = False,
    renew: bool = False,
) -> ArgumentParser:
    """Return the options that all experiments share; the text on top says how long it takes."""
    out = ArgumentParser(prog=f"python -m experiments.{name}", description=about)
    out.add_argument(
        "--pages", action="store_true", help="only write the pages, from the kept numbers (seconds)"
    )
    if quick:
        out.add_argument(
            "--quick",
            action="store_true",
            help="only measure a few of the kept numbers again, and keep nothing (a minute)",
        )
    if renew:
        out.add_argument(
            "--renew", action="store_true", help="only measure what nothing was tuned for anew"
        )
    if ships:
        out.add_argument(
            "--ship", action="store_true", help=f"only learn {ships} anew, which ships"
        )
    return out


def run(
    name: str,
    about: str | None,
    report: ModuleType,
    measure: Callable[[], dict[str, Any]],
    *,
    ships: str | None = None,
    learn: Callable[[], None] | None = None,
    again: Callable[[], Again] | None = None,
    renew: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> None:
    """Run an experiment of one part as its command line says."""
    chosen = parser(
        name, about, ships=ships, quick=again is not None, renew=renew is not None
    ).parse_args()
    if again is not None and chosen.quick:
        show_again(again())
        return
    if learn is not None and chosen.ship:
        learn()
        return
    if renew is not None and chosen.renew:
        results.write(renew(results.read(name)), name)
    elif not chosen.pages:
        results.write(results.stamp() | measure(), name)
    write_pages(report)


def show_again(numbers: Again) -> None:
    """Print numbers beside the kept ones, and fail if one differs."""
    rows = list(numbers)
    for what, kept, now in rows:
        sys.stdout.write(f"{what}: kept {kept:.4f}, now {now:.4f}\n")
    if any(abs(kept - now) > ROUNDED for _, kept, now in rows):
        raise SystemExit("not the kept numbers")


def write_pages(report: ModuleType) -> None:
    """Write the pages of an experiment, and its pictures that follow from the kept numbers."""
    for page, text in report.pages().items():
        (ROOT / page).parent.mkdir(exist_ok=True)
        (ROOT / page).write_text(text, encoding="utf-8")
        say(page)
    if hasattr(report, "draw"):
        report.draw()
