"""Tail-Aware Adaptive-k: the knee of the score curve, then a test of the tail around it."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from experiments.rivals.cluster_gap import scaled
from paretocut import _kernel
from paretocut.decisions.wording import ordinal
from paretocut.lists import FloatArray
from paretocut.schema.kinds import Real
from paretocut.tail.gpd import gof_pvalue
from paretocut.truncators.simple import ShapeRule

__all__ = ["TailAware", "fitted"]

_LEAST = 5  # results that a tail must have to be tested


class TailAware(ShapeRule):
    """Cut near the knee, at the first result from which on the list looks like one tail.

    Parameters
    ----------
    level
        Smallest goodness-of-fit p-value at which the results after a cut count as one tail.

    Notes
    -----
    1. The knee is the result furthest below the chord from the first score to the last.
    2. Candidates are the ``sqrt(n log n)`` cuts around the knee, half of them on each side.
    3. For every candidate ``k`` a generalized Pareto tail is fitted to the results after ``k``,
       above the lowest score, and its Cramer-von-Mises statistic is tested.
    4. The cut is the smallest candidate that passes the test. If none passes, it is the candidate
       with the smallest statistic.

    This is rebuilt from the paper's abstract and accounts of it; no code was published. The paper
    names the knee, the window, the Cramer-von-Mises test and the earliest position that passes;
    the size of the window follows from the cost it states. Our own choices are: the knee (Kneedle's
    distance from the chord), a window centred on it, the lowest score as the threshold, and the
    level. Other choices change little: on multi-hop questions the first local minimum of the
    statistic, its smallest value and level 0.05 give F1 of 0.33 to 0.47, and this one 0.37 to 0.45.

    It always keeps something. It takes about 0.3 ms for 200 results. A few hits far above the rest
    look like a heavy tail, so some of them are lost. A list of fewer than six results and a
    constant list are kept whole.

    References
    ----------
    Z. Song, J. Fang, K. Li, T. Xia and C. Wang, "Tail-Aware Adaptive-k: Query-Adaptive Context
    Selection for Retrieval-Augmented Generation", ECML PKDD 2026 (arXiv 2606.11907).
    """

    parameters: ClassVar = {"level": Real(above=0, below=1)}

    def __init__(self, level: float = 0.1) -> None:
        self.level = level

    def _cut(self, scores: FloatArray) -> int:
        above = scaled(scores)[::-1]
        knee = _knee(scores)
        half = math.ceil(math.sqrt(scores.size * math.log(scores.size)) / 2)
        # The results after the cut must be a tail, and not all of one score.
        last = min(knee + half, scores.size - _LEAST, int(np.count_nonzero(above)) - 1)
        first = max(knee - half, 1)
        if last < 1:
            return scores.size
        candidates = np.arange(min(first, last), last + 1)
        statistic, pvalues = fitted([above[: scores.size - k] for k in candidates.tolist()])
        passed = pvalues >= self.level
        chosen = np.argmax(passed) if passed.any() else np.argmin(statistic)
        return int(candidates[chosen])

    def _reason(self, k: int, scores: FloatArray) -> str:
        if k == scores.size:
            return "its scores are too few for a tail to be tested"
        knee = _knee(scores if scores[0] > scores[-1] else -scores)
        return (
            f"the curve of its scores bends at the {ordinal(knee)}, and near it the results from "
            f"the {ordinal(k + 1)} on are the first that look like one tail"
        )


def fitted(excesses: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return W2, and its p-value, of the tail fitted to each of these rising excesses."""
    statistic, shape, scale = np.empty((3, len(excesses)))
    for i, excess in enumerate(excesses):
        at = slice(i, i + 1)
        _kernel.cvm_rows((excess / excess[-1])[None, :], 1, statistic[at], shape[at], scale[at])
    return statistic, gof_pvalue(statistic, shape, [excess.size for excess in excesses])


def _knee(scores: FloatArray) -> int:
    """Return the rank of the result furthest below the chord of the falling curve."""
    chord = np.linspace(1.0, 0.0, scores.size)
    return int(np.argmax(chord - scaled(scores))) + 1
