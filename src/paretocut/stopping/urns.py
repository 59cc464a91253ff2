"""How many relevant documents can still be unread: the urn test, and long runs without a find.

An urn holds all documents that were unread at some point. What was read from there on is seen as a
random draw from it. If ``missed`` relevant documents of the urn are still unread, the probability
of so few finds is the tail of a hypergeometric law. The least p-value of many urns is no p-value,
so nothing is promised on it alone: `Quantile` learns from finished reviews how low it must be.

A run of irrelevant documents after the k-th find excludes a number of relevant documents if its
probability is at most ``z ** (relevant - k)``, or at most a tenth of the doubt over ``k (k + 1)``.
Here ``z ** missed = 0.9 * doubt * (1 - z)``; ``missed`` is the number unread after the last find
that is still too few. docs/promises.md has the proof; the tenths sum to one, since ``1/2 + 1/6 +
1/12 + ... = 1``. If a number is excluded, all larger ones are.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache, partial
from math import lgamma

import numpy as np

from paretocut.lists import FloatArray, IntArray

_ALONG = 0.1  # share of the doubt that is kept for the bound along the way
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
    without a find in between makes the draw smaller and changes nothing else. A p-value of
    ``below`` or more comes back as ``below``, which is faster.
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


@lru_cache(maxsize=1 << 16)
def _log_level(missed: int, doubt: float) -> float:
    """Return log z, where ``z ** missed = doubt * (1 - z)``."""
    low, high = math.log(doubt) - 1, 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if missed * middle > math.log(doubt) + math.log(-math.expm1(middle)):
            high = middle
        else:
            low = middle
    return low


def log_chance(missed: int, rest: int, run: int) -> float:
    """Return the log probability that ``run`` documents drawn from ``rest`` miss all relevant."""
    if missed + run > rest:
        return -math.inf
    ways = lgamma(rest - missed + 1) - lgamma(rest - missed - run + 1)
    return ways - lgamma(rest + 1) + lgamma(rest - run + 1)


def _excluded(relevant: int, k: int, rest: int, run: int, recall: float, doubt: float) -> bool:
    """Return whether a run after the k-th find, with ``rest`` then unread, excludes the number."""
    missed = fatal_miss(needed(relevant, recall) - 1, recall)
    level = max(
        (relevant - k) * _log_level(missed, (1 - _ALONG) * doubt),
        math.log(_ALONG * doubt / (k * (k + 1))),
    )
    return log_chance(relevant - k, rest, run) <= level


def long_enough(finds: IntArray, read: int, total: int, recall: float, doubt: float) -> bool:
    """Return whether the run since the last find is long enough to stop."""
    found, last = len(finds), int(finds[-1]) + 1
    short = found + fatal_miss(found, recall)
    return _excluded(short, found, total - last, read - last, recall, doubt)


def most_relevant(finds: IntArray, read: int, total: int, recall: float, doubt: float) -> int:
    """Return a bound on the number of relevant documents, from all runs so far.

    It holds at all times together, except with probability ``doubt``. It does not go below the
    largest number for which the recall is reached.
    """
    found = len(finds)
    most = ceiling = total - read + found
    for k in range(1, found + 1):
        last, end = int(finds[k - 1]) + 1, int(finds[k]) if k < found else read
        excluded = partial(
            _excluded, k=k, rest=total - last, run=end - last, recall=recall, doubt=doubt
        )
        possible = range(k + fatal_miss(k, recall), most + 1)
        if possible and excluded(most):
            most = possible.start - 1 + bisect_left(possible, True, key=excluded)
    return most if most >= found else ceiling
