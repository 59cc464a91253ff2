"""BiCut's cuts on the draws of the tables: trained once on a GPU, kept with the project.

A CPU would take days for the 25,968 training lists of an Omniglot draw, so `FILE` is part of the
project. It holds cuts, not metrics: what is said of the networks follows from it and the lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cache import key_of
from experiments.paper.draws import Draw
from experiments.paper.rows import Row
from experiments.results import commit, settings_of

FILE = Path(__file__).with_name("networks.npz")
"""Under its key, the cuts of one network on one draw; ``about`` is JSON on how they were made."""


def inputs_of(draw: Draw, row: Row, metric: str) -> dict[str, Any]:
    """Return what a network's cuts depend on: lists and all settings, but not the code.

    A change of the code that trains is not noticed; ``about`` says which commit did.
    """
    settings = settings_of(row.make(metric))
    return {"draw": draw.key(), "truncator": row.of.__name__, "settings": settings}


def stored(draw: Draw, row: Row, metric: str) -> NDArray[np.int64] | None:
    """Return the cuts of a network that was trained on these very lists, or None."""
    key = key_of(inputs_of(draw, row, metric))
    about = _about().get(key)
    # Encoders trained on another machine give other lists, which the cuts would not fit.
    if about is None or about["lists"] != draw.fingerprint():
        return None
    return _read()[key].astype(np.int64)


def keep(entries: Iterable[tuple[Draw, Row, str, dict[str, Any]]]) -> None:
    """Write the cuts of the networks to the file; what it held of other networks goes."""
    old = _about()
    arrays: dict[str, NDArray[Any]] = {}
    about = {}
    for draw, row, metric, found in entries:
        key = key_of(inputs_of(draw, row, metric))
        arrays[key] = np.asarray(found["k"], dtype=np.int16)
        about[key] = old.get(key) or {
            "what": f"{draw.data} {draw.stage or ''} {draw.seed}, {row.name}, {metric}",
            "lists": found["lists"],
            "epoch": found["epoch"],
            "seconds": round(found["seconds"], 1),
            **found["made"],
            "commit": commit(),
        }
    arrays["about"] = np.array(json.dumps(about, sort_keys=True))
    np.savez_compressed(FILE, **arrays)
    _read.cache_clear()


def origins() -> list[str]:
    """Return on what the networks on disk were trained, in words."""
    return sorted({f"{one['device']}, torch {one['torch']}" for one in _about().values()})


def _about() -> dict[str, dict[str, Any]]:
    kept = _read()
    found: dict[str, dict[str, Any]] = json.loads(str(kept["about"])) if kept else {}
    return found


@cache
def _read() -> dict[str, NDArray[Any]]:
    if not FILE.is_file():
        return {}
    with np.load(FILE) as arrays:
        return dict(arrays)
