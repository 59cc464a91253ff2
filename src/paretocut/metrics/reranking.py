"""The value of re-ranking the first k results of a list, for every k."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray, Ragged, RankedLists


@dataclass(frozen=True, eq=False)
class Reranking:
    """nDCG of a list whose first ``k`` results were re-ranked, minus the cost of the calls."""

    at: int  # results that nDCG looks at
    cost: float  # of each result that the re-ranker sees
    scores: Mapping[str, Mapping[str, float]] | None  # by query and document; None: the grades
    ideal: Mapping[str, ArrayLike] | None  # all grades by query; None: those in the list

    def curves(self, lists: RankedLists) -> Ragged:
        """Return the value of every cut of every list."""
        relevant = lists.relevant  # refuses lists with unknown grades
        assert lists.relevance is not None
        grades = lists.relevance if lists.relevance.values.dtype.kind != "b" else relevant
        parts = []
        for i, (name, own) in enumerate(zip(lists.query_ids.tolist(), grades, strict=True)):
            gains = np.maximum(own.astype(np.float64), 0.0)
            merit = gains if self.scores is None else self._merit(lists, i, name, self.scores)
            parts.append(self._curve(gains, merit, self._ideal(name, gains)))
        return Ragged.from_any(parts, dtype=np.float64)

    def __call__(self, relevant: Any, num_relevant: int) -> FloatArray:
        """Return the values for one list of which only the relevance is known."""
        if self.scores is not None or self.ideal is not None:
            raise InvalidParameterError(
                "reranked_ndcg: the curve of one list needs its query and documents; give curves "
                "the lists, got relevance alone"
            )
        gains = np.asarray(relevant, dtype=np.float64)
        return self._curve(gains, gains, gains)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reranking) and (
            (self.at, self.cost) == (other.at, other.cost)
            and self.scores is other.scores
            and self.ideal is other.ideal
        )

    def __hash__(self) -> int:
        return hash((self.at, self.cost))

    def _merit(
        self, lists: RankedLists, i: int, name: str, scores: Mapping[str, Mapping[str, float]]
    ) -> FloatArray:
        """Return the re-ranker's score of each result of a list."""
        if lists.doc_ids is None:
            raise InvalidScoresError(
                "reranked_ndcg: lists must have doc_ids, to find them in the re-ranked lists; "
                "got none"
            )
        if name not in scores:
            raise InvalidScoresError(
                f"reranked_ndcg: the re-ranked lists must have every query, got none for {name!r}"
            )
        known, documents = scores[name], lists.doc_ids[i].tolist()
        missing = [document for document in documents if document not in known]
        if missing:
            raise InvalidScoresError(
                f"reranked_ndcg: query {name!r}: the re-ranked list must have every result, "
                f"got no score for {missing[0]!r} and {len(missing) - 1} others"
            )
        return np.array([known[document] for document in documents], dtype=np.float64)

    def _ideal(self, name: str, gains: FloatArray) -> FloatArray:
        if self.ideal is None:
            return gains
        if name not in self.ideal:
            raise InvalidParameterError(
                f"reranked_ndcg: grades must have every query, got none for {name!r}"
            )
        return np.maximum(np.asarray(self.ideal[name], dtype=np.float64), 0.0)

    def _curve(self, gains: FloatArray, merit: FloatArray, ideal: FloatArray) -> FloatArray:
        discount = 1 / np.log2(np.arange(2, self.at + 2))
        best = -np.sort(-ideal)[: self.at]
        most = float(best @ discount[: best.size])
        cost = self.cost * np.arange(gains.size + 1)
        if most == 0:
            return np.asarray(-cost, dtype=np.float64)
        # The first ``at`` of the re-ranked results; a new one moves the lower ones down. Equal
        # scores keep the order of the list, so a new result goes after its equals.
        keys: list[float] = []
        kept: list[float] = []
        table = np.zeros((gains.size + 1, self.at))
        table[0, : min(self.at, gains.size)] = gains[: self.at]
        for k, (key, gain) in enumerate(zip((-merit).tolist(), gains.tolist(), strict=True), 1):
            place = bisect_right(keys, key)
            if place < self.at:
                keys.insert(place, key)
                kept.insert(place, gain)
                del keys[self.at :], kept[self.at :]
            table[k, : len(kept)] = kept
            # Below them stand the results that were not re-ranked, as they stood.
            rest = gains[k : k + self.at - len(kept)]
            table[k, len(kept) : len(kept) + rest.size] = rest
        return table @ discount / most - cost


def scores_by_document(reranked: RankedLists) -> dict[str, dict[str, float]]:
    """Return the score of each document of each query, higher for better."""
    if not isinstance(reranked, RankedLists) or reranked.doc_ids is None:
        got = "none" if isinstance(reranked, RankedLists) else type(reranked).__name__
        raise InvalidScoresError(
            f"reranked_ndcg: reranked must be RankedLists with doc_ids, got {got}"
        )
    rows = zip(reranked.query_ids.tolist(), reranked.doc_ids, reranked.merit, strict=True)
    return {
        name: dict(zip(documents.tolist(), merit.tolist(), strict=True))
        for name, documents, merit in rows
    }
