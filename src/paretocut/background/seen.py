"""Whether best scores are of the kind a model was fitted on: not far outside their range."""

from __future__ import annotations

import numpy as np

from paretocut.lists import BoolArray, FloatArray


def seen_range(tops: FloatArray) -> FloatArray:
    """Return the lowest and the highest of these best scores."""
    return np.array([tops.min(), tops.max()])


def far_outside(tops: FloatArray, seen: FloatArray) -> BoolArray:
    """Return which best scores lie further outside a range than it is wide.

    A new query may well score a little more than all at fit. Another retriever, another unit or
    another direction is far off.
    """
    low, high = 0.5 * seen  # halves do not overflow
    width = high - low
    return np.asarray((0.5 * tops < low - width) | (0.5 * tops > high + width))
