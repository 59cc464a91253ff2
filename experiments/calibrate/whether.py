"""Whether: how often good questions and others are left empty, by what is known."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.calibrate.searches import Asked
from experiments.texts import TEXTS, documents
from paretocut.lists import RankedLists

__all__ = ["measure", "strange"]

Array = NDArray[np.float64]
_ALPHAS = (0.01, 0.05, 0.1)
_SAMPLE = 300
_SPLITS = 4


def measure(system: str, asked: dict[str, dict[str, Asked]]) -> dict[str, Any]:
    """Return the rates of each collection.

    Half of the good questions are the log, or what thresholds are tuned on; rates are those of
    the other half, over four splits.
    """
    return {name: _collection(system, name, asked[name]) for name in TEXTS}


def _collection(system: str, name: str, asked: dict[str, Asked]) -> dict[str, Any]:
    kinds = dict(asked)
    if system == "BM25":
        texts = list(documents(name).values())
        rng = np.random.default_rng(0)
        sample = [texts[i] for i in rng.permutation(len(texts))[:_SAMPLE]]
        scale = pc.background.QueryScale.from_texts(sample)
        kinds = {kind: _divided(part, scale) for kind, part in asked.items()}
    nonsense = kinds["lexical" if system == "BM25" else "nonsense"].lists
    tops = {kind: _tops(part.lists) for kind, part in kinds.items()}
    row: dict[str, Any] = {"alpha": {}, "splits": []}
    for alpha in _ALPHAS:
        t = pc.calibration.calibrated(nonsense, alpha=alpha)
        row["alpha"][str(alpha)] = {kind: _empty(t, part.lists) for kind, part in kinds.items()}
    good, other = kinds["good"].lists, kinds["other"].lists
    for split in range(_SPLITS):
        row["splits"].append(_split(split, nonsense, good, other, tops, kinds["own"].lists))
    start = time.perf_counter()
    pc.calibration.calibrated(nonsense, good[: len(good) // 2])
    row["seconds"] = time.perf_counter() - start
    surprise = pc.truncators.Surprise(evalue=0.05)
    row["surprise"] = {kind: _empty(surprise, kinds[kind].lists) for kind in ("good", "other")}
    if system == "MiniLM":
        row["fixed"] = {k: float(np.mean(tops[k] < 0.5)) for k in ("good", "other")}
    row["raw"] = _auc(_tops(asked["good"].lists), _tops(asked["other"].lists))
    row["confidence"] = {
        label: [_auc(f(good), f(other)), _nauc(f(good), f(other))]
        for label, f in (("best score", _tops), ("std", _stds), ("first difference", _firsts))
    }
    if len(tops["own"]):
        row["own"] = _auc(tops["good"], tops["own"])
    return row


def _split(
    seed: int,
    nonsense: list[Array],
    good: list[Array],
    other: list[Array],
    tops: dict[str, Array],
    own: list[Array],
) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    order, others = rng.permutation(len(good)), rng.permutation(len(other))
    log, test = order[: len(order) // 2], order[len(order) // 2 :]
    seen, new = others[: len(others) // 2], others[len(others) // 2 :]
    rest = [other[i] for i in new]
    held = [good[i] for i in test]
    row = {"tuned": _tuned(tops, log, test, seen, new)}
    row["regression"] = _regression(good, other, log, test, seen, new)
    t = pc.calibration.calibrated(nonsense, [good[i] for i in log])
    row["log"] = {"good": _empty(t, held), "other": _empty(t, rest)}
    if own:
        row["log"]["own"] = _empty(t, own)
    for share in (0.1, 0.3):
        extra = [other[i] for i in seen[: round(len(log) * share / (1 - share))]]
        for label, told in (("", 0.05), (", told", share)):
            t = pc.calibration.calibrated(nonsense, [good[i] for i in log] + extra, unanswered=told)
            row[f"log {share:.0%}{label}"] = {"good": _empty(t, held), "other": _empty(t, rest)}
    t = pc.calibration.calibrated(nonsense)
    row["nonsense"] = {"good": _empty(t, held), "other": _empty(t, rest)}
    return row


def _tuned(tops: dict[str, Array], log: Any, test: Any, seen: Any, new: Any) -> dict[str, float]:
    """Return the rates of the threshold that is best on labelled questions."""
    good, other = tops["good"], tops["other"]
    grid = np.unique(np.concatenate([good[log], other[seen]]))
    errors = [np.mean(good[log] < t) + np.mean(other[seen] >= t) for t in grid]
    best = grid[int(np.argmin(errors))]
    return {"good": float(np.mean(good[test] < best)), "other": float(np.mean(other[new] < best))}


def _regression(
    good: list[Array], other: list[Array], log: Any, test: Any, seen: Any, new: Any
) -> dict[str, float]:
    """Return the rates of a regression on the ten best scores, with labels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    table, rest = _sorted(good), _sorted(other)
    scaler = StandardScaler().fit(np.concatenate([table[log], rest[seen]]))
    model = LogisticRegression(class_weight="balanced", max_iter=1000).fit(
        scaler.transform(np.concatenate([table[log], rest[seen]])),
        np.concatenate([np.ones(len(log)), np.zeros(len(seen))]),
    )
    return {
        "good": float(np.mean(model.predict(scaler.transform(table[test])) == 0)),
        "other": float(np.mean(model.predict(scaler.transform(rest[new])) == 0)),
    }


