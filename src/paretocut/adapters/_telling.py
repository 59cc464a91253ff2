"""How adapters tell what was decided: in metadata, on the logger, in traces, by warnings.

The words are the same everywhere. The logger is ``paretocut`` (debug); the trace is the current
OpenTelemetry span, where that package is in use.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paretocut.decisions import Cut, Cuts
from paretocut.decisions.warnings import ABOUT_SCORES, WARNINGS
from paretocut.decisions.wording import amount
from paretocut.schema.parameters import check_positive_int

__all__ = [
    "KEY",
    "OWN",
    "ScoresWarning",
    "may_mark",
    "tell",
    "told",
    "warn_of_scores",
    "warn_of_shortfall",
    "with_mark",
]

KEY = "paretocut"
"""The one key under which metadata says what was decided."""

OWN = ("score", "surprise", "pvalue", "evalue")
"""What metadata says of a result itself."""

_OF_LIST = ("k", "n", "reason", "warnings")

_logger = logging.getLogger("paretocut")


class ScoresWarning(UserWarning):
    """Scores from which little can be decided, such as ranks, saturated or very few ones."""


def with_mark(metadata: Mapping[str, Any], mark: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with the decision under `KEY`; what a user has there stays.

    Parameters
    ----------
    metadata
        Of one result.
    mark
        What `Decision.marks` says of it.
    """
    return {**metadata, KEY: mark} if may_mark(metadata) else dict(metadata)


def may_mark(metadata: Mapping[str, Any]) -> bool:
    """Return whether `KEY` is free in metadata, or holds an earlier decision.

    Parameters
    ----------
    metadata
        Of one result.
    """
    there = metadata.get(KEY)
    # A fused result says besides what each search said of it.
    ours = isinstance(there, dict) and set(there) - {"parts"} == {*OWN, *_OF_LIST}
    return KEY not in metadata or ours


def told(cut: Cut) -> dict[str, Any]:
    """Return what metadata, callbacks and spans say of a decision."""
    return dict(zip(_OF_LIST, (cut.k, cut.n, cut.reason, list(cut.warnings)), strict=True))


def tell(cuts: Cuts | Sequence[Cut], who: str) -> None:
    """Tell the logger each decision, and the current OpenTelemetry span what came of them.

    Parameters
    ----------
    cuts
        The decisions.
    who
        Name of the adapter.
    """
    if _logger.isEnabledFor(logging.DEBUG):
        for cut in cuts:
            names = f" [{', '.join(cut.warnings)}]" if cut.warnings else ""
            _logger.debug("%s: %s%s", who, cut.reason, names)
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None and len(cuts):
        span = trace.get_current_span()
        if span.is_recording():
            values = told(cuts[0]) if len(cuts) == 1 else _summary(list(cuts))
            span.set_attributes({f"{KEY}.{name}": value for name, value in values.items()})


def _summary(cuts: Sequence[Cut]) -> dict[str, Any]:
    """Return what a span says of decisions on many lists: sums, and all kinds of warnings."""
    k, n = sum(cut.k for cut in cuts), sum(cut.n for cut in cuts)
    found = {name for cut in cuts for name in cut.warnings}
    reason = f"{amount(k, n)} results of {len(cuts)} lists"
    return dict(zip(_OF_LIST, (k, n, reason, sorted(found)), strict=True))


def warn_of_scores(found: Iterable[Sequence[str]], who: str) -> None:
    """Raise a `ScoresWarning` for each kind of scores from which little can be decided.

    Parameters
    ----------
    found
        The warnings of each list.
    who
        Name of the adapter.
    """
    kinds = {name for names in found for name in names}
    for name in ABOUT_SCORES:
        if name in kinds:
            warnings.warn(f"{who}: {WARNINGS[name]}", ScoresWarning, stacklevel=4)


def warn_of_shortfall(
    found: int | Iterable[int], asked: int | None, *, who: str, remedy: str
) -> None:
    """Raise a `ScoresWarning` when a search brought less than half of what it was asked for.

    Parameters
    ----------
    found, asked
        How many results came (for many queries, of each), and how many were asked for (None: not
        known). A search that found nothing says nothing of its depth.
    who
        Name of the adapter.
    remedy
        What makes this store search deeper.
    """
    if asked is None:
        return
    check_positive_int(asked, who=who, name="asked")
    counts = [count for count in ([found] if isinstance(found, int) else found) if count > 0]
    if counts and min(counts) < asked / 2:
        warnings.warn(
            f"{who}: the search brought {min(counts)} of the {asked} results asked for; {remedy}",
            ScoresWarning,
            stacklevel=4,
        )
