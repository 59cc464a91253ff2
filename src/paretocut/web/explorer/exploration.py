"""A run on the page: its lists, the methods that cut them, and judgements made there."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal

import numpy as np

from paretocut import metrics
from paretocut.background import Background
from paretocut.decisions import Cut, Cuts
from paretocut.errors import InvalidParameterError
from paretocut.evaluation import Evaluation
from paretocut.evaluation.protocol import Division, Guess, divided, measured
from paretocut.evaluation.result import DEFAULT
from paretocut.io.trec import CoverageWarning, Qrels, with_qrels
from paretocut.judging import JudgingSession
from paretocut.judging.session import Reading, StoppingRule
from paretocut.lists import BoolArray, FloatArray, IntArray, RankedLists
from paretocut.truncators import Consensus, Oracle, Surprise, Truncator, from_text
from paretocut.truncators.choose import Chosen

LEARNED = "learned"
"""Key of the method that learns from the judgements."""

_NOTE = (
    "On the page, each judged query is cut by a model that learned from the others. This model "
    "learned from all of them, so it keeps another number for {} of these queries."
)
_FOLDS = 5  # also the fewest judged lists on which learning is measured
_EXACT = 1000  # lists whose intervals are those of `evaluate`, to the last digit
_TEACHING = 250_000  # results to learn from, at most; learning from them takes a second


@dataclass(frozen=True)
class Learned:
    """Models learned from the judgements, their decisions on all lists, and all values.

    The last model has learned from all lists. `deciding` says which model decides on each list: in
    a judged one, a model that has learned from others. `guess` is a model of unjudged results, and
    `judged` has the positions of the judged lists.
    """

    models: Sequence[Truncator]
    cuts: Sequence[Cuts]
    deciding: IntArray
    guess: Guess | None
    judged: IntArray
    evaluation: Evaluation

    @cached_property
    def k(self) -> IntArray:
        return _by_model(self.cuts, self.deciding)

    @cached_property
    def warnings(self) -> list[tuple[str, ...]]:
        return [self.cuts[model].warnings[i] for i, model in enumerate(self.deciding.tolist())]

    def __getitem__(self, i: int) -> Cut:
        return self.cuts[int(self.deciding[i])][i]


@dataclass(frozen=True)
class Source:
    """The files a run came from, named as they were given; several runs are fused."""

    runs: tuple[str, ...] = ("run.txt",)  # none: the scores were pasted
    distances: bool = False
    format: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)  # by label
    query_texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Code:
    """A decision in code: an expression that cuts `lists`, and options of ``paretocut cut``."""

    python: str = ""
    options: tuple[str, ...] = ()
    method: str | None = None  # after ``--method``
    lexical: bool = False  # needs the texts of the queries
    model: str | None = None  # the code holds the model itself; the command writes it to this file
    note: str = ""  # a comment above it


@dataclass(frozen=True)
class Method:
    """A way to cut: its key in links, its label on the page, and the same in code."""

    key: str
    label: str
    truncator: Truncator
    kind: Literal["ours", "rival", "model", "learned"]
    code: Code
    fitted: bool = False  # on judgements of these lists, so that its values prove nothing


def _standard_methods() -> list[Method]:
    rule = Code("pc.cut_batch(lists, alpha=0.05)", ("--alpha", "0.05"))
    found = [
        Method(DEFAULT, "Default", Consensus(), "ours", Code("pc.cut_batch(lists)")),
        Method("surprise", "Surprise, p ≤ 0.05", Surprise(alpha=0.05), "ours", rule),
    ]
    for key, label, words in (
        ("first10", "First 10", "fixed_k:k=10"),
        ("upper-half", "Upper half", "minmax:threshold=0.5"),
        ("largest-gap", "Largest gap", "largest_gap"),
        ("autocut", "Autocut", "autocut"),
    ):
        truncator = from_text(words)
        code = Code(f"pc.truncators.{truncator!r}.cut_batch(lists)", method=words)
        found.append(Method(key, label, truncator, "rival", code))
    return found


@dataclass(eq=False)
class Exploration:
    """Ranked lists and the methods that cut them; each method decides once.

    Lists with judgements are for measuring. One more method learns from them; it is measured on
    lists that it has not learned from.
    """

    lists: RankedLists
    name: str = "run"
    models: InitVar[Mapping[str, Truncator | Background] | None] = None
    query_texts: Mapping[str, str] = field(default_factory=dict)  # by id
    doc_texts: Mapping[str, str] = field(default_factory=dict)
    unanswered: Collection[str] = ()  # queries that are known to have no answer
    source: Source = field(default_factory=Source)
    answers: str | os.PathLike[str] | None = None  # file that keeps the judgements
    rule: StoppingRule | None = None  # lists are read from the top until it says stop
    metric: str = "f1"  # that methods are measured and learned by
    lock: Any = field(default_factory=Lock)  # judgements come while views are made
    unlearned: bool = False  # whether there are judgements to learn from
    _decided: dict[str, Cuts | Learned] = field(default_factory=dict)
    _guess: Guess | None = None

    def __post_init__(self, models: Mapping[str, Truncator | Background] | None) -> None:
        self.methods = {method.key: method for method in _standard_methods()}
        for label, model in (models or {}).items():
            method = self._saved(label, model)
            self.methods[method.key] = method
        self._elsewhere = np.zeros(len(self.lists), dtype=np.int64)
        self.none = np.isin(self.lists.query_ids, list(self.unanswered))  # have no answer
        whole = np.flatnonzero(known_share(self.lists) == 1)
        if whole.size:  # relevant documents that were not retrieved count in recall
            own = self.lists[whole]
            self._elsewhere[whole] = own.num_relevant - own.relevant.count(own.relevant.values)
            self.none[whole] |= own.num_relevant == 0
        if self.answers is not None:
            self.take_judgements()
        self.learn(self.learned(self.lists))

    def _saved(self, label: str, model: Truncator | Background) -> Method:
        """Return the method of a saved model; a background gates the default."""
        truncator = Chosen.of("explore", {"model": model}, models=("model",)).truncator
        file, lexical = self.source.models.get(label, f"{label}.json"), truncator.needs_queries
        python = f"pc.cut_batch(lists, truncator={file!r})"
        if lexical:
            python = f"pc.load({file!r}).cut_batch(lists, queries=queries)"
            unknown = [name for name in self.lists.query_ids if name not in self.query_texts]
            if unknown:
                raise InvalidParameterError(
                    f"the model {label} was calibrated for lexical scores and needs the "
                    f"text of every query, got none for {len(unknown)}, such as {unknown[0]}",
                    who="explore",
                )
        code = Code(python, ("--model", file), lexical=lexical)
        fitted = truncator.learned_from(self.lists)
        return Method(f"model-{label}", label, truncator, "model", code, fitted)

    def cuts(self, key: str) -> Cuts | Learned:
        if key not in self._decided:
            truncator = self.methods[key].truncator
            self._decided[key] = truncator.cut_batch(self.lists, queries=self.queries)
        return self._decided[key]

    def method(self, key: str) -> Method:
        if key not in self.methods:
            raise InvalidParameterError(
                f"method must be one of {', '.join(self.methods)}, got {key!r}", who="explore"
            )
        return self.methods[key]

    @cached_property
    def queries(self) -> list[str] | None:
        """The texts of all queries; None if one is unknown."""
        names: list[str] = self.lists.query_ids.tolist()
        known = [self.query_texts[name] for name in names if name in self.query_texts]
        return known if len(known) == len(names) else None

    @property
    def measured(self) -> IntArray:
        """Positions of the lists with judgements."""
        return np.empty(0, dtype=np.int64) if self._learned is None else self._learned.judged

    @property
    def evaluation(self) -> Evaluation | None:
        """The values of the methods on the measured lists, by their keys."""
        return None if self._learned is None else self._learned.evaluation

    def curves_of(self, i: int) -> dict[str, FloatArray]:
        """Return three rows for each metric of a list with judgements: curve, 95 % interval."""
        one, found = self.lists[i : i + 1], {}
        known = known_share(one)[0]
        if known == 0:
            return {}
        if known == 1:
            draws = [one.relevant.values]
        else:
            self._guess = self._guess or Guess.learned_from(one)
            draws = [*self._guess.draws(one, 0)]
        for name, own in shown_metrics(self.metric).items():
            number = [int(x.sum() + self._elsewhere[i]) for x in draws]
            curve = metrics.get(own).curve
            curves = np.stack([curve(x, n) for x, n in zip(draws, number, strict=True)])
            ends = np.quantile(curves, [0.025, 0.975], axis=0)
            found[name] = np.vstack([curves.mean(axis=0), ends])
        return found

    def values(self, key: str, metric: str | None = None) -> FloatArray:
        """Return a metric of a method on each list, NaN where it is not measured."""
        found = np.full(len(self.lists), np.nan)
        if self.evaluation is not None and key in self.evaluation.truncators:
            found[self.measured] = self.evaluation.per_query(metric or self.metric, key)
        return found

    def measure_by(self, metric: str) -> None:
        """Measure by another metric from the next `learn` on."""
        name = metrics.get(metric).name
        if name != self.metric:
            self.metric, self.unlearned = name, True

    def best_scores(self) -> tuple[FloatArray, FloatArray]:
        """Return sorted best scores of judged queries with an answer, and of those without.

        Higher is better in both.
        """
        merit, (top, _) = self.lists.merit, self.lists.merit.ends()
        groups = ((known_share(self.lists) > 0) & ~self.none, self.none)
        answered, none = (np.sort(top[merit.filled & group]) for group in groups)
        return answered, none

    @cached_property
    def disagreement(self) -> FloatArray:
        """Doublings between the shortest and the longest cut of each list."""
        k = np.stack([self.cuts(key).k for key in self.methods])
        spread: FloatArray = np.log2(1 + k.max(axis=0)) - np.log2(1 + k.min(axis=0))
        return spread

    # Judgements.

    @property
    def judged(self) -> BoolArray:
        """Whether each result of all lists is judged."""
        if self.lists.relevance is None:
            return np.zeros(self.lists.scores.values.size, dtype=bool)
        return self.lists.judged.values

    @cached_property
    def session(self) -> JudgingSession:
        """All judgements of the page, and the next question."""
        rule = None if self.rule is None else repr(self.rule)
        return JudgingSession(self.lists, path=self.answers, rule=rule)

    @cached_property
    def asking(self) -> JudgingSession | Reading:
        """Who puts the questions: the plan, or a rule that reads down the lists."""
        return self.session if self.rule is None else Reading(self.session, self.rule)

    def judge(self, i: int, rank: int, relevant: bool | None) -> None:
        """Judge one result; None takes the judgement back."""
        self.session.judge(i, rank, relevant)
        self.__dict__.pop("asking", None)
        self.take_judgements()

    def take_judgements(self) -> None:
        self.lists = self.session.lists
        self.unlearned = True

    def learned(self, lists: RankedLists) -> Learned | None:
        """Learn from judgements, and measure all cuts on judged lists; None if nothing is judged.

        It takes a while. A judged list is cut by a model that has learned from other lists.
        """
        judged = np.flatnonzero(known_share(lists) > 0)
        if not judged.size:
            return None
        own, elsewhere = lists[judged], self._elsewhere[judged]
        assert own.relevance is not None
        hits = own.relevance.count(own.is_relevant(own.relevance.values))
        own = own.with_relevance(own.relevance, hits + elsewhere)  # also those not retrieved
        whole = own.fully_judged
        guess = None if whole else Guess.learned_from(own)
        # A model of lists that are judged completely cannot learn from unjudged ones.
        others = judged[:0] if whole else np.setdiff1d(np.arange(len(lists)), judged)
        most = max(_TEACHING // max(int(lists.scores.lengths.mean()), 1), 2 * _FOLDS)
        division = Division([(judged, np.arange(judged.size))], "no method learned")
        parts, deciding = [judged], np.zeros(len(lists), dtype=np.int64)
        if judged.size >= _FOLDS:
            division = divided(judged.size, splits=1, folds=_FOLDS, seed=0)
            parts = [*(judged[part] for part, _ in division.pairs), judged]
            deciding[:] = _FOLDS
            deciding[judged[division.query]] = division.split
            if most < judged.size - judged.size // _FOLDS:
                words = f"{division.words}, learned from {most} lists each"
                division = replace(division, words=words)
        models = [_taught(lists, part, others, most, self.metric) for part in parts]
        cuts = [model.cut_batch(lists) for model in models]
        compared = {key: self.cuts(key).k[judged] for key in self.methods if key != LEARNED}
        if len(models) > 1:
            compared[LEARNED] = _by_model(cuts, deciding)[judged]
        if whole:
            compared["oracle"] = Oracle(self.metric).predict(own)
        evaluation = measured(
            {key: numbers[division.query] for key, numbers in compared.items()},
            own,
            [metrics.get(name) for name in dict.fromkeys(shown_metrics(self.metric).values())],
            division,
            ceiling=("oracle",) if whole else (),
            baseline=None,
            confidence=0.95,
            resamples=10_000 if judged.size <= _EXACT else 1000,
            seed=0,
            guess=guess,
            elsewhere=elsewhere,
            fitted=tuple(key for key, method in self.methods.items() if method.fitted),
        )
        return Learned(models, cuts, deciding, guess, judged, evaluation)

    def learn(self, found: Learned | None) -> None:
        """Take in a model learned from the judgements; None forgets it."""
        self._learned = found
        self._guess = None if found is None else found.guess
        self.unlearned = False
        self.methods.pop(LEARNED, None)
        self._decided.pop(LEARNED, None)
        self.__dict__.pop("disagreement", None)
        if found is not None:
            different = np.count_nonzero(found.cuts[-1].k != found.k)
            note = _NOTE.format(different) if different else ""
            code = Code(model="paretocut-learned.json", note=note)
            label = "Learned Consensus"
            self.methods[LEARNED] = Method(LEARNED, label, found.models[-1], "learned", code)
            self._decided[LEARNED] = found


def known_share(lists: RankedLists) -> FloatArray:
    if lists.relevance is None:
        return np.zeros(len(lists))
    known = lists.judged.count(lists.judged.values)
    return np.asarray(known / np.maximum(lists.scores.lengths, 1))


def shown_metrics(metric: str) -> dict[str, str]:
    """Return the metrics that are shown: the chosen one, and two that always stand beside it."""
    return {"value": metric, "precision": "precision", "recall": "recall"}


def _by_model(cuts: Sequence[Cuts], deciding: IntArray) -> IntArray:
    """Return how many results to keep of each list, as its model decides."""
    return np.stack([own.k for own in cuts])[deciding, np.arange(deciding.size)]


def _taught(
    lists: RankedLists, judged: IntArray, others: IntArray, most: int, metric: str
) -> Consensus:
    """Return a model learned from at most so many lists, the judged ones first."""
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(judged), rng.permutation(others)])
    return Consensus(metric).fit(lists[np.sort(order[:most])])


def with_all_queries(lists: RankedLists, qrels: Qrels, **how: Any) -> RankedLists:
    """Return the lists with their judgements as `with_qrels` does; queries without any stay."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        judged = with_qrels(lists, qrels, **how)
    for warning in caught:
        told = warning.message
        if isinstance(told, CoverageWarning) and told.missing:  # the others are not left out
            warnings.warn(CoverageWarning((), told.missing, False), stacklevel=2)
    kept = np.isin(lists.query_ids, judged.query_ids)
    if judged.relevance is None or kept.all():
        return judged
    grades = np.full(lists.scores.values.size, np.nan)
    grades[lists.scores.spread(kept)] = judged.relevance.values
    number = np.zeros(len(lists), dtype=np.int64)
    if judged.fully_judged:
        number[kept] = judged.num_relevant
    return lists.with_relevance(lists.scores.with_values(grades), number)
