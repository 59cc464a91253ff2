"""What every method reaches on the judged lists, and a method that learns from the judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from paretocut import metrics
from paretocut.decisions import Cut, Cuts
from paretocut.evaluation import Evaluation
from paretocut.evaluation.protocol import Division, Guess, divided, measured
from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.truncators import Consensus, Oracle, Truncator

CHOICES = ("f1", "f1/collection", "f0.5", "f2", "dcg", "penalized_dcg")
"""Metrics to choose from on the page."""
LEARNED = "learned"
"""Key of the method that learns from the judgements."""

_FOLDS = 5  # also the fewest judged lists on which learning is measured
_EXACT = 1000  # lists whose intervals are those of `evaluate`, to the last digit
_TEACHING = 250_000  # results to learn from, at most; learning from them takes a second


@dataclass(frozen=True)
class HeldOutCuts:
    """Decisions of several models on all lists, and which model decides on each list.

    The last model has learned from all lists.
    """

    of_models: Sequence[Cuts]
    model: IntArray

    @cached_property
    def k(self) -> IntArray:
        """How many results to keep of each list."""
        return np.stack([cuts.k for cuts in self.of_models])[self.model, np.arange(self.model.size)]

    @cached_property
    def warnings(self) -> list[tuple[str, ...]]:
        """Names of the warnings of each decision."""
        return [self.of_models[model].warnings[i] for i, model in enumerate(self.model.tolist())]

    @property
    def different(self) -> int:
        """In how many lists the model that learned from all of them keeps another number."""
        return int(np.count_nonzero(self.of_models[-1].k != self.k))

    def __getitem__(self, i: int) -> Cut:
        return self.of_models[int(self.model[i])][i]


@dataclass(frozen=True)
class Learned:
    """A model learned from the judgements, and the values of all methods.

    In a judged list, `cuts` are those of a model that has learned from other lists; else they are
    those of `truncator`, which has learned from all. `guess` is a model of unjudged results, and
    `judged` has the positions of the judged lists.
    """

    truncator: Truncator
    cuts: HeldOutCuts
    guess: Guess | None
    judged: IntArray
    evaluation: Evaluation


def known_share(lists: RankedLists) -> FloatArray:
    """Return the share of each list that is judged."""
    if lists.relevance is None:
        return np.zeros(len(lists))
    known: FloatArray = lists.judged.count(lists.judged.values) / np.maximum(
        lists.scores.lengths, 1
    )
    return known


def shown_metrics(metric: str) -> dict[str, str]:
    """Return the metrics that are shown: the chosen one, and two that always stand beside it."""
    return {"value": metric, "precision": "precision", "recall": "recall"}


def learned(
    lists: RankedLists,
    elsewhere: IntArray,
    k: Mapping[str, IntArray],
    metric: str,
    fitted: tuple[str, ...],
) -> Learned | None:
    """Learn from the judgements, and measure these cuts and the learned ones on judged lists.

    Returns None if nothing is judged. ``elsewhere`` counts the relevant documents that were not
    retrieved; ``fitted`` names the cuts of models that knew the judgements. It takes a while.
    """
    judged = np.flatnonzero(known_share(lists) > 0)
    if not judged.size:
        return None
    own = _with_missed(lists[judged], elsewhere[judged])
    whole = own.fully_judged
    guess = None if whole else Guess.learned_from(own)
    # A model of lists that are judged completely cannot learn from unjudged ones.
    others = judged[:0] if whole else np.setdiff1d(np.arange(len(lists)), judged)
    most = max(_TEACHING // max(int(lists.scores.lengths.mean()), 1), 2 * _FOLDS)
    compared = {key: numbers[judged] for key, numbers in k.items()}
    division = Division([(judged, np.arange(judged.size))], "no method learned")
    models, model = [], np.zeros(len(lists), dtype=np.int64)
    if judged.size >= _FOLDS:
        division = divided(judged.size, splits=1, folds=_FOLDS, seed=0)
        models = [_model(lists, judged[part], others, most, metric) for part, _ in division.pairs]
        model[:] = _FOLDS
        model[judged[division.query]] = division.split
        if most < judged.size - judged.size // _FOLDS:
            division = replace(division, words=f"{division.words}, learned from {most} lists each")
    models.append(_model(lists, judged, others, most, metric))
    cuts = HeldOutCuts([one.cut_batch(lists) for one in models], model)
    if len(models) > 1:
        compared[LEARNED] = cuts.k[judged]
    if whole:
        compared["oracle"] = Oracle(metric).predict(own)
    evaluation = measured(
        {key: numbers[division.query] for key, numbers in compared.items()},
        own,
        [metrics.get(name) for name in dict.fromkeys(shown_metrics(metric).values())],
        division,
        ceiling=("oracle",) if whole else (),
        baseline=None,
        confidence=0.95,
        resamples=10_000 if judged.size <= _EXACT else 1000,
        seed=0,
        guess=guess,
        elsewhere=elsewhere[judged],
        fitted=fitted,
    )
    return Learned(models[-1], cuts, guess, judged, evaluation)


def _with_missed(lists: RankedLists, elsewhere: IntArray) -> RankedLists:
    """Return the lists with the relevant documents that were not retrieved counted."""
    assert lists.relevance is not None
    hits = lists.relevance.count(lists.is_relevant(lists.relevance.values))
    return lists.with_relevance(lists.relevance, hits + elsewhere)


def _model(
    lists: RankedLists, judged: IntArray, others: IntArray, most: int, metric: str
) -> Consensus:
    """Return a model learned from at most so many lists, the judged ones first."""
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(judged), rng.permutation(others)])
    return Consensus(metric).fit(lists[np.sort(order[:most])])


def curves_of(
    one: RankedLists, elsewhere: int, guess: Guess | None, metric: str
) -> dict[str, FloatArray]:
    """Return three rows for each metric of a list with judgements: its curve, a 95 % interval.

    The guess is needed where some results are not judged.
    """
    draws = [one.relevant.values] if one.fully_judged or guess is None else [*guess.draws(one, 0)]
    found = {}
    for name, known in shown_metrics(metric).items():
        curves = np.stack([metrics.get(known).curve(x, int(x.sum()) + elsewhere) for x in draws])
        ends = np.quantile(curves, [0.025, 0.975], axis=0)
        found[name] = np.vstack([curves.mean(axis=0), ends])
    return found
