"""The urn test, which guesses how many relevant documents can still be unread.

An urn holds all documents that were unread at some point. What was read from there on is seen as a
random draw from it. If ``missed`` relevant documents of the urn are still unread, the probability
of so few finds is the tail of a hypergeometric law. A good ranking draws more relevant documents
than chance would and leaves fewer behind.

The least p-value of many urns is no p-value: in a random order it is below 5 % in up to half of the
reviews. So nothing is promised on it alone. `Quantile` learns from finished reviews how low it must
be, and the best guess of the recall is read off at levels that were right on average.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache

import numpy as np

from paretocut.lists import FloatArray, IntArray

_HAIR = 1e-9  # a quotient that should be whole may be a little less
_TINY = 1e-13
_FIRST_BLOCK, _BLOCK = 8, 64  # terms that are added at once


def log_factorials(most: int) -> FloatArray:
    """Return log n! for n up to ``most``, or a little further."""
    return _table(max(most, 255).bit_length())


@lru_cache(maxsize=4)
def _table(bits: int) -> FloatArray:
    return np.fromiter(map(math.lgamma, range(1, 2**bits + 2)), dtype=np.float64)


def fatal_miss(found: int, recall: float) -> int:
    """Return the smallest number of unread relevant documents that puts the recall too low."""
    return math.floor(found / recall + _HAIR) + 1 - found


def needed(relevant: int, recall: float) -> int:
    """Return the smallest number of finds that reaches the recall."""
    return math.ceil(recall * relevant - _HAIR)


def least_pvalue(
    finds: IntArray, read: int, total: int, missed: int, *, below: float = 1.0
) -> float:
    """Return the least p-value, over all urns, of "at least ``missed`` relevant ones are unread".

    ``finds`` are the places of the finds in the order of reading, from 0. Only urns that begin
    with the first document or right after a find can have the least p-value: a later beginning
    without a find in between makes the draw smaller and changes nothing else. Whoever only asks
    whether it is lower than ``below`` gets ``below`` for everything higher, and gets it faster.
    """
    unread = total - read
    if missed > unread:
        return 0.0
    log = log_factorials(total)
    before = np.concatenate([[0], finds + 1])  # read before the urn begins
    found = len(finds) - np.arange(len(finds) + 1)  # in the urn
    drawn, size, relevant = read - before, total - before, found + missed
    of_urn = log[drawn] + log[unread] - log[size] + log[relevant] + log[size - relevant]
    mean = drawn * relevant / size
    # The median is within 1 of the mean. Five standard deviations further up there is no more.
    floor = np.where(found >= mean + 1, 0.5, 0.0)
    top = np.minimum(found, (mean + 5 * np.sqrt(relevant)).astype(np.int64) + 10)
    tails, least, block = np.zeros(len(found)), below, _FIRST_BLOCK
    urns = np.flatnonzero(floor < least)
    # Terms are added from the top down, and an urn is left as soon as it cannot be the least.
    while urns.size:
        x = top[urns, None] - np.arange(block)
        y = relevant[urns, None] - x
        possible = (x >= 0) & (y <= unread)
        at_x, at_y = np.where(possible, x, 0), np.where(possible, y, 0)
        ways = log[at_x] + log[drawn[urns, None] - at_x] + log[at_y] + log[unread - at_y]
        terms = np.where(possible, np.exp(of_urn[urns, None] - ways), 0.0)
        tails[urns] += terms.sum(axis=1)
        x, y = x[:, -1], y[:, -1]
        # Below the mode each term is a smaller share of the one before: a geometric series bounds
        # the rest.
        ratio = np.maximum(x, 0) * np.maximum(unread - y, 0) / ((drawn[urns] - x + 1) * (y + 1))
        rest = np.where(ratio < 1, terms[:, -1] * ratio / np.maximum(1 - ratio, _TINY), 1.0)
        least = min(least, float((tails[urns] + rest).min()))
        top[urns] -= block
        urns = urns[(np.maximum(tails, floor)[urns] < least) & (rest > _TINY * tails[urns])]
        block = _BLOCK
    return least


def most_missed(finds: IntArray, read: int, total: int, level: float) -> int:
    """Return the largest number of unread relevant documents whose p-value is not below the level.

    The p-value only falls as the number grows.
    """

    def excluded(missed: int) -> bool:
        return least_pvalue(finds, read, total, missed, below=level) < level

    return bisect_left(range(1, total - read + 1), True, key=excluded)
