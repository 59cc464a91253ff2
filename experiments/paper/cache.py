"""Results on disk under the hash of what they were made from: an interrupted run goes on."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from experiments.data import ROOT
from paretocut import RankedLists

FOLDER = ROOT / "build" / "paper"

_T = TypeVar("_T")


def remember(name: str, inputs: dict[str, Any], make: Callable[[], _T]) -> _T:
    """Return what ``make`` returns, from disk when the same inputs were seen before.

    Parameters
    ----------
    name
        Begin of the file's name, for people.
    inputs
        Everything the result depends on, as plain data; `digest` and `hash_files` help.
    make
        Does the work. Only ever called here, so the files are our own.
    """
    text = json.dumps(inputs, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:20]
    path = FOLDER / f"{name.replace(' ', '_')}-{key}.pickle"
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


def digest(lists: RankedLists) -> str:
    """Return a hash of the lists' scores, judgements and embeddings."""
    total = hashlib.sha256()
    columns = [lists.scores.values, lists.scores.offsets, lists.relevant.values, lists.num_relevant]
    for column in (*columns, lists.query_embeddings, lists.doc_embeddings):
        if column is not None:
            total.update(np.ascontiguousarray(column).tobytes())
    return total.hexdigest()


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}
