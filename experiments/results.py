"""What the measured pages share: plain numbers, where they come from, what they depend on."""

from __future__ import annotations

import inspect
import json
import platform
import subprocess
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import paretocut
from experiments.data import ROOT
from paretocut.truncators import Truncator

__all__ = ["commit", "rounded", "settings_of", "sources", "stamp"]

PACKAGE = Path(paretocut.__file__).parent
LIBRARIES = ("paretocut", "numpy", "scipy", "scikit-learn", "torch", "matplotlib")
# Files that a measurement writes itself, or that only show what was measured.
_WRITTEN = (":!docs", ":!*.md", ":!*.json", ":!*.npz", ":!tests")
_ROOMS = "schema lists decisions tail metrics background relevance evaluation io".split()
_FACES = {"__main__.py"}


def rounded(value: Any) -> Any:
    """Return plain data for JSON, with four digits after the point."""
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return round(float(value), 4)
    return value


def commit() -> str:
    """Return the commit that is checked out; "-dirty" follows it where code differs from it."""
    name = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    return name + ("-dirty" if _git("status", "--porcelain", "--", ".", *_WRITTEN) else "")


def stamp() -> dict[str, Any]:
    """Return what every file of results says of its making: the commit, and versions."""
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

    Everything of the package below the faces that all truncators share, the modules of the
    truncator's class and its bases (with their folder inside ``truncators``), those of the
    truncators inside it, and the kernel.
    """
    for room in ("", *_ROOMS):
        yield from sorted(path for path in (PACKAGE / room).glob("*.py") if path.name not in _FACES)
    kinds = {kind for part in _parts(truncator) for kind in type(part).__mro__}
    files = {inspect.getfile(kind) for kind in kinds if issubclass(kind, Truncator)}
    for module in map(Path, sorted(files)):
        own_folder = module.parent.parent.name == "truncators"
        yield from sorted(module.parent.glob("*.py")) if own_folder else [module]
    for shared in ("neighbors.py", "search.py", "threshold.py"):
        yield PACKAGE / "truncators" / shared
    yield from sorted((ROOT / "cpp").glob("*.[ch]pp"))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write results as JSON, the same bytes for the same content."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")


def _parts(truncator: Truncator) -> Iterable[Truncator]:
    yield truncator
    for value in truncator.get_params().values():
        if isinstance(value, Truncator):
            yield value


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip()
