"""A budget of tokens for the results kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from paretocut.decisions import Cut
from paretocut.lists import IntArray

_CHARACTERS_PER_TOKEN = 4  # of English text, about


def within_tokens(
    cut: Cut, most: int, text_of: Callable[[int], str], count: Callable[[str], int] | None
) -> tuple[IntArray, str] | None:
    """Return the places of the best results that fit, and the limit in words; None if all fit.

    ``text_of`` takes a place in the list.
    """
    left, fit = most, []
    for i in cut.indices.tolist():
        needed = (count or estimate_tokens)(text_of(i))
        if needed <= left:
            left -= needed
            fit.append(i)
    if len(fit) == cut.k:
        return None
    none = f"because not one of the best {cut.k} fits into {most} tokens"
    why = f"all that fit into {most} tokens" if fit else none
    return np.array(fit, dtype=np.int64), why


def estimate_tokens(text: str) -> int:
    """Return about how many tokens an English text has: one for every four characters."""
    return math.ceil(len(text) / _CHARACTERS_PER_TOKEN)
