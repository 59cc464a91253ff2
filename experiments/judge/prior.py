"""What other systems teach about the shape of relevance along a list.

``python -m experiments.judge --ship`` learns from every judged run and writes
``src/paretocut/data/judged.json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import ROOT
from experiments.texts import systems
from paretocut.lists import RankedLists
from paretocut.relevance import Scale, ridge_logistic, shape

__all__ = ["coefficients", "learn", "prior_of", "runs"]

MOST = 300  # queries of one run
_RIDGE = 0.3  # keeps the coefficients of small runs finite
_FLOOR = 0.05  # variance that no coefficient is below: the runs are few

Array = NDArray[np.float64]


@cache
def runs() -> list[tuple[str, str, RankedLists]]:
    """Return collection, name and judged lists of every run."""
    return systems(MOST)


def coefficients(lists: RankedLists) -> Array:
    """Return the coefficients of a run judged in full; each doubling of the rank counts alike."""
    merit = Scale.of(lists.merit).apply(lists.merit)
    design = shape(merit)
    return ridge_logistic(
        design,
        lists.relevant.values.astype(np.float64),
        penalty=np.full(design.shape[1], _RIDGE),
        towards=np.zeros(design.shape[1]),
        weight=1 / (merit.ranks + 1.0),
    )


def prior_of(coefs: Array, collections: Sequence[str]) -> dict[str, Any]:
    """Return mean and covariance of the coefficients (one row per run), collections alike."""
    names = list(collections)
    weight = np.array([1 / names.count(name) for name in names])
    weight /= weight.sum()
    mean = weight @ coefs
    away = coefs - mean
    covariance = (away * weight[:, None]).T @ away + _FLOOR * np.eye(coefs.shape[1])
    return {"mean": np.round(mean, 3).tolist(), "covariance": np.round(covariance, 3).tolist()}


def learn() -> None:
    """Learn from every run, and write what ships."""
    coefs = np.array([coefficients(lists) for _, _, lists in runs()])
    content = prior_of(coefs, [family for family, _, _ in runs()])
    path = ROOT / "src" / "paretocut" / "data" / "judged.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
