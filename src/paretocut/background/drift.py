"""Whether lists still look as they did at calibration: a test of three numbers of each list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paretocut.background.seen import score_at
from paretocut.lists import FloatArray, Ragged, RankedLists

_FIRST = 100  # results of a list that are compared; deeper ones add nothing
_SURE, _CLEAR = 0.01, 0.2
_NAMES = ("best score", "gap", "upper half")


@dataclass(frozen=True)
class Drift:
    """Whether lists still look as they did at calibration.

    Attributes
    ----------
    verdict
        ``"same"``, ``"changed"`` or ``"unsure"`` (too few lists to tell).
    text
        The verdict in a sentence.
    pvalue
        Probability of a difference this large if nothing has changed, over all tests.
    distance
        Largest difference between the cumulative shares, by name of the statistic: the best score,
        the gap to the second result, and the number of results in the upper half. For
        `paretocut.truncators.Accept`: the best score, its learned score, the share accepted.
    lists
        Number of lists compared.
    """

    verdict: str
    text: str
    pvalue: float
    distance: Mapping[str, float]
    lists: int

    def __str__(self) -> str:
        return self.text


def compare(
    old: FloatArray,
    new: FloatArray,
    *,
    names: Sequence[str] = _NAMES,
    remedy: str = "Calibrate again.",
) -> Drift:
    """Return whether new lists differ from old ones, each given by a row, such as `shapes_of`.

    One two-sample test (Kolmogorov and Smirnov) per column, corrected for their number.
    """
    distance = {name: _distance(old[:, i], new[:, i]) for i, name in enumerate(names)}
    tests = [_chance(d, len(old), len(new)) for d in distance.values()]
    pvalue = min(1.0, len(tests) * min(tests))
    worst = max(distance, key=distance.__getitem__)
    share = f"{100 * distance[worst]:.0f} %"
    if pvalue < _SURE and distance[worst] >= _CLEAR:
        verdict = "changed"
        text = (
            f"changed: the {worst} of {len(new)} lists has changed (largest "
            f"difference {share}, p = {pvalue:.2g}). {remedy}"
        )
    elif _chance(_CLEAR, len(old), len(new)) > _SURE:
        verdict = "unsure"
        text = (
            f"unsure: {len(new)} lists are too few to see a clear change; the largest "
            f"difference is {share}, in the {worst}"
        )
    else:
        verdict = "same"
        text = f"same: the largest difference in {len(new)} lists is {share}, in the {worst}"
    return Drift(verdict, text, pvalue, distance, len(new))


def shapes_of(lists: RankedLists) -> FloatArray:
    """Return best score, gap and upper half of each list that is not empty."""
    merit = lists.merit.take(np.flatnonzero(lists.merit.filled))
    return np.stack([merit.ends()[0], gaps(merit), halves(merit)], axis=1)


def gaps(merit: Ragged) -> FloatArray:
    """Return how far the second result of each list stands behind the best.

    It is a share of the range of the first 100 results; 0 where that range is 0.
    """
    merit, _ = merit.within_range()
    top, low = score_at(merit, 1), score_at(merit, _FIRST)
    wide = top > low
    return np.where(wide, (top - score_at(merit, 2)) / np.where(wide, top - low, 1.0), 0.0)


def halves(merit: Ragged) -> FloatArray:
    """Return the logarithm of the number of results in the upper half of the first 100."""
    merit, _ = merit.within_range()
    between = 0.5 * (score_at(merit, 1) + score_at(merit, _FIRST))
    inside = (merit.ranks < _FIRST) & (merit.values >= merit.spread(between))
    return np.log(np.maximum(merit.count(inside), 1))


def _distance(one: FloatArray, other: FloatArray) -> float:
    """Return the largest difference of two empirical distributions (Kolmogorov, Smirnov)."""
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(x), points, "right") / max(x.size, 1) for x in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max(initial=0.0))


def _chance(distance: float, n: int, m: int) -> float:
    """Return the asymptotic probability of such a distance, with Stephens' correction."""
    if n == 0 or m == 0:
        return 1.0
    root = math.sqrt(n * m / (n + m))
    x = (root + 0.12 + 0.11 / root) * distance
    if x < 0.2:
        return 1.0
    terms = [(-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101)]
    return min(1.0, max(0.0, 2 * math.fsum(terms)))
