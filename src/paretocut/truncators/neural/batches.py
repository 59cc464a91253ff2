"""Judged lists as padded batches of steps.

A step is one result or, far down a long list, a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from paretocut.lists import IntArray, Ragged

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Judged lists, padded with zeros."""

    features: Tensor
    """Inputs of the network: (lists, steps, features)."""
    lengths: Tensor
    """Steps of each list: (lists,)."""
    relevant: Tensor
    """Relevant results in each step: (lists, steps)."""
    other: Tensor
    """Other results in each step: (lists, steps)."""
    worth: Tensor
    """The metric after 0, 1, ... steps: (lists, steps + 1)."""

    def beyond(self) -> Tensor:
        """Return which entries of ``worth`` are padding."""
        count = self.lengths.new_tensor(range(self.worth.shape[1]))
        return count > self.lengths[:, None]


def steps_of(length: int, limit: int) -> IntArray:
    """Return the ranks ``0 < ... < length`` at which a list may be cut, ``limit`` after the 0."""
    if length <= limit:
        return np.arange(length + 1)
    # Half of the steps are single results; the rest grow by a constant ratio, since one result
    # more or less hardly matters far down.
    head = limit // 2
    tail = np.geomspace(head, length, limit - head + 1).round().astype(np.int64)
    return np.unique(np.concatenate([np.arange(head), tail]))


def padded(rows: Ragged, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values at these rows, one line per list, filled up with zeros."""
    inside = np.arange(rows.lengths.max()) < rows.lengths[:, None]
    filled = np.zeros(inside.shape + values.shape[1:], dtype=np.float32)
    filled[inside] = values[rows.values]
    return filled


def groups(lengths: IntArray, size: int, rng: np.random.Generator) -> list[IntArray]:
    """Return positions of lists in random batches of similar lengths, which need little padding."""
    order = rng.permutation(len(lengths))
    order = order[np.argsort(lengths[order], kind="stable")]
    parts = np.split(order, range(size, len(order), size))
    return [parts[i] for i in rng.permutation(len(parts))]
