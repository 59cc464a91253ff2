"""Lists that the tests of adapters share, and what the engine itself says of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paretocut as pc
from paretocut import _kernel

RULES = {"alpha", "evalue", "fdr", "min_surprise"}
LENGTHS = (200, 0, 1, 4, 37, 200, 120)


def lists_of_scores(seed: int = 0, lengths: tuple[int, ...] = LENGTHS) -> list[list[float]]:
    """Return lists of noise with three hits in every other one, in no order."""
    generator = np.random.default_rng(seed)
    found = []
    for i, length in enumerate(lengths):
        scores = generator.exponential(0.05, size=length)
        if i % 2 == 0:
            scores[:3] += 1.0
        found.append(generator.permutation(scores).tolist())
    return found


def expected(scores: list[float], **options: Any) -> tuple[int, list[float]]:
    """Return k and surprise of one list: by `fit_tail` for a rule, else by the truncator."""
    fitting = {"higher_is_better", "transform", "selection", "refit", "min_window"}
    fit = pc.fit_tail(scores, **{name: value for name, value in options.items() if name in fitting})
    return decision(scores, **options).k, fit.surprise.tolist()


def decision(scores: list[float], *, higher_is_better: bool = True, **options: Any) -> pc.Cut:
    """Return the decision on one list, made without any adapter."""
    if RULES & options.keys():
        fitting = {"transform", "selection", "refit", "min_window"} & options.keys()
        fit = pc.fit_tail(
            scores, higher_is_better=higher_is_better, **{name: options[name] for name in fitting}
        )
        rest = {name: value for name, value in options.items() if name not in fitting}
        return fit.cut(**rest)
    truncator = options.pop("truncator", pc.truncators.Consensus())
    return truncator.cut(scores, higher_is_better=higher_is_better, **options)


def expected_rows(scores: list[float], **options: Any) -> list[tuple[float, bool]]:
    """Return surprise and whether it is kept, of each result of one list."""
    options = {"higher_is_better": True, **options}
    k, surprise = expected(scores, **options)
    best = sorted(range(len(scores)), key=scores.__getitem__, reverse=options["higher_is_better"])
    return [(surprise[i], i in best[:k]) for i in range(len(scores))]


def truncators_of(lists: list[list[float]]) -> list[pc.truncators.Truncator]:
    """Return truncators of all sorts that are ready to decide on such lists."""
    judged = pc.RankedLists(lists, relevance=[[score > 0.9 for score in one] for one in lists])
    noise = np.random.default_rng(5).exponential(0.05, size=(60, 200)).max(axis=1)
    gate = pc.Background.fit(noise)
    return [
        pc.truncators.Consensus().fit(judged),
        pc.truncators.ScoreThreshold("minmax").fit(judged),
        pc.truncators.Surprise(evalue=0.05),
        pc.truncators.Gated(pc.truncators.LargestGap(), gate),
    ]


def row_table(lists: list[list[float]]) -> dict[str, list[Any]]:
    """Return the lists as columns with one row per result, the queries' rows interleaved."""
    rows = [(f"q{i}", j, score) for i, one in enumerate(lists) for j, score in enumerate(one)]
    rows.sort(key=lambda row: row[1])  # stable, so that the rows of a query stay in order
    names = ("query_id", "position", "score")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def work_of(call: Callable[[], Any]) -> int:
    """Return how many numbers are exponentiated and how many lists fitted during a call."""
    exp, fit, done = np.exp, _kernel.fit_batch, [0]

    def counted_exp(values: Any, *rest: Any, **more: Any) -> Any:
        done[0] += np.size(values)
        return exp(values, *rest, **more)

    def counted_fit(values: Any, offsets: Any, *rest: Any) -> Any:
        done[0] += len(offsets) - 1
        return fit(values, offsets, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "exp", counted_exp)
        patch.setattr(_kernel, "fit_batch", counted_fit)
        call()
    return done[0]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"evalue": 0.05},
    {"fdr": 0.2, "max_k": 2},
    {"min_surprise": 2.0, "refit": "all", "min_k": 1},
    {"alpha": 0.1, "higher_is_better": False, "selection": "gof"},
]


def count_fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with every fit of tails by the kernel."""
    calls: list[str] = []

    def counted(name: str) -> Any:
        fit = getattr(_kernel, name)
        return lambda *args: (calls.append(name), fit(*args))[1]

    for name in ("fit_list", "fit_batch"):
        monkeypatch.setattr(_kernel, name, counted(name))
    return calls
