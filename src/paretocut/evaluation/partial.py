"""Values of metrics on lists of which only some results were judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance.judged import learn_from

_DRAWS = 64


def estimated(
    lists: RankedLists, metrics: Sequence[Metric], query: IntArray, k: IntArray, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the expected metric of each cut, and how uncertain the mean over queries is.

    ``query`` says which list each cut belongs to; ``k`` has the cuts by metric, truncator and
    place in ``query``. Unjudged relevance is drawn 64 times from the model that the judged results
    teach, its coefficients included; judgements count as they are.
    """
    _, merit, model = learn_from(lists)
    assert lists.relevance is not None
    known, grades = lists.judged.values, lists.relevance.values
    rng = np.random.default_rng([seed, 3])
    counts = np.bincount(query, minlength=len(lists))[query]
    weight = 1 / (counts * np.unique(query).size)  # queries count alike, and so do their splits
    values, means = np.zeros(k.shape), []
    for _ in range(_DRAWS):
        drawn = np.where(model.drawn(merit, rng), max(1.0, lists.min_grade), 0.0)
        whole = lists.with_relevance(merit.with_values(np.where(known, grades, drawn)))
        curves = [metric.curves(whole) for metric in metrics]
        one = np.stack([c.values[c.offsets[query] + k[i]] for i, c in enumerate(curves)])
        values += one / _DRAWS
        means.append(one @ weight)
    return values, np.std(means, axis=0, ddof=1)
