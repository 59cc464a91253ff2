"""Lexical scores: whether they are noticed, and nonsense that is longer than eight words."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.calibrate.searches import Asked
from experiments.texts import documents
from paretocut.background import Background, QueryScale
from paretocut.background.query_scale import words
from paretocut.calibration.calibrating import is_lexical

__all__ = ["measure", "noticed"]

_SAMPLE = 300
_LONG = 8


def noticed(asked: dict[str, dict[str, Asked]]) -> dict[str, bool]:
    """Return whether the scores of each collection are taken for lexical ones."""
    return {name: is_lexical(k["short"].lists, k["long"].lists) for name, k in asked.items()}


def measure(asked: dict[str, dict[str, Asked]]) -> dict[str, dict[str, Any]]:
    """Return the balanced error of BM25 by length of the nonsense.

    ``unscaled`` is without the weight of the words, as if the scores were dense. ``long`` counts
    only questions of more than eight words.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, kinds in asked.items():
        texts = list(documents(name).values())
        rng = np.random.default_rng(0)
        sample = [texts[i] for i in rng.permutation(len(texts))[:_SAMPLE]]
        scale = QueryScale.from_texts(sample)
        row = {"unscaled": _error(kinds, "nonsense", None)}
        for length, kind in ((8, "lexical"), (16, "lexical 16"), (32, "lexical 32")):
            row[str(length)] = _error(kinds, kind, scale)
            row[f"{length} long"] = _error(kinds, kind, scale, _LONG)
        rows[name] = row
    return rows


def _error(
    kinds: dict[str, Asked], null: str, scale: QueryScale | None, least: int = 0
) -> float | None:
    """Return the balanced error on questions of more than ``least`` words."""

    def tops(kind: str) -> Any:
        best = np.array([x[0] if x.size else 0.0 for x in kinds[kind].lists])
        return best if scale is None else best / scale(kinds[kind].texts)

    def long(kind: str) -> Any:
        return np.array([len(words(text)) > least for text in kinds[kind].texts])

    if long("good").sum() < 10:
        return None
    limit = Background.fit(tops(null)[tops(null) > 0]).limit(0.05)
    lost = np.mean(tops("good")[long("good")] < limit)
    passed = np.mean(tops("other")[long("other")] >= limit)
    return float(lost + passed) / 2
