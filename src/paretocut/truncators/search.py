"""Exact searches over all lists at once: the best threshold and the best fixed cut."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paretocut.lists import FloatArray, IntArray, Ragged

# Sums of many metric values differ in the last digits with the order of the lists; cuts whose
# totals agree to this relative precision are equally good, and the one that keeps less wins.
_PRECISION = 1e-10


class Best(NamedTuple):
    """A threshold and the mean metric it reaches on the lists it was found on."""

    threshold: float
    value: float


class Sweep:
    """All cuts that one threshold on per-result keys can make in many lists.

    Keeping the results with ``key >= t`` changes only where ``t`` passes a key, so walking down
    the sorted keys of all lists, and adding what each result changes in its list's metric,
    visits every outcome that any ``t`` can have.

    Parameters
    ----------
    keys
        One number per result, never rising within a list.
    curves
        Metric of every cut ``0..n`` of each list.
    """

    def __init__(self, keys: Ragged, curves: Ragged) -> None:
        order = np.argsort(-keys.values, kind="stable")
        self._keys: FloatArray = keys.values[order]
        self._steps: FloatArray = _steps(curves)[order]
        self._start: FloatArray = curves.values[curves.offsets[:-1]]

    def totals(self) -> tuple[FloatArray, FloatArray]:
        """Return the break points, falling from +inf, and the total metric from each one on."""
        keys = self._keys
        # Equal keys are passed together: only the last of them is an outcome.
        last = np.flatnonzero(np.append(keys[1:] != keys[:-1], keys.size > 0))
        points = np.concatenate([[np.inf], keys[last]])
        totals = self._start.sum() + np.concatenate([[0.0], np.cumsum(self._steps)[last]])
        return points, totals

    def best(self, *, bounds: tuple[float, float] | None = None) -> Best:
        """Return the threshold with the highest mean metric, as large as that allows."""
        low, high = bounds if bounds is not None else (-np.inf, np.inf)
        upper, totals = self.totals()
        # An outcome holds for thresholds above the next break point, up to its own.
        lower = np.append(upper[1:], -np.inf)
        reachable = np.flatnonzero((lower < high) & (upper >= low))
        values = totals[reachable]
        i = reachable[_first_best(values)]
        left, right = max(lower[i], low), min(upper[i], high)
        if upper.size == 1:  # no results at all: any threshold does
            middle = right
        else:
            middle = 0.5 * left + 0.5 * right
        if middle == lower[i] > -np.inf:  # neighbouring floats have nothing between them
            middle = right
        return Best(float(middle), float(totals[i] / len(self._start)))


def best_threshold(keys: Ragged, curves: Ragged, bounds: tuple[float, float] | None = None) -> Best:
    """Return the threshold on keys that maximises the mean metric, exactly.

    All outcomes any threshold can have are compared, "keep nothing" and "keep everything"
    included; the threshold lies midway between the break points around the best one.
    """
    return Sweep(keys, curves).best(bounds=bounds)


def count_kept(keys: Ragged, threshold: ArrayLike) -> IntArray:
    """Return how many keys of each list reach the threshold (one for all lists, or one each)."""
    limits = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (len(keys),))
    kept = keys.values >= np.repeat(limits, keys.lengths)
    return np.bincount(keys.rows[kept], minlength=len(keys)).astype(np.int64)


def best_cut(curves: Ragged) -> int:
    """Return the smallest ``k`` with the highest mean metric; short lists are kept whole."""
    lengths = curves.lengths - 1
    rank = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    gains = np.cumsum(np.bincount(rank, weights=_steps(curves)))
    return _first_best(np.concatenate([[0.0], gains]))


def _steps(curves: Ragged) -> FloatArray:
    """Return what each result adds to its list's metric, all lists in a row."""
    # The differences between the end of one curve and the start of the next mean nothing.
    return np.delete(np.diff(curves.values), curves.offsets[1:-1] - 1)


def _first_best(totals: FloatArray) -> int:
    best = totals.max()
    return int(np.argmax(totals >= best - _PRECISION * max(1.0, abs(best))))
