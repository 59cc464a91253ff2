"""How truncators are compared: held-out queries, one task for each truncator and split."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, TypeAlias

import numpy as np

from paretocut import metrics as metric_functions
from paretocut import truncators as registry
from paretocut.errors import (
    InvalidParameterError,
    InvalidScoresError,
    MissingExtraError,
    ParetocutError,
)
from paretocut.evaluation.result import DEFAULT, Evaluation
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import Metric, MetricLike
from paretocut.relevance import Relevance, Scale, learn_from
from paretocut.schema.kinds import Instance
from paretocut.schema.parameters import check_int, check_positive_int, check_probability, shown
from paretocut.truncators import Consensus, Oracle, Truncator

Rule: TypeAlias = Callable[[RankedLists], Any]
TruncatorsLike: TypeAlias = Mapping[str, Truncator | str | Rule] | Sequence[Truncator | str | Rule]

_DRAWS = 64


class _Function(Truncator):
    """A function of lists as a truncator, which learns nothing."""

    parameters: ClassVar = {"function": Instance(object)}

    def __init__(self, function: Rule) -> None:
        self.function = function

    def decide(self, lists: RankedLists) -> Any:
        return self.function(lists)


def evaluate(
    truncators: TruncatorsLike,
    lists: RankedLists,
    metrics: Sequence[MetricLike] = ("f1", "penalized_dcg"),
    *,
    splits: int = 5,
    train: float = 0.8,
    folds: int | None = None,
    test: RankedLists | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | Callable[[], object] = False,
) -> Evaluation:
    """Return how well each truncator cuts lists it has not learned from.

    For each metric, every truncator with a ``metric`` parameter is cloned with that metric, fitted
    to the training part of each split, and used to cut the test part. The `Oracle` is added as the
    ceiling.

    Parameters
    ----------
    truncators
        Truncators by name, or a sequence of truncators (named by their repr), of short names that
        `truncators.make` knows, and of functions of `RankedLists` that return how many results of
        each list to keep. "default" is `paretocut.cut_batch` without options, which learns nothing.
    lists
        Judged lists. The values of lists judged in part are estimates: the relevance of unjudged
        results is drawn from a model, which widens the intervals. There is then no ceiling and no
        baseline, and truncators that need full judgements refuse such lists.
    metrics
        Names, metrics or functions; see `paretocut.metrics.get`.
    splits, train
        How many random splits, and the share of the queries to train on in each.
    folds
        Cross-validation with this many folds, ``splits`` times, instead of random splits.
    test
        Test lists. If given, all of ``lists`` are used for training, once, and nothing is split.
    baseline
        Name of the truncator that the others are tested against; None for no tests.
    confidence, resamples, seed
        Coverage of the intervals, draws of the bootstrap and of the test, seed of all.
    n_jobs
        How many processes share the work. The result does not depend on it. Processes are
        spawned, so a script must keep its calls under ``if __name__ == "__main__":``.
    progress
        Show a progress bar on standard error, if that is a terminal and tqdm is installed; or a
        function that is called before each fit, and can end the work by raising an exception.

    Examples
    --------
    >>> lists = RankedLists([[3.0, 2.0, 1.0], [3.0, 1.0, 0.5]] * 20, [[1, 1, 0], [1, 0, 0]] * 20)
    >>> result = evaluate(["global_k", "raw"], lists, ["f1"], folds=2)
    >>> result["f1", "raw"].mean > result["f1", "global_k"].mean
    True
    """
    judged = lists if test is None else test
    whole = isinstance(judged, RankedLists) and judged.fully_judged
    chosen = _named(truncators, ceiling=whole)
    measures = _measures(metrics)
    _check_lists(lists, chosen, "lists")
    if test is not None:
        _check_lists(test, chosen, "test")
    if baseline is not None and not (whole and isinstance(baseline, str) and baseline in chosen):
        allowed = f"one of {', '.join(chosen)}"
        if not whole:
            allowed = "None for lists judged in part, because estimates cannot be tested"
        raise _refused(f"baseline must be {allowed}, got {shown(baseline)}")
    check_probability(confidence, who="evaluate", name="confidence")
    check_int(seed, who="evaluate", name="seed")
    for name, number in {"resamples": resamples, "splits": splits, "n_jobs": n_jobs}.items():
        check_positive_int(number, who="evaluate", name=name)

    if test is None:
        division = divided(len(lists), splits=splits, train=train, folds=folds, seed=seed)
    else:
        division = Division([(np.arange(len(lists)), np.arange(len(test)))], "given test lists")
    pairs = division.pairs
    cuts = dict(_run(_Work(chosen, measures, lists, judged, pairs), n_jobs, progress))
    return measured(
        {name: np.hstack([cuts[split, name] for split in range(len(pairs))]) for name in chosen},
        judged,
        measures,
        division,
        ceiling=tuple(name for name, item in chosen.items() if isinstance(item, Oracle)),
        baseline=baseline,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )


@dataclass(frozen=True)
class Division:
    """Positions of the training and test lists of each split, and how they were divided."""

    pairs: Sequence[tuple[IntArray, IntArray]]
    words: str

    @property
    def query(self) -> IntArray:
        return np.concatenate([held_out for _, held_out in self.pairs])

    @property
    def split(self) -> IntArray:
        return np.repeat(np.arange(len(self.pairs)), [len(test) for _, test in self.pairs])


def divided(n: int, *, splits: int, train: float = 0.8, folds: int | None, seed: int) -> Division:
    """Return random splits of n lists, or with ``folds`` repeated cross-validations."""
    # Empty lists named by position, divided by the same rules as any lists.
    index = RankedLists(Ragged(np.empty(0), np.zeros(n + 1, dtype=np.int64)))
    seeds = np.random.SeedSequence(seed).generate_state(splits).tolist()
    if folds is None:
        parts = [index.split(train, seed=own) for own in seeds]
        words = f"{splits} random splits, {100 * train:g} % for training"
    else:
        parts = [pair for own in seeds for pair in index.folds(folds, seed=own)]
        words = f"{splits} x {folds}-fold cross-validation"
    names = [(learn.query_ids, held_out.query_ids) for learn, held_out in parts]
    return Division([(a.astype(np.int64), b.astype(np.int64)) for a, b in names], words)


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
        for drawn in self.model.draws(merit, _DRAWS, rng):
            yield np.where(known, hits, drawn)


def measured(
    cuts: Mapping[str, IntArray],
    lists: RankedLists,
    metrics: Sequence[Metric],
    division: Division,
    *,
    seed: int,
    guess: Guess | None = None,
    elsewhere: IntArray | None = None,
    **known: Any,
) -> Evaluation:
    """Return the values of these cuts: one number for each test list, or one row per metric.

    In lists judged in part, ``elsewhere`` relevant documents were not retrieved (by default none),
    and the guess is learned from all lists unless it is given. ``known`` are other fields of the
    result.
    """
    query, protocol = division.query, division.words
    rows = [np.broadcast_to(own, (len(metrics), query.size)) for own in cuts.values()]
    k = np.stack(rows, axis=1)
    values, unknown = _values_of(lists, metrics, query, k, seed, guess, elsewhere)
    if unknown is not None:
        judged = lists.judged.values
        protocol += f", estimated from {np.count_nonzero(judged)} judged of {judged.size} results"
    tested, position = np.unique(query, return_inverse=True)
    return Evaluation(
        truncators=tuple(cuts),
        metrics=tuple(metric.name for metric in metrics),
        protocol=protocol,
        seed=seed,
        query_ids=tuple(lists.query_ids[tested].tolist()),
        query=position.astype(np.int64),
        split=division.split,
        k=k,
        values=values,
        unknown=unknown,
        unanswered=lists.num_relevant[tested] == 0 if lists.fully_judged else None,
        **known,
    )


def _values_of(
    lists: RankedLists,
    metrics: Sequence[Metric],
    query: IntArray,
    k: IntArray,
    seed: int,
    guess: Guess | None,
    elsewhere: IntArray | None,
) -> tuple[FloatArray, FloatArray | None]:
    """Return the metric of each cut, and the standard errors of the means due to unjudged results.

    ``k`` has the cuts by metric, truncator and place in ``query``, the position of their lists.
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
        values += one / _DRAWS
        means.append(one @ weight)
    return values, np.std(means, axis=0, ddof=1)


