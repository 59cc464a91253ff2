"""Warnings about scores: the kernel against a version that is slow and obvious."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import paretocut as pc
from paretocut.decisions.warnings import WARNINGS, diagnose, saturated
from paretocut.lists import Ragged

Array = NDArray[np.float64]


PROPORTIONS = (
    *((1,), (1, 1), (2, 1), (3, 1), (3, 2), (4, 1), (7, 3), (9, 1), (10, 3), (10, 7), (10, 9)),
    *((11, 9), (13, 7), (17, 3), (19, 1)),
)
WEIGHTS = [
    tuple(part / unit for part in parts)
    for parts in PROPORTIONS  # of three rankings there are too many sums to try them all
    for unit in (1, sum(parts), parts[0])
]


def on_lattice(
    score: float, weights: tuple[float, ...], constant: float, deepest: int, error: float
) -> bool:
    """Return whether a score is a sum of reciprocal ranks of two rankings at the most: try all."""
    terms = weights[0] / (constant + np.arange(deepest + 1))
    rests = np.append(score - terms, score)  # the first ranking may lack the result
    if len(weights) == 1:
        return bool((np.abs(rests[:-1]) <= error).any())
    rests, last = rests[rests > 0], weights[1]
    ranks = np.clip(np.round(last / rests - constant), 0, deepest)
    missed = np.minimum(np.abs(last / (constant + ranks) - rests), rests)
    return bool((missed <= error).any())


def from_reciprocal_ranks(x: list[float]) -> bool:
    """Return whether a list is fused, for lists of single or double precision, not rounded."""
    if len(x) < 10 or not 0 < x[0] <= 3:
        return False
    head = x[:16]
    distinct = list(dict.fromkeys(head))
    if head[-1] <= 0:
        return False
    if all(abs(1e4 * value - round(1e4 * value)) < 1e-6 for value in head):
        return x[0] <= 0.066
    single = all(value == float(np.float32(value)) for value in head)
    error, deepest = (1.2e-7, 1000) if single else (1e-13, 2000)
    return len(distinct) >= 5 and any(
        all(on_lattice(value, weights, c, deepest, error * value) for value in distinct)
        for weights in WEIGHTS
        for c in (60.0, 2.0, 1.0)
        if (1 - 1e-6) * weights[0] / (c + 1) <= x[0] <= (1 + 1e-6) * sum(weights) / c
    )


def obvious(x: list[float]) -> dict[str, bool]:
    """Return the warnings of one falling list."""
    n = len(x)
    quarters = [value / 4 for value in x]  # whose differences cannot overflow
    least = (quarters[n // 4] - quarters[3 * n // 4]) * min(3e-6, 0.01 / n)
    least = max(least, 0.25 * 1.5e-6 if x[0] >= 1 else 0)
    gaps = [first - second for first, second in itertools.pairwise(quarters)]
    logs = [math.log(gap) for gap in gaps if gap > least]
    steps = [abs(second - first) for first, second in itertools.pairwise(logs)]
    more = max(0, 20 - len(steps)) // 3
    smooth = len(steps) >= 8 and sum(step < 0.1 for step in steps) > (len(steps) + more) / 2
    heavy_ties = n > 1 and len(gaps) - len(logs) > (n - 1) / 4

    inverses = [1 / value for value in dict.fromkeys(x) if 1 / 400 < value < 1 / 10]
    whole = sum(abs(inverse - round(inverse)) < 0.02 for inverse in inverses)
    chance = 0.04 * len(inverses)
    fused = len(inverses) >= 20 and whole > chance + 6 * math.sqrt(chance)

    top, bottom = x[0], x[-1]
    high = sum(value > 0.99 for value in x) >= n / 4 and top > 0.99 and top > bottom + 0.01
    low = sum(value < 0.01 for value in x) >= n / 4 and top > 0.5
    piled = 0 <= bottom < top <= 1 and (high or low)

    rescaled = n > 2 and (
        (top == 1 and bottom == 0 and x[-2] != 0)
        or (bottom >= 0 and top < 1 and abs(math.fsum(x) - 1) < 1e-6)
    )

    rank_only = fused or from_reciprocal_ranks(x) or (smooth and not heavy_ties)
    return {
        "heavy_ties": heavy_ties,
        "rank_only_scores": rank_only,
        "rescaled_scores": rescaled and not rank_only,
        "saturated_scores": piled and not rank_only,
        "piled": piled,
    }


def drawn(rng: np.random.Generator, kind: int, n: int) -> Array:
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return 1 / (60.0 + np.arange(1, n + 1))
    if kind == 2:
        return np.round(rng.exponential(size=n), int(rng.integers(3)))
    if kind == 3:
        return 1000.0 - np.arange(n)
    if kind == 4:
        return rng.beta(0.2, 0.2, n)
    if kind == 5:
        return 0.1 * rng.random(n)
    if kind == 6:
        twice = rng.random(n) < 0.3
        return 1 / (60 + rng.integers(1, 80, n)) + twice / (60 + rng.integers(1, 80, n))
    if kind == 7:
        return np.where(rng.random(n) < 0.3, 0.5, rng.random(n)) * 1e308
    if kind == 8:
        weights = np.exp(rng.normal(size=n))
        return weights / weights.sum()
    if kind == 9:
        ranks = rng.integers(0, 100, (2, n))
        return (0.7 / (2 + ranks[0]) + 0.3 / (2 + ranks[1])).astype(np.float32).astype(float)
    return np.append(1e9, rng.random(n - 1))


def test_the_kernel_finds_what_the_obvious_version_finds() -> None:
    rng = np.random.default_rng(0)
    lists = [-np.sort(-drawn(rng, i % 11, int(rng.integers(1, 120)))) for i in range(2200)]
    expected = [obvious(list(map(float, one))) for one in lists]
    ragged = Ragged.from_any(lists)
    found = {**diagnose(ragged), "piled": saturated(ragged)}
    for name, flags in found.items():
        assert flags.tolist() == [one[name] for one in expected], name
        assert 50 < flags.sum() < 2150


def test_empty_lists_carry_no_warning() -> None:
    for flags in diagnose(Ragged.from_any([np.empty(0), np.empty(0)])).values():
        assert flags.tolist() == [False, False]


def fused_ranks(
    arms: list[list[str]], weights: tuple[float, ...], constant: float, keep: int
) -> Array:
    """Return the best scores of reciprocal-rank fusion, as every engine computes them."""
    scores: dict[str, float] = {}
    for arm, weight in zip(arms, weights, strict=True):
        for rank, doc in enumerate(arm, start=1):
            scores[doc] = scores.get(doc, 0.0) + weight / (constant + rank)
    return np.sort(list(scores.values()))[::-1][:keep]


@pytest.mark.parametrize("collection", ["squad2", "med", "cranfield", "nfcorpus"])
@pytest.mark.parametrize(
    "weights", [(1.0, 1.0), (0.5, 0.5), (0.7, 0.3), (0.6, 0.4), (1.0, 1.0, 1.0)]
)
@pytest.mark.parametrize("rounding", ["double", "single", "four digits"])
def test_fused_lists_of_real_rankings_are_recognised(
    shared_data: Path, collection: str, weights: tuple[float, ...], rounding: str
) -> None:
    runs = [
        pc.io.read_trec(shared_data / collection / f"{name}.run.gz") for name in ("bm25", "minilm")
    ]
    arms = [dict(zip(run.query_ids, run.doc_ids or (), strict=True)) for run in runs]
    queries = [query for query in arms[0] if query in arms[1]][:60]
    rng = np.random.default_rng(0)
    found = []
    for constant, keep in ((60.0, 10), (60.0, 20), (60.0, 50), (1.0, 10)):
        if rounding == "four digits" and constant < 60:
            continue  # such scores are as large as others
        lists = []
        for query in queries:
            rankings = [list(arm[query][:100]) for arm in arms]
            rankings.append(list(rng.permutation(rankings[1])))
            scores = fused_ranks(rankings[: len(weights)], weights, constant, keep)
            if rounding == "single":
                scores = scores.astype(np.float32).astype(float)
            elif rounding == "four digits":
                scores = scores.round(4)
            lists.append(scores)
        found += diagnose(Ragged.from_any(lists))["rank_only_scores"].tolist()
    assert np.mean(found) >= 0.95


THREE_ARMS = {
    "dl": [f"dl/runs/dl2019-{name}" for name in ("ance", "bert-rerank", "bm25")],
    "robust04": [
        f"robust04/runs/trec2003-{name}" for name in ("pircRBa1", "THUIRr0301", "UIUC03Rd1")
    ],
}


@pytest.mark.parametrize("name", THREE_ARMS)
@pytest.mark.parametrize(
    "weights",
    [
        *((0.5, 0.3, 0.2), (0.4, 0.3, 0.3), (0.6, 0.2, 0.2), (2, 1, 1), (1, 0.5, 0.5), (3, 2, 1)),
        *((1, 1, 1), (0.34, 0.33, 0.33), (1, 0.5, 0.25)),
    ],
)
def test_three_real_rankings_with_simple_weights_are_recognised(
    shared_data: Path, name: str, weights: tuple[float, ...]
) -> None:
    runs = [pc.io.read_trec(shared_data / f"{file}.run.gz") for file in THREE_ARMS[name]]
    arms = [dict(zip(run.query_ids, run.doc_ids or (), strict=True)) for run in runs]
    queries = [query for query in arms[0] if all(query in arm for arm in arms)][:40]
    # Single precision is too coarse for the sums of three deep rankings.
    for kind, depth in ((np.float32, 100), (np.float64, 100), (np.float64, 1000)):
        lists = [
            fused_ranks([list(arm[query][:depth]) for arm in arms], weights, 60.0, keep)
            .astype(kind)
            .astype(float)
            for query in queries
            for keep in (10, 20, 50)
        ]
        assert np.mean(diagnose(Ragged.from_any(lists))["rank_only_scores"]) >= 0.95
        rounded = Ragged.from_any([one.round(4) for one in lists])
        assert np.mean(diagnose(rounded)["rank_only_scores"]) >= 0.95 or max(weights) > 2


def test_measured_scores_are_not_taken_for_fused_or_rescaled_ones(shared_data: Path) -> None:
    for folder in ("squad2", "med", "clinc150", "nfcorpus", "abt_buy", "locomo_a", "contractnli"):
        for name in ("bm25", "minilm"):
            scores = pc.io.read_trec(shared_data / folder / f"{name}.run.gz").scores
            for depth in (10, 20, 1000):
                found = diagnose(Ragged.from_any([one[:depth] for one in scores]))
                assert not found["rank_only_scores"].any(), (folder, name, depth)
                assert not found["rescaled_scores"].any(), (folder, name, depth)
    # An engine that breaks ties by a millionth; neighbouring gaps of a millionth are no ranks.
    run = pc.io.read_trec(shared_data / "rlt4reranking" / "dl19-bm25.run.gz")
    assert not diagnose(run.scores)["rank_only_scores"].any()
    # Saturated scores crowd around the reciprocals of a few integers; one list was taken for ranks.
    run = pc.io.read_trec(shared_data / "robust04" / "runs" / "drmm-sigmoid-trec8.run.gz")
    assert not diagnose(run.scores)["rank_only_scores"].any()


def test_scores_on_a_scale_of_their_own_list_are_noticed() -> None:
    scores = np.array([12.1, 9.4, 8.8, 3.0, 2.9])
    weights = np.exp(scores - scores[0])
    for own in ((scores - 2.9) / (12.1 - 2.9), weights / weights.sum()):
        cut = pc.cut(own)
        assert "rescaled_scores" in cut.warnings
        assert "gate can hardly tell" in WARNINGS["rescaled_scores"]
    assert "rescaled_scores" not in pc.cut(scores).warnings
    assert "rescaled_scores" not in pc.cut([1.0, 0.7, 0.0, 0.0, 0.0]).warnings  # padding


def test_lists_that_all_begin_with_one_score_are_noticed(shared_data: Path) -> None:
    run = pc.io.read_trec(shared_data / "squad2" / "minilm.run.gz")
    lists = [one[:10] for one in run.scores][:30]
    divided = [one / one[0] for one in lists]
    cuts = pc.cut_batch(divided)
    assert all("rescaled_scores" in warnings for warnings in cuts.warnings)
    assert cuts[3].warnings == pc.cut_batch(divided)[3].warnings == cuts.warnings[3]
    for plain in (lists, divided[:9], [divided[0]] * 30):  # too few, or one list again and again
        assert not any("rescaled_scores" in warnings for warnings in pc.cut_batch(plain).warnings)
