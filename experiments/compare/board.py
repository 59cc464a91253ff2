"""A stranger's method beside ours: the same runs, the same halves, the same table.

``python -m experiments.compare --method FILE.py:NAME``. NAME is a truncator class that can be made
without arguments, a truncator, or a function of lists that returns how many results to keep.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import say
from experiments.compare import kinds
from experiments.compare.methods.choice import CEILING, DOMAINS, KINDS, PROTOCOL
from experiments.data import COLLECTION_RUNS, DOMAIN_RUNS, RUNS, Run, data_dir, judged, load, sha256
from experiments.intervals import gain_over
from experiments.pages import gain, percent, table
from experiments.results import read
from experiments.rivals.of_best import OfBest
from paretocut.evaluation import evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import Consensus, Truncator
from paretocut.truncators.consensus.pretrained import Pretrained, shipped

__all__ = ["check", "enter"]

MOST = 300  # queries of a new domain, as in the kept numbers
YOURS = "yours"  # whatever its name is, which may be that of a method of ours
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
    """Return which runs are there, and which of their files are missing, or not ours."""
    lines = []
    for run in (*RUNS, *COLLECTION_RUNS, *DOMAIN_RUNS):
        said = "there"
        if missing := [name for name in run.files if not (data_dir() / name).is_file()]:
            said = f"missing {', '.join(missing)}"
        elif others := _other_files(run):
            said = f"there, but not our {', '.join(others)}: all methods will be measured on it"
        lines.append(f"{run.name}: {said}")
    return "\n".join([f"In {data_dir()}:", *lines])


@cache
def _kept() -> dict[str, Mapping[str, Any]]:
    """Return our numbers of each run."""
    parts = (read("compare", part)["runs"] for part in ("methods", "domains"))
    return {entry["run"]: entry for entries in parts for entry in entries}


def _other_files(run: Run) -> list[str]:
    """Return the files of a run that are not those our numbers were measured on."""
    known = _kept()[run.name]["sha256"]
    return [name for name in run.files if sha256(name)[:16] != known[name]]


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
    sys.path.append(str(path.parent.resolve()))  # the file may import its neighbours
    sys.modules.setdefault(spec.name, module)  # dataclasses look their module up
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
    means: dict[str, dict[str, float]] = {}
    for run in runs:
        means[run.name] = {**_beside(run), YOURS: _measured(run, name, method)}
        say(f"{run.name}: {means[run.name][YOURS]:.4f}")
    kind_of = KINDS | DOMAINS
    families = {run.name: kinds.collection(run.family) for run in runs}
    pairs = [(kind_of[run.family], families[run.name]) for run in runs]
    share = kinds.weights(pairs)
    order = list(dict.fromkeys(kind for kind, _ in pairs))
    rows = []
    for one, words in {YOURS: f"**{name}**", **BESIDE}.items():
        f1 = np.array([means[run.name][one] for run in runs])
        cells = []
        for kind in order:
            here = np.array([found == kind for found, _ in pairs])
            cells.append(f"{share[here] @ f1[here] / share[here].sum():.3f}")
        rows.append((float(share @ f1), [words, *cells, f"{share @ f1:.3f}"]))
    rows.sort(key=lambda row: -row[0])
    alone = len(set(families.values())) == 1  # which has no interval
    leads = []
    for rival in ("minmax", "consensus_untrained", "max_80"):
        found = _gain(means, families, YOURS, rival)
        leads.append(f"- against {BESIDE[rival]}: {percent(found[0]) if alone else gain(found)}")
    body = table(["F1, recall of the list", *order, "all"], (row for _, row in rows))
    how = "no interval, with one collection" if alone else "with 95 % intervals over collections"
    return "\n".join([f"{title}:", "", body, "", f"Gain, {how}:", *leads])


def _measured(run: Run, name: str, method: Any) -> float:
    """Return mean F1 of the method on the halves that all others were tested on."""
    needs = isinstance(method, Truncator) and method.needs_embeddings
    return _means(run, {name: method}, load(run) if needs else judged(run))[name]


def _beside(run: Run) -> dict[str, float]:
    """Return mean F1 of the other methods: our numbers, or measured if the files are not ours."""
    if not _other_files(run):
        return {one: kinds.mean_of(_kept()[run.name], one) for one in BESIDE}
    name = kinds.collection(run.family)

    class Elsewhere(Consensus):
        def prior(self) -> Pretrained:
            known = shipped()
            return known.without(name) if name in known.values["f1"] else known

    methods: dict[str, Any] = dict.fromkeys(BESIDE) | {
        "consensus": Elsewhere(),
        "consensus_untrained": "default",
        "max_80": OfBest(0.8),
    }
    return _means(run, {one: method or one for one, method in methods.items()}, judged(run))


def _means(run: Run, methods: Mapping[str, Any], lists: RankedLists) -> dict[str, float]:
    if run in DOMAIN_RUNS:
        lists = lists[np.sort(np.random.default_rng(0).permutation(len(lists))[:MOST])]
    done = evaluate(methods, lists, **PROTOCOL | {"metrics": (kinds.METRIC,)})
    return {one: done[kinds.METRIC, one].mean for one in methods}


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
