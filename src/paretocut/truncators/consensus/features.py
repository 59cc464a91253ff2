"""Features of each result: rank and score, on scales that compare lists and systems."""

from __future__ import annotations

import numpy as np

from paretocut.lists import FloatArray, Ragged
from paretocut.relevance.scale import Scale
from paretocut.truncators.threshold import normalize_scores

_LEVEL = (20, 120)  # the results at ranks 21 to 120 stand for the level of a list

DESIGN: tuple[str, ...] = (
    "one",
    "log_rank",
    "z",
    "minmax",
    "raw",
    "over_level",
    "gap",
    "z_log_rank",
    "best_raw",
    "best_z",
    "log_length",
)
"""Names of the columns of `design_of`."""


def design_of(merit: Ragged, scale: Scale) -> FloatArray:
    """Return the matrix that relevance is regressed on, a column for each of `DESIGN`.

    Beside rank, length and the scaled scores: how far the result is above the level of ranks 21 to
    120, how far above the next one, and how good the best of its list is. ``merit`` falls, on the
    scale of the system, which is ``scale``.
    """
    log_rank = np.log(merit.ranks + 1.0)
    unbounded = normalize_scores(merit, "z").values
    z = np.clip(unbounded, -3, 12)
    with np.errstate(over="ignore"):
        raw = np.clip((merit.values - scale.center) / scale.spread, -9, 9)
    mean, deviation = _moments(merit.with_values(unbounded), *_LEVEL)
    deviation = np.where(deviation > 1e-6, deviation, 1.0)
    above = (unbounded - merit.spread(mean)) / merit.spread(deviation)
    following = np.append(unbounded[1:], 0.0)
    following[merit.offsets[1:][merit.filled] - 1] = np.inf  # the last has nothing below
    columns = {
        "one": np.ones_like(z),
        "log_rank": log_rank,
        "z": z,
        "minmax": normalize_scores(merit, "minmax").values,
        "raw": raw,
        "over_level": np.log1p(np.clip(above, 0, 1e4)),
        "gap": np.log1p(10 * np.maximum(unbounded - following, 0)),
        "z_log_rank": z * log_rank,
        "best_raw": merit.spread(merit.with_values(raw).ends()[0]),
        "best_z": merit.spread(merit.with_values(z).ends()[0]),
        "log_length": merit.spread(np.log(np.maximum(merit.lengths, 1))),
    }
    return np.stack([columns[name] for name in DESIGN], axis=1)


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
