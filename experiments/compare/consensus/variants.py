"""`Consensus` with other constants, other keys and other columns: what gives what.

`Varied` is the class itself; nothing of it is written a second time here. Each variant is fitted
on one half of at most `MOST` queries of a run and tested on the other half, both ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.compare.consensus.pretrain import Taught, corpus
from experiments.compare.methods.choice import CEILING
from experiments.data import Run
from paretocut import metrics
from paretocut.relevance import CONSTANTS, Constants, Scale
from paretocut.truncators import Consensus, Oracle
from paretocut.truncators.consensus.pretrained import (
    DESIGN,
    Pretrained,
    Rules,
    drawn,
    elected,
    rule_values,
    unit,
    values_elsewhere,
    where,
)
from paretocut.truncators.consensus.strategies import Vote

__all__ = ["FULL", "MOST", "Varied", "drawn_lists", "halves", "measure"]

FULL = "as it is"
MOST = 60
KEYS = (
    *("rank", "minmax", "minmax-0.02log", "minmax-0.04log", "minmax-0.08log", "top"),
    *("z", "z-0.3log", "minmax+0.05z", "minmax+0.15z", "raw"),
)

Lists = Mapping[Run, pc.RankedLists]


class Varied(Taught):
    """`Consensus` with other constants, for F1 also with a vote on some of the keys, or none.

    ``changed`` holds constants by name; ``without``, names of keys that may not be elected; and
    ``draws=0`` elects the rule that is best on average.
    """

    def __init__(
        self,
        metric: Any = "f1",
        *,
        expect: Any = None,
        pretrained: Pretrained | None = None,
        changed: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(metric, expect=expect, pretrained=pretrained)
        self.changed = changed

    @property
    def constants(self) -> Constants:  # type: ignore[override]
        """The constants, with what is changed."""
        changed = dict(self.changed or {})
        changed.pop("without", None)
        if changed.get("draws") == 0:
            del changed["draws"]
        return Constants(**changed)

    def fit(self, lists: pc.RankedLists) -> Varied:
        """Learn as `Consensus` does, and vote again if keys are left out or nothing is drawn."""
        super().fit(lists)
        learned = self.learned_
        if isinstance(learned, Vote) and {"draws", "without"} & (self.changed or {}).keys():
            self.learned_ = replace(learned, **self._elected(lists, learned.scale)._asdict())
        return self

    def _elected(self, lists: pc.RankedLists, scale: Scale) -> Rules:
        changed = dict(self.changed or {})
        draws = changed.get("draws", CONSTANTS.draws)
        rng: Any = np.random.default_rng(self.seed) if draws else _Even()
        curves = metrics.get(self.metric).curves(lists)
        values = rule_values(scale.apply(lists.merit), scale, curves)
        totals = len(curves) * drawn(values, rng, draws or 1)
        elsewhere = values_elsewhere(self.prior(), "f1", rng, draws or 1)
        totals += self.constants.pseudo_queries * unit(curves) * elsewhere
        left_out = where(lambda key: key in changed.get("without", ()))
        totals[left_out] = -np.inf
        return elected(totals)


class _Even:
    """Equal weights in the place of random ones: the plain mean over queries."""

    def exponential(self, size: tuple[int, int]) -> NDArray[np.float64]:
        return np.ones(size)


def drawn_lists(lists: pc.RankedLists, most: int = MOST) -> pc.RankedLists:
    """Return at most so many lists, drawn at random."""
    return lists[np.random.default_rng(0).permutation(len(lists))[:most].tolist()]


def halves(lists: pc.RankedLists) -> Iterator[tuple[pc.RankedLists, pc.RankedLists]]:
    """Yield training and test lists: two halves of lists in random order, both ways."""
    half = len(lists) // 2
    yield lists[:half], lists[half:]
    yield lists[half:], lists[:half]


def measure(groups: Mapping[str, Lists], known: Mapping[str, Pretrained]) -> dict[str, Any]:
    """Return the mean of each variant over each set: metric -> variant -> set."""
    out: dict[str, Any] = {"f1": {}, "penalized_dcg": {}}
    for name, members in groups.items():
        cells: dict[tuple[str, str], list[float]] = {}
        for run, lists in members.items():
            own, some = known[corpus(run.family)], drawn_lists(lists)
            for metric, table in (("f1", _votes(own)), ("penalized_dcg", _regressions(own))):
                for row, options in table.items():
                    truncator = Varied(metric, **options)
                    cells.setdefault((metric, row), []).append(_value(some, truncator))
                best = metrics.get(metric)(some, Oracle(metric).predict(some))
                cells.setdefault((metric, CEILING), []).append(float(best.mean()))
        for (metric, row), numbers in cells.items():
            out[metric].setdefault(row, {})[name] = float(np.mean(numbers))
    return out


def _value(lists: pc.RankedLists, truncator: Consensus) -> float:
    value = metrics.get(truncator.metric)
    found = [value(test, truncator.fit(train).predict(test)) for train, test in halves(lists)]
    return float(np.concatenate(found).mean())


def _votes(own: Pretrained) -> dict[str, dict[str, Any]]:
    def keeping(*names: str) -> tuple[str, ...]:
        return tuple(key for key in KEYS if key not in names)

    rank_and_minmax = [key for key in KEYS if key.endswith("log") and key.startswith("minmax")]
    changes: dict[str, dict[str, Any]] = {
        FULL: {},
        "min-max alone": {"without": keeping("minmax")},
        "min-max and rank": {"without": keeping("minmax", *rank_and_minmax)},
        "without the first five as measure": {"without": ("top",)},
        "without z": {"without": tuple(key for key in KEYS if "z" in key)},
        "without a fixed number": {"without": ("rank",)},
        "without raw scores": {"without": ("raw",)},
        "one rule, the best, no vote": {"draws": 0},
        "one rule, without other collections": {"draws": 0, "pseudo_queries": 0.0},
        "other collections worth 0 queries": {"pseudo_queries": 0.0},
        "other collections worth 3 queries": {"pseudo_queries": 3.0},
        "other collections worth 12 queries": {"pseudo_queries": 12.0},
        "other collections worth 25 queries": {"pseudo_queries": 25.0},
    }
    return {name: {"pretrained": own, "changed": changed} for name, changed in changes.items()}


def _regressions(own: Pretrained) -> dict[str, dict[str, Any]]:
    def without(*names: str) -> Pretrained:
        spread = [np.inf if n in names else s for n, s in zip(DESIGN, own.spread, strict=True)]
        return replace(own, spread=spread)

    flat = replace(own, coef=[0.0] * len(DESIGN))
    return {
        FULL: {"pretrained": own},
        "no caution": {"pretrained": own, "changed": {"caution": 0.0}},
        "a whole standard error of caution": {"pretrained": own, "changed": {"caution": 1.0}},
        "without other collections": {"pretrained": flat, "changed": {"ridge": 1.0}},
        "other collections count three times as much": {
            "pretrained": own,
            "changed": {"ridge": 3 * CONSTANTS.ridge},
        },
        "without raw scores": {"pretrained": without("raw", "best_raw")},
        "min-max and rank only": {
            "pretrained": without(*set(DESIGN) - {"one", "minmax", "log_rank"})
        },
    }
