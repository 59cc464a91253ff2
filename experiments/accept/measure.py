"""What `Accept` and its rivals accept, and how often their error is above the budget.

The queries of a run are the population. Each resample draws as many judged queries from it, with
replacement; a method learns from these, and its error is that on the population, known exactly.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.command import say
from experiments.data import data_dir, json_rows
from paretocut.relevance import sigmoid
from paretocut.truncators import Accept
from paretocut.truncators.promises import learned, lowest_threshold

__all__ = ["BUDGETS", "RUNS", "measure"]

Array = NDArray[np.float64]
Rule = Callable[[Array], NDArray[np.bool_]]

COLLECTIONS = (
    "abt_buy",
    "dblp_acm",
    "banking77oos",
    "locomo_a",
    "clinc150",
    "squad2",
    "contractnli",
)
RUNS = tuple((name, system) for name in COLLECTIONS for system in ("bm25", "minilm"))
BUDGETS = (0.01, 0.02, 0.05, 0.1)
CONFIDENCE = 0.95
RESAMPLES = 200
DRAWS = 1000
COSINE = 0.8  # as one chooses it by eye


def first_results(name: str, system: str) -> tuple[Array, Array]:
    """Return the first two scores of every query with results, and whether the first is right."""
    folder = data_dir() / name
    lists = pc.read_trec(folder / f"{system}.run.gz")
    known = {row["id"] for row in json_rows(f"{name}/queries.jsonl.xz")}
    relevant = set()
    for query, document, grade in _judgements(folder / "qrels.txt.gz"):
        if grade > 0:
            relevant.add((query, document))
    assert lists.doc_ids is not None
    kept = [i for i, query in enumerate(lists.query_ids.tolist()) if query in known]
    scores = [lists.scores[i] for i in kept]
    pairs = np.array([(part[0], part[min(1, part.size - 1)]) for part in scores])
    first = [(str(lists.query_ids[i]), str(lists.doc_ids[i][0])) for i in kept]
    return pairs, np.array([pair in relevant for pair in first], dtype=np.float64)


def _judgements(path: Path) -> Iterator[tuple[str, str, float]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            query, _, document, grade = line.split()
            yield query, document, float(grade)


def accept(pairs: Array, right: Array, budget: float) -> Rule:
    """Return the rule that `Accept` learns."""
    relevance = np.column_stack([right, np.zeros(right.size)])
    # A query that was drawn twice counts twice: the draws are the sample.
    fitted = Accept(budget, CONFIDENCE).fit(
        pc.RankedLists(pairs, relevance), groups=range(right.size)
    )
    return lambda new: fitted.predict(pc.RankedLists(new)) > 0


def alone(column: int) -> Callable[[Array, Array, float], Rule]:
    """Return how a threshold on one signal is learned, with the same test at the full risk."""

    def learn(pairs: Array, right: Array, budget: float) -> Rule:
        coef = learned(signals(pairs)[:, [column]], right, budget)
        log_odds = coef[0] + coef[1] * signals(pairs)[:, column]
        _, threshold = lowest_threshold(log_odds, right, budget, 1 - CONFIDENCE)
        return lambda new: coef[0] + coef[1] * signals(new)[:, column] > threshold

    return learn


def tuned(pairs: Array, right: Array, budget: float) -> Rule:
    """Return the lowest threshold on the top score with so few errors among the judged queries."""
    order = np.argsort(-pairs[:, 0], kind="stable")
    count = np.arange(1, right.size + 1)
    good = np.flatnonzero(np.cumsum(right[order] == 0) <= budget * count)
    threshold = pairs[order[good[-1]], 0] if good.size else np.inf
    return lambda new: new[:, 0] >= threshold


def roc(pairs: Array, right: Array, budget: float) -> Rule:
    """Return the threshold on the top score with the largest sum of both rates (Youden)."""
    order = np.argsort(-pairs[:, 0], kind="stable")
    hits, wrong = np.cumsum(right[order]), np.cumsum(right[order] == 0)
    best = int(np.argmax(hits / max(hits[-1], 1) - wrong / max(wrong[-1], 1)))
    threshold = pairs[order[best], 0]
    return lambda new: new[:, 0] >= threshold


def fixed(pairs: Array, right: Array, budget: float) -> Rule:
    """Return the threshold of a cosine that nobody learned."""
    return lambda new: new[:, 0] >= COSINE


def signals(pairs: Array) -> Array:
    """Return top score and margin."""
    return np.column_stack([pairs[:, 0], pairs[:, 0] - pairs[:, 1]])


METHODS = {
    "accept": accept,
    "top": alone(0),
    "margin": alone(1),
    "tuned": tuned,
    "roc": roc,
    "fixed": fixed,
}


def resampled(pairs: Array, right: Array, budget: float, seed: int) -> dict[str, dict[str, float]]:
    """Return by method the mean share accepted, and how often the error is above the budget."""
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in METHODS}
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES):
        drawn = rng.integers(right.size, size=right.size)
        for name, method in METHODS.items():
            kept = method(pairs[drawn], right[drawn], budget)(pairs)
            broken = bool(kept.any() and np.mean(right[kept] == 0) > budget)
            found[name].append((float(kept.mean()), broken))
    return {
        name: dict(zip(("share", "broken"), np.mean(rows, axis=0).tolist(), strict=True))
        for name, rows in found.items()
    }


def possible(pairs: Array, right: Array, budget: float) -> float:
    """Return the largest share that a threshold on either signal can accept, by hindsight."""
    shares = [0.0]
    for signal in signals(pairs).T:
        falling = np.sort(signal)[::-1]
        ends = np.append(falling[1:] < falling[:-1], True)
        count = np.arange(1, right.size + 1)
        wrong = np.cumsum(right[np.argsort(-signal, kind="stable")] == 0)
        shares += (count[ends & (wrong <= budget * count)] / right.size).tolist()
    return max(shares)


def simulated(queries: int, budget: float, kind: str) -> float:
    """Return how often `Accept` breaks its promise on simulated queries.

    "flat": the scores tell nothing, and the error is a hair above the budget. "slope": the error
    falls with the top score, and equals the budget in the middle of its range.
    """
    rng = np.random.default_rng([queries, round(1000 * budget), kind == "slope"])

    def draw(count: int) -> tuple[Array, Array]:
        top = rng.normal(size=count)
        odds = np.log(budget * 1.001 / (1 - budget * 1.001))
        error = np.full(count, sigmoid(np.array(odds)))
        if kind == "slope":
            error = sigmoid(odds + 0.5 - top)
        pairs = np.column_stack([top, top - rng.exponential(size=count)])
        return pairs, (rng.random(count) >= error).astype(np.float64)

    pairs, right = draw(20_000)
    broken = 0
    for _ in range(DRAWS):
        kept = accept(*draw(queries), budget)(pairs)
        # A flat error is above the budget wherever it is, whatever this sample of it says.
        broken += kept.any() and (kind == "flat" or np.mean(right[kept] == 0) > budget)
    return broken / DRAWS


def measure() -> dict[str, Any]:
    """Return the numbers of the page."""
    runs = []
    for seed, (name, system) in enumerate(RUNS):
        pairs, right = first_results(name, system)
        cells: dict[str, Any] = {}
        for budget in BUDGETS:
            cells[str(budget)] = resampled(pairs, right, budget, seed)
            cells[str(budget)]["possible"] = possible(pairs, right, budget)
        runs.append(
            {
                "collection": name,
                "system": system,
                "queries": right.size,
                "right": float(right.mean()),
                "budgets": cells,
            }
        )
        say(f"{name}, {system}")
    nulls = [
        {
            "kind": kind,
            "queries": queries,
            "budget": budget,
            "broken": simulated(queries, budget, kind),
        }
        for kind in ("flat", "slope")
        for queries in (100, 300, 1000)
        for budget in (0.05, 0.1)
    ]
    return {"resamples": RESAMPLES, "draws": DRAWS, "runs": runs, "simulated": nulls}
