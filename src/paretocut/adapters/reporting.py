"""How adapters report a decision: in metadata, on the logger, in traces, by warnings."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from paretocut.decisions import Cut
from paretocut.decisions.warnings import ABOUT_SCORES, WARNINGS
from paretocut.decisions.wording import amount

KEY = "paretocut"
"""The one key under which metadata holds the decision."""

_logger = logging.getLogger("paretocut")


class ScoresWarning(UserWarning):
    """Scores from which little can be decided, such as ranks, saturated or very few ones."""


def with_mark(metadata: Mapping[str, Any], mark: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of metadata with the decision under `KEY`, unless the user has that key."""
    return {**metadata, KEY: mark} if may_mark(metadata) else dict(metadata)


def may_mark(metadata: Mapping[str, Any]) -> bool:
    """Return whether `KEY` is free in metadata, or holds an earlier decision."""
    there = metadata.get(KEY)
    return KEY not in metadata or (isinstance(there, dict) and {"k", "n", "reason"} <= there.keys())


def summary(cut: Cut) -> dict[str, Any]:
    """Return what metadata, callbacks and spans say of a decision."""
    said = cut.to_dict()
    return {
        name: said[name] for name in ("k", "n", "reason", "warnings", "nearest") if name in said
    }


def report(cuts: Sequence[Cut], who: str) -> None:
    """Report decisions: warnings of odd scores, a line each in the log, one OpenTelemetry span."""
    found = {name for cut in cuts for name in cut.warnings}
    for name in ABOUT_SCORES:
        if name in found:
            warn(f"{who}: {WARNINGS[name]}")
    if _logger.isEnabledFor(logging.DEBUG):
        for cut in cuts:
            names = f" [{', '.join(cut.warnings)}]" if cut.warnings else ""
            _logger.debug("%s: %s%s", who, cut.reason, names)
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None and len(cuts) and (span := trace.get_current_span()).is_recording():
        values = summary(cuts[0])
        if len(cuts) > 1:
            k, n = sum(cut.k for cut in cuts), sum(cut.n for cut in cuts)
            reason = f"{amount(k, n)} results of {len(cuts)} lists"
            values = {"k": k, "n": n, "reason": reason, "warnings": sorted(found)}
        span.set_attributes({f"{KEY}.{name}": value for name, value in values.items()})


def warn(text: str) -> None:
    """Raise a `ScoresWarning` that points at the first caller outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("paretocut."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ScoresWarning, stacklevel=level)
