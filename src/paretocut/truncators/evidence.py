"""What truncators look at, in the forms that several of them share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.cuts import Tails
from paretocut.decisions.wording import ordinal
from paretocut.lists import Ragged


@dataclass(frozen=True)
class Clause:
    """The same clause for every list."""

    text: str
    tails: Tails | None = None

    def because(self, i: int, k: int) -> str:
        return self.text


@dataclass(frozen=True)
class AgainstLimit:
    """One number for each result, and the limit it was compared with.

    ``what`` names the number ("score", "surprise"), ``source`` says where the limit comes from,
    and ``falling`` is False for distances.
    """

    keys: Ragged
    limits: ArrayLike
    what: str
    source: str = ""
    falling: bool = True
    tails: Tails | None = None

    def because(self, i: int, k: int) -> str:
        values = self.keys[i]
        limit = float(np.broadcast_to(self.limits, (len(self.keys),))[i])
        left_out, kept = ("below", "at or above") if self.falling else ("above", "at or below")
        # Speak of the first result left out, or of the last one kept if none is.
        last = min(k, values.size - 1)
        name = "the best" if k == 0 else f"the {ordinal(last + 1)}"
        side = left_out if k < values.size else kept
        source = f", {self.source}" if self.source else ""
        return f"{name} has {self.what} {values[last]:.3g}, {side} {limit:.3g}{source}"