def _sorted(lists: list[Array]) -> Array:
    return np.stack([np.concatenate([x, np.zeros(10)])[:10] for x in lists])


def _divided(asked: Asked, scale: pc.background.QueryScale) -> Asked:
    divisors = scale(asked.texts)
    lists = [x / d for x, d in zip(asked.lists, divisors, strict=True)]
    return Asked(asked.texts, lists, asked.ids)


def strange(asked: dict[str, dict[str, Asked]]) -> dict[str, Any]:
    """Return how often a gate says that scores are not of its kind.

    Of good and off-topic questions, and of the same as cosine distances where the gate was made
    for squared distances, which are twice as large.
    """
    rows = {}
    for name, kinds in asked.items():
        gate = pc.calibration.calibrated(kinds["nonsense"].lists)
        far = [2 * (1 - x) for x in kinds["nonsense"].lists]
        other = pc.calibration.calibrated(far, higher_is_better=False)
        both = [*kinds["good"].lists, *kinds["other"].lists]
        rows[name] = {
            "right": _strange(gate, both, True),
            "wrong": _strange(other, [1 - x for x in both], False),
        }
    return rows


def _strange(gate: Any, lists: list[Array], up: bool) -> float:
    cuts = gate.cut_batch(RankedLists(lists, higher_is_better=up))
    return float(np.mean(["not_calibrated_for" in names for names in cuts.warnings]))


def _empty(truncator: Any, lists: list[Array]) -> float:
    if not lists:
        return 0.0
    return float(np.mean(truncator.predict(RankedLists(lists)) == 0))


def _tops(lists: list[Array]) -> Array:
    return np.array([x[0] if x.size else 0.0 for x in lists])


def _stds(lists: list[Array]) -> Array:
    return np.array([x.std() if x.size else 0.0 for x in lists])


def _firsts(lists: list[Array]) -> Array:
    return np.array([x[0] - x[1] if x.size > 1 else 0.0 for x in lists])


def _auc(good: Array, other: Array) -> float:
    """Return the chance that a good question scores higher than another one."""
    order = np.sort(other)
    below = np.searchsorted(order, good, side="left") + np.searchsorted(order, good, side="right")
    return float(np.mean(below) / (2 * order.size))


def _nauc(good: Array, other: Array) -> float:
    """Return the area under share-of-good against abstention, 0 for chance and 1 for the best.

    Questions are left empty from the lowest confidence up; the measure is the mean share of good
    questions among those that are answered.
    """

    def area(truth: Array) -> float:
        kept = np.cumsum(truth[::-1])[::-1] / np.arange(truth.size, 0, -1)
        return float(kept.mean())

    truth = np.concatenate([np.ones(good.size), np.zeros(other.size)])
    order = np.argsort(np.concatenate([good, other]), kind="stable")
    best = area(np.sort(truth))
    chance = float(truth.mean())
    return (area(truth[order]) - chance) / (best - chance)
