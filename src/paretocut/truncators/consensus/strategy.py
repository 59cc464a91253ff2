"""Base of the strategies of `Consensus`: learned numbers that decide on lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from paretocut.decisions.cuts import Evidence
from paretocut.decisions.options import EXPECT
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance.constants import Constants
from paretocut.relevance.logistic import sigmoid
from paretocut.relevance.scale import Scale
from paretocut.schema.files import decode, encode, register
from paretocut.schema.kinds import Flag, Kind, Real, checked
from paretocut.truncators.base import Truncator
from paretocut.truncators.consensus.pretrained import Pretrained
from paretocut.truncators.evidence import Taught

_SCALE: dict[str, Kind] = {"logit": Flag(), "center": Real(), "spread": Real(above=0)}


class Setting(NamedTuple):
    """The parameters of a `Consensus`, as its strategies need them."""

    metric: Metric
    expect: str | float | None
    base: Truncator | None
    elsewhere: Callable[[], Pretrained]
    judge_errors: tuple[float, float] | None
    seed: int
    constants: Constants
    taught: Taught | None

    @property
    def beta(self) -> float:
        return float(self.metric.settings["beta"])

    @property
    def number(self) -> float:
        """How many relevant results are expected."""
        assert self.expect is not None
        return EXPECT[self.expect] if isinstance(self.expect, str) else float(self.expect)


@dataclass(frozen=True)
class Strategy(ABC):
    """A way to cut lists, with the numbers learned for it."""

    scale: Scale

    name: ClassVar[str]
    kinds: ClassVar[Mapping[str, Kind]] = {}
    """Kinds of the saved values, beside the scale."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            register(f"consensus-{cls.name}", cls, cls.to_dict, cls.from_dict)

    @abstractmethod
    def decide(self, setting: Setting, lists: RankedLists) -> tuple[IntArray, Evidence]:
        """Return how many results of each list to keep, and the evidence."""

    def probabilities(self, setting: Setting, lists: RankedLists) -> Ragged:
        """Return the probability that each result is relevant, as learned from other collections.

        Before any list of the system was seen, its raw scores say nothing.
        """
        known = setting.elsewhere()
        merit = self.scale.apply(lists.merit)
        logits = known.standardised(merit, self.scale) @ np.array(known.coef_without_raw)
        if setting.expect is not None:
            logits = logits + merit.spread(_shift(merit.with_values(logits), setting.number))
        return merit.with_values(sigmoid(logits))

    def to_dict(self) -> dict[str, Any]:
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in own.items():
            if is_dataclass(value) and not isinstance(value, type):
                own[name] = asdict(value)
        own |= own.pop("scale")
        plain: dict[str, Any] = encode(own, who="Consensus", name=self.name)
        return plain

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        found = checked({**_SCALE, **cls.kinds}, decode(dict(content)))
        return cls(scale=Scale(*(found.pop(name) for name in _SCALE)), **found)


def _shift(logits: Ragged, expected: float) -> FloatArray:
    """Return the shift of the log-odds of each list that makes them sum to this number."""
    low, high = np.full(len(logits), -60.0), np.full(len(logits), 60.0)
    # A list cannot hold more relevant results than results, nor surely all of them.
    target = np.minimum(expected, 0.9 * logits.lengths)
    rows = logits.rows
    for _ in range(50):
        between = 0.5 * (low + high)
        sums = np.bincount(rows, sigmoid(logits.values + between[rows]), minlength=len(logits))
        low, high = np.where(sums < target, between, low), np.where(sums < target, high, between)
    return np.where(logits.lengths > 0, 0.5 * (low + high), 0.0)
