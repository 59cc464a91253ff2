"""Ranked lists: scores with all that is known of them, many lists in one array each."""

from paretocut.lists.ragged import (
    BoolArray,
    FloatArray,
    IntArray,
    Ragged,
    RaggedLike,
    best_first,
    offsets_of,
)
from paretocut.lists.ranked import RankedList, RankedLists

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Ragged",
    "RaggedLike",
    "RankedList",
    "RankedLists",
    "best_first",
    "offsets_of",
]
