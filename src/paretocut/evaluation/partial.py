"""Values of metrics on lists of which only some results were judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretocut.lists import BoolArray, FloatArray, IntArray, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance.judged import Relevance, learn_from
from paretocut.relevance.scale import Scale

DRAWS = 64


@dataclass(frozen=True)
class Guess:
    """What judged results say about the unjudged ones of the same system."""

    scale: Scale
    model: Relevance

    @classmethod
    def learned_from(cls, lists: RankedLists) -> Guess:
        scale, _, model = learn_from(lists)
        return cls(scale, model)

    def draws(self, lists: RankedLists, seed: int) -> Iterator[BoolArray]:
        """Yield 64 times which results are relevant: as judged, else drawn from the model."""
        assert lists.relevance is not None
        known, hits = lists.judged.values, lists._counts(lists.relevance.values)
        merit, rng = self.scale.apply(lists.merit), np.random.default_rng([seed, 3])
        for drawn in self.model.draws(merit, DRAWS, rng):
            yield np.where(known, hits, drawn)


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
    place in ``query``. Without a guess, the judged results of these lists teach one. ``elsewhere``
    counts the relevant documents that were not retrieved.
    """
    counts = np.bincount(query, minlength=len(lists))[query]
    weight = 1 / (counts * np.unique(query).size)  # queries count alike, and so do their splits
    values, means = np.zeros(k.shape), []
    assert lists.relevance is not None
    grade, known, grades = max(1.0, lists.min_grade), lists.judged.values, lists.relevance
    for hits in (guess or Guess.learned_from(lists)).draws(lists, seed):
        drawn = grades.with_values(np.where(known, grades.values, grade * hits))
        whole = lists.with_relevance(drawn, lists.scores.count(hits) + elsewhere)
        curves = [metric.curves(whole) for metric in metrics]
        one = np.stack([c.values[c.offsets[query] + k[i]] for i, c in enumerate(curves)])
        values += one / DRAWS
        means.append(one @ weight)
    return values, np.std(means, axis=0, ddof=1)
