"""How lists are fused: the options of a fusion, checked once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from paretocut.errors import InvalidParameterError
from paretocut.fusion.answered import About
from paretocut.fusion.fitted import Fusion
from paretocut.fusion.joining import FuseLike
from paretocut.fusion.methods import fuse
from paretocut.fusion.options import FUSING, FuseOptions
from paretocut.schema.files import load_model
from paretocut.schema.parameters import check


class FusionOptions(FuseOptions, total=False):
    """How lists are fused: a fitted ``fusion`` (or its file), or the options of `fuse`."""

    fusion: Fusion | str | os.PathLike[str] | None


@dataclass(frozen=True)
class ChosenFusion:
    """A fitted fusion, or the options of `fuse`."""

    method: str = FUSING["method"].default
    weights: Sequence[float] | None = None
    depth: int | None = None
    fusion: Fusion | None = None

    @classmethod
    def of(cls, who: str, options: Mapping[str, Any]) -> ChosenFusion:
        """Return the choice that `FusionOptions` make; errors speak for ``who``."""
        given = {name: value for name, value in options.items() if value is not None}
        fusion = given.pop("fusion", None)
        if fusion is not None and given:
            raise InvalidParameterError(
                f"fusion must come without {', '.join(given)}, which it has learned", who=who
            )
        if given.get("method") is not None:
            check(FUSING["method"].kind, given["method"], who=who, name="method")
        if isinstance(fusion, (str, os.PathLike)):
            fusion = load_model(fusion, "fusion")
        if fusion is not None and not isinstance(fusion, Fusion):
            raise InvalidParameterError(
                f"fusion must be a Fusion or the path of a saved one, got {type(fusion).__name__}",
                who=who,
            )
        return cls(**given, fusion=fusion)

    def fuse(self, lists: FuseLike, **about: Unpack[About]) -> Any:
        """Return one list for each query; see `paretocut.fuse`."""
        if self.fusion is not None:
            return self.fusion.fuse(lists, **about)
        return fuse(lists, method=self.method, weights=self.weights, depth=self.depth, **about)
