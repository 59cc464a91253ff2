"""Knowledge of `Consensus` from other collections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from paretocut.lists import FloatArray, Ragged
from paretocut.relevance.beliefs import Scale
from paretocut.schema import files
from paretocut.schema.parameters import check_choice
from paretocut.truncators.threshold import normalize_scores

_REGRESSION = ("coef", "coef_without_raw", "center", "spread")
DESIGN = tuple(
    "one log_rank z minmax raw over_level gap z_log_rank best_raw best_z log_length".split()
)
"""Names of the columns of `design_of`."""


@dataclass(frozen=True, repr=False, eq=False)
class Pretrained:
    """A regression and the value of every rule, learned from other collections."""

    coef: list[float]  # of the log-odds of relevance
    coef_without_raw: list[float]  # the same, for features that need no list of the system
    center: list[float]  # the mean of each feature
    spread: list[float]
    values: Mapping[str, Mapping[str, list[float]]]  # of each rule, by metric and collection

    def standardised(self, merit: Ragged, scale: Scale) -> FloatArray:
        """Return the features of lists in falling order, on the scale of their system."""
        return np.asarray((design_of(merit, scale) - self.center) / self.spread)

    def without(self, collection: str) -> Pretrained:
        """Return the knowledge that ships, without a collection and all of its corpus."""
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


def design_of(merit: Ragged, scale: Scale) -> FloatArray:
    """Return the matrix that relevance is regressed on, a column for each of `DESIGN`.

    Beside rank, length and the scaled scores: how far the result is above the level of ranks 21 to
    120, how far above the next one, and how good the best of its list is.
    """
    log_rank = np.log(merit.ranks + 1.0)
    unbounded = normalize_scores(merit, "z").values
    z = np.clip(unbounded, -3, 12)
    with np.errstate(over="ignore"):
        raw = np.clip((merit.values - scale.center) / scale.spread, -9, 9)
    mean, deviation = _moments(merit.with_values(unbounded), 20, 120)
    deviation = np.where(deviation > 1e-6, deviation, 1.0)
    above = (unbounded - merit.spread(mean)) / merit.spread(deviation)
    following = np.append(unbounded[1:], 0.0)
    following[merit.offsets[1:][merit.filled] - 1] = np.inf  # the last has nothing below
    columns = (
        np.ones_like(z),
        log_rank,
        z,
        normalize_scores(merit, "minmax").values,
        raw,
        np.log1p(np.clip(above, 0, 1e4)),
        np.log1p(10 * np.maximum(unbounded - following, 0)),
        z * log_rank,
        merit.spread(merit.with_values(raw).ends()[0]),
        merit.spread(merit.with_values(z).ends()[0]),
        merit.spread(np.log(np.maximum(merit.lengths, 1))),
    )
    return np.stack(columns, axis=1)


def _moments(z: Ragged, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation at some ranks; of the last result in a shorter list."""
    offsets, lengths = z.offsets, z.lengths
    low = offsets[:-1] + np.clip(lengths - 1, 0, start)
    high = offsets[:-1] + np.minimum(lengths, stop)
    count = np.maximum(high - low, 1)
    parts = np.stack([low, high], axis=1).ravel()

    def mean_of(numbers: FloatArray) -> FloatArray:
        # Each list on its own: no other one touches the last digits.
        sums = np.add.reduceat(np.append(numbers, 0.0), parts)[::2] if len(low) else low
        return np.asarray(np.where(lengths > 0, sums, 0.0) / count)

    mean = mean_of(z.values)
    return mean, np.sqrt(mean_of((z.values - z.spread(mean)) ** 2))
