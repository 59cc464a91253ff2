"""A check of the evaluation itself: numbers that an independent evaluation found before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretocut.evaluation import evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import GlobalK, Oracle, ScoreThreshold, Surprise

__all__ = ["Orientation", "orientation"]

# Five random 80/20 splits of the BM25 run of depth 150, made with other code and other seeds.
EXPECTED = {"oracle": 0.465, "global_k": 0.324, "surprise_all": 0.326, "minmax": 0.350}
SETS = 40


@dataclass(frozen=True)
class Orientation:
    """Mean F1 of five splits: what was expected, and how it spreads over many sets of five.

    Attributes
    ----------
    sets
        By recall base and truncator, the mean of each set of five splits.
    """

    sets: dict[str, dict[str, list[float]]]

    def lines(self) -> Iterator[str]:
        """Yield the section of the page."""
        yield "## Check against an independent evaluation\n"
        yield (
            "An evaluation with other code found, on `bm25-top150` with five random 80/20 "
            "splits, the F1 in the first column. Five splits of 50 test queries are a noisy "
            f"thing, so here are {SETS} sets of five: mean and standard deviation of a set's "
            "value, and how far the expected number is from it in standard deviations.\n"
        )
        bases = list(self.sets)
        yield "| truncator | expected | " + " | ".join(f"{base} | away" for base in bases) + " |"
        yield "|---|---:|" + "---:|---:|" * len(bases)
        for name, expected in EXPECTED.items():
            cells = [name, f"{expected:.3f}"]
            for base in bases:
                mean, deviation = self._moments(base, name)
                cells += [f"{mean:.3f} ± {deviation:.3f}", f"{(expected - mean) / deviation:+.1f}"]
            yield "| " + " | ".join(cells) + " |"
        yield ""
        yield (
            "The recall base decides: with recall over the relevant results in the list (`f1`) "
            "the numbers agree within the noise of five splits; with recall over all relevant "
            "documents of the collection (`f1/collection`) they could not: only a third of the "
            "relevant documents are among the 150 retrieved, so even the ceiling is lower."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the section's numbers as plain data."""
        return {
            "expected": EXPECTED,
            "found": {
                base: {name: [round(x, 4) for x in self._moments(base, name)] for name in EXPECTED}
                for base in self.sets
            },
        }

    def _moments(self, base: str, name: str) -> tuple[float, float]:
        means = np.array(self.sets[base][name])
        return float(means.mean()), float(means.std(ddof=1))


def orientation(lists: RankedLists) -> Orientation:
    """Return the check, made on the lists of ``bm25-top150``."""
    truncators = {
        "oracle": Oracle(),
        "global_k": GlobalK(),
        "surprise_all": Surprise(refit="all"),
        "minmax": ScoreThreshold("minmax"),
    }
    metrics = ("f1", "f1/collection")
    done = evaluate(truncators, lists, metrics, splits=5 * SETS, train=0.8)
    sets: dict[str, dict[str, list[float]]] = {}
    for i, metric in enumerate(metrics):
        sets[metric] = {
            name: [float(done.values[i, j, done.split // 5 == one].mean()) for one in range(SETS)]
            for j, name in enumerate(done.truncators)
        }
    return Orientation(sets)
