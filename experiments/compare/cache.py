"""Results on disk under the hash of everything they depend on, so that work is done once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import ROOT, Run, sha256
from experiments.results import sources
from paretocut.truncators import Truncator

__all__ = ["key", "key_of", "read", "save", "write"]

FOLDER = ROOT / "build" / "compare"


def key_of(run: Run, truncator: Truncator, protocol: dict[str, Any]) -> str:
    """Return the hash of the data, the truncator, the protocol and the code behind them."""
    code = {f"{path.parent.name}/{path.name}": _hash(path) for path in sources(truncator)}
    return key(run, protocol, truncator=repr(truncator), code=code)


def key(run: Run, protocol: dict[str, Any], **more: Any) -> str:
    """Return the hash of the data, the protocol and whatever else the results depend on."""
    content = {
        "data": {name: sha256(name) for name in run.files},
        "min_grade": run.min_grade,
        "protocol": protocol,
        **more,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read(key: str) -> dict[str, NDArray[Any]] | None:
    """Return the arrays stored under a key, or None."""
    path = FOLDER / f"{key}.npz"
    if not path.is_file():
        return None
    with np.load(path) as arrays:
        return dict(arrays)


def write(key: str, **arrays: NDArray[Any]) -> None:
    """Store arrays under a key."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    save(FOLDER / f"{key}.npz", arrays)


def save(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to a file; a reader sees all of them or what was there before."""
    temporary = path.with_suffix(".tmp.npz")
    np.savez_compressed(temporary, **dict(arrays))
    temporary.replace(path)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
