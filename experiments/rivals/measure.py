"""Multi-hop questions for the cuts, questions without an answer for the confidences."""

from __future__ import annotations

import json
import lzma
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from benchmarks.scipy_version import surprise as scipy_surprise
from experiments import results
from experiments.command import Again
from experiments.data import data_dir
from experiments.results import commit
from experiments.rivals.cluster_gap import ClusterGap
from experiments.rivals.confidence import Confidence
from experiments.rivals.mtcut import MtCut
from experiments.rivals.tail_aware import TailAware, fitted
from paretocut import metrics
from paretocut.io import CoverageWarning
from paretocut.truncators import (
    AttnCut,
    Autocut,
    Consensus,
    FixedK,
    GlobalK,
    Knee,
    LargestGap,
    Oracle,
    ScoreThreshold,
    Surprise,
    Training,
    Truncator,
)

__all__ = ["again", "measure", "renew"]

MULTI_HOP = ("2wiki", "hotpotqa500")
ANSWERS = ("clinc150", "contractnli", "squad2")
RUNS = {"MiniLM": "minilm", "BM25": "bm25"}
SHALLOW = 100
TIMED = 100
SCIPY_LISTS = 3
FOLDS = 5
NETWORKS = "hotpotqa500, MiniLM"
FIRST = 50
SMALL: dict[str, Any] = {"width": 32, "training": Training(max_epochs=15)}

CUTS: dict[str, Truncator] = {
    "LargestGap()": LargestGap(),
    "LargestGap(ignore_tail=0.1, extra=5)": LargestGap(ignore_tail=0.1, extra=5),
    "Autocut()": Autocut(),
    'ScoreThreshold("max", 0.8)': ScoreThreshold("max", 0.8),
    'ScoreThreshold("z", 1)': ScoreThreshold("z", 1.0),
    "Knee()": Knee(),
    "TailAware()": TailAware(),
    "ClusterGap()": ClusterGap(),
    "ClusterGap(0)": ClusterGap(0.0),
    "Surprise(alpha=0.05)": Surprise(alpha=0.05),
    "Consensus()": Consensus(),
    'Consensus(expect="one")': Consensus(expect="one"),
    'Consensus(expect="few")': Consensus(expect="few"),
}
CONFIDENCES: dict[str, Truncator] = {
    'Confidence("max")': Confidence("max"),
    'Confidence("std")': Confidence("std"),
    'Confidence("gap")': Confidence("gap"),
    'Confidence("linear")': Confidence("linear"),
    'Consensus("accuracy")': Consensus("accuracy"),
}


def read(collection: str, run: str) -> pc.RankedLists:
    """Return the judged lists; queries without an answer have no relevant result."""
    folder = data_dir() / collection
    with warnings.catch_warnings():
        # Questions that share no word with any document have no lines in a BM25 run.
        warnings.simplefilter("ignore", CoverageWarning)
        judged = pc.read_trec(folder / f"{run}.run.gz", folder / "qrels.txt.gz")
        if collection not in ANSWERS:
            return judged
        bare = pc.read_trec(folder / f"{run}.run.gz")
    with lzma.open(folder / "queries.jsonl.xz", "rt", encoding="utf-8") as file:
        answerable = {row["id"]: row["answerable"] for row in map(json.loads, file)}
    have = set(judged.query_ids.tolist())
    none = np.array([name not in have and not answerable[name] for name in bare.query_ids.tolist()])
    rest = bare[none]
    unanswered = rest.with_relevance(
        rest.scores.with_values(np.zeros(rest.scores.values.size, dtype=np.int32))
    )
    return pc.RankedLists.concat([judged, unanswered])


def again() -> Again:
    """Yield F1 of the rules on one run of multi-hop questions."""
    name, lists = next(iter(multi_hop().items()))
    kept = results.read("rivals")["cuts"][name]
    for rule, truncator in CUTS.items():
        f1 = float(metrics.f1(lists, truncator.predict(lists)).mean())
        yield f"{name}, {rule}", kept[rule]["f1"], f1


def measure() -> dict[str, Any]:
    """Return everything that the page shows."""
    lists = multi_hop()
    return {
        "queries": {name: len(own) for name, own in lists.items()},
        **renew({}),
        "readings": {name: _readings(own) for name, own in lists.items()},
        "speed": _speed(next(iter(lists.values()))),
        "networks": _networks(lists[NETWORKS]),
        "answers": _answers(),
    }


def multi_hop() -> dict[str, pc.RankedLists]:
    """Return the lists of multi-hop questions, by collection and system."""
    return {
        f"{collection}, {system}": read(collection, run)
        for collection in MULTI_HOP
        for system, run in RUNS.items()
    }


