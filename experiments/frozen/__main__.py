"""The one test on frozen collections. Takes about ten minutes on two cores.

It runs once: if its numbers are there, the command measures again and only compares. --rehearse
runs the same code on shared collections and keeps nothing.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from experiments import command, results
from experiments.frozen import report
from experiments.frozen.measure import constants, measure
from experiments.frozen.sets import FROZEN, REHEARSAL

ROUNDED = 2e-4


def main() -> None:
    """Do what the command line says."""
    parser = ArgumentParser(prog="python -m experiments.frozen", description=__doc__)
    parser.add_argument("--pages", action="store_true", help="only write the page (seconds)")
    parser.add_argument(
        "--rehearse", action="store_true", help="run on shared collections, print, keep nothing"
    )
    chosen = parser.parse_args()
    if chosen.rehearse:
        content = results.stamp() | {"constants": constants(), **measure(REHEARSAL)}
        sys.stdout.write("\n\n".join(f"{k}:\n{v}" for k, v in report.facts(content).items()) + "\n")
        return
    there = results.path_of("frozen").is_file()
    if not chosen.pages and there:
        _compare()
    elif not chosen.pages:
        if results.commit().endswith("-dirty"):
            raise SystemExit("the constants are frozen at a commit: commit first")
        content = results.stamp() | {"constants": constants(), **measure(FROZEN)}
        results.write(content, "frozen")
    command.write_pages(report)


def _compare() -> None:
    """Measure again, and fail if a constant or a number differs from the kept ones."""
    kept = results.read("frozen")
    now = {"constants": constants(), **measure(FROZEN)}
    changed = list(_differences(kept, now))
    for line in changed:
        sys.stdout.write(f"{line}\n")
    if changed:
        raise SystemExit("not the kept numbers; they stay as they are")
    sys.stdout.write("the kept numbers come out again\n")


def _differences(kept: object, now: object, path: str = "") -> list[str]:
    if isinstance(now, dict) and isinstance(kept, dict):
        return [
            line
            for key, value in now.items()
            for line in _differences(kept.get(str(key)), value, f"{path}/{key}")
        ]
    if isinstance(now, (list, tuple)) and isinstance(kept, list) and len(now) == len(kept):
        pairs = enumerate(zip(kept, now, strict=True))
        return [line for i, (a, b) in pairs for line in _differences(a, b, f"{path}/{i}")]
    if isinstance(now, (int, float)) and isinstance(kept, (int, float)):
        return [] if abs(kept - now) <= ROUNDED else [f"{path}: kept {kept}, now {now}"]
    return [] if kept == now else [f"{path}: kept {kept}, now {now}"]


if __name__ == "__main__":
    main()
