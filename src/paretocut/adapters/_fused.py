"""Hybrid search: the answers of several searches to one query become one answer, and are cut.

What comes back is in the order of the fused scores, best first. A result that several searches
found is taken from the first of them. Decisions are reported as by every adapter; ``parts`` adds
what each search said of the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from paretocut.adapters._base import CutList, CutOptions, Cutter, Decision, TokenBudget
from paretocut.adapters._telling import tell, warn_of_scores
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.fusion import METHODS, Fusion, fuse
from paretocut.lists import Ragged, RankedLists
from paretocut.lists.columns import check_direction
from paretocut.schema.parameters import check_choice

__all__ = ["Arm", "FuseOptions", "Fuser", "arms_by_name"]

T = TypeVar("T")

_RRF = 60.0


class FuseOptions(CutOptions, total=False):
    """Options of `paretocut.fuse` and of `paretocut.cut`.

    ``fusion`` is a fitted `paretocut.Fusion`, or the path of a saved one; it takes the place of
    ``method`` and ``weights``.
    """

    method: str
    weights: Sequence[float] | None
    depth: int | None
    fusion: Fusion | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Arm(Generic[T]):
    """The answer of one search.

    Attributes
    ----------
    results
        What it found.
    ids
        Equal ids mean the same document.
    scores
        One for each result; None for all of them if the search gives none: then their order
        decides, as in reciprocal rank fusion.
    higher_is_better
        False for distances.
    """

    results: Sequence[T]
    ids: Sequence[str]
    scores: Sequence[float | None]
    higher_is_better: bool = True

    def lists(self, name: str, who: str) -> RankedLists:
        """Return the answer as the list of one query.

        Parameters
        ----------
        name
            Of the search.
        who
            Name of the adapter.
        """
        missing = [i for i, score in enumerate(self.scores) if score is None]
        if missing and len(missing) < len(self.scores):
            raise InvalidScoresError(
                f"{who}: all results of {name} must have a score or none of them, "
                f"got none for the result at index {missing[0]}"
            )
        scores: Any = self.scores
        better = self.higher_is_better
        if missing:
            scores, better = 1 / (_RRF + np.arange(1, len(self.scores) + 1)), True
        else:
            column = Ragged.from_any([scores], dtype=np.float64)
            check_direction(column, better, who=f"{who}: {name}")
        return RankedLists([scores], doc_ids=[list(self.ids)], higher_is_better=better)


class Fuser:
    """How answers are fused and cut: the options of an adapter, checked once.

    Parameters
    ----------
    who
        Name of the adapter, for messages.
    options
        `FuseOptions`.
    """

    def __init__(self, who: str, options: Mapping[str, Any]) -> None:
        rest = dict(options)
        fusion = rest.pop("fusion", None)
        self.who = who
        method = rest.pop("method", None)
        self.method = "z" if method is None else method
        self.weights = rest.pop("weights", None)
        self.depth = rest.pop("depth", None)
        named = {"method": method, "weights": self.weights, "depth": self.depth}
        given = [name for name, value in named.items() if value is not None]
        if fusion is not None and given:
            raise InvalidParameterError(
                f"{who}: fusion must come without {', '.join(given)}, which it has learned"
            )
        check_choice(self.method, METHODS, who=who, name="method")
        if isinstance(fusion, (str, os.PathLike)):
            fusion = Fusion.load(fusion)
        if fusion is not None and not isinstance(fusion, Fusion):
            raise InvalidParameterError(
                f"{who}: fusion must be a Fusion or the path of a saved one, "
                f"got {type(fusion).__name__}"
            )
        self.fusion: Fusion | None = fusion
        self.cutter = Cutter.of(who, rest)

    def fuse(self, arms: Mapping[str, Arm[Any]]) -> RankedLists:
        """Return the answers of all searches as one list."""
        return self.fuse_lists({name: arm.lists(name, self.who) for name, arm in arms.items()})

    def fuse_lists(self, lists: Any) -> RankedLists:
        """Return the lists of all searches fused, those of many queries too."""
        if self.fusion is not None:
            return self.fusion.fuse(lists)
        return fuse(lists, method=self.method, weights=self.weights, depth=self.depth)

    def answer(
        self,
        arms: Mapping[str, Arm[T]],
        mark: Callable[[T, float, dict[str, Any]], T],
        *,
        query: str | None = None,
        text_of: Callable[[T], str] = str,
        budget: TokenBudget | None = None,
    ) -> CutList[T]:
        """Return the results kept, best first, with the decision.

        Parameters
        ----------
        arms
            The answers by name of the search.
        mark
            Makes a copy of a result with its fused score and what is to be told of it.
        query
            Text of the query; only a truncator that needs it is told.
        text_of
            Gives the text of a result, for the budget.
        budget
            How many tokens the results kept may have.
        """
        fused = self.fuse(arms)
        assert fused.doc_ids is not None
        first: dict[str, T] = {}
        for arm in arms.values():
            for name, result in zip(arm.ids, arm.results, strict=True):
                first.setdefault(name.rstrip("\0"), result)  # as NumPy keeps strings
        results = [first[name] for name in fused.doc_ids[0].tolist()]
        needed = self.cutter.needed([query], self.who)
        asked: dict[str, Any] = {} if needed is None else {"queries": needed}
        cut = self.cutter.truncator.cut_batch(
            fused, min_k=self.cutter.min_k, max_k=self.cutter.max_k, **asked
        )[0]
        scores = fused.scores[0]
        decision = Decision(cut, scores, np.arange(scores.size))
        if budget is not None:
            decision = decision.within(budget, lambda i: text_of(results[i]))
        warn_of_scores([decision.cut.warnings], self.who)
        tell([decision.cut], self.who)
        return CutList(
            (
                mark(results[i], float(scores[i]), {**told, "parts": _parts(fused, i)})
                for i, told in decision.marks()
            ),
            decision.cut,
        )


def arms_by_name(given: Any, who: str, what: str) -> dict[str, Any]:
    """Return searches by name; those of a sequence are called "1", "2", ...

    Parameters
    ----------
    given
        A mapping or a sequence of at least two.
    who
        Name of the adapter.
    what
        Name of its argument.
    """
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
    """Return what each search said of one result: score and rank, or None."""
    parts = fused.parts
    assert parts is not None
    return {
        name: {"score": float(scores[0][i]), "rank": int(ranks[0][i])} if ranks[0][i] else None
        for name, scores, ranks in zip(parts.names, parts.scores, parts.ranks, strict=True)
    }
