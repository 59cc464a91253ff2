"""Untrained rules on the first 10 to 1,000 results of every judged run."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.command import Again
from experiments.results import commit, read
from experiments.texts import systems
from paretocut.decisions.options import EXPECT
from paretocut.relevance import Constants
from paretocut.truncators import Consensus, FixedK, LargestGap, ScoreThreshold, Truncator

__all__ = ["DEPTHS", "RULES", "SHARES", "again", "measure", "renew"]

MOST = 300  # queries of one run
DEPTHS = (10, 20, 50, 100, 200, 1000)
SHARES = (0.5, 0.45, 0.4, 0.375, 0.35, 1 / 3, 0.325, 0.3, 0.275, 0.25, 0.2)
RULES: dict[str, Truncator] = {
    "the default": Consensus(),
    "upper third of the range as it is": ScoreThreshold("minmax", 2 / 3),
    "upper half of the range as it is": ScoreThreshold("minmax", 0.5),
    "largest gap": LargestGap(),
    "first ten": FixedK(10),
}


def keeping(part: float, rank: float = Constants.depth) -> Truncator:
    """Return the default with another share of the range, extended to another rank."""

    class Other(Consensus):
        constants = Constants(share=part, depth=rank)

    return Other()


def again() -> Again:
    """Yield F1 of the default at each depth."""
    runs = systems(MOST)
    values = [_by_depth(RULES["the default"], lists)[0] for _, _, lists in runs]
    means = _means(values, [collection for collection, _, _ in runs])
    for depth, kept, now in zip(DEPTHS, read("default")["f1"]["the default"], means, strict=True):
        yield f"the default, {depth} results fetched, F1", kept, now


def _by_depth(rule: Truncator, lists: pc.RankedLists) -> tuple[list[float], list[float]]:
    """Return mean F1 and the median number kept at each depth."""
    # F1 counts the relevant results of the whole list, whatever part of it is seen.
    k = [rule.predict(lists.truncate(np.full(len(lists), depth))) for depth in DEPTHS]
    f1 = [float(pc.metrics.f1(lists, own).mean()) for own in k]
    return f1, [float(np.median(own)) for own in k]


def measure() -> dict[str, Any]:
    """Return F1 and number kept, by rule, depth and collection, and what each share gives."""
    runs = systems(MOST)
    collections = [collection for collection, _, _ in runs]
    f1: dict[str, list[list[float]]] = {}
    kept: dict[str, list[list[float]]] = {}
    shares = {f"{part:.3f}": keeping(part) for part in SHARES}
    for name, rule in (RULES | shares).items():
        f1[name], kept[name] = [], []
        for _, _, lists in runs:
            values, counts = _by_depth(rule, lists)
            f1[name].append(values)
            kept[name].append(counts)
    return {
        "runs": len(runs),
        "collections": len(set(collections)),
        "f1": {name: _means(f1[name], collections) for name in RULES},
        "kept": {name: np.median(kept[name], axis=0).tolist() for name in RULES},
        "shares": {name: float(np.mean(_means(f1[name], collections))) for name in shares},
        "steady": _steadiness(runs),
        "steadier": _steadier(runs),
        "words": _words(runs),
        "chosen": _chosen({name: np.array(f1[name]).mean(axis=1) for name in shares}, collections),
    }


def _steadiness(runs: list[tuple[str, str, pc.RankedLists]]) -> dict[str, float]:
    """Return how much the default's answer for a query changes from 10 results to 200.

    Of lists with 200 results: the share with the same number kept, the share where one number is at
    least twice the other, and the mean number kept at both depths. Means over collections.
    """
    rows, collections = [], []
    for collection, _, lists in runs:
        deep = lists[np.flatnonzero(lists.scores.lengths >= 200).tolist()]
        if not len(deep):
            continue
        few, many = (
            Consensus().predict(deep.truncate(np.full(len(deep), depth))) for depth in (10, 200)
        )
        twice = np.maximum(few, many) >= 2 * np.minimum(few, many)
        rows.append([np.mean(few == many), np.mean(twice), few.mean(), many.mean()])
        collections.append(collection)
    names = ("same", "twice", "kept 10", "kept 200")
    return dict(zip(names, _means(rows, collections), strict=True))


def renew(content: dict[str, Any]) -> dict[str, Any]:
    """Return the kept numbers with those of the steadier rules measured anew."""
    return content | {"steadier": _steadier(systems(MOST)) | {"commit": commit()}}


def _steadier(runs: list[tuple[str, str, pc.RankedLists]]) -> dict[str, Any]:
    """Return what rules that see only the first results give, chosen on the other collections.

    A rule is a share of the range, the rank to which the range of a shorter list is extended, and
    how many of the first results it sees. For each gain in the share of queries with the same
    number kept of 10 results as of 200, the rule with the best F1 is chosen that gains as much on
    the other collections. Pairs are F1, as a mean over the depths, and that share.
    """
    names = [collection for collection, _, _ in runs]
    deep = [lists.scores.lengths >= 200 for _, _, lists in runs]
    table: dict[tuple[float, int, int], list[tuple[float, float]]] = {}
    for part, rank in itertools.product(SHARES, (200, 1000)):
        rule = keeping(part, rank)
        for (_, _, lists), long in zip(runs, deep, strict=True):
            cuts = [rule.predict(lists.truncate(np.full(len(lists), d))) for d in DEPTHS]
            f1 = [float(pc.metrics.f1(lists, own).mean()) for own in cuts]
            for i, seen in enumerate(DEPTHS):
                mean = float(np.mean([f1[min(i, j)] for j in range(len(DEPTHS))]))
                same = cuts[0][long] == cuts[min(i, DEPTHS.index(200))][long]
                pair = mean, float(same.mean()) if long.any() else np.nan
                table.setdefault((part, rank, seen), []).append(pair)

    def pair(rule: tuple[float, int, int], among: Collection[str]) -> tuple[float, float]:
        rows = np.array(table[rule])
        f1, same = [], []
        for collection in among:
            own = rows[[name == collection for name in names]]
            f1.append(own[:, 0].mean())
            if not np.isnan(own[:, 1]).all():
                same.append(np.nanmean(own[:, 1]))
        return float(np.mean(f1)), float(np.mean(same)) if same else np.nan

    collections = sorted(set(names))
    default = 1 / 3, 200, DEPTHS[-1]
    chosen: dict[str, list[tuple[float, float]]] = {"0.0": [], "0.1": [], "0.2": []}
    for out in collections:
        rest = [name for name in collections if name != out]
        pairs = {rule: pair(rule, rest) for rule in table if rule != default}
        for gain, rows in chosen.items():
            least = pair(default, rest)[1] + float(gain)
            able = [rule for rule in pairs if pairs[rule][1] > least]
            rows.append(pair(max(able, key=lambda rule, pairs=pairs: pairs[rule][0]), [out]))
    return {
        "rules": len(table),
        "default": pair(default, collections),
        "first": {str(seen): pair((1 / 3, 200, seen), collections) for seen in DEPTHS[:-1]},
        "chosen": {gain: np.nanmean(rows, axis=0).tolist() for gain, rows in chosen.items()},
    }


def _words(runs: list[tuple[str, str, pc.RankedLists]]) -> dict[str, Any]:
    """Return F1 by depth of no word, the right one and the next one, by the right word.

    The right word is the nearest to the mean number of relevant results of the run, from its
    judgements; the next one is the second nearest.
    """
    found: dict[str, list[Any]] = {}
    for collection, _, lists in runs:
        number = max(float(lists.relevant.count(lists.relevant.values > 0).mean()), 0.1)
        words = sorted(EXPECT, key=lambda word: abs(np.log(number / EXPECT[word])))
        kinds = {"none": None, "right": words[0], "next": words[1]}
        f1 = [_by_depth(Consensus(expect=word), lists)[0] for word in kinds.values()]
        found.setdefault(words[0], []).append((collection, f1))
    return {
        group: {
            "collections": len({collection for collection, _ in rows}),
            "f1": dict(zip(kinds, _tables(rows), strict=True)),
        }
        for group, rows in found.items()
    }


def _tables(rows: list[Any]) -> list[list[float]]:
    """Return the mean over collections of each kind, by depth."""
    names = [collection for collection, _ in rows]
    return [_means([f1[i] for _, f1 in rows], names) for i in range(3)]


def _means(values: Iterable[Any], collections: list[str]) -> list[float]:
    """Return the mean over collections, the runs of each alike."""
    table = np.array(list(values))
    own = [table[[c == name for c in collections]].mean(axis=0) for name in set(collections)]
    return [float(value) for value in np.mean(own, axis=0)]


def _chosen(values: dict[str, NDArray[np.float64]], collections: list[str]) -> dict[str, str]:
    """Return, for each collection, the share that is best on all the others."""
    found = {}
    for name in sorted(set(collections)):
        others = [c != name for c in collections]
        rest = [c for c in collections if c != name]
        means = {part: _means(own[others, None], rest)[0] for part, own in values.items()}
        found[name] = max(means, key=means.__getitem__)
    return found
