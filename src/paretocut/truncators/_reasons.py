"""Clauses that explain a cut, for methods that compare each result with a limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions import Cuts
from paretocut.decisions.wording import ordinal
from paretocut.lists import Ragged

__all__ = ["against_limit"]


def against_limit(
    cuts: Cuts,
    keys: Ragged,
    limits: ArrayLike,
    what: str,
    source: str = "",
    *,
    falling: bool = True,
) -> list[str]:
    """Return, for each list, how its first result left out compares with the limit.

    Parameters
    ----------
    cuts
        The decision.
    keys
        The number of each result that was compared.
    limits
        The limit, one for all lists or one each.
    what
        What the number is called: "score", "surprise".
    source
        Where the limit comes from, in words.
    falling
        Whether higher numbers are better; False for distances.
    """
    left_out, kept = ("below", "at or above") if falling else ("above", "at or below")
    told = f", {source}" if source else ""
    clauses = []
    each = np.broadcast_to(np.asarray(limits, dtype=np.float64), (len(cuts),)).tolist()
    for k, values, limit in zip(cuts.chosen.tolist(), keys, each, strict=True):
        if values.size == 0:
            clauses.append("the list is empty")
            continue
        # Speak of the first result left out, or of the last one kept if none is.
        last = min(k, values.size - 1)
        name = "the best" if k == 0 else f"the {ordinal(last + 1)}"
        side = left_out if k < values.size else kept
        clauses.append(f"{name} has {what} {values[last]:.3g}, {side} {limit:.3g}{told}")
    return clauses
