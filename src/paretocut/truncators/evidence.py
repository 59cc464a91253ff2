"""Evidence of a decision, in the forms that several truncators share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.cuts import Tails
from paretocut.decisions.wording import ordinal
from paretocut.lists import Ragged


@dataclass(frozen=True)
class Clause:
    """The same clause for every list, one for each, or a function of list and number kept."""

    text: str | Sequence[str] | Callable[[int, int], str]
    tails: Tails | None = None

    def because(self, i: int, k: int) -> str:
        if callable(self.text):
            return self.text(i, k)
        return self.text if isinstance(self.text, str) else self.text[i]


class Taught(NamedTuple):
    """How many queries something was learned from, and whether their lists were judged."""

    queries: int
    judged: bool = True

    @property
    def source(self) -> str:
        """The queries, in words: "30 judged queries"."""
        kind = "judged" if self.judged else "unjudged"
        return f"{self.queries} {kind} {'query' if self.queries == 1 else 'queries'}"

    def __str__(self) -> str:
        return f"learned from {self.source}"


@dataclass(frozen=True)
class AgainstLimit:
    """One number for each result, and the limit it was compared with.

    ``what`` names the number ("score", "surprise"), ``source`` says where the limit comes from,
    and ``falling`` is False for distances.
    """

    keys: Ragged
    limits: ArrayLike
    what: str
    source: Taught | str = ""
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
