"""What the other readings of the paper's text give, for every choice the tables had to make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.cache import hash_files, remember
from experiments.paper import draws, omniglot, robust04
from experiments.paper.draws import AUTHORSHIP, OMNIGLOT, SAME_DOCUMENT, Draw
from experiments.paper.retrieval import Similarity, Task, Training
from experiments.paper.rows import (
    BOUNDS,
    NEIGHBORS,
    SURPRISE,
    Row,
    local_rows,
    paper_value,
    surprise_rows,
)
from experiments.paper.tables import (
    SEEDS,
    SPLITS,
    progress,
    provenance,
    values_of,
)
from experiments.results import sources
from paretocut.lists import Ragged
from paretocut.truncators import GlobalK, Isotonic, LocalK, Oracle, ScoreThreshold, Surprise
from paretocut.truncators.search import nearest, sweep
from paretocut.truncators.threshold import _calibrate

Cell = tuple[Draw, Row, str]
Refit = Literal["window", "all"]

SIMILARITIES: tuple[Similarity, ...] = ("euclidean", "cosine")
TRAININGS: tuple[Training, ...] = ("all", "indexed", "half matched")
REFITS: tuple[Refit, ...] = ("window", "all")
TIES = ("keeps least", "middle", "keeps most")
"""Which of equally good cuts or thresholds is taken; the library takes the first."""


def neighbour_rows(neighbors: int) -> list[Row]:
    """Return the local methods with this many neighbours."""
    near = {"neighbors": neighbors}
    return [
        Row("Local-k", LocalK, near),
        Row("Isotonic", Isotonic, near),
        *surprise_rows(neighbors),
    ]


def whole_rows() -> list[Row]:
    """Return the same methods learning from all training queries."""
    return [
        Row("Global-k", GlobalK),
        Row("Isotonic", Isotonic),
        *surprise_rows(None),
        Row("Min-max threshold", ScoreThreshold, {"normalize": "minmax"}),
    ]


GROUPS: dict[str, list[Row]] = {
    "all": whole_rows(),
    "10": neighbour_rows(10),
    str(NEIGHBORS): neighbour_rows(NEIGHBORS),
}


def robust_rows(**options: Any) -> list[Row]:
    """Return the rows of Robust04's readings, Surprise with these options."""
    return [
        *(
            Row(name, Surprise, {"refit": refit, **options})
            for name, refit in zip(SURPRISE, REFITS, strict=True)
        ),
        Row("Global-k", GlobalK),
        Row("Isotonic", Isotonic, {"normalize": "max"}),
        Row("Oracle", Oracle),
    ]


BY_INDEX = pc.metrics.f_beta(1, recall_base="collection").name
"""F1 whose recall counts all relevant items of the index, in the list or not."""

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "as in Table 2": ("f1", {"bounds": BOUNDS}),
    "recall over collection": (
        BY_INDEX,
        {"bounds": BOUNDS},
    ),
    "any threshold": ("f1", {}),
    "window by goodness of fit": ("f1", {"bounds": BOUNDS, "selection": "gof"}),
    "as in Table 2, DCG": ("penalized_dcg", {"bounds": BOUNDS}),
    "any threshold, DCG": ("penalized_dcg", {}),
}


def cells() -> Iterator[Cell]:
    """Yield every draw, row and metric the readings need."""
    for similarity in SIMILARITIES:
        for training in TRAININGS:
            for rows in GROUPS.values():
                for draw in documents(similarity, training):
                    yield from ((draw, row, "accuracy") for row in rows)
    for some in BASES.values():
        for draw in some:
            for metric in ("f1", BY_INDEX):
                yield from ((draw, row, metric) for row in local_rows())
    for unseen in (False, True):
        for draw in drawings(unseen):
            for metric in ("f1", "penalized_dcg"):
                yield from ((draw, row, metric) for row in whole_rows())
    for name in robust04.COLUMNS:
        for metric, options in VARIANTS.values():
            for seed in SPLITS:
                yield from ((Draw(name, seed), row, metric) for row in robust_rows(**options))


BASES = {
    "Omniglot": [Draw(OMNIGLOT, seed, stage=omniglot.STAGES[0]) for seed in SEEDS],
    "News Authorship": [Draw(AUTHORSHIP, seed) for seed in SEEDS],
}
"""Where the list may lack relevant items of the index."""


