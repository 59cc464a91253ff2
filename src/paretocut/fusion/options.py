"""The options of a fusion, each spelt once: its type, allowed values, default and help.

`Fusion`, the command line, the service and the adapters take their options from `FUSING`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from paretocut.decisions.options import Option, declared
from paretocut.fusion.methods import METHODS
from paretocut.schema.kinds import Either, Items, Real, Text, Whole


class FuseOptions(TypedDict, total=False):
    """The options of `fuse`."""

    method: Annotated[
        str | None,
        Option(Text(tuple(METHODS)), "z", "how scores of different retrievers become comparable"),
    ]
    weights: Annotated[
        Sequence[float] | None,
        Option(
            Either(Items(Real(0))),
            None,
            "one number for each retriever, 0 or more (default: equal weights)",
        ),
    ]
    depth: Annotated[
        int | None,
        Option(Either(Whole(1)), None, "number of results of each list to use (default: all)"),
    ]


FUSING: Mapping[str, Option] = declared(FuseOptions)
"""The options of `fuse`, by name."""
