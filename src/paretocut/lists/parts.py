"""Score and rank from each retriever, for the results of fused lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.lists.ragged import IntArray, Ragged


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Score and rank that each retriever gave each result of fused lists.

    Attributes
    ----------
    names
        Name of each retriever.
    scores
        One `Ragged` for each retriever, in the layout of the fused scores: the retriever's own
        score, NaN if it did not return the document.
    ranks
        Its rank, from 1; 0 if it did not return the document.

    Examples
    --------
    >>> import paretocut as pc
    >>> words = pc.RankedLists([[7.0, 2.0]], doc_ids=[["a", "b"]])
    >>> vectors = pc.RankedLists([[0.9, 0.5]], doc_ids=[["b", "c"]])
    >>> fused = pc.fuse({"words": words, "vectors": vectors}, method="rrf")
    >>> fused[0].doc_ids.tolist(), fused.parts.ranks[1][0].tolist()
    (['b', 'a', 'c'], [1, 0, 2])
    """

    names: tuple[str, ...]
    scores: tuple[Ragged, ...]
    ranks: tuple[Ragged, ...]

    def describe(self, query: int, position: int) -> str:
        """Return score and rank of one result from each retriever, in words."""
        words = []
        for name, scores, ranks in zip(self.names, self.scores, self.ranks, strict=True):
            rank, score = int(ranks[query][position]), float(scores[query][position])
            words.append(f"{name}: {score:.3g}, rank {rank}" if rank else f"{name}: not found")
        return "; ".join(words)

    def of_list(self, query: int) -> list[dict[str, dict[str, float]]]:
        """Return score and rank of each result of a fused list, by the retrievers that found it."""
        rows: list[dict[str, dict[str, float]]] = [{} for _ in self.scores[0][query]]
        for name, scores, ranks in zip(self.names, self.scores, self.ranks, strict=True):
            own = zip(rows, scores[query].tolist(), ranks[query].tolist(), strict=True)
            for row, score, rank in own:
                if rank:
                    row[name] = {"score": score, "rank": rank}
        return rows

    def each(self, change: Callable[[Ragged], Ragged]) -> Parts:
        """Return the parts with every column changed in the same way."""
        scores, ranks = (tuple(map(change, columns)) for columns in (self.scores, self.ranks))
        return Parts(self.names, scores, ranks)

    @staticmethod
    def concat(parts: Iterable[Parts], offsets: IntArray) -> Parts:
        """Return the parts of lists that are put one after the other."""
        items = list(parts)
        names = items[0].names
        for item in items:
            if item.names != names:
                raise InvalidParameterError(
                    f"RankedLists: concat needs the same retrievers in all parts, got {names} "
                    f"and {item.names}"
                )

        def whole(columns: Iterable[tuple[Ragged, ...]]) -> tuple[Ragged, ...]:
            return tuple(
                Ragged(np.concatenate([column.values for column in same]), offsets)
                for same in zip(*columns, strict=True)
            )

        scores, ranks = (item.scores for item in items), (item.ranks for item in items)
        return Parts(names, whole(scores), whole(ranks))
