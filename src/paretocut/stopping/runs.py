"""How long a run of irrelevant documents must be before a review may stop.

A review is short of its recall if ``relevant`` documents exist and too few of them are found. Such
a number is excluded after the k-th find by a run of irrelevant documents whose probability, with
``relevant - k`` relevant ones unread, is at most ``z ** (relevant - k)``, or at most a tenth of
the doubt divided by ``k (k + 1)``. Here ``z ** missed = 0.9 * doubt * (1 - z)``; ``missed`` is the
number unread after the last find that is still too few. When all such numbers are excluded, the
review may stop.

Why this holds however often one looks. Suppose that each document read is relevant at least as
often as one drawn from the unread ones. After the last find that is too few, at least ``missed``
relevant documents are unread, after the one before one more, and so on. So the probabilities of
all runs that exclude the true number sum to at most ``z ** missed / (1 - z) = 0.9 * doubt``, and a
tenth of the doubt times ``1/2 + 1/6 + 1/12 + ... = 1``.

The chance of a run falls at least geometrically in the number unread, and ``z`` grows with it: if a
number is excluded, all larger ones are.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache, partial
from math import lgamma

from paretocut.lists import IntArray
from paretocut.stopping.urns import fatal_miss, needed

_ALONG = 0.1  # share of the doubt that is kept for the bound along the way


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
