"""Results on disk under the hash of what they were made from: an interrupted run goes on."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from experiments.data import ROOT
from experiments.results import PACKAGE
from paretocut.lists import RankedLists

__all__ = ["hash_files", "hash_lists", "key_of", "library", "place", "remember"]

FOLDER = ROOT / "build" / "experiments"

_T = TypeVar("_T")


def remember(name: str, inputs: Mapping[str, Any], make: Callable[[], _T]) -> _T:
    """Return what ``make`` returns, from disk if the same inputs were seen before."""
    path = place(name, inputs)
    if path.is_file():
        found: _T = pickle.loads(path.read_bytes())
        return found
    result = make()
    FOLDER.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(pickle.dumps(result, protocol=5))
    temporary.replace(path)
    return result


def place(name: str, inputs: Mapping[str, Any]) -> Path:
    """Return the file that keeps the result of these inputs."""
    return FOLDER / f"{name.replace(' ', '_')}-{key_of(inputs)}.pickle"


def key_of(inputs: Mapping[str, Any]) -> str:
    """Return a short hash of plain data."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:20]


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its folder and name."""
    return {f"{path.parent.name}/{path.name}": _hash(path) for path in sorted(set(paths))}


def hash_lists(lists: Iterable[RankedLists]) -> str:
    """Return a hash of scores and judgements."""
    whole = hashlib.sha256()
    for part in lists:
        for array in (part.merit.values, part.merit.offsets, part.relevant.values):
            whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


@cache
def library() -> str:
    """Return one hash of the whole package, its data and its kernel."""
    files = [path for kind in ("*.py", "*.json") for path in PACKAGE.rglob(kind)]
    return key_of(hash_files([*files, *(ROOT / "cpp").rglob("*.[ch]pp")]))


@cache
def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
