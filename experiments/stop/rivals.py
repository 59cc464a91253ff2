"""Rules that others use, written from their papers: each returns the number of documents read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["knee", "perfect", "poisson", "run_of_irrelevant"]

Relevant = NDArray[np.bool_]


def perfect(relevant: Relevant, recall: float) -> int:
    """Return the number read when the recall is reached: nobody can stop there but by luck."""
    finds = np.flatnonzero(relevant)
    return int(finds[math.ceil(recall * finds.size - 1e-9) - 1]) + 1


def run_of_irrelevant(relevant: Relevant, length: int) -> int:
    """Stop after so many irrelevant documents in a row."""
    finds = np.flatnonzero(relevant)
    starts = np.concatenate([[0], finds + 1])
    ends = np.concatenate([finds, [relevant.size]])
    long = np.flatnonzero(ends - starts >= length)
    return int(starts[long[0]]) + length if long.size else relevant.size


def knee(relevant: Relevant) -> int:
    """Stop where the curve of finds bends (Cormack and Grossman, SIGIR 2016).

    It is looked at in growing batches, as their method reads. The knee is the point farthest above
    the straight line to the end, and the slope before it must be 156 times that after it, less the
    finds up to 150.
    """
    curve = np.cumsum(relevant)
    read, batch = 0, 1
    while read < relevant.size:
        read = min(read + batch, relevant.size)
        batch += math.ceil(batch / 10)
        at = np.arange(1, read + 1)
        i = int(np.argmax(curve[:read] - at * curve[read - 1] / read)) + 1
        if i == read:
            continue
        before = curve[i - 1] / i
        after = (1 + curve[read - 1] - curve[i - 1]) / (read - i)
        if before / after >= 156 - min(curve[i - 1], 150):
            return read
    return relevant.size


def poisson(relevant: Relevant, recall: float, confidence: float = 0.95) -> int:
    """Stop when a Poisson process whose rate falls as a power of the rank says so.

    After Sneyd and Stevenson (EMNLP 2019, SIGIR 2021). The power is fitted by maximum likelihood,
    and the number of unread relevant documents is the process's quantile at the confidence. Looks
    after every hundredth of the documents.
    """
    total = relevant.size
    for read in np.unique(np.ceil(np.linspace(0.01, 1, 100) * total).astype(int)):
        finds = np.flatnonzero(relevant[:read]) + 1
        if finds.size < 2:
            continue
        power = min(finds.size / max(np.log((read + 0.5) / finds).sum(), 1e-9), 1.0)
        ahead = finds.size * ((total / read) ** power - 1)
        if finds.size >= recall * (finds.size + stats.poisson.ppf(confidence, ahead)):
            return int(read)
    return total
