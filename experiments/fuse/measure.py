"""All measurements on fusion: rankings and cuts of every pair, off-topic questions, weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import paretocut as pc
from experiments.cache import hash_files, library, remember
from experiments.command import Again, say
from experiments.data import sha256
from experiments.fuse import nothing, weights
from experiments.fuse.methods import (
    LEARNED,
    METRICS,
    SINGLE,
    UNJUDGED,
    fusions,
    two_fold,
    untrained,
    values_of,
)
from experiments.fuse.pairs import PAIRS, Judged, Pair, load
from experiments.pages import IMAGES
from experiments.results import read
from paretocut.fusion import Fusion, QueryCoverageWarning
from paretocut.show import plots

__all__ = ["BETTER", "COMPARED", "again", "measure"]

BETTER = "better single run"
COMPARED = ("rrf", "DBSF", "minmax", "z", "surprise", "probability", UNJUDGED, LEARNED)
DRAWS = 2000


def again() -> Again:
    """Yield the quality of the runs and fusions of one pair, before any cut."""
    pair = PAIRS[0]
    kept = read("fuse")["pairs"][pair.name]["means"]
    lists = load(pair)
    for name, fused in fusions(pair, lists):
        now = float(untrained(fused, lists.ideal)["ndcg"].mean())
        yield f"{pair.name}, {name}, nDCG@10", kept[name]["ndcg"], now


def measure() -> dict[str, Any]:
    """Return all numbers, and draw the frontier of one pair."""
    lists, values = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryCoverageWarning)
        for pair in PAIRS:
            lists[pair.name] = load(pair)
            values[pair.name] = _values(pair, lists[pair.name])
            say(pair.name)
        content = summary(values, lists)
        content["nothing"] = {index: nothing.one(index) for index in nothing.INDEXES}
        say("off-topic questions")
        content |= weights.guessed(lists)
        content["learned"] = weights.learned(lists)
        content["calibration"] = weights.calibration(lists)
        say("weights")
        _picture(lists["2wiki, BM25 and MiniLM"])
    return content


def _values(pair: Pair, lists: Judged) -> Any:
    """Return the values of a pair, from disk if there."""
    files = [Path(__file__).with_name(f"{name}.py") for name in ("methods", "pairs")]
    inputs = {
        "pair": pair.name,
        "data": {file: sha256(file) for file in (*pair.runs.values(), pair.qrels)},
        "code": hash_files(files) | {"library": library()},
    }
    return remember("fuse", inputs, lambda: values_of(pair, lists))


def _better(values: Mapping[str, Any]) -> str:
    """Return which of the two runs ranks better, with hindsight."""
    return max(SINGLE, key=lambda name: values[name]["ndcg"].mean())


def summary(measured: Mapping[str, Any], lists: Mapping[str, Judged]) -> dict[str, Any]:
    """Return means of every method on every pair, and paired intervals of the gains."""
    rows: dict[str, Any] = {}
    pairs = {}
    for pair, found in measured.items():
        own = found["values"]
        rows[pair] = {BETTER: own[_better(own)], **own}
        pairs[pair] = {
            "queries": len(lists[pair]),
            "better": list(lists[pair].runs)[SINGLE.index(_better(own))],
            "weights": np.mean(found["weights"], axis=0).tolist(),
            "means": {
                method: {metric: float(v.mean()) for metric, v in values.items()}
                for method, values in rows[pair].items()
                if method not in SINGLE
            },
        }
    gains: dict[str, Any] = {}
    for against in (BETTER, "rrf", "minmax", "z", UNJUDGED):
        for method in COMPARED:
            for metric in METRICS:
                gain = gain_of(rows.values(), method, against, metric)
                if gain is not None and method != against:
                    gains.setdefault(against, {}).setdefault(method, {})[metric] = gain
    return {"pairs": pairs, "gains": gains}


def gain_of(rows: Iterable[Any], method: str, against: str, metric: str) -> list[float] | None:
    """Return the relative gain of the mean over pairs, with its interval over queries."""
    ours, theirs = [], []
    for own in rows:
        if metric not in own.get(method, {}) or metric not in own[against]:
            return None
        ours.append(own[method][metric])
        theirs.append(own[against][metric])
    rng = np.random.default_rng(0)
    drawn = np.zeros((2, DRAWS))
    for a, b in zip(ours, theirs, strict=True):
        counts = rng.multinomial(a.size, np.full(a.size, 1 / a.size), size=DRAWS) / a.size
        drawn += counts @ a, counts @ b
    low, high = np.quantile(drawn[0] / drawn[1] - 1, [0.025, 0.975])
    whole = np.mean([a.mean() for a in ours]) / np.mean([b.mean() for b in theirs]) - 1
    return [float(whole), float(low), float(high)]


def _picture(pair: Judged) -> None:
    """Draw recall and precision against the results kept."""
    runs = {
        **pair.runs,
        "RRF": pc.fuse(pair.runs, method="rrf"),
        "fuse": pc.fuse(pair.runs),
        "Fusion": two_fold(pair, lambda sample: Fusion().fit(sample)),
    }
    plots.frontier(runs).savefig(IMAGES / "fuse-frontier.svg", metadata={"Date": None})
