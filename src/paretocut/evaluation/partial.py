"""Values of metrics on lists of which only some results were judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance.judged import Relevance, learn_from
from paretocut.relevance.scale import Scale

_DRAWS = 64


@dataclass(frozen=True)
class Guess:
    """What judged results say about the unjudged ones of the same system."""

    scale: Scale
    model: Relevance

    @classmethod
    def learned_from(cls, lists: RankedLists) -> Guess:
        scale, _, model = learn_from(lists)
        return cls(scale, model)

    def draws(
        self, lists: RankedLists, seed: int, elsewhere: IntArray | int = 0
    ) -> Iterator[RankedLists]:
        """Yield the lists 64 times, the relevance of unjudged results drawn from the model.

        Its coefficients are drawn too; judgements count as they are. ``elsewhere`` is the number
        of relevant documents that were not retrieved.
        """
        merit = self.scale.apply(lists.merit)
        assert lists.relevance is not None
        known, grades = lists.judged.values, lists.relevance.values
        rng = np.random.default_rng([seed, 3])
        for _ in range(_DRAWS):
            drawn = np.where(self.model.drawn(merit, rng), max(1.0, lists.min_grade), 0.0)
            whole = merit.with_values(np.where(known, grades, drawn))
            hits = whole.count(lists._counts(whole.values))
            yield lists.with_relevance(whole, hits + elsewhere)


def estimated(
    lists: RankedLists,
    metrics: Sequence[Metric],
    query: IntArray,
    k: IntArray,
    seed: int,
    *,
    guess: Guess | None = None,
    elsewhere: IntArray | int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Return the expected metric of each cut, and how uncertain the mean over queries is.

    ``query`` says which list each cut belongs to; ``k`` has the cuts by metric, truncator and
    place in ``query``. Without a guess, the judged results of these lists teach one.
    """
    counts = np.bincount(query, minlength=len(lists))[query]
    weight = 1 / (counts * np.unique(query).size)  # queries count alike, and so do their splits
    values, means = np.zeros(k.shape), []
    for whole in (guess or Guess.learned_from(lists)).draws(lists, seed, elsewhere):
        curves = [metric.curves(whole) for metric in metrics]
        one = np.stack([c.values[c.offsets[query] + k[i]] for i, c in enumerate(curves)])
        values += one / _DRAWS
        means.append(one @ weight)
    return values, np.std(means, axis=0, ddof=1)
