"""Scales on which scores can be looked at before a tail is fitted to them."""

from __future__ import annotations

import numpy as np

from paretocut.errors import InvalidScoresError
from paretocut.lists import BoolArray, Ragged


def allowed(scores: Ragged, transform: str) -> BoolArray:
    """Return which lists the transform is defined for."""
    values = scores.values
    if transform == "log":
        bad = values <= 0
    elif transform == "logit":
        bad = (values < 0) | (values > 1)
        inside = scores.count((values > 0) & (values < 1)) > 0
        bad |= scores.spread(~inside)
    else:
        bad = np.zeros(values.size, dtype=np.bool_)
    fine: BoolArray = scores.count(bad) == 0
    return fine


def apply(scores: Ragged, transform: str, *, who: str) -> Ragged:
    """Return the scores on another scale.

    On the logit scale exact zeros and ones lie infinitely far out. They get the value of the
    outermost score of their list that is neither 0 nor 1.
    """
    if transform == "identity":
        return scores
    fine = allowed(scores, transform)
    if not fine.all():
        i = int(np.flatnonzero(~fine)[0])
        needs = "positive scores" if transform == "log" else "scores in [0, 1], not all 0 or 1"
        raise InvalidScoresError(
            f"transform={transform!r} needs {needs}, "
            f"got {np.array2string(scores[i], threshold=6)} in list {i}",
            who=who,
        )
    if transform == "log":
        return scores.with_values(np.log(scores.values))
    values = scores.values
    inside = (values > 0) & (values < 1)
    if not inside.all():
        values = values.copy()
        for i in np.unique(scores.rows[~inside]):
            part = values[scores.offsets[i] : scores.offsets[i + 1]]
            core = part[(part > 0) & (part < 1)]
            np.clip(part, core.min(), core.max(), out=part)
    return scores.with_values(np.log(values) - np.log1p(-values))