def renew(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the kept numbers, with the cuts of multi-hop questions measured anew."""
    cuts = {name: _cuts(own) for name, own in multi_hop().items()}
    return kept | {"cuts": cuts, "renewed": commit()}


def _cuts(lists: pc.RankedLists) -> dict[str, Any]:
    """Return mean F1, median number kept and steadiness of each rule."""
    rows: dict[str, Any] = {}
    best = GlobalK().fit(lists).predict(lists)
    rows["oracle"] = _row(lists, Oracle().predict(lists))
    rows["best k for all"] = _row(lists, best)
    for k in (2, 5, 10):
        rows[f"FixedK({k})"] = _row(lists, FixedK(k).predict(lists))
    first = lists.truncate(np.minimum(lists.scores.lengths, SHALLOW))
    for name, rule in CUTS.items():
        kept = rule.predict(lists)
        steady = np.abs(kept - rule.predict(first)) <= 1
        rows[name] = _row(lists, kept) | {"steady": float(steady.mean())}
    return rows


def _readings(lists: pc.RankedLists) -> dict[str, float]:
    """Return mean F1 of other readings of Tail-Aware Adaptive-k, one plain fit after the other."""
    kept: dict[str, list[int]] = {"first minimum": [], "smallest": [], "level 0.05": []}
    for scores in lists.merit:
        n = scores.size
        knee = 1 + int(np.argmax(np.linspace(scores[0], scores[-1], n) - scores))
        half = int(np.ceil(np.sqrt(n * np.log(n)) / 2))
        candidates = range(max(1, knee - half), min(n - 5, knee + half) + 1)
        statistic, pvalues = fitted([(scores[k:] - scores[-1])[::-1] for k in candidates])
        cvm = statistic.tolist()
        around = [min(cvm[max(i - 3, 0) : i + 4]) for i in range(len(cvm))]
        passed = (pvalues >= 0.05).tolist()
        smallest = int(np.argmin(cvm))
        kept["first minimum"].append(
            candidates[next(i for i, low in enumerate(around) if cvm[i] == low)]
        )
        kept["smallest"].append(candidates[smallest])
        kept["level 0.05"].append(candidates[passed.index(True) if any(passed) else smallest])
    return {name: float(metrics.f1(lists, np.array(k)).mean()) for name, k in kept.items()}


def _row(lists: pc.RankedLists, kept: NDArray[np.int64]) -> dict[str, float]:
    return {"f1": float(metrics.f1(lists, kept).mean()), "k": float(np.median(kept))}


def _speed(lists: pc.RankedLists) -> dict[str, float]:
    """Return microseconds a list; the smallest of five runs, for SciPy one run of few lists."""
    part = lists[np.arange(min(TIMED, len(lists)))]
    named = {name: (lambda rule=rule: rule.predict(part)) for name, rule in CUTS.items()}
    named["global fit, ours"] = lambda: pc.fit_tails(part.scores, threads=1)
    found = {name: min(_seconds(work) for _ in range(5)) for name, work in named.items()}
    result = {name: 1e6 * seconds / len(part) for name, seconds in found.items()}
    few = [np.asarray(scores) for scores in part.scores][:SCIPY_LISTS]
    total = _seconds(lambda: [scipy_surprise(scores) for scores in few])
    result["global fit, SciPy"] = 1e6 * total / len(few)
    return result


def _networks(lists: pc.RankedLists) -> dict[str, float]:
    """Return mean F1 on the first results of each list, learned on the other half."""
    first = lists.truncate(np.minimum(lists.scores.lengths, FIRST))
    result = {"oracle": float(metrics.f1(first, Oracle().predict(first)).mean())}
    rivals = {
        "global_k": GlobalK(),
        "minmax": ScoreThreshold("minmax"),
        "attncut": AttnCut(**SMALL),
        "mtcut": MtCut(**SMALL),
    }
    for name, rival in rivals.items():
        total = 0.0
        for train, test in first.folds(2, seed=0):
            total += float(metrics.f1(test, rival.fit(train).predict(test)).sum())
        result[name] = total / len(first)
    return result


def _seconds(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _answers() -> dict[str, Any]:
    """Return the accuracy of "is there an answer", learned on the other folds."""
    result: dict[str, Any] = {}
    for collection in ANSWERS:
        for system, run in RUNS.items():
            lists = read(collection, run)
            answered = np.array([own.any() for own in lists.relevant])
            # A list that misses all there is to find is wrong whatever is kept.
            known = lists[answered | (lists.num_relevant == 0)]
            result[f"{collection}, {system}"] = _accuracies(known)
    return result


def _accuracies(lists: pc.RankedLists) -> Mapping[str, float]:
    answered = np.array([own.any() for own in lists.relevant])
    row = {"queries": len(lists), "always": float(max(answered.mean(), 1 - answered.mean()))}
    values: dict[str, list[float]] = {name: [] for name in CONFIDENCES}
    for train, test in lists.folds(FOLDS, seed=0):
        for name, gate in CONFIDENCES.items():
            kept = gate.clone().fit(train).predict(test)
            values[name].append(float(metrics.accuracy(test, kept).sum()))
    return row | {name: sum(parts) / len(lists) for name, parts in values.items()}
