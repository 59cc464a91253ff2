"""Hybrid search: the answers of several searches to one query become one answer, and are cut.

What comes back is in the order of the fused scores, best first. A result that several searches
found is taken from the first of them. Decisions are reported as by every adapter; ``parts`` adds
score and rank of the result in each search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from paretocut.adapters.calibrating import calibrate_decider, text_of
from paretocut.adapters.deciding import CutList, decide
from paretocut.adapters.reporting import warn
from paretocut.adapters.tokens import TokenBudget
from paretocut.answers import direction_of
from paretocut.answers.answer import column
from paretocut.calibration import nonsense_queries
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.fusion import Fusion
from paretocut.fusion.chosen import ChosenFusion, FusionOptions
from paretocut.lists import FloatArray, RankedLists
from paretocut.truncators.choose import Chosen

T = TypeVar("T")

_RRF = 60.0
_SAMPLE = 30  # queries of each kind that a fusion is fitted on


class HybridOptions(DecisionOptions, FusionOptions, total=False):
    """How answers are fused, who decides, and within which bounds."""


@dataclass(frozen=True)
class Fuser(Generic[T]):
    """How answers are read and fused, and who cuts them: the options of an adapter, checked once.

    Equal ids mean the same document. ``higher_is_better`` is by name of a search.
    """

    who: str
    fusion: ChosenFusion
    chosen: Chosen
    id_of: Callable[[T], str]
    score_of: Callable[[T], float | None]
    higher_is_better: Mapping[str, bool]

    @classmethod
    def of(
        cls,
        who: str,
        options: Mapping[str, Any],
        id_of: Callable[[T], str],
        score_of: Callable[[T], float | None],
        higher_is_better: Mapping[str, bool] | None = None,
    ) -> Fuser[T]:
        fusing = {name: options[name] for name in FusionOptions.__annotations__ if name in options}
        rest = {name: value for name, value in options.items() if name not in fusing}
        chosen = ChosenFusion.of(who, fusing), Chosen.of(who, rest)
        return cls(who, *chosen, id_of, score_of, higher_is_better or {})

    def answer(
        self,
        found: Mapping[str, Sequence[T]],
        mark: Callable[[T, float, dict[str, Any]], T],
        *,
        query: str | None = None,
        text_of: Callable[[T], str] = str,
        budget: TokenBudget | None = None,
    ) -> CutList[T]:
        """Return the results kept of all searches, by name, best first.

        ``mark`` copies a result with fused score and mark.
        """
        lists = self._lists(found)
        first: dict[str, T] = {}
        for results in found.values():
            for result in results:
                first.setdefault(self.id_of(result), result)
        fused = self.fusion.fuse(lists)
        assert fused.doc_ids is not None
        assert fused.parts is not None
        parts = [{**dict.fromkeys(found), **own} for own in fused.parts.of_list(0)]
        together = [first[own] for own in fused.doc_ids[0].tolist()]

        merged = fused.scores[0]
        (decision,), _ = decide(
            [merged],
            self.chosen,
            who=self.who,
            lists=fused,
            queries=[query],
            budget=budget,
            text_of=lambda _, i: text_of(together[i]),
        )
        kept = (
            mark(together[i], float(merged[i]), {**values, "parts": parts[i]})
            for i, values in decision.marks()
        )
        return CutList(kept, decision.cut)

    def calibrated(
        self,
        find: Callable[[str], Mapping[str, Sequence[T]]],
        texts: Iterable[Any],
        options: Mapping[str, Any],
    ) -> Fuser[T]:
        """Return a fuser with a fitted fusion, and a gate on what it fuses.

        Scores that are standardised within each list, as by ``"z"``, do not tell a list with an
        answer from one without. Those of a `Fusion` do.
        """
        if self.fusion.method not in ("z", None):
            raise InvalidParameterError(
                f"{self.who}: method must be left out to calibrate, because only a fitted Fusion "
                f"can be gated, got {self.fusion.method!r}"
            )
        known = [text_of(text) for text in texts]
        found: dict[str, dict[str, RankedLists]] = {}

        def lists(query: str) -> dict[str, RankedLists]:
            if query not in found:
                found[query] = self._lists(find(query))
            return found[query]

        fusion = self.fusion.fusion
        if fusion is None:
            log = list(options.get("queries") or ())[:_SAMPLE]
            sample = [lists(query) for query in [*log, *nonsense_queries(known, _SAMPLE)]]
            arms = {name: _together([one[name] for one in sample]) for name in sample[0]}
            fusion = Fusion(weights=self.fusion.weights, depth=self.fusion.depth).fit(arms)

        def search(query: str) -> FloatArray:
            fused: RankedLists = fusion.fuse(lists(query))
            return fused.scores[0]

        search.__qualname__ = " + ".join(fusion.names_)
        how = {"lexical": False, **options}
        truncator = calibrate_decider(search, known, self.chosen, how, True)
        chosen = replace(self.chosen, truncator=truncator)
        return replace(self, fusion=ChosenFusion(fusion=fusion), chosen=chosen)

    def _lists(self, found: Mapping[str, Sequence[T]]) -> dict[str, RankedLists]:
        """Return the answer of each search as a list."""
        lists = {}
        for name, results in found.items():
            up = self.higher_is_better.get(name)
            ids, scores = [*map(self.id_of, results)], [*map(self.score_of, results)]
            if None in scores and self.fusion.method != "rrf":
                warn(f"{self.who}: {name}: the results have no scores, so their ranks are used")
            lists[name] = _as_list(ids, scores, up, f"{self.who}: {name}")
        return lists


def _together(lists: Sequence[RankedLists]) -> RankedLists:
    """Return the lists of one search as one object."""
    scores = [one.scores[0] for one in lists]
    ids = [one.doc_ids[0] for one in lists if one.doc_ids is not None]
    return RankedLists(scores, doc_ids=ids, higher_is_better=lists[0].higher_is_better)


def _as_list(ids: list[str], scores: list[Any], up: bool | None, who: str) -> RankedLists:
    """Return the answer of one search; without any score the order of its results counts."""
    missing = [i for i, score in enumerate(scores) if score is None]
    if missing and len(missing) < len(scores):
        raise InvalidScoresError(
            f"all results must have a score or none of them, "
            f"got none for the result at index {missing[0]}",
            who=who,
        )
    if missing:  # as in reciprocal rank fusion
        up, scores = True, [1 / (_RRF + rank) for rank in range(1, len(scores) + 1)]
    values = column(scores, who)
    if up is None:
        up = direction_of([values], who) is not False
    return RankedLists([values], doc_ids=[ids], higher_is_better=up)
