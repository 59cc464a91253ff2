"""The neural truncators on the judged runs: trained once, their cuts kept with the project.

Training all of them takes a GPU or a day of a CPU, so `FILE` is part of the project. It holds
cuts, not metrics: everything that is said of the networks follows from it and the runs.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cache import key_of
from experiments.compare.methods.choice import METRICS, NEURAL, PROTOCOL
from experiments.data import Run, load, sha256
from experiments.results import commit, settings_of
from paretocut import metrics, truncators
from paretocut.evaluation import evaluate
from paretocut.lists import RankedLists

__all__ = ["FILE", "origins", "stored", "train"]

FILE = Path(__file__).with_name("networks.npz")
"""Of each run, ``RUN/query``: the list that each test is about, in the order of `evaluate`, and
``RUN/NETWORK``: the cuts, by metric and test. ``about`` is JSON: what each was made of, and on."""


def stored(run: Run, lists: RankedLists, name: str) -> dict[str, NDArray[Any]] | None:
    """Return the cuts of a network on a run and their values, as `evaluate` shapes them.

    None where the network was not trained on this run, with its present settings and protocol.
    A change of the code that trains is not noticed: `origins` says which version did.
    """
    kept = _read()
    entry = f"{run.name}/{name}"
    if not _trained(_about(kept), run, name):
        return None
    k = kept[entry].astype(np.int64)
    query = kept[f"{run.name}/query"].astype(np.int64)
    curves = [metrics.get(metric).curves(lists) for metric in METRICS]
    values = [curve.values[curve.offsets[query] + k[i]] for i, curve in enumerate(curves)]
    return {"k": k[:, None], "values": np.stack(values)[:, None]}


def origins() -> list[str]:
    """Return on what and by which version the networks on disk were trained, in words."""
    made = _about(_read()).values()
    return sorted({f"{m['device']}, torch {m['torch']}, commit {m['commit']}" for m in made})


def train(runs: Iterable[Run], *, device: str, jobs: int) -> int:
    """Train the networks that `stored` has not, keep their cuts, and return how many those were."""
    about = _about(_read())
    missing = [(run, name) for run in runs for name in NEURAL if not _trained(about, run, name)]
    # Spawned, not forked: an accelerator cannot be used in a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        futures = {pool.submit(_train, run, name, device): (run, name) for run, name in missing}
        for future in as_completed(futures):
            run, name = futures[future]
            _keep(run, name, **future.result())
            sys.stderr.write(f"{run.name}: {name}\n")
    return len(missing)


def _train(run: Run, name: str, device: str) -> dict[str, Any]:
    """Return the cuts of a network on all splits of a run, and what it was trained on."""
    import torch

    truncator = truncators.make(name).set_params(training__device=device)
    done = evaluate({name: truncator}, load(run), **PROTOCOL)
    on = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    return {
        "k": done.k[:, 0],
        "query": done.query,
        "made": {"device": on, "torch": torch.__version__, "commit": commit()},
    }


def _keep(
    run: Run, name: str, *, k: NDArray[Any], query: NDArray[Any], made: dict[str, str]
) -> None:
    """Add the cuts of a network on a run to the file, or put them in the place of older ones."""
    kept = _read()
    about = _about(kept) | {f"{run.name}/{name}": {"key": _key(run, name), **made}}
    kept |= {
        "about": np.array(json.dumps(about)),
        f"{run.name}/query": query.astype(np.int32),
        f"{run.name}/{name}": k.astype(np.int32),
    }
    temporary = FILE.with_suffix(".tmp.npz")  # a reader sees all of the file, or the older one
    np.savez_compressed(temporary, **kept)
    temporary.replace(FILE)


def _read() -> dict[str, NDArray[Any]]:
    if not FILE.is_file():
        return {}
    with np.load(FILE) as arrays:
        return dict(arrays)


def _about(kept: dict[str, NDArray[Any]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(str(kept["about"])) if kept else {}
    return found


def _trained(about: dict[str, dict[str, str]], run: Run, name: str) -> bool:
    kept = about.get(f"{run.name}/{name}", {}).get("key", "")
    return kept[:20] == _key(run, name)  # older entries have longer keys


def _key(run: Run, name: str) -> str:
    """Return the hash of the data, the protocol and all settings, defaults too, but the device."""
    return key_of(
        {
            "data": {file: sha256(file) for file in run.files},
            "min_grade": run.min_grade,
            "protocol": PROTOCOL,
            "truncator": name,
            "settings": settings_of(truncators.make(name)),
        }
    )