def recall_bases() -> list[dict[str, Any]]:
    """Return F1 by what recall counts: the relevant items of the list, or of the index."""
    return [
        {
            "column": name,
            "base": base,
            "f1": {row.name: mean_of(some, row, metric) for row in local_rows()},
            "paper": {row.name: paper_value(name, "f1", row.name) for row in local_rows()},
        }
        for name, some in BASES.items()
        for base, metric in (("list", "f1"), ("index", BY_INDEX))
    ]


def documents(similarity: Similarity, training: Training) -> list[Draw]:
    """Return the draws of Same Document under one reading."""
    return [Draw(SAME_DOCUMENT, s, similarity=similarity, training=training) for s in SEEDS]


def drawings(unseen: bool) -> list[Draw]:
    """Return the draws of Omniglot with half of the test drawings set apart."""
    return [Draw(OMNIGLOT, seed, stage=omniglot.STAGES[0], unseen=unseen) for seed in SEEDS]


def mean_of(some: list[Draw], row: Row, metric: str) -> float:
    """Return a row's mean over all values of some draws."""
    return float(np.concatenate([values_of(draw, row, metric)["values"] for draw in some]).mean())


def same_document_readings() -> list[dict[str, Any]]:
    """Return accuracies by distance, training queries and size of the neighbourhood."""
    return [
        {
            "similarity": similarity,
            "training": training,
            "neighbours": size,
            "accuracy": {
                row.name: mean_of(documents(similarity, training), row, "accuracy") for row in rows
            },
        }
        for similarity in SIMILARITIES
        for training in TRAININGS
        for size, rows in GROUPS.items()
    ]


def held_out_drawings() -> list[dict[str, Any]]:
    """Return Omniglot learned from indexed drawings, and from drawings the encoder never saw."""
    return [
        {
            "learned from": "drawings the encoder never saw" if unseen else "training drawings",
            "metric": metric,
            "values": {row.name: mean_of(drawings(unseen), row, metric) for row in whole_rows()},
        }
        for unseen in (False, True)
        for metric in ("f1", "penalized_dcg")
    ]


def robust_readings() -> list[dict[str, Any]]:
    """Return Robust04 under other choices: recall base, bounds, window selection."""
    out = []
    for name in robust04.COLUMNS:
        folds = [Draw(name, seed) for seed in SPLITS]
        for variant, (metric, options) in VARIANTS.items():
            progress(f"{name}, {variant}")
            values = {row.name: mean_of(folds, row, metric) for row in robust_rows(**options)}
            out.append({"run": name, "variant": variant, "values": values})
    return out


# Among equally good choices of the training queries.


def placements() -> list[dict[str, Any]]:
    """Return test F1 and DCG by which of equally good training thresholds is taken.

    The paper searches [0, 8] and does not say how. Here: our exact search, which puts it midway
    between the break points around the best cut, and a grid in steps of 0.01 of which the
    smallest or the largest best value is taken.
    """
    return [
        {
            "run": name,
            "refit": refit,
            "metric": metric,
            "values": _kept(f"placement {name}", [name, refit, metric], _placed),
        }
        for metric in ("f1", "penalized_dcg")
        for name in robust04.COLUMNS
        for refit in REFITS
    ]


def _placed(name: str, refit: Refit, metric: str) -> dict[str, float]:
    worth = pc.metrics.get(metric)
    grid = np.linspace(*BOUNDS, 801)
    values: dict[str, list[Any]] = {"exact": [], "grid, smallest": [], "grid, largest": []}
    for seed in SPLITS:
        task = robust04.make_task(name, seed)
        model = Surprise(metric, bounds=BOUNDS, refit=refit).fit(task.train)
        curves = worth.curves(task.train)
        surprise = pc.fit_tails(task.train, refit=refit).surprise
        kept = np.stack([np.searchsorted(-row, -grid, side="right") for row in surprise])
        totals = curves.values[curves.offsets[:-1, None] + kept].mean(axis=0)
        best = grid[totals >= totals.max() - 1e-12]
        choices = {"exact": model.threshold_, "grid, smallest": best[0], "grid, largest": best[-1]}
        for place, threshold in choices.items():
            model.threshold_ = float(threshold)
            values[place].append(worth(task.test, model.predict(task.test)))
    return {place: float(np.concatenate(found).mean()) for place, found in values.items()}


