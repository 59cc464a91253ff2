"""The scale on which the scores of one system are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from paretocut.decisions.warnings import saturated
from paretocut.lists import Ragged

_CLIP = 1e-6  # beyond six digits a probability in single precision is noise


@dataclass(frozen=True)
class Scale:
    """The scale on which the scores of a system are compared.

    Attributes
    ----------
    logit
        Whether scores are compared as logits, as saturated probabilities should be.
    center, spread
        Mean and standard deviation of the scores on that scale. Before any list of the system
        was seen the spread is infinite, so that raw scores count for nothing.
    """

    logit: bool = False
    center: float = 0.0
    spread: float = math.inf

    @classmethod
    def of(cls, merit: Ragged) -> Scale:
        """Return the scale of a system, from its lists in falling order."""
        filled = merit.filled
        logit = bool(filled.any() and saturated(merit)[filled].mean() > 0.5)
        values = cls(logit).apply(merit).values
        if values.size == 0:
            return cls(logit, 0.0, 1.0)
        # No digit changes, but squares of very large or small scores would overflow, or vanish.
        power = np.frexp(np.abs(values).max())[1]
        values = np.ldexp(values, -power)
        mean, deviation = np.ldexp([values.mean(), values.std()], power).tolist()
        return cls(logit, mean, deviation or 1.0)

    def apply(self, merit: Ragged) -> Ragged:
        """Return the lists on this scale: saturated probabilities as logits."""
        if not self.logit or merit.values.size == 0:
            return merit
        chosen = merit.count((merit.values < 0) | (merit.values > 1)) == 0
        clipped = np.clip(merit.values, _CLIP, 1 - _CLIP)
        logits = np.log(clipped) - np.log1p(-clipped)
        return merit.with_values(np.where(merit.spread(chosen), logits, merit.values))
