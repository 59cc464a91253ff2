"""Knowledge of `Consensus` from other collections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from paretocut.lists import FloatArray, Ragged
from paretocut.relevance.constants import CONSTANTS
from paretocut.relevance.scale import Scale
from paretocut.schema import files
from paretocut.schema.parameters import check_choice
from paretocut.truncators.consensus.features import design_of
from paretocut.truncators.consensus.vote import LEARNED, drawn, where

_REGRESSION = ("coef", "coef_without_raw", "center", "spread")


@dataclass(frozen=True, repr=False)
class Pretrained:
    """A regression and the value of every rule, learned from other collections.

    Attributes
    ----------
    coef, coef_without_raw
        Of the log-odds of relevance: for all standardised features, and for those that need no
        list of the system.
    center, spread
        Mean and deviation that standardise the features.
    values
        For each metric and collection, the mean value of each rule.
    """

    coef: list[float]
    coef_without_raw: list[float]
    center: list[float]
    spread: list[float]
    values: Mapping[str, Mapping[str, list[float]]]

    def standardised(self, merit: Ragged, scale: Scale) -> FloatArray:
        """Return the features of lists in falling order, on the scale of their system."""
        return np.asarray((design_of(merit, scale) - self.center) / self.spread)

    def without(self, collection: str) -> Pretrained:
        """Return the knowledge that ships, learned without a collection and all of its corpus.

        Parameters
        ----------
        collection
            One of those in ``values["f1"]``.
        """
        check_choice(collection, tuple(self.values["f1"]), who="Pretrained", name="collection")
        for known in files.shipped("zero_shot_without.json")["corpora"]:
            if collection in known["collections"]:
                left_out = known["collections"]
                break
        values = {
            metric: {name: own for name, own in by_name.items() if name not in left_out}
            for metric, by_name in self.values.items()
        }
        return Pretrained(**{key: known[key] for key in _REGRESSION}, values=values)

    def __repr__(self) -> str:
        # Its thousands of numbers would hide the truncator that it belongs to.
        return f"Pretrained({', '.join(sorted(self.values['f1']))})"


@cache
def shipped() -> Pretrained:
    """Return the knowledge that ships; ``python -m experiments.compare --ship`` writes it."""
    return Pretrained(**files.shipped("zero_shot.json"))


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