def ties() -> dict[str, dict[str, float]]:
    """Return the accuracy on Same Document by which of equally good choices is taken."""
    found = [tie_of(seed) for seed in SEEDS]
    return {
        row: {rule: float(np.mean([one[row][rule] for one in found])) for rule in TIES}
        for row in found[0]
    }


def tie_of(seed: int) -> dict[str, dict[str, float]]:
    """Return the same for one draw."""
    return _kept("ties", [seed], lambda seed: by_tie(Draw(SAME_DOCUMENT, seed).task()))


def by_tie(task: Task, neighbors: int = NEIGHBORS) -> dict[str, dict[str, float]]:
    """Return the mean accuracy of each method and rule on one task."""
    train, test = task.train, task.test
    assert train.query_embeddings is not None
    near = nearest(train.query_embeddings, test, neighbors, who="ties")
    curves = pc.metrics.accuracy.curves(train)
    depth = int(train.scores.lengths.max())
    padded = np.stack([np.append(c, np.full(depth + 1 - len(c), c[-1])) for c in curves])
    whole = padded.mean(axis=0)
    cuts: dict[str, list[list[int]]] = {
        "Global-k": [_tied(whole)] * len(test),
        "Local-k": [_tied(padded[rows].mean(axis=0)) for rows in near],
        "Isotonic": [],
        **{name: [] for name in SURPRISE},
    }
    merit = train.merit
    keys = {
        name: pc.fit_tails(train, refit=r).surprise
        for name, r in zip(SURPRISE, REFITS, strict=True)
    }
    own = {
        name: pc.fit_tails(test, refit=r).surprise for name, r in zip(SURPRISE, REFITS, strict=True)
    }
    for i, rows in enumerate(near):
        part = curves.take(rows)
        knots = _calibrate(merit.take(rows), train.relevant.take(rows))
        calibrated = merit.take(rows).with_values(np.interp(merit.take(rows).values, *knots))
        cuts["Isotonic"].append(_thresholded(calibrated, part, np.interp(test.merit[i], *knots)))
        for name in SURPRISE:
            cuts[name].append(_thresholded(keys[name].take(rows), part, own[name][i], BOUNDS))
    return {
        name: {
            rule: float(pc.metrics.accuracy(test, np.minimum(k, test.scores.lengths)).mean())
            for rule, k in zip(TIES, np.array(found).T, strict=True)
        }
        for name, found in cuts.items()
    }


def _tied(totals: NDArray[np.float64]) -> list[int]:
    """Return the first, middle and last of the best positions."""
    best = np.flatnonzero(totals >= totals.max() - 1e-10 * max(1.0, abs(totals.max())))
    return [int(best[0]), int(best[len(best) // 2]), int(best[-1])]


def _thresholded(
    keys: Ragged,
    curves: Ragged,
    own: NDArray[np.float64],
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> list[int]:
    """Return how many of a list's own keys the first, middle and last best threshold keeps."""
    low, high = bounds
    upper, totals = sweep(keys, curves)
    lower = np.append(upper[1:], -np.inf)
    reachable = np.flatnonzero((lower < high) & (upper >= low))
    kept = []
    for place in _tied(totals[reachable]):
        i = reachable[place]
        threshold = 0.5 * max(lower[i], low) + 0.5 * min(upper[i], high)
        kept.append(int(np.count_nonzero(own >= threshold)))
    return kept


def _kept(name: str, arguments: list[Any], make: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Return what a function gives for these arguments, from disk where code and data agree."""
    data = arguments[0] if name.startswith("placement") else SAME_DOCUMENT
    inputs = {
        "arguments": arguments,
        "draw": Draw(data, 0).key(),
        "code": draws.code() | hash_files([*sources(Surprise()), *sources(Isotonic())]),
    }
    return remember(name, inputs, lambda: make(*arguments))


def readings() -> dict[str, Any]:
    """Return all of them; networks have no part in it."""
    return {
        "robust04": robust_readings(),
        "recall": recall_bases(),
        "placement": placements(),
        "omniglot": held_out_drawings(),
        "same_document": same_document_readings(),
        "ties": ties(),
        **provenance(),
    }
