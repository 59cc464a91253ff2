"""What `Consensus` learns from other collections, once, before it is shipped."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut.lists import FloatArray, Ragged, RankedLists
from paretocut.relevance import constants
from paretocut.relevance.constants import CONSTANTS
from paretocut.relevance.logistic import ridge_logistic
from paretocut.relevance.scale import Scale
from paretocut.schema.files import register, save_model
from paretocut.schema.kinds import Items, Kind, Made, Real, checked
from paretocut.truncators.consensus.features import DESIGN, Features
from paretocut.truncators.consensus.vote import LEARNED, drawn, rule_values, unit, where

_COLUMN = Items(Real(-1e6, 1e6), size=len(DESIGN))


@dataclass(frozen=True, repr=False)
class Pretrained:
    """What `Consensus` has learned from other collections; `pretrain` makes it.

    Attributes
    ----------
    coef, coef_without_raw
        Of the log-odds of relevance: for all standardised features, and for those that need no
        list of the system.
    center, spread
        What the features are standardised with.
    values
        For each metric and collection, the mean value of each rule.
    """

    coef: list[float]
    coef_without_raw: list[float]
    center: list[float]
    spread: list[float]
    values: Mapping[str, Mapping[str, list[float]]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON; ``Consensus(pretrained=path)`` reads it.

        Parameters
        ----------
        path
            The file. It is replaced in one step: a reader sees the old or the new one.
        """
        save_model(path, "pretrained", self)

    def standardised(self, merit: Ragged, scale: Scale) -> FloatArray:
        """Return the features of lists in falling order, on the scale of their system."""
        return np.asarray((Features(merit, scale).design() - self.center) / self.spread)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    def __repr__(self) -> str:
        # Its thousands of numbers would hide the truncator that it belongs to.
        return f"Pretrained({', '.join(sorted(self.values['f1']))})"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Pretrained:
        """Return what `to_dict` described, after a way through JSON.

        Parameters
        ----------
        content
            Plain data.
        """
        return cls(**checked(_state(), content))


register("pretrained", Pretrained, Pretrained.to_dict, Pretrained.from_dict)


@cache
def _state() -> dict[str, Kind]:
    """Return what a file may hold."""
    sizes = {metric: int(where(learned).sum()) for metric, learned in LEARNED.items()}

    def values(given: Mapping[str, Any]) -> dict[str, dict[str, list[float]]]:
        by_metric = checked({metric: Made(dict) for metric in sizes}, given)
        for metric, size in sizes.items():
            if not by_metric[metric]:
                raise ValueError(f"{metric} has at least one collection")
            rows: dict[str, Kind] = dict.fromkeys(by_metric[metric], Items(Real(-1e6, 1e6), size))
            by_metric[metric] = checked(rows, by_metric[metric])
        return by_metric

    positive = Items(Real(above=0, high=1e9), size=len(DESIGN))
    return {
        "coef": _COLUMN,
        "coef_without_raw": _COLUMN,
        "center": _COLUMN,
        "spread": positive,
        "values": Made(values),
    }


@cache
def shipped() -> Pretrained:
    """Return what was learned from the collections that the project was made with."""
    # Not from_dict: what is shipped is tested, and import is quick.
    return Pretrained(**constants.shipped("zero_shot.json"))


def values_elsewhere(
    known: Pretrained,
    metric: str,
    rng: np.random.Generator,
    draws: int = CONSTANTS.draws,
) -> FloatArray:
    """Return the value of each rule (rows) in each draw of other collections (columns)."""
    values = known.values[metric]
    learned = where(LEARNED[metric])
    table = np.full((len(values), learned.size), -1.0)
    for row, name in zip(table, sorted(values), strict=True):
        row[learned] = values[name]
    return drawn(table, rng, draws)


def pretrain(collections: Mapping[str, Sequence[RankedLists]]) -> Pretrained:
    """Return what `Consensus` learns from other collections.

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
    coef = regression(full)
    full[:, raw] = 0.0
    return Pretrained(
        coef,
        regression(full),
        np.round(center, 4).tolist(),
        np.round(spread, 4).tolist(),
        values,
    )
