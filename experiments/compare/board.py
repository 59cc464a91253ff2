"""A stranger's method beside ours: the same runs, the same halves, the same table.

``python -m experiments.compare --method FILE.py:NAME``. NAME is a truncator class that can be made
without arguments, a truncator, or a function of lists that returns how many results to keep.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import say
from experiments.compare import kinds
from experiments.compare.methods.choice import CEILING, DOMAINS, KINDS, PROTOCOL
from experiments.data import COLLECTION_RUNS, DOMAIN_RUNS, RUNS, Run, data_dir, judged, load
from experiments.intervals import gain_over
from experiments.pages import gain, table
from experiments.results import read
from paretocut.evaluation import evaluate
from paretocut.truncators import Truncator

__all__ = ["check", "enter"]

MOST = 300  # queries of a new domain, as in the kept numbers
BESIDE = {
    "consensus": "`Consensus`, learned",
    "minmax": "min-max threshold, learned",
    "global_k": "best fixed k, learned",
    "consensus_untrained": "the default",
    "max_80": "0.8 of the best score",
    "largest_gap": "largest gap",
    "autocut": "autocut",
    "fixed_k": "first ten",
    CEILING: "oracle",
}
SETS = {"44 judged runs": (*RUNS, *COLLECTION_RUNS), "new domains": DOMAIN_RUNS}


def check() -> str:
    """Return which collections are there, and which files are missing."""
    lines = []
    for run in (*RUNS, *COLLECTION_RUNS, *DOMAIN_RUNS):
        missing = [name for name in run.files if not (data_dir() / name).is_file()]
        lines.append(f"{run.name}: {'missing ' + ', '.join(missing) if missing else 'there'}")
    return "\n".join([f"In {data_dir()}:", *lines])


def named(text: str) -> tuple[str, Any]:
    """Return a method and its name, of "FILE.py:NAME"."""
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not (name and path.is_file()):
        raise SystemExit(f"--method must be FILE.py:NAME of a file that exists, got {text}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise SystemExit(f"--method: {path} must define {name}")
    found = getattr(module, name)
    return name, found() if isinstance(found, type) else found


def enter(text: str) -> str:
    """Return the tables with the method in them, on the runs that are there."""
    name, method = named(text)
    parts = []
    for title, runs in SETS.items():
        there = [r for r in runs if all((data_dir() / file).is_file() for file in r.files)]
        if there:
            parts.append(_table(f"{title}, {len(there)} of them here", there, name, method))
    return "\n\n".join(parts) or f"no run is there\n{check()}"


def _table(title: str, runs: list[Run], name: str, method: Any) -> str:
    part = "domains" if runs[0] in DOMAIN_RUNS else "methods"
    kept = {entry["run"]: entry for entry in read("compare", part)["runs"]}
    means: dict[str, dict[str, float]] = {}
    for run in runs:
        means[run.name] = {one: kinds.mean_of(kept[run.name], one) for one in BESIDE}
        means[run.name][name] = _measured(run, name, method)
        say(f"{run.name}: {means[run.name][name]:.4f}")
    kind_of = KINDS | DOMAINS
    families = {run.name: kinds.collection(run.family) for run in runs}
    pairs = [(kind_of[run.family], families[run.name]) for run in runs]
    share = kinds.weights(pairs)
    order = list(dict.fromkeys(kind for kind, _ in pairs))
    rows = []
    for one, words in {name: f"**{name}**", **BESIDE}.items():
        f1 = np.array([means[run.name][one] for run in runs])
        cells = []
        for kind in order:
            here = np.array([found == kind for found, _ in pairs])
            cells.append(f"{share[here] @ f1[here] / share[here].sum():.3f}")
        rows.append((float(share @ f1), [words, *cells, f"{share @ f1:.3f}"]))
    rows.sort(key=lambda row: -row[0])
    leads = [
        f"- against {BESIDE[rival]}: {gain(_gain(means, families, name, rival))}"
        for rival in ("minmax", "consensus_untrained", "max_80")
    ]
    body = table(["F1, recall of the list", *order, "all"], (row for _, row in rows))
    return "\n".join(
        [f"{title}:", "", body, "", "Gain, with 95 % intervals over collections:", *leads]
    )


def _measured(run: Run, name: str, method: Any) -> float:
    """Return mean F1 of the method on the halves that all others were tested on."""
    needs = isinstance(method, Truncator) and method.needs_embeddings
    lists = load(run) if needs else judged(run)
    if run in DOMAIN_RUNS:
        lists = lists[np.sort(np.random.default_rng(0).permutation(len(lists))[:MOST])]
    done = evaluate({name: method}, lists, **PROTOCOL | {"metrics": (kinds.METRIC,)})
    return done[kinds.METRIC, name].mean


def _gain(
    means: Mapping[str, Mapping[str, float]], families: Mapping[str, str], ours: str, rival: str
) -> tuple[float, float, float]:
    rows = [
        [
            float(np.mean([means[run][one] for run in means if families[run] == family]))
            for one in (ours, rival)
        ]
        for family in dict.fromkeys(families.values())
    ]
    return gain_over(rows)
