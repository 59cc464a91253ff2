"""What the judgements of a run teach, and what every method reaches on the judged lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut.decisions import Cuts
from paretocut.evaluation import Evaluation
from paretocut.evaluation.partial import Guess, estimated
from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.truncators import Consensus, Oracle, Truncator

METRICS = ("f1", "precision", "recall")
LEARNED = "learned"
"""Key of the method that learns from the judgements."""

_FOLDS = 5  # also the fewest judged lists on which learning is measured
_TEACHING = 250_000  # results that teach, at most; learning from them takes a second


@dataclass(frozen=True)
class Taught:
    """What the judgements of some lists teach.

    In a judged list, `cuts` are those of a model that has learned from other lists; else they are
    those of `truncator`, which has learned from all. `guess` speaks of results without a judgement.
    """

    truncator: Truncator
    cuts: Cuts
    guess: Guess | None
    measured: IntArray
    evaluation: Evaluation


@dataclass(frozen=True)
class _Folds:
    """Evidence of several models, each of which decided on some of the lists."""

    cuts: Sequence[Cuts]
    by: IntArray
    tails: None = None

    def because(self, i: int, k: int) -> str:
        return self.cuts[int(self.by[i])]._evidence.because(i, k)


def known_share(lists: RankedLists) -> FloatArray:
    """Return the share of each list that is judged."""
    if lists.relevance is None:
        return np.zeros(len(lists))
    known: FloatArray = lists.judged.count(lists.judged.values) / np.maximum(
        lists.scores.lengths, 1
    )
    return known


def teach(lists: RankedLists, elsewhere: IntArray, k: Mapping[str, IntArray]) -> Taught | None:
    """Return what the judgements teach, and what these and the learned cuts reach.

    ``elsewhere`` counts the relevant documents that were not retrieved. It takes a while.
    """
    known = known_share(lists)
    measured = np.flatnonzero(known > 0)
    if not measured.size:
        return None
    folds = _FOLDS if measured.size >= _FOLDS else 0
    rng = np.random.default_rng(0)
    judged = rng.permutation(measured)
    order = np.concatenate([judged, rng.permutation(np.flatnonzero(known == 0))])
    fold = np.full(len(lists), folds)  # the last model learns from all, and decides on the others
    fold[judged] = np.arange(judged.size) % folds if folds else 0
    most = max(_TEACHING // max(int(lists.scores.lengths.mean()), 1), 2 * _FOLDS)
    models = [
        Consensus().fit(lists[np.sort(order[fold[order] != own][:most])]) for own in range(folds)
    ]
    models.append(Consensus().fit(lists[np.sort(order[:most])]))
    cuts = _joined([model.cut_batch(lists) for model in models], fold)
    part = np.flatnonzero((known > 0) & (known < 1))
    guess = Guess.learned_from(lists[part]) if part.size else None
    if folds:
        k = {**k, LEARNED: cuts.k}
    evaluation = _evaluation(lists, elsewhere, k, measured, part, guess)
    return Taught(models[-1], cuts, guess, measured, evaluation)


def _joined(cuts: Sequence[Cuts], by: IntArray) -> Cuts:
    """Return the decision on each list of one of several models."""
    rows = np.arange(by.size)
    k, free = (np.stack([getattr(c, name) for c in cuts])[by, rows] for name in ("k", "unbounded"))
    return replace(cuts[-1], k=k, unbounded=free, _evidence=_Folds(cuts, by))


def whole_lists(lists: RankedLists, elsewhere: IntArray) -> RankedLists:
    """Return lists of which all is judged, with all relevant documents counted."""
    assert lists.relevance is not None
    hits = lists.relevance.count(lists._counts(lists.relevance.values))
    return lists.with_relevance(lists.relevance, hits + elsewhere)


def curves_of(one: RankedLists, elsewhere: int, guess: Guess | None) -> dict[str, FloatArray]:
    """Return three rows for each metric of a list with judgements: its curve, a 95 % interval.

    The guess is needed where some results are not judged.
    """
    draws = [one.relevant.values] if one.fully_judged or guess is None else [*guess.draws(one, 0)]
    found = {}
    for name in METRICS:
        curves = np.stack([metrics.get(name).curve(x, int(x.sum()) + elsewhere) for x in draws])
        ends = np.quantile(curves, [0.025, 0.975], axis=0)
        found[name] = np.vstack([curves.mean(axis=0), ends])
    return found


def _evaluation(
    lists: RankedLists,
    elsewhere: IntArray,
    k: Mapping[str, IntArray],
    measured: IntArray,
    part: IntArray,
    guess: Guess | None,
) -> Evaluation:
    """Return what cuts reach: exactly where all is judged, with the best cut, else estimated."""
    functions = [metrics.get(name) for name in METRICS]
    whole = np.setdiff1d(measured, part)
    judged = whole_lists(lists[whole], elsewhere[whole])
    best = np.zeros(len(lists), dtype=np.int64)
    best[whole] = Oracle("f1").predict(judged)
    rows = np.stack([*k.values(), best][: None if not part.size else -1])
    values = np.empty((len(METRICS), *rows.shape))
    for row, function in zip(values, functions, strict=True):
        curves = function.curves(judged)
        row[:, whole] = curves.values[curves.offsets[:-1] + rows[:, whole]]
    unknown = None
    if part.size:
        values[:, :, part], error = estimated(
            lists[part],
            functions,
            np.arange(part.size),
            np.broadcast_to(rows[:, part], (len(METRICS), len(rows), part.size)),
            0,
            guess=guess,
            elsewhere=elsewhere[part],
        )
        unknown = error * part.size / measured.size
    settings: dict[str, Any] = {"confidence": 0.95, "resamples": 1000, "seed": 0}
    return Evaluation(
        truncators=(*k, "oracle")[: len(rows)],
        metrics=METRICS,
        ceiling=() if part.size else ("oracle",),
        protocol=f"1 x {_FOLDS}-fold cross-validation",
        baseline=None,
        query_ids=tuple(lists.query_ids[measured].tolist()),
        query=np.arange(measured.size),
        split=np.zeros(measured.size, dtype=np.int64),
        k=np.broadcast_to(rows[:, measured], (len(METRICS), len(rows), measured.size)),
        values=values[:, :, measured],
        unknown=unknown,
        **settings,
    )
