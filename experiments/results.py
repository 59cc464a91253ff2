"""Where the numbers of an experiment are kept, and what they say of their making."""

from __future__ import annotations

import inspect
import json
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import paretocut
from experiments.data import ROOT
from paretocut.truncators import Truncator

__all__ = ["commit", "path_of", "read", "settings_of", "sources", "stamp", "write"]

PACKAGE = Path(paretocut.__file__).parent
LIBRARIES = ("paretocut", "numpy", "scipy", "scikit-learn", "torch", "matplotlib")
# Files that a measurement writes itself, or that only show what was measured.
_WRITTEN = (":!docs", ":!*.md", ":!*.json", ":!*.npz", ":!tests")
_ROOMS = (
    *("schema", "lists", "decisions", "tail", "metrics", "background", "truncators"),
    *("evaluation", "io"),
)


def path_of(experiment: str, part: str | None = None) -> Path:
    """Return the file that keeps the numbers of an experiment, or of one part of it."""
    folder = ROOT / "experiments" / experiment
    return folder / "results.json" if part is None else folder / "results" / f"{part}.json"


def read(experiment: str, part: str | None = None) -> dict[str, Any]:
    """Return the numbers of an experiment, or say which command makes them."""
    path = path_of(experiment, part)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there: python -m experiments.{experiment} {part or ''} makes it"
        )
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def write(
    content: dict[str, Any], experiment: str, part: str | None = None, *, digits: int | None = 4
) -> None:
    """Keep the numbers of an experiment; lists of plain values stand on one line each."""
    path = path_of(experiment, part)
    path.parent.mkdir(exist_ok=True)
    plain = content if digits is None else _rounded(content, digits)
    text = json.dumps(plain, indent=1, allow_nan=False)
    text = re.sub(r"\[\n\s*([^][{}]*?)\n\s*\]", lambda row: f"[{_one_line(row[1])}]", text)
    path.write_text(text + "\n", encoding="utf-8")


def _one_line(text: str) -> str:
    return re.sub(r"\n\s*", " ", text)


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {str(key): _rounded(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item, digits) for item in value]
    if isinstance(value, (float, np.floating)):
        return round(float(value), digits)
    return value


def commit() -> str:
    """Return the commit that is checked out; "-dirty" follows it if code was changed since."""
    name = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    return name + ("-dirty" if _git("status", "--porcelain", "--", ".", *_WRITTEN) else "")


def stamp() -> dict[str, Any]:
    """Return the commit and the versions that made the numbers; every file of results has them."""
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"commit": commit(), "versions": versions}


def settings_of(network: Truncator) -> dict[str, Any]:
    """Return what a network is made and trained with, in one row, but not where."""
    params = network.get_params()
    settings = {name.removeprefix("training__"): params[name] for name in params}
    return {name: settings[name] for name in settings.keys() - {"training", "device", "progress"}}


def sources(truncator: Truncator) -> Iterator[Path]:
    """Yield the source files that can change a truncator's cuts or what they are worth.

    These are the rooms that all truncators share, the modules of its class and its bases (with
    their folders inside ``truncators``), those of the truncators inside it, and the kernel.
    """
    files = {path for room in _ROOMS for path in (PACKAGE / room).glob("*.py")}
    files.add(PACKAGE / "relevance.py")
    for kind in {kind for part in _parts(truncator) for kind in type(part).__mro__}:
        if issubclass(kind, Truncator):
            module = Path(inspect.getfile(kind))
            own_folder = module.parent.parent.name == "truncators"
            files.update(module.parent.glob("*.py") if own_folder else [module])
    yield from sorted(files)
    yield from sorted((ROOT / "cpp").glob("*.[ch]pp"))


def _parts(truncator: Truncator) -> Iterable[Truncator]:
    yield truncator
    for value in truncator.get_params().values():
        if isinstance(value, Truncator):
            yield value


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip()