@dataclass(frozen=True)
class _Work:
    """One task is a truncator on a split, for all metrics."""

    truncators: dict[str, Truncator]
    metrics: tuple[Metric, ...]
    lists: RankedLists
    judged: RankedLists
    pairs: Sequence[tuple[IntArray, IntArray]]

    def cuts(self, split: int, name: str) -> IntArray:
        (learn, held_out), truncator = self.pairs[split], self.truncators[name]
        train, test = self.lists[learn], self.judged[held_out]
        named = [name for name in truncator.get_params() if name.split("__")[-1] == "metric"]
        try:
            rows = []
            for metric in self.metrics if named else [None]:
                own = truncator.clone().set_params(**dict.fromkeys(named, metric))
                rows.append(own.fit(train).predict(test))
        except MissingExtraError:
            raise  # its message has the pip line, and the split does not matter
        except Exception as error:
            raise ParetocutError(
                f"evaluate: truncator {name!r} failed on split {split + 1} of {len(self.pairs)}: "
                f"{error}"
            ) from error
        return np.broadcast_to(rows, (len(self.metrics), len(test)))


def _run(
    work: _Work, n_jobs: int, progress: bool | Callable[[], object]
) -> Iterator[tuple[tuple[int, str], IntArray]]:
    tasks = [(split, name) for split in range(len(work.pairs)) for name in work.truncators]
    if n_jobs == 1:
        for task in _shown(tasks, len(tasks), progress):
            yield task, work.cuts(*task)
        return
    # Imported here: they would double the time that importing the package takes.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _refused(
            "n_jobs must be 1 for truncators and metrics that cannot be sent to other "
            f"processes (functions must be defined in a module), got {n_jobs}: {error}"
        ) from error
    # Spawned, not forked: libraries with threads of their own, torch for one, may hang in a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, context) as pool:
        futures = {pool.submit(work.cuts, *task): task for task in tasks}
        try:
            for future in _shown(as_completed(futures), len(tasks), progress):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _shown(
    items: Iterable[Any], total: int, progress: bool | Callable[[], object]
) -> Iterator[Any]:
    if not callable(progress) and progress and sys.stderr.isatty() and find_spec("tqdm"):
        from tqdm import tqdm

        items = tqdm(items, total=total, desc="evaluate", unit="fit")
    for item in items:
        if callable(progress):
            progress()
        yield item


