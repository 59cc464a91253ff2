"""Values on disk under the hash of all they depend on, so that no method is tuned twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.compare.cache import save
from experiments.data import ROOT
from experiments.results import PACKAGE
from paretocut.truncators import Truncator
from paretocut.truncators.consensus import Pretrained

__all__ = ["by_repeat", "remembered", "tuned"]

FOLDER = ROOT / "build" / "lead"

Array = NDArray[np.float64]


def tuned(lists: pc.RankedLists, truncator: Truncator, protocol: dict[str, Any]) -> Array:
    """Return the values of each metric, repeat and query, cross-validated; from disk if there.

    Parameters
    ----------
    lists
        Judged lists.
    truncator
        What is fitted and tested.
    protocol
        Arguments of `paretocut.evaluate`.
    """
    path = FOLDER / f"{_key(lists, truncator, protocol)}.npz"
    if path.is_file():
        with np.load(path) as arrays:
            return np.asarray(arrays["values"])
    done = pc.evaluate({"one": truncator}, lists, **protocol)
    values = by_repeat(done.values[:, 0], lists, protocol)
    FOLDER.mkdir(parents=True, exist_ok=True)
    save(path, {"values": values})
    return values


def by_repeat(values: NDArray[Any], lists: pc.RankedLists, protocol: dict[str, Any]) -> Array:
    """Return values as metric, repeat, query; every repeat tests each query once.

    Parameters
    ----------
    values
        As `paretocut.evaluate` has them: metrics, then tests in the order of the splits.
    lists, protocol
        As for `tuned`.
    """
    plain = protocol | {"metrics": ("f1",)}
    order = pc.evaluate([pc.truncators.FixedK(1)], lists, **plain)
    repeat = order.split // protocol["folds"]
    out = np.full((len(values), protocol["splits"], len(lists)), np.nan)
    out[:, repeat, order.query] = values
    return out


def remembered(name: str, lists: Iterable[pc.RankedLists], make: Callable[[], Any]) -> Any:
    """Return what was made of the lists by the present code; plain data, from disk if there.

    Parameters
    ----------
    name
        Says what is made, with all settings.
    lists
        What it is made of.
    make
        Makes it.
    """
    whole = hashlib.sha256((_code() + name).encode())
    for part in lists:
        whole.update(_bytes(part))
    path = FOLDER / f"{whole.hexdigest()}.json"
    if not path.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make()), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def _key(lists: pc.RankedLists, truncator: Truncator, protocol: dict[str, Any]) -> str:
    made_of = {
        "class": type(truncator).__name__,
        "parameters": truncator.get_params(),
        "protocol": protocol,
    }
    whole = hashlib.sha256((_code() + json.dumps(made_of, sort_keys=True, default=_plain)).encode())
    whole.update(_bytes(lists))
    return whole.hexdigest()


def _plain(value: Any) -> Any:
    """Return what JSON cannot say otherwise: all that was learned elsewhere, not its short name."""
    return value.to_dict() if isinstance(value, Pretrained) else repr(value)


def _bytes(lists: pc.RankedLists) -> bytes:
    parts = (lists.merit.values, lists.merit.offsets, lists.relevant.values)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


@cache
def _code() -> str:
    """Return the hash of everything in the package and its kernel."""
    whole = hashlib.sha256()
    files = [path for kind in ("*.py", "*.json") for path in PACKAGE.rglob(kind)]
    files += (ROOT / "cpp").rglob("*.[ch]pp")
    for path in sorted(files):
        whole.update(path.name.encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()
