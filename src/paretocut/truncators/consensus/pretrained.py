"""Learned from other collections: a regression and the value of every rule; rules that vote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from paretocut import _kernel
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged
from paretocut.relevance import CONSTANTS, Scale
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
    """Return the matrix that relevance is regressed on, a column for each of `DESIGN`."""
    log_rank = np.log(merit.ranks + 1.0)
    unbounded = normalize_scores(merit, "z").values
    z = np.clip(unbounded, -3, 12)
    with np.errstate(over="ignore"):
        raw = np.clip((merit.values - scale.center) / scale.spread, -9, 9)
    mean, deviation = _moments(merit.with_values(unbounded), 20, 120)  # the level of the list
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


_THRESHOLDS = 100  # tried on each key; the file that ships holds the values of these very rules
COLUMNS = ("rank", "log_rank", "minmax", "top", "z", "raw")  # the order of the kernel

# The keys of rules: weights of columns, and the range of thresholds.
KEYS: dict[str, tuple[dict[str, float], float, float]] = {
    "rank": ({"rank": -1.0}, -0.5, -10_000.5),
    "minmax": ({"minmax": 1.0}, 1.0, 0.02),
    "minmax-0.02log": ({"minmax": 1.0, "log_rank": -0.02}, 1.0, -0.3),
    "minmax-0.04log": ({"minmax": 1.0, "log_rank": -0.04}, 1.0, -0.4),
    "minmax-0.08log": ({"minmax": 1.0, "log_rank": -0.08}, 1.0, -0.6),
    "top": ({"top": 1.0}, 1.3, 0.02),
    "z": ({"z": 1.0}, 12.0, 0.0),
    "z-0.3log": ({"z": 1.0, "log_rank": -0.3}, 12.0, -1.5),
    "minmax+0.05z": ({"minmax": 1.0, "z": 0.05}, 1.4, 0.1),
    "minmax+0.15z": ({"minmax": 1.0, "z": 0.15}, 2.2, 0.1),
    "raw": ({"raw": 1.0}, 6.0, -3.0),
}

# The keys whose values are learned from other collections. For DCG these cut untrained lists, so
# rank alone is not among them: a list of a new system should be cut by its scores.
LEARNED: dict[str, Callable[[str], bool]] = {
    "f1": lambda key: True,
    "penalized_dcg": lambda key: key.startswith("z"),
}


class Rules(NamedTuple):
    """Rules with their votes: a result is kept when its key reaches the threshold."""

    weights: FloatArray  # of the columns in the key: one row per rule
    thresholds: FloatArray
    votes: IntArray

    def counts(self, merit: Ragged, scale: Scale) -> IntArray:
        """Return how many results of each list (rows) each rule (columns) keeps."""
        counts = np.empty((len(merit), len(self.thresholds)), dtype=np.int64)
        values = np.ascontiguousarray(merit.values)
        _kernel.count_kept(
            values, merit.offsets, self.weights, self.thresholds, scale.center, scale.spread, counts
        )
        return counts


def weights_of(name: str) -> FloatArray:
    weights = KEYS[name][0]
    return np.array([weights.get(column, 0.0) for column in COLUMNS])


def _grid(name: str) -> FloatArray:
    """Return the thresholds tried on a key, falling from one that keeps nothing."""
    _, top, bottom = KEYS[name]
    if name == "rank":
        steps = np.geomspace(0.5 - top, 0.5 - bottom, _THRESHOLDS)
        return np.concatenate([[top], -0.5 - np.unique(np.round(steps))])
    return np.concatenate([[np.inf], np.linspace(top, bottom, _THRESHOLDS)])


@cache
def all_rules() -> Rules:
    """Return all rules that may be elected, without votes."""
    grids = {name: _grid(name) for name in KEYS}
    weights = np.concatenate([np.tile(weights_of(name), (grids[name].size, 1)) for name in KEYS])
    thresholds = np.concatenate([grids[name] for name in KEYS])
    return Rules(weights, thresholds, np.zeros(thresholds.size, dtype=np.int64))


def where(chosen: Callable[[str], bool]) -> BoolArray:
    """Return which of `all_rules` are on the chosen keys."""
    return np.concatenate([np.full(_grid(name).size, chosen(name)) for name in KEYS])


def rule_values(merit: Ragged, scale: Scale, curves: Ragged) -> FloatArray:
    """Return the metric of each list (rows) under each of `all_rules` (columns)."""
    return np.asarray(curves.values[curves.offsets[:-1, None] + all_rules().counts(merit, scale)])


def unit(curves: Ragged) -> float:
    """Return the mean metric of the best cuts, the unit in which collections are compared."""
    return float(np.mean([curve.max() for curve in curves])) or 1.0


def drawn(values: FloatArray, rng: np.random.Generator, draws: int = CONSTANTS.draws) -> FloatArray:
    """Return the mean of each rule (rows) in each draw of a Bayesian bootstrap (columns)."""
    weights = rng.exponential(size=(len(values), draws))
    return np.asarray(values.T @ (weights / weights.sum(axis=0)))


def values_elsewhere(
    known: Pretrained, metric: str, rng: np.random.Generator, draws: int = CONSTANTS.draws
) -> FloatArray:
    """Return the value of each rule (rows) in each draw of other collections (columns)."""
    values = known.values[metric]
    learned = where(LEARNED[metric])
    table = np.full((len(values), learned.size), -1.0)
    for row, name in zip(table, sorted(values), strict=True):
        row[learned] = values[name]
    return drawn(table, rng, draws)


def elected(totals: FloatArray) -> Rules:
    """Return the rules that are the best in some draw, with the number of draws as votes."""
    rules = all_rules()
    votes = np.bincount(np.argmax(totals, axis=0), minlength=len(totals))
    chosen = np.flatnonzero(votes)
    return Rules(rules.weights[chosen], rules.thresholds[chosen], votes[chosen])


def winner(counts: IntArray, votes: IntArray, quantile: float = 0.5) -> IntArray:
    """Return the median, or another quantile, of the cuts voted for, in each list."""
    order = np.argsort(counts, axis=1, kind="stable")
    reached = np.cumsum(votes[order], axis=1)
    place = np.argmax(reached >= quantile * reached[:, -1:], axis=1)
    rows = np.arange(len(counts))
    return np.asarray(counts[rows, order[rows, place]], dtype=np.int64)
