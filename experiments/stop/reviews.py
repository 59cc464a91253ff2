"""The finished reviews, and what ships of them: levels and typical depths, no documents.

``python -m experiments.stop --ship`` writes ``src/paretocut/data/stopping.json``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import ROOT, Run, judged
from paretocut.stopping import Quantile

__all__ = ["RECALLS", "Ranking", "learned_from", "rankings", "ship"]

RUNS = {
    "CLEF 2019, diagnosis, BM25": ("tar/runs/tar2019-DTA.run.gz", "tar/qrels.tar2019-DTA.txt.gz"),
    "CLEF 2019, intervention, BM25": (
        "tar/runs/tar2019-Intervention.run.gz",
        "tar/qrels.tar2019-Intervention.txt.gz",
    ),
    "CLEF 2017, AMC": ("tar2017/amc.run.gz", "tar2017/qrels.txt.gz"),
    "CLEF 2017, Waterloo": ("tar2017/waterloo.run.gz", "tar2017/qrels.txt.gz"),
}
RECALLS = (0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
_GRID = np.linspace(0, 1, 21)


@dataclass(frozen=True)
class Ranking:
    """One review in the order of one ranking."""

    review: str
    run: str
    relevant: NDArray[np.bool_]


@cache
def rankings() -> list[Ranking]:
    """Return every review in the order of every run of it."""
    return [
        Ranking(str(name), run, np.asarray(relevant, dtype=bool))
        for run, (path, qrels) in RUNS.items()
        for lists in [judged(Run(run, run, path, qrels))]
        for name, relevant in zip(lists.query_ids, lists.relevant, strict=True)
    ]


def learned_from(some: list[Ranking]) -> dict[str, Any]:
    """Return what these reviews teach, in the form that ships."""
    rules = {
        f"{recall:g}": Quantile(recall).fit([one.relevant for one in some]) for recall in RECALLS
    }
    (known, *_) = (rule.earlier_ for rule in rules.values())
    depths = np.quantile([_depths(one.relevant) for one in some], (0.25, 0.5, 0.75), axis=0)
    return {
        "least": {name: _down(rule.earlier_.least) for name, rule in rules.items()},
        "totals": known.totals,
        "shares": known.shares,
        "means": {name: rule.earlier_.depths for name, rule in rules.items()},
        "depths": np.round(depths, 3).tolist(),
    }


def _depths(relevant: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of the ranking that is read when each share of the relevant is found."""
    places = (np.flatnonzero(relevant) + 1) / relevant.size
    return np.concatenate([[0.0], places[np.ceil(_GRID[1:] * places.size - 1e-9).astype(int) - 1]])


def _down(levels: list[float]) -> list[float]:
    """Return levels with six digits, never higher than they were."""
    return (np.floor(np.array(levels) * 1e6) / 1e6).tolist()


def ship() -> None:
    """Learn from every ranking, and write what ships."""
    path = ROOT / "src" / "paretocut" / "data" / "stopping.json"
    path.write_text(json.dumps(learned_from(rankings())) + "\n", encoding="utf-8")
