"""Estimates, from unjudged lists, of how many relevant results a list holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np

from paretocut.background.drift import gaps, halves
from paretocut.decisions.cuts import Evidence
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.relevance.beliefs import beliefs_about, believed_cuts
from paretocut.relevance.constants import CONSTANTS
from paretocut.relevance.scale import Scale
from paretocut.schema.files import shipped
from paretocut.schema.kinds import Kind, Real
from paretocut.truncators.consensus.strategy import Setting, Strategy
from paretocut.truncators.evidence import Clause


@dataclass(frozen=True)
class Estimated(Strategy):
    """By the number of relevant results that unjudged lists suggest.

    ``typical`` is the estimated logarithm of that number.
    """

    typical: float

    name: ClassVar[str] = "estimate"
    kinds: ClassVar[Mapping[str, Kind]] = {"typical": Real(-100, 100)}

    @classmethod
    def fit(cls, lists: RankedLists) -> Estimated:
        scale = Scale.of(lists.merit)
        merit = scale.apply(lists.merit)
        if not merit.filled.any():
            raise InvalidParameterError(
                "Consensus: lists must hold at least one result to learn from, got none"
            )
        return cls(scale, typical(merit))

    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        merit = self.scale.apply(lists.merit)
        beliefs = estimated(merit, self.typical)
        cuts = believed_cuts(merit, beliefs, setting.beta, setting.constants)
        assert setting.taught is not None
        about = np.exp(beliefs[:, 1]), setting.metric.name, setting.taught.source
        return cuts, Clause(partial(_because, *about))


def _because(numbers: FloatArray, metric: str, source: str, i: int, k: int) -> str:
    number = float(numbers[i])
    return (
        f"highest expected {metric} if the list holds about {max(number, 1.0):.2g} "
        f"relevant result{'s' if number > 1 else ''}, as {source} suggest"
    )


def crowd(merit: Ragged) -> float:
    """Return how crowded the scores are that best results have.

    It is the mean over lists of log(1 + c), where c counts the results that reach the 10 %
    quantile of the best scores of all lists. Few results do so where one is right.
    """
    filled = merit.take(np.flatnonzero(merit.filled))
    least = np.quantile(filled.ends()[0], CONSTANTS.low_top)
    return float(np.log1p(filled.count(filled.values >= least)).mean())


def typical(merit: Ragged, known: Mapping[str, Any] | None = None) -> float:
    """Return the logarithm of the number that unjudged lists of a system suggest.

    At least one list is not empty. `known` are the coefficients; None for those that are shipped.
    """
    coef = known or shipped_number()
    filled = merit.take(np.flatnonzero(merit.filled))
    mean_gap = float(gaps(filled).mean())
    return float(coef["level"] + coef["gap"] * mean_gap + coef["crowd"] * crowd(filled))


def estimated(merit: Ragged, level: float, known: Mapping[str, Any] | None = None) -> FloatArray:
    """Return the belief about each list of a system, `level` being its `typical` value."""
    coef = known or shipped_number()
    return beliefs_about(merit, level + coef["half"] * halves(merit), coef["spread"], coef["plain"])


@cache
def shipped_number() -> dict[str, Any]:
    """Return the coefficients that `experiments.calibrate` learned from judged collections."""
    return shipped("number.json")