def _refused(message: str) -> InvalidParameterError:
    return InvalidParameterError(message, who="evaluate")


def _named(truncators: TruncatorsLike, *, ceiling: bool) -> dict[str, Truncator]:
    if isinstance(truncators, Mapping):
        pairs = list(truncators.items())
    elif isinstance(truncators, Sequence) and not isinstance(truncators, str):
        names = [getattr(item, "__name__", item) for item in truncators]
        pairs = [(str(name), item) for name, item in zip(names, truncators, strict=True)]
    else:
        wanted = "a mapping of names to truncators or a sequence of them"
        raise _refused(f"truncators must be {wanted}, got {shown(truncators)}")
    named: dict[str, Truncator] = {}
    for name, item in pairs:
        if name in named:
            raise _refused(f"truncators must have different names, got {name!r} twice")
        made: Any = Consensus().predict if item == DEFAULT else item
        made = registry.make(made) if isinstance(made, str) else made
        if callable(made) and not isinstance(made, type):
            made = _Function(made)
        if not isinstance(made, Truncator):
            wanted = f"truncators, functions of lists or one of {', '.join(registry.names())}"
            made = f"; give {item.__name__}(...)" if isinstance(item, type) else ""
            raise _refused(f"truncators must be {wanted}, got {item!r}{made}")
        made.check()
        named[name] = made
    if not named:
        raise _refused("truncators must be at least one, got none")
    if ceiling and not any(isinstance(item, Oracle) for item in named.values()):
        named.setdefault("oracle", Oracle())
    return named


def _measures(metrics: Sequence[MetricLike]) -> tuple[Metric, ...]:
    if isinstance(metrics, (str, Metric)) or callable(metrics) or not np.iterable(metrics):
        raise _refused(f"metrics must be a sequence of metrics, got {shown(metrics)}")
    measures = tuple(metric_functions.get(metric) for metric in metrics)
    names = [measure.name for measure in measures]
    if not 0 < len(names) == len(set(names)):
        raise _refused(f"metrics must be at least one and have different names, got {names}")
    return measures


def _check_lists(lists: RankedLists, truncators: dict[str, Truncator], argument: str) -> None:
    if not isinstance(lists, RankedLists) or len(lists) == 0 or lists.relevance is None:
        came = repr(lists) if isinstance(lists, RankedLists) else type(lists).__name__
        raise InvalidScoresError(
            f"{argument} must be RankedLists with relevance, at least one list, got {came}",
            who="evaluate",
        )
    if not lists.judged.values.any():
        raise InvalidScoresError(
            f"{argument} must hold at least one judged result, got {lists!r}", who="evaluate"
        )
    name = next((name for name, one in truncators.items() if one.needs_embeddings), None)
    if name is not None and lists.query_embeddings is None:
        raise InvalidScoresError(
            f"{argument} must have query_embeddings for truncator {name!r}, which looks at "
            "neighbouring queries, got none",
            who="evaluate",
        )
