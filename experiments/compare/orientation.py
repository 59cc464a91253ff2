"""A check of the evaluation itself: a few truncators once more, by plain code of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.compare.methods import PROTOCOL
from paretocut.evaluation import evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import GlobalK, Oracle, ScoreThreshold

__all__ = ["Orientation", "orientation"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Orientation:
    """F1 on one run, by the library and by the code of this module.

    Attributes
    ----------
    rows
        By truncator: mean of the library, mean of this module, largest difference of a query.
    """

    rows: dict[str, tuple[float, float, float]]

    def lines(self) -> Iterator[str]:
        """Yield the section of the page."""
        yield "## Check with other code\n"
        yield (
            "`experiments/compare/orientation.py` learns and applies three of the truncators on "
            "`bm25-top150` with loops of its own, on the same splits. It shares only the reading "
            "of the run with the library. F1:\n"
        )
        yield "| truncator | this page | other code | largest difference of a query |"
        yield "|---|---:|---:|---:|"
        for name, (ours, theirs, gap) in self.rows.items():
            yield f"| {name} | {ours:.4f} | {theirs:.4f} | {gap:.1e} |"

    def to_dict(self) -> dict[str, Any]:
        """Return the section's numbers as plain data."""
        return {
            name: [round(ours, 4), round(theirs, 4), gap]
            for name, (ours, theirs, gap) in self.rows.items()
        }


def orientation(lists: RankedLists) -> Orientation:
    """Return the check, made on the lists of ``bm25-top150``."""
    truncators = {
        "oracle": Oracle(),
        "global_k": GlobalK(),
        "minmax": ScoreThreshold("minmax"),
    }
    done = evaluate(truncators, lists, **PROTOCOL)
    rows = {}
    for i, (name, again) in enumerate(by_hand(lists, done.split, done.query).items()):
        ours = done.values[PROTOCOL["metrics"].index("f1"), i]
        rows[name] = (float(ours.mean()), float(again.mean()), float(np.abs(ours - again).max()))
    return Orientation(rows)


def by_hand(
    lists: RankedLists, split: NDArray[np.int64], query: NDArray[np.int64]
) -> dict[str, Array]:
    """Return the F1 of every test by truncator, in the order of the tests.

    Parameters
    ----------
    lists
        Judged lists.
    split, query
        Of each test, its split and which list it is about; a split trains on all other lists.
    """
    scores = [np.asarray(one, dtype=np.float64) for one in lists.scores]
    curves = [_f1(np.asarray(one, dtype=bool)) for one in lists.relevant]
    shapes = [(one - one.min()) / (np.ptp(one) or 1.0) for one in scores]
    found: dict[str, list[float]] = {"oracle": [], "global_k": [], "minmax": []}
    for number in np.unique(split):
        test = query[split == number]
        train = np.setdiff1d(np.arange(len(scores)), test)
        k = _best_cut([curves[i] for i in train])
        threshold = _best_threshold([shapes[i] for i in train], [curves[i] for i in train])
        for i in test:
            found["oracle"].append(curves[i].max())
            found["global_k"].append(curves[i][min(k, len(scores[i]))])
            found["minmax"].append(curves[i][np.count_nonzero(shapes[i] >= threshold)])
    # Tests come split by split, as they were gone through.
    order = np.argsort(np.argsort(split, kind="stable"), kind="stable")
    return {name: np.array(values)[order] for name, values in found.items()}


def _f1(relevant: NDArray[np.bool_]) -> Array:
    """Return F1 after 0, 1, ... results, with recall over the relevant results of the list."""
    hits = np.append(0, np.cumsum(relevant))
    return np.asarray(2 * hits / np.maximum(np.arange(len(hits)) + hits[-1], 1))


def _best_cut(curves: list[Array]) -> int:
    depth = max(len(curve) for curve in curves)
    means = np.mean([np.append(c, np.full(depth - len(c), c[-1])) for c in curves], axis=0)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def _best_threshold(shapes: list[Array], curves: list[Array]) -> float:
    """Return the middle of the highest stretch of thresholds with the best mean F1."""
    points = np.unique(np.concatenate(shapes))[::-1]
    total = np.zeros(len(points))
    for shape, curve in zip(shapes, curves, strict=True):
        total += curve[np.searchsorted(-shape, -points, side="right")]
    best = int(np.flatnonzero(total >= total.max() - 1e-12)[0])
    return float(points[best : best + 2].mean())
