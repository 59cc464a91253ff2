"""The options as fields, for frameworks whose components are pydantic models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from paretocut.adapters._base import CutOptions
from paretocut.surprise import cut

__all__ = ["REFUSE", "CutModel"]

REFUSE: ConfigDict = {"extra": "forbid"}
"""Configuration of a component that takes no field it does not know."""


class CutModel(BaseModel):
    """The options of `paretocut.cut`, checked when the component is made.

    Components say ``model_config = REFUSE``, because a misspelt option must not leave the default
    rule at work; said here, the framework's own base would overrule it.
    """

    model_config = ConfigDict(populate_by_name=True)

    alpha: float | None = None
    threshold: float | None = None
    evalue: float | None = None
    fdr: float | None = None
    min_k: int = 0
    max_k: int | None = None
    # `transform` is a method of every Runnable, so the field must be called something else.
    score_transform: str = Field(default="identity", alias="transform")
    selection: str = "greedy"
    refit: str = "window"
    min_window: int = 5

    @property
    def cut_options(self) -> CutOptions:
        """Options of `paretocut.cut`."""
        return {
            "alpha": self.alpha,
            "threshold": self.threshold,
            "evalue": self.evalue,
            "fdr": self.fdr,
            "min_k": self.min_k,
            "max_k": self.max_k,
            "transform": self.score_transform,
            "selection": self.selection,
            "refit": self.refit,
            "min_window": self.min_window,
        }

    @model_validator(mode="after")
    def _check_options(self) -> Any:
        cut([], **self.cut_options)
        return self
