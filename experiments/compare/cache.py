"""Results on disk under the hash of everything they depend on, so that work is done once."""

from __future__ import annotations

import hashlib
import inspect
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut
from experiments.data import ROOT, Run, sha256
from paretocut.truncators import Truncator

__all__ = ["commit", "key", "key_of", "read", "save", "write"]

FOLDER = ROOT / "build" / "compare"
PACKAGE = Path(paretocut.__file__).parent


def key_of(run: Run, truncator: Truncator, protocol: dict[str, Any]) -> str:
    """Return the hash of the data, the truncator, the protocol and the code behind them."""
    code = {path.name: _hash(path) for path in _code(truncator)}
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


def commit() -> str:
    """Return the commit that is checked out, with a mark when files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def _code(truncator: Truncator) -> Iterator[Path]:
    """Yield the sources that can change the truncator's cuts."""
    modules = {Path(inspect.getfile(type(part))) for part in _parts(truncator)}
    for module in sorted(modules):
        # A family with a folder of its own shares code within it.
        own_folder = module.parent.name not in ("truncators", "paretocut")
        yield from sorted(module.parent.glob("*.py")) if own_folder else [module]
    yield from sorted((PACKAGE / "truncators").glob("_[a-z]*.py"))
    if any(type(part).__name__ == "Surprise" for part in _parts(truncator)):
        yield from (PACKAGE / "surprise.py", PACKAGE / "_transforms.py", PACKAGE / "_rules.py")
        yield from sorted((ROOT / "cpp").glob("*.[ch]pp"))


def _parts(truncator: Truncator) -> Iterator[Truncator]:
    yield truncator
    for value in truncator.get_params().values():
        if isinstance(value, Truncator):
            yield value


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
