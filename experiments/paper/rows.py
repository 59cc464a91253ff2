"""The rows of the tables: every method, with the paper's numbers where it has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paretocut.truncators import (
    AttnCut,
    BiCut,
    Choppy,
    Conformal,
    GlobalK,
    Isotonic,
    LargestGap,
    LocalK,
    Oracle,
    ScoreDistribution,
    ScoreThreshold,
    Surprise,
    Truncator,
)

NEIGHBORS = 200
"""The neighbourhood of the local methods: as many as are fetched for each query."""
SAMPLED_NEIGHBORS = 50
"""The same on Omniglot, where a quarter of the training queries is drawn to save time."""
BOUNDS = (0.0, 8.0)
"""Where the paper looks for the best Surprise threshold."""
NEURAL: dict[str, Any] = {
    "width": 32,
    "layers": 1,
    "batch_size": 20,
    "max_epochs": 8,
    "patience": 3,
}
"""Networks small enough for a CPU; the paper does not give its sizes."""
NEURAL_LISTS = 200
"""Most training lists that a network sees."""
NEURAL_DEPTH = 300
"""Most results of a list that a network sees, as in the papers of Choppy and AttnCut."""
NEURAL_DRAWS = 5
"""On how many of the draws networks are trained."""


@dataclass(frozen=True)
class Row:
    """A method as the tables name it.

    Attributes
    ----------
    name
        Its name in tables.
    make
        Builds it for a metric.
    paper
        Whether the paper has this row.
    neural, encodings
        Whether it is a network, and whether that reads the results' embeddings.
    metrics
        What it is asked for; BiCut's loss knows no DCG, as the paper says.
    """

    name: str
    make: Callable[[str], Truncator]
    paper: bool = False
    neural: bool = False
    encodings: bool = False
    metrics: tuple[str, ...] = ("accuracy", "f1", "dcg")


ORACLE = "Oracle"
SURPRISE = ("Surprise, refit on window", "Surprise, refit on all")

_BICUT = Row(
    "BiCut, scores",
    lambda metric: BiCut(metric, **NEURAL),
    paper=True,
    neural=True,
    metrics=("accuracy", "f1"),
)
_ENDS = [
    Row("Surprise, alpha = 0.05, untrained", lambda metric: Surprise(alpha=0.05)),
    Row("Surprise, E = 0.05, untrained", lambda metric: Surprise(evalue=0.05)),
    Row("Raw threshold", lambda metric: ScoreThreshold("raw", metric=metric)),
    Row("Min-max threshold", lambda metric: ScoreThreshold("minmax", metric=metric)),
    Row("Score distribution", lambda metric: ScoreDistribution()),
    Row("Score distribution, truncated", lambda metric: ScoreDistribution(truncated=True)),
    Row("Largest gap", lambda metric: LargestGap()),
    Row(
        "Conformal, min-max, loses 10 %",
        lambda metric: Conformal(ScoreThreshold("minmax"), loss="fnr", level=0.1),
    ),
    Row("Choppy", lambda metric: Choppy(metric, **NEURAL), neural=True),
    Row("AttnCut", lambda metric: AttnCut(metric, **NEURAL), neural=True),
]


def local_rows(neighbors: int = NEIGHBORS) -> list[Row]:
    """Return the rows of Table 1, whose trained methods look at neighbouring queries."""
    return [
        Row(ORACLE, Oracle, paper=True),
        Row("Global-k", GlobalK, paper=True),
        Row("Local-k", lambda metric: LocalK(metric, neighbors=neighbors), paper=True),
        Row("Isotonic", lambda metric: Isotonic(metric, neighbors=neighbors), paper=True),
        _BICUT,
        Row(
            "BiCut, encodings",
            lambda metric: BiCut(metric, encodings=True, **NEURAL),
            paper=True,
            neural=True,
            encodings=True,
            metrics=_BICUT.metrics,
        ),
        Row(
            SURPRISE[0],
            lambda metric: Surprise(metric, bounds=BOUNDS, neighbors=neighbors),
            paper=True,
        ),
        Row(
            SURPRISE[1],
            lambda metric: Surprise(metric, bounds=BOUNDS, neighbors=neighbors, refit="all"),
            paper=True,
        ),
        Row("Isotonic, global", Isotonic),
        Row("Surprise, global, window", lambda metric: Surprise(metric, bounds=BOUNDS)),
        Row("Surprise, global, all", lambda metric: Surprise(metric, bounds=BOUNDS, refit="all")),
        *_ENDS,
    ]


def global_rows() -> list[Row]:
    """Return the rows of Table 2, where queries have no neighbourhood."""
    return [
        Row(ORACLE, Oracle, paper=True),
        Row("Global-k", GlobalK, paper=True),
        Row("Isotonic", lambda metric: Isotonic(metric, normalize="max"), paper=True),
        _BICUT,
        Row(SURPRISE[0], lambda metric: Surprise(metric, bounds=BOUNDS), paper=True),
        Row(SURPRISE[1], lambda metric: Surprise(metric, bounds=BOUNDS, refit="all"), paper=True),
        *_ENDS,
    ]


PAPER: dict[str, dict[str, dict[str, float]]] = {
    "Same Document": {
        "accuracy": {
            ORACLE: 1.0,
            "Global-k": 0.5005,
            "Local-k": 0.4905,
            "Isotonic": 0.5723,
            "BiCut, scores": 0.3430,
            "BiCut, encodings": 0.4895,
            "Surprise": 0.6112,
        }
    },
    "Omniglot": {
        "f1": {
            ORACLE: 0.3191,
            "Global-k": 0.2259,
            "Local-k": 0.2265,
            "Isotonic": 0.2126,
            "BiCut, scores": 0.2175,
            "BiCut, encodings": 0.2225,
            "Surprise": 0.2285,
        },
        "dcg": {
            ORACLE: 0.6659,
            "Global-k": 0.0,
            "Local-k": 0.0239,
            "Isotonic": 0.0383,
            "Surprise": 0.0948,
        },
    },
    "News Authorship": {
        "f1": {
            ORACLE: 0.1122,
            "Global-k": 0.0798,
            "Local-k": 0.0813,
            "Isotonic": 0.0689,
            "BiCut, scores": 0.0789,
            "BiCut, encodings": 0.0733,
            "Surprise": 0.0814,
        },
        "dcg": {
            ORACLE: 0.1906,
            "Global-k": 0.0,
            "Local-k": 0.0005,
            "Isotonic": -0.0019,
            "BiCut, scores": 0.0,
            "BiCut, encodings": 0.0,
            "Surprise": -0.0213,
        },
    },
    "BM25": {
        "f1": {
            ORACLE: 0.367,
            "Global-k": 0.248,
            "Isotonic": 0.204,
            "BiCut, scores": 0.244,
            "Surprise": 0.251,
        },
        "dcg": {ORACLE: 1.176, "Global-k": -0.116, "Isotonic": 0.0, "Surprise": 0.151},
    },
    "DRMM": {
        "f1": {
            ORACLE: 0.375,
            "Global-k": 0.263,
            "Isotonic": 0.217,
            "BiCut, scores": 0.262,
            "Surprise": 0.268,
        },
        "dcg": {ORACLE: 1.292, "Global-k": 0.266, "Isotonic": 0.0, "Surprise": 0.295},
    },
}
"""Tables 1 and 2 of the paper."""


def paper_value(column: str, metric: str, row: str) -> float | None:
    """Return the paper's number for a row of a column, if it has one."""
    values = PAPER.get(column, {}).get(metric, {})
    return values.get("Surprise" if row in SURPRISE else row)
