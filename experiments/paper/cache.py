"""Results on disk under the hash of what they were made from: an interrupted run goes on."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from experiments.data import ROOT

FOLDER = ROOT / "build" / "paper"

_T = TypeVar("_T")


def remember(name: str, inputs: dict[str, Any], make: Callable[[], _T]) -> _T:
    """Return what ``make`` returns, from disk when the same inputs were seen before.

    Parameters
    ----------
    name
        Begin of the file's name, for people.
    inputs
        Everything the result depends on, as plain data; `hash_files` helps.
    make
        Does the work. Only ever called here, so the files are our own.
    """
    path = place(name, inputs)
    if path.is_file():
        with path.open("rb") as file:
            found: _T = pickle.load(file)
        return found
    result = make()
    FOLDER.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        pickle.dump(result, file, protocol=5)
    temporary.replace(path)
    return result


def place(name: str, inputs: dict[str, Any]) -> Path:
    """Return the file in which the result of these inputs is kept."""
    return FOLDER / f"{name.replace(' ', '_')}-{key_of(inputs)}.pickle"


def key_of(inputs: dict[str, Any]) -> str:
    """Return a short hash of plain data."""
    text = json.dumps(inputs, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name and folder."""
    return {f"{path.parent.name}/{path.name}": _hash(path) for path in sorted(set(paths))}


@cache
def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
