"""What `Consensus` learns from other collections, once, before it is shipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut.lists import RankedLists
from paretocut.ragged import FloatArray
from paretocut.truncators.consensus.constants import CONSTANTS
from paretocut.truncators.consensus.features import DESIGN, Features, Scale
from paretocut.truncators.consensus.logistic import ridge_logistic
from paretocut.truncators.consensus.vote import LEARNED, drawn, rule_values, unit, where

__all__ = ["pretrain", "shipped", "values_elsewhere"]


@cache
def shipped() -> dict[str, Any]:
    """Return what was learned from the collections that the project was made with."""
    import importlib.resources
    import json

    source = importlib.resources.files("paretocut").joinpath("data/zero_shot.json")
    content: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return content


def values_elsewhere(
    known: Mapping[str, Any],
    metric: str,
    rng: np.random.Generator,
    draws: int = CONSTANTS.draws,
) -> FloatArray:
    """Return the value of each rule (rows) in each draw of other collections (columns).

    Parameters
    ----------
    known
        What `pretrain` returned.
    metric
        "f1" or "dcg".
    rng, draws
        Source and number of the draws.
    """
    values = known["values"][metric]
    learned = where(LEARNED[metric])
    table = np.full((len(values), learned.size), -1.0)
    for row, name in zip(table, sorted(values), strict=True):
        row[learned] = values[name]
    return drawn(table, rng, draws)


def pretrain(collections: Mapping[str, Sequence[RankedLists]]) -> dict[str, Any]:
    """Return what `Consensus` learns from other collections, as plain data.

    Parameters
    ----------
    collections
        Judged runs of each collection. Collections count alike, and so do the runs of one.
    """
    values: dict[str, dict[str, list[float]]] = {metric: {} for metric in LEARNED}
    designs, relevant, weights = [], [], []
    for name, runs in collections.items():
        scales = [Scale.of(run.merit) for run in runs]
        merits = [scale.apply(run.merit) for run, scale in zip(runs, scales, strict=True)]
        for metric, learned in LEARNED.items():
            means = []
            for run, merit, scale in zip(runs, merits, scales, strict=True):
                curves = metrics.get(metric).curves(run)
                means.append(rule_values(merit, scale, curves).mean(axis=0) / unit(curves))
            mean = np.mean(means, axis=0)[where(learned)]
            values[metric][name] = np.round(mean, 4).tolist()
        for run, merit, scale in zip(runs, merits, scales, strict=True):
            rank = merit.ranks + 1
            dense = rank <= CONSTANTS.dense
            kept = dense | (rank % CONSTANTS.step == 0)
            stands_for = np.where(dense, 1, CONSTANTS.step)[kept]  # results like it
            designs.append(Features(merit, scale).design()[kept])
            relevant.append(run.relevant.values[kept])
            weights.append(100 * stands_for / rank[kept] / (len(runs) * len(run)))
    design = np.concatenate(designs)
    center, spread = design.mean(axis=0), design.std(axis=0)
    center[0], spread = 0.0, np.where(spread > 1e-3, spread, 1.0)
    # Each run has a level of its own as well: how often results are relevant is not a property of
    # scores, and must not be taken for one.
    levels = np.repeat(np.eye(len(designs)), [len(part) for part in designs], axis=0)
    full = np.concatenate([(design - center) / spread, levels], axis=1)

    penalty = np.ones(full.shape[1])
    penalty[0] = 0.01  # the level that runs share is no part of their own

    def regression(table: FloatArray) -> list[float]:
        coef = ridge_logistic(
            table,
            np.concatenate(relevant),
            penalty=penalty,
            towards=np.zeros(table.shape[1]),
            weight=np.concatenate(weights),
        )
        rounded: list[float] = np.round(coef[: len(DESIGN)], 4).tolist()
        return rounded

    raw = [DESIGN.index(name) for name in ("raw", "best_raw")]
    content = {"coef": regression(full)}
    full[:, raw] = 0.0
    return content | {
        "coef without raw": regression(full),
        "center": np.round(center, 4).tolist(),
        "spread": np.round(spread, 4).tolist(),
        "values": values,
    }
