"""Hybrid search: the answers of several searches to one query become one answer, and are cut.

What comes back is in the order of the fused scores, best first. A result that several searches
found is taken from the first of them. Decisions are reported as by every adapter; ``parts`` adds
score and rank of the result in each search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from paretocut.adapters.deciding import CutList, Decision, decide
from paretocut.adapters.tokens import TokenBudget
from paretocut.decisions import Cut
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.fusion.chosen import ChosenFusion, FusionOptions
from paretocut.lists import Ragged, RankedLists
from paretocut.lists.columns import check_direction
from paretocut.truncators.choose import Chosen

T = TypeVar("T")

_RRF = 60.0


class HybridOptions(DecisionOptions, FusionOptions, total=False):
    """How answers are fused, who decides, and within which bounds."""


@dataclass(frozen=True)
class Fuser:
    """How answers are fused and who cuts them: the options of an adapter, checked once."""

    who: str
    fusion: ChosenFusion
    chosen: Chosen

    @classmethod
    def of(cls, who: str, options: Mapping[str, Any]) -> Fuser:
        fusing = {name: options[name] for name in FusionOptions.__annotations__ if name in options}
        rest = {name: value for name, value in options.items() if name not in fusing}
        return cls(who, ChosenFusion.of(who, fusing), Chosen.of(who, rest))

    def answer(
        self,
        found: Mapping[str, Sequence[T]],
        mark: Callable[[T, float, dict[str, Any]], T],
        *,
        id_of: Callable[[T], str],
        score_of: Callable[[T], float | None],
        higher_is_better: Mapping[str, bool] | None = None,
        query: str | None = None,
        text_of: Callable[[T], str] = str,
        budget: TokenBudget | None = None,
    ) -> CutList[T]:
        """Return the results kept of all searches, by name, best first.

        Equal ids mean the same document. ``mark`` copies a result with fused score and mark.
        """
        lists: dict[str, RankedLists] = {}
        first: dict[str, T] = {}
        for name, results in found.items():
            up = (higher_is_better or {}).get(name, True)
            ids, scores = [*map(id_of, results)], [*map(score_of, results)]
            lists[name] = _as_list(ids, scores, up, f"{self.who}: {name}")
            for own, result in zip(ids, results, strict=True):
                first.setdefault(own, result)
        fused = self.fusion.fuse(lists)
        assert fused.doc_ids is not None
        together = [first[own] for own in fused.doc_ids[0].tolist()]

        def limit(_: int, cut: Cut) -> Cut:
            return (budget or TokenBudget()).limited(cut, lambda i: text_of(together[i]))

        _, (cut,) = decide(fused, self.chosen, who=self.who, queries=[query], limit=limit)
        merged = fused.scores[0]
        marks = Decision(cut, merged, np.arange(merged.size)).marks()
        kept = (
            mark(together[i], float(merged[i]), {**values, "parts": _parts(fused, i)})
            for i, values in marks
        )
        return CutList(kept, cut)


def _as_list(ids: list[str], scores: list[Any], up: bool, who: str) -> RankedLists:
    """Return the answer of one search; without any score the order of its results counts."""
    missing = [i for i, score in enumerate(scores) if score is None]
    if missing and len(missing) < len(scores):
        raise InvalidScoresError(
            f"{who}: all results must have a score or none of them, "
            f"got none for the result at index {missing[0]}"
        )
    if missing:  # as in reciprocal rank fusion
        up, scores = True, [1 / (_RRF + rank) for rank in range(1, len(scores) + 1)]
    column = Ragged.from_any([scores], dtype=np.float64)
    check_direction(column, up, who=who)
    return RankedLists(column, doc_ids=[ids], higher_is_better=up)


def arms_by_name(given: Any, who: str, what: str) -> dict[str, Any]:
    """Return two or more searches by name; those of a sequence are called "1", "2", ..."""
    if isinstance(given, Mapping):
        named = {str(name): item for name, item in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        named = {str(i): item for i, item in enumerate(given, start=1)}
    else:
        raise InvalidParameterError(
            f"{who}: {what} must be a mapping or a sequence, got {type(given).__name__}"
        )
    if len(named) < 2:
        raise InvalidParameterError(f"{who}: {what} must be at least 2, got {len(named)}")
    return named


def _parts(fused: RankedLists, i: int) -> dict[str, Any]:
    """Return score and rank of one result in each search, None where it was not found."""
    parts = fused.parts
    assert parts is not None
    return {
        name: {"score": float(scores[0][i]), "rank": int(ranks[0][i])} if ranks[0][i] else None
        for name, scores, ranks in zip(parts.names, parts.scores, parts.ranks, strict=True)
    }
