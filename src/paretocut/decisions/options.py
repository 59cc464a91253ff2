"""The options that many functions share: how a tail is fitted, which rule cuts, what bounds hold.

Each is checked in one place, here, with the name of the function that was called.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields
from typing import Any

from paretocut.errors import InvalidParameterError
from paretocut.schema.parameters import check_choice, check_int, check_real

__all__ = ["IF_SHALLOW", "RULES", "TRANSFORMS", "FitOptions", "Rule", "check_bounds", "choose_rule"]

RULES = ("alpha", "evalue", "fdr", "min_surprise")
"""Names of the rules on Surprise scores."""

TRANSFORMS = ("identity", "log", "logit", "auto")
"""Scales on which a tail can be fitted."""

IF_SHALLOW = ("keep", "drop")
"""What a rule can do with a list that is too short to show that nothing stands out."""


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How the tail of a list is fitted; see `paretocut.fit_tail`."""

    transform: str = "identity"
    selection: str = "greedy"
    refit: str = "window"
    min_window: int = 5

    def check(self, who: str) -> FitOptions:
        """Return the options themselves, or raise InvalidParameterError in the name of ``who``."""
        check_choice(self.transform, TRANSFORMS, who=who, name="transform")
        check_choice(self.selection, ("greedy", "gof"), who=who, name="selection")
        check_choice(self.refit, ("window", "all"), who=who, name="refit")
        check_int(self.min_window, who=who, name="min_window", low=3)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the options by name."""
        return asdict(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(field.name for field in fields(cls))


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and its level."""

    name: str
    level: float


def choose_rule(who: str, **levels: float | None) -> Rule | None:
    """Return the one rule that has a level, or None if none has.

    Parameters
    ----------
    who
        Who was called.
    **levels
        The level of each of `RULES`, or None.
    """
    given = [(name, level) for name, level in levels.items() if level is not None]
    if not given:
        return None
    if len(given) > 1:
        names = " and ".join(name for name, _ in given)
        raise InvalidParameterError(
            f"{who}: at most one of {', '.join(RULES)} may be given, got {names}"
        )
    ((name, level),) = given
    if name in ("alpha", "fdr"):
        check_real(level, who=who, name=name, low=0, high=1)
    elif name == "evalue":
        check_real(level, who=who, name=name, low=0)
    else:
        check_real(level, who=who, name=name, low=0, closed="low")
    return Rule(name, float(level))


def check_bounds(who: str, min_k: int, max_k: int | None) -> tuple[int, int]:
    """Return the bounds on the number of results kept; no upper one is a very large one.

    Parameters
    ----------
    who
        Who was called.
    min_k, max_k
        What the caller gave.
    """
    low = check_int(min_k, who=who, name="min_k")
    high = sys.maxsize if max_k is None else check_int(max_k, who=who, name="max_k")
    if low > high:
        raise InvalidParameterError(f"{who}: min_k must be at most max_k={high}, got {low}")
    return low, high
