"""The rows of the tables: every method, with the paper's numbers where it has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from paretocut.truncators import (
    BiCut,
    Conformal,
    GlobalK,
    Isotonic,
    LargestGap,
    LocalK,
    Oracle,
    ScoreDistribution,
    ScoreThreshold,
    Surprise,
    Training,
    Truncator,
)

NEIGHBORS = 200
"""The neighbourhood of the local methods: as many as are fetched for each query."""
BOUNDS = (0.0, 8.0)
"""Where the paper looks for the best Surprise threshold."""
NETWORK: dict[str, Any] = {"width": 128, "layers": 2, "max_steps": 300}
"""BiCut's sizes; the paper says "multi-layer" and gives none."""
TRAINING = {"batch_size": 64, "max_epochs": 60, "patience": 10}
"""How BiCut is trained."""
LARGE_TRAINING = {"batch_size": 256, "max_epochs": 20, "patience": 5}
"""The same on Omniglot, whose 25,968 training lists give many steps in an epoch."""


@dataclass(frozen=True)
class Row:
    """A method as the tables name it."""

    name: str
    of: type[Truncator]
    options: dict[str, Any] = field(default_factory=dict)
    tuned: bool = True  # whether it is given the metric
    paper: bool = False  # whether the paper has this row
    encodings: bool = False  # whether it reads the results' embeddings
    metrics: tuple[str, ...] = ("accuracy", "f1", "penalized_dcg")

    @property
    def neural(self) -> bool:
        """Whether it is a network."""
        return issubclass(self.of, BiCut)

    def make(self, metric: str) -> Truncator:
        """Return the truncator for a metric."""
        return self.of(**({"metric": metric} if self.tuned else {}), **self.options)


ORACLE = "Oracle"
SURPRISE = ("Surprise, refit on window", "Surprise, refit on all")
RIVALS = ("Global-k", "Local-k", "Isotonic", "BiCut, scores", "BiCut, encodings")
"""The paper's other rows."""
EXTRA_BICUT = "BiCut, min-max scores"

_ENDS = [
    Row("Surprise, alpha = 0.05, untrained", Surprise, {"alpha": 0.05}, tuned=False),
    Row("Surprise, E = 0.05, untrained", Surprise, {"evalue": 0.05}, tuned=False),
    Row("Raw threshold", ScoreThreshold, {"normalize": "raw"}),
    Row("Min-max threshold", ScoreThreshold, {"normalize": "minmax"}),
    Row("Score distribution", ScoreDistribution, tuned=False),
    Row("Score distribution, truncated", ScoreDistribution, {"truncated": True}, tuned=False),
    Row("Largest gap", LargestGap, tuned=False),
    Row(
        "Conformal, min-max, loses 10 %",
        Conformal,
        {"base": ScoreThreshold("minmax"), "loss": "fnr", "level": 0.1},
        tuned=False,
    ),
]


def surprise_rows(neighbors: int | None = NEIGHBORS) -> list[Row]:
    """Return both readings of Surprise, with local or, without neighbours, global thresholds."""
    local = {} if neighbors is None else {"neighbors": neighbors}
    return [
        Row(name, Surprise, {"bounds": BOUNDS, "refit": refit, **local}, paper=True)
        for name, refit in zip(SURPRISE, ("window", "all"), strict=True)
    ]


def bicut_rows(
    training: dict[str, int] = TRAINING,
    *,
    encodings: bool = True,
    metrics: tuple[str, ...] = ("accuracy", "f1"),
) -> list[Row]:
    """Return BiCut as the paper has it, on raw scores, and the extra row on min-max scores."""
    settings = NETWORK | {"training": Training(**training)}
    raw = settings | {"normalize": "raw"}
    rows = [Row("BiCut, scores", BiCut, raw, paper=True, metrics=metrics)]
    if encodings:
        options = raw | {"encodings": True}
        rows.append(
            Row("BiCut, encodings", BiCut, options, paper=True, encodings=True, metrics=metrics)
        )
    return [*rows, Row(EXTRA_BICUT, BiCut, settings | {"normalize": "minmax"}, metrics=metrics)]


def local_rows(neighbors: int = NEIGHBORS) -> list[Row]:
    """Return the paper's rows of Table 1 but BiCut: trained ones look at neighbouring queries."""
    near = {"neighbors": neighbors}
    return [
        Row(ORACLE, Oracle, paper=True),
        Row("Global-k", GlobalK, paper=True),
        Row("Local-k", LocalK, near, paper=True),
        Row("Isotonic", Isotonic, near, paper=True),
        *surprise_rows(neighbors),
    ]


def table1_rows(bicut: list[Row]) -> list[Row]:
    """Return the rows of Table 1."""
    first = local_rows()
    whole = [
        Row("Isotonic, global", Isotonic),
        Row("Surprise, global, window", Surprise, {"bounds": BOUNDS}),
        Row("Surprise, global, all", Surprise, {"bounds": BOUNDS, "refit": "all"}),
    ]
    return [*first[:4], *bicut, *first[4:], *whole, *_ENDS]


def table2_rows() -> list[Row]:
    """Return the rows of Table 2, where queries have no neighbourhood."""
    return [
        Row(ORACLE, Oracle, paper=True),
        Row("Global-k", GlobalK, paper=True),
        Row("Isotonic", Isotonic, {"normalize": "max"}, paper=True),
        *bicut_rows(encodings=False),
        *surprise_rows(None),
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
        "penalized_dcg": {
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
        "penalized_dcg": {
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
        "penalized_dcg": {ORACLE: 1.176, "Global-k": -0.116, "Isotonic": 0.0, "Surprise": 0.151},
    },
    "DRMM": {
        "f1": {
            ORACLE: 0.375,
            "Global-k": 0.263,
            "Isotonic": 0.217,
            "BiCut, scores": 0.262,
            "Surprise": 0.268,
        },
        "penalized_dcg": {ORACLE: 1.292, "Global-k": 0.266, "Isotonic": 0.0, "Surprise": 0.295},
    },
}
"""Tables 1 and 2 of the paper."""


def paper_value(column: str, metric: str, row: str) -> float | None:
    """Return the paper's number for a row of a column, if it has one."""
    values = PAPER.get(column, {}).get(metric, {})
    return values.get("Surprise" if row in SURPRISE else row)
