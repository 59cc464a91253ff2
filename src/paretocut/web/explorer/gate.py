"""A gate chosen by eye: the best scores of queries with and without an answer, and its code."""

from __future__ import annotations

from typing import Any

import numpy as np

from paretocut.background import Background, fit_gev
from paretocut.background.law import Groups
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray
from paretocut.schema.parameters import check_real
from paretocut.truncators import Consensus, Gated
from paretocut.web.explorer.copied import Code, as_code
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.measuring import known_share

_FEWEST = 10  # to learn a law from


def gate_view(run: Exploration) -> dict[str, Any] | None:
    """Return the best scores of both groups, and the threshold that divides them best."""
    answered, none = _tops(run)
    if not answered.size or not none.size:
        return None
    tops = np.unique(np.concatenate([answered, none]))
    kept = 1 - np.searchsorted(answered, tops) / answered.size
    refused = np.searchsorted(none, tops) / none.size
    at = int(np.argmax(kept + refused))
    threshold = float(tops[max(at - 1, 0) : at + 1].mean())
    sign = _sign(run)
    return {
        "threshold": sign * threshold,
        "answered": (sign * answered).tolist(),
        "unanswered": (sign * none).tolist(),
    }


def gate_code(run: Exploration, key: str, threshold: float) -> dict[str, Any]:
    """Return a method behind a gate at this best score, as code and as a model."""
    method, (answered, none), sign = run.method(key), _tops(run), _sign(run)
    check_real(threshold, who="gate", name="threshold")
    if none.size < _FEWEST:
        raise InvalidParameterError(
            f"gate: queries without an answer must be at least {_FEWEST}, got {none.size}"
        )
    law = fit_gev(none)
    groups = Groups(
        share=none.size / (none.size + answered.size),
        null_mean=float(none.mean()),
        null_spread=max(float(none.std()), 1e-9),
        mean=float(answered.mean()),
        spread=max(float(answered.std()), 1e-9),
        threshold=sign * threshold,
    )
    background = Background(*law, higher_is_better=sign > 0, groups=groups)
    base = Consensus() if isinstance(method.truncator, Gated) else method.truncator
    gated = Gated(base, background, alpha=None)
    return as_code(
        run.source, run.lists, Code(model="paretocut-gate.json", note=method.code.note), gated
    )


def _sign(run: Exploration) -> float:
    return 1.0 if run.lists.higher_is_better else -1.0


def _tops(run: Exploration) -> tuple[FloatArray, FloatArray]:
    """Return the best scores of judged queries with an answer, and of those without; sorted."""
    merit, judged = run.lists.merit, known_share(run.lists) > 0
    top, _ = merit.ends()
    groups = (judged & ~run.none, run.none)
    answered, none = (np.sort(top[merit.filled & group]) for group in groups)
    return answered, none
