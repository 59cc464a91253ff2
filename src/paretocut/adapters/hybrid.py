"""Hybrid search in frameworks: the answers of several searches to one query, fused and cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

from paretocut.adapters.keeping import CutList, Keeping, KeepOptions, plain_text
from paretocut.answers import read
from paretocut.answers.answer import Path
from paretocut.calibration import nonsense_queries
from paretocut.decisions.warnings import warn
from paretocut.errors import InvalidParameterError, speaking_for
from paretocut.fusion import Fusion
from paretocut.fusion.fitted import ChosenFusion, FusionOptions

_RRF = 60.0
_SAMPLE = 30  # queries of each kind that a fusion is fitted on

# Results of one search, each with its score; None if the search gives none.
Pairs: TypeAlias = Sequence[tuple[Any, float | None]]


class HybridOptions(KeepOptions, FusionOptions, total=False):
    """How answers are fused, who decides, and within which bounds."""


@dataclass(frozen=True)
class Hybrid:
    """How answers are fused, and who cuts them: the options of an adapter, checked once."""

    keeping: Keeping
    fusion: ChosenFusion
    id: Path | None = None  # of a result; equal ids mean the same document
    higher_is_better: Mapping[str, bool] | None = None  # by name of a search

    @classmethod
    def of(cls, who: str, options: Mapping[str, Any], up: Mapping[str, bool] | None) -> Hybrid:
        fusing = {name: options[name] for name in FusionOptions.__annotations__ if name in options}
        rest = {name: value for name, value in options.items() if name not in fusing}
        return cls(Keeping.of(who, rest), ChosenFusion.of(who, fusing), higher_is_better=up)

    def answer(
        self,
        found: Mapping[str, Pairs],
        mark: Callable[[Any, float, dict[str, Any]], Any],
        query: str | None = None,
    ) -> CutList[Any]:
        """Return the results kept of all searches, by name, best first.

        ``mark`` copies a result with fused score and mark. A result that several searches found is
        taken from the first of them.
        """

        def marked(one: Any, values: dict[str, Any]) -> Any:
            first = next(iter(one.results.values()))
            return mark(first, one.score, {**values, "parts": one.parts})

        return self.keeping.marked(read(self._fused(self._scored(found))), marked, query=query)

    def calibrated(
        self,
        find: Callable[[str], Mapping[str, Pairs]],
        texts: Iterable[Any],
        options: Mapping[str, Any],
    ) -> Hybrid:
        """Return the same with a fitted fusion, unless it has one, and a gate on what it fuses.

        Scores that are standardised within each list, as by ``"z"``, do not tell a list with an
        answer from one without. Those of a `Fusion` do.
        """
        how = self.fusion
        if how.method not in ("z", None):
            raise InvalidParameterError(
                f"{self.keeping.who}: method must be left out to calibrate, because only a fitted "
                f"Fusion can be gated, got {how.method!r}"
            )
        known = [plain_text(text) for text in texts]
        once = cache(lambda query: self._scored(find(query)))
        fusion = how.fusion
        if fusion is None:
            log = list(options.get("queries") or ())[:_SAMPLE]
            sample = [once(query) for query in [*log, *nonsense_queries(known, _SAMPLE)]]
            arms = {name: [one[name] for one in sample] for name in sample[0]}
            fusion = Fusion(weights=how.weights, depth=how.depth).fit(arms, **self._about())
        fitted = replace(self, fusion=ChosenFusion(fusion=fusion))

        def search(query: str) -> Any:
            return fitted._fused(once(query)).lists.scores[0]

        search.__qualname__ = " + ".join(fusion.names_)
        gated = self.keeping.calibrated(search, known, {"lexical": False, **options}, True)
        return replace(fitted, keeping=gated)

    def _about(self) -> dict[str, Any]:
        return {"score": 1, "id": self.id, "higher_is_better": self.higher_is_better}

    def _fused(self, found: Mapping[str, Pairs]) -> Any:
        with speaking_for(self.keeping.who, "fuse", "Fusion"):
            return self.fusion.fuse(found, **self._about())

    def _scored(self, found: Mapping[str, Pairs]) -> dict[str, Pairs]:
        """Return the same, with a score for the rank where a search gives no scores."""
        made = dict(found)
        for name, pairs in found.items():
            missing = sum(score is None for _, score in pairs)
            who = f"{self.keeping.who}: {name}"
            if 0 < missing < len(pairs):
                warn(f"{who}: {missing} of {len(pairs)} results have no score, and take no part")
            elif missing:
                if self.fusion.method != "rrf":
                    warn(f"{who}: the results have no scores, so their ranks are used")
                made[name] = [(one, 1 / (_RRF + i)) for i, (one, _) in enumerate(pairs, start=1)]
        return made
