"""The origin of a gate: the search, the index, and doubts about them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from paretocut.decisions import WARNINGS
from paretocut.schema.files import register
from paretocut.schema.kinds import Either, Items, Kind, Text, Whole, checked

_STATE: dict[str, Kind] = {
    "date": Text(),
    "version": Text(),
    "search": Either(Text()),
    "texts": Either(Whole(1)),
    "size": Either(Whole(1)),
    "own_words": Either(Whole(1)),
    "script": Either(Text()),
    "queries": Either(Whole(1)),
    "doubts": Items(Text(tuple(WARNINGS))),
}


@dataclass(frozen=True)
class Origin:
    """The search that a gate was made for.

    Attributes
    ----------
    date, version
        Day of the calibration, and version of paretocut.
    search
        Name of the search. This and the four below are None if only lists were given.
    texts
        Number of texts.
    size
        Number of documents in the index, as far as known.
    own_words
        How many of the eight words of each nonsense query came from the index.
    script
        Script of the texts: "latin", "cjk", "thai", ...
    queries
        Number of unjudged queries that were given; None if there were none.
    doubts
        Names of `paretocut.decisions.WARNINGS` that hold for every decision of the gate.
    """

    date: str
    version: str
    search: str | None = None
    texts: int | None = None
    size: int | None = None
    own_words: int | None = None
    script: str | None = None
    queries: int | None = None
    doubts: tuple[str, ...] = ()

    @classmethod
    def today(cls, **about: Any) -> Origin:
        """Return an origin of today; ``about`` has the other attributes."""
        return cls(time.strftime("%Y-%m-%d"), version("paretocut"), **about)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Origin:
        known: dict[str, Any] = checked(_STATE, content)
        known["doubts"] = tuple(known["doubts"])
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


register("origin", Origin, Origin.to_dict, Origin.from_dict)
