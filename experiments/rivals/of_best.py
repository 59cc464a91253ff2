"""A share of the best score, as Marqo's documentation shows it, also for scores below 0."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from paretocut.lists import IntArray, RankedLists
from paretocut.schema.kinds import Real
from paretocut.truncators import Truncator

__all__ = ["OfBest"]


class OfBest(Truncator):
    """Keep results at most so far below the best score, as a share of its size.

    For positive scores this is ``score >= share * best``. If the best score is negative, that rule
    would keep nothing, so the distance ``(1 - share) * abs(best)`` counts in both cases.

    Parameters
    ----------
    share
        Share of the best score.
    """

    parameters: ClassVar = {"share": Real(above=0, high=1)}

    def __init__(self, share: float = 0.8) -> None:
        self.share = share

    def decide(self, lists: RankedLists) -> tuple[IntArray, str]:
        """Return how many results of each list are near enough to the best."""
        merit, _ = lists.merit.within_range()
        best = merit.spread(merit.ends()[0])
        near = merit.values >= best - (1 - self.share) * np.abs(best)
        return merit.count(near), f"the others are below {self.share:g} of the best score"
