"""All measurements on fusion: rankings and cuts of every pair, off-topic questions, weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import paretocut as pc
from experiments.cache import hash_files, library, remember
from experiments.command import Again, say
from experiments.data import sha256
from experiments.fuse import nothing, weights
from experiments.fuse.methods import (
    BETTER,
    LEARNED,
    SINGLE,
    UNJUDGED,
    by_share,
    fusions,
    two_fold,
    untrained,
    values_of,
    without_tuning,
)
from experiments.fuse.pairs import PAIRS, Judged, Pair, load
from experiments.pages import IMAGES
from experiments.results import read, stamp
from paretocut.fusion import Fusion, QueryCoverageWarning
from paretocut.show import plots

__all__ = ["COMPARED", "again", "measure", "renew"]

COMPARED = ("rrf", "DBSF", "minmax", "z", "surprise", "probability", UNJUDGED, LEARNED)


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
        content["shares"] = {
            name: by_share(own, own.runs[content["pairs"][name]["better"]])
            for name, own in lists.items()
        }
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
    """Return means of every method on every pair."""
    pairs = {}
    for pair, found in measured.items():
        own = found["values"]
        pairs[pair] = {
            "queries": len(lists[pair]),
            "better": list(lists[pair].runs)[SINGLE.index(_better(own))],
            "weights": np.mean(found["weights"], axis=0).tolist(),
            "means": {
                method: {metric: float(v.mean()) for metric, v in values.items()}
                for method, values in {BETTER: own[_better(own)], **own}.items()
                if method not in SINGLE
            },
        }
    return {"pairs": pairs}


def renew(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the kept numbers, with everything that no cut was tuned for measured anew."""
    shares = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryCoverageWarning)
        for pair in PAIRS:
            lists, own = load(pair), kept["pairs"][pair.name]
            found = without_tuning(pair, lists)
            for method, values in found.items():
                means = {metric: float(v.mean()) for metric, v in values.items()}
                own["means"][method] = own["means"].get(method, {}) | means
            shares[pair.name] = by_share(lists, lists.runs[own["better"]])
            say(pair.name)
    return kept | {"shares": shares, "renewed": stamp()}


def _picture(pair: Judged) -> None:
    """Draw recall and precision against the results kept."""
    runs = {
        **pair.runs,
        "RRF": pc.fuse(pair.runs, method="rrf"),
        "fuse": pc.fuse(pair.runs),
        "Fusion": two_fold(pair, lambda sample: Fusion().fit(sample)),
    }
    plots.frontier(runs).savefig(IMAGES / "fuse-frontier.svg", metadata={"Date": None})
