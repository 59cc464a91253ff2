"""The options as fields, for frameworks whose components are pydantic models."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_serializer, model_validator

from paretocut.adapters._base import CutOptions, Cutter, TokenBudget
from paretocut.decisions.options import FitOptions
from paretocut.errors import InvalidParameterError

__all__ = ["DECIDERS", "REFUSE", "CutModel"]

DECIDERS = ("truncator", "expect", "alpha", "evalue", "fdr", "min_surprise")
"""Fields of which one at most may be given."""

REFUSE: ConfigDict = {"extra": "forbid"}
"""Configuration of a component that takes no field it does not know."""

_FIT = FitOptions()


class CutModel(BaseModel):
    """The options of `paretocut.cut` and the budget of tokens, checked when a component is made.

    Components set ``model_config = REFUSE``, because a misspelt option must be an error and not
    leave the default in force. If it were set here, the framework's own base would overrule it.
    """

    model_config = ConfigDict(
        populate_by_name=True, arbitrary_types_allowed=True, validate_assignment=True
    )

    truncator: Any = None  # a Truncator, or the path of a saved one
    expect: str | float | None = None
    alpha: float | None = None
    evalue: float | None = None
    fdr: float | None = None
    min_surprise: float | None = None
    if_shallow: str = "keep"
    min_k: int = 0
    max_k: int | None = None
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] | None = None
    # `transform` is a method of every Runnable, so the field must be called something else.
    score_transform: str = Field(default=_FIT.transform, alias="transform")
    selection: str = _FIT.selection
    refit: str = _FIT.refit
    min_window: int = _FIT.min_window

    _cutter: Cutter = PrivateAttr()
    _budget: TokenBudget = PrivateAttr()

    @model_validator(mode="after")
    def _check_options(self) -> Any:
        who = type(self).__name__
        options = {
            name: getattr(self, "score_transform" if name == "transform" else name)
            for name in CutOptions.__annotations__
        }
        self._cutter = Cutter.of(who, options)
        self._budget = TokenBudget(self.max_tokens, self.count_tokens).check(who)
        return self

    @field_serializer("truncator", "count_tokens")
    def _stored(self, value: Any, info: Any) -> Any:
        """Return the field as it is stored; a loaded component must decide as this one does."""
        if value is None or isinstance(value, str):
            return value
        if info.field_name == "truncator" and isinstance(value, os.PathLike):
            return os.fspath(value)
        allowed = "the path of a saved one" if info.field_name == "truncator" else "None"
        raise InvalidParameterError(
            f"{type(self).__name__}: {info.field_name} must be {allowed} for the component to be "
            f"stored, got {value!r}"
        )
