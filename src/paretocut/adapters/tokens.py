"""A budget of tokens for the results kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretocut.decisions import Cut
from paretocut.errors import InvalidParameterError
from paretocut.lists import IntArray
from paretocut.schema.parameters import check_positive_int

_CHARACTERS_PER_TOKEN = 4  # of English text, about


@dataclass(frozen=True)
class TokenBudget:
    """How many tokens the results kept may have together (None: any number), and who counts."""

    most: int | None = None
    count: Callable[[str], int] | None = None

    @classmethod
    def of(cls, who: str, most: int | None, count: Callable[[str], int] | None) -> TokenBudget:
        """Return the budget, or raise InvalidParameterError in the name of ``who``."""
        if most is not None:
            check_positive_int(most, who=who, name="max_tokens")
        if count is not None and not callable(count):
            raise InvalidParameterError(
                f"count_tokens must be a function of a text, got {count!r}", who=who
            )
        return cls(most, count)

    def arguments(self) -> dict[str, Any]:
        return {"max_tokens": self.most, "count_tokens": self.count}

    def limits(
        self, cuts: Sequence[Cut], text_of: Callable[[int, int], str]
    ) -> dict[int, tuple[IntArray, str]]:
        """Return, for lists that keep too much, the places of the best results that fit, and why.

        ``text_of`` takes the number of a list and a place in it.
        """
        assert self.most is not None
        count, found = self.count or estimate_tokens, {}
        for number, cut in enumerate(cuts):
            left, fit = self.most, []
            for i in cut.indices.tolist():
                needed = count(text_of(number, i))
                if needed <= left:
                    left -= needed
                    fit.append(i)
            none = f"because not one of the best {cut.k} fits into {self.most} tokens"
            why = f"all that fit into {self.most} tokens" if fit else none
            if len(fit) < cut.k:
                found[number] = np.array(fit, dtype=np.int64), why
        return found


def estimate_tokens(text: str) -> int:
    """Return about how many tokens an English text has: one for every four characters."""
    return math.ceil(len(text) / _CHARACTERS_PER_TOKEN)
