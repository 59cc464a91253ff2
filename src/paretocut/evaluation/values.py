"""Values of cuts: exact for lists that are judged completely, estimated for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretocut.lists import BoolArray, FloatArray, IntArray, RankedLists
from paretocut.metrics import Metric
from paretocut.relevance import Relevance, Scale, learn_from

DRAWS = 64


@dataclass(frozen=True)
class Guess:
    """A model of the unjudged results, learned from judged results of the same system."""

    scale: Scale
    model: Relevance

    @classmethod
    def learned_from(cls, lists: RankedLists) -> Guess:
        scale, _, model = learn_from(lists)
        return cls(scale, model)

    def draws(self, lists: RankedLists, seed: int) -> Iterator[BoolArray]:
        """Yield 64 times which results are relevant: as judged, else drawn from the model."""
        assert lists.relevance is not None
        known, hits = lists.judged.values, lists.is_relevant(lists.relevance.values)
        merit, rng = self.scale.apply(lists.merit), np.random.default_rng([seed, 3])
        for drawn in self.model.draws(merit, DRAWS, rng):
            yield np.where(known, hits, drawn)


def values_of(
    lists: RankedLists,
    metrics: Sequence[Metric],
    query: IntArray,
    k: IntArray,
    seed: int,
    *,
    guess: Guess | None = None,
    elsewhere: IntArray | None = None,
) -> tuple[FloatArray, FloatArray | None]:
    """Return the metric of each cut, and the standard errors of the means due to unjudged results.

    ``query`` is the position of the list of each cut; ``k`` has the cuts by metric, truncator and
    place in ``query``. In lists judged in part, ``elsewhere`` relevant documents were not retrieved
    (by default none), and the guess is learned from all lists unless it is given.
    """
    if lists.fully_judged:
        return _at_cuts(lists, metrics, query, k), None
    part = lists.scores.count(~lists.judged.values) > 0
    guessed = part[query]
    place = np.where(part, np.cumsum(part), np.cumsum(~part)) - 1
    values = np.empty(k.shape)
    exact = query[~guessed]
    values[..., ~guessed] = _at_cuts(lists[~part], metrics, place[exact], k[..., ~guessed])
    values[..., guessed], error = _estimated(
        lists[part],
        metrics,
        place[query[guessed]],
        k[..., guessed],
        (guess or Guess.learned_from(lists)).draws(lists[part], seed),
        0 if elsewhere is None else elsewhere[part],
    )
    share = np.unique(query[guessed]).size / np.unique(query).size
    return values, error * share


def _at_cuts(
    lists: RankedLists, metrics: Sequence[Metric], query: IntArray, k: IntArray
) -> FloatArray:
    curves = [metric.curves(lists) for metric in metrics]
    return np.stack([c.values[c.offsets[query] + k[i]] for i, c in enumerate(curves)])


def _estimated(
    lists: RankedLists,
    metrics: Sequence[Metric],
    query: IntArray,
    k: IntArray,
    draws: Iterator[BoolArray],
    elsewhere: IntArray | int,
) -> tuple[FloatArray, FloatArray]:
    """Return the expected metric of each cut, and the standard errors of the means over queries."""
    counts = np.bincount(query, minlength=len(lists))[query]
    weight = 1 / (counts * np.unique(query).size)  # queries count alike, and so do their splits
    values, means = np.zeros(k.shape), []
    assert lists.relevance is not None
    grade, known, grades = max(1.0, lists.min_grade), lists.judged.values, lists.relevance
    for hits in draws:
        drawn = grades.with_values(np.where(known, grades.values, grade * hits))
        whole = lists.with_relevance(drawn, lists.scores.count(hits) + elsewhere)
        one = _at_cuts(whole, metrics, query, k)
        values += one / DRAWS
        means.append(one @ weight)
    return values, np.std(means, axis=0, ddof=1)
