"""Write ``src/paretocut/data/zero_shot.json``: what `Consensus` knows of other collections.

``python -m experiments.compare --ship`` learns it from the judged runs and the home-made lists. The
tables never use it for these: each is tested with what the others taught.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from experiments.cache import hash_lists, library, remember
from experiments.compare.consensus.homemade import made
from experiments.compare.kinds import collection
from experiments.data import ROOT, RUNS, Run, load
from paretocut import metrics
from paretocut.lists import RankedLists
from paretocut.relevance import Scale, ridge_logistic
from paretocut.schema.kinds import Either, Instance
from paretocut.truncators import Consensus
from paretocut.truncators.consensus.pretrained import (
    DESIGN,
    LEARNED,
    Pretrained,
    design_of,
    rule_values,
    shipped,
    unit,
    where,
)

TARGET = ROOT / "src" / "paretocut" / "data" / "zero_shot.json"
WITHOUT = TARGET.with_name("zero_shot_without.json")
# Deep results are many and much alike: beyond rank 100, every tenth of them is learned from.
_DENSE, _STEP = 100, 10


class Taught(Consensus):
    """`Consensus` with the knowledge of some collections; None for what ships."""

    parameters: ClassVar = {**Consensus.parameters, "pretrained": Either(Instance(Pretrained))}

    def __init__(
        self,
        metric: Any = "f1",
        *,
        expect: Any = None,
        pretrained: Pretrained | None = None,
        base: Any = None,
        judge_errors: Any = None,
        seed: int = 0,
    ) -> None:
        super().__init__(metric, expect=expect, base=base, judge_errors=judge_errors, seed=seed)
        self.pretrained = pretrained

    def prior(self) -> Pretrained:
        """Return what this one was taught."""
        return self.pretrained or shipped()


def all_lists() -> dict[Run, RankedLists]:
    """Return the judged runs that `Consensus` was made with, then the lists made here."""
    return {run: load(run) for run in RUNS} | made()


def corpus(family: str) -> str:
    """Return what a family of runs searches in: two of the kinds are searches in Reuters."""
    return collection(family).split()[0]


def learned(
    runs: Iterable[tuple[str, RankedLists]], *, without: Collection[str] = ()
) -> Pretrained:
    """Return what the collections teach, those of some corpora left out."""
    groups: dict[str, list[RankedLists]] = {}
    for family, lists in runs:
        if corpus(family) not in without:
            groups.setdefault(collection(family), []).append(lists)
    return pretrain(groups)


def elsewhere(runs: Mapping[Run, RankedLists]) -> dict[str, Pretrained]:
    """Return what all other corpora teach, for each corpus; from disk if there."""
    pairs = [(run.family, lists) for run, lists in runs.items()]
    inputs = {"lists": hash_lists(runs.values()), "library": library()}
    return {
        name: remember(
            "consensus elsewhere",
            inputs | {"without": name},
            lambda name=name: learned(pairs, without=[name]),  # type: ignore[misc]
        )
        for name in sorted({corpus(family) for family, _ in pairs})
    }


def pretrain(collections: Mapping[str, Sequence[RankedLists]]) -> Pretrained:
    """Return what `Consensus` learns from other collections.

    Parameters
    ----------
    collections
        Judged runs of each collection. Collections count alike, and so do the runs of one.
    """
    values: dict[str, dict[str, list[float]]] = {metric: {} for metric in LEARNED}
    designs, relevant, weights = [], [], []
    for name, runs in collections.items():
        scales = [Scale.of(run.merit) for run in runs]
        merits = [scale.apply(run.merit) for run, scale in zip(runs, scales, strict=True)]
        for metric, learned in LEARNED.items():
            means = []
            for run, merit, scale in zip(runs, merits, scales, strict=True):
                curves = metrics.get(metric).curves(run)
                means.append(rule_values(merit, scale, curves).mean(axis=0) / unit(curves))
            mean = np.mean(means, axis=0)[where(learned)]
            values[metric][name] = np.round(mean, 4).tolist()
        for run, merit, scale in zip(runs, merits, scales, strict=True):
            rank = merit.ranks + 1
            dense = rank <= _DENSE
            kept = dense | (rank % _STEP == 0)
            stands_for = np.where(dense, 1, _STEP)[kept]  # results like it
            designs.append(design_of(merit, scale)[kept])
            relevant.append(run.relevant.values[kept])
            weights.append(100 * stands_for / rank[kept] / (len(runs) * len(run)))
    design = np.concatenate(designs)
    center, spread = design.mean(axis=0), design.std(axis=0)
    center[0], spread = 0.0, np.where(spread > 1e-3, spread, 1.0)
    # Each run has a level of its own as well: how often results are relevant is not a property of
    # scores, and must not be taken for one.
    levels = np.repeat(np.eye(len(designs)), [len(part) for part in designs], axis=0)
    full = np.concatenate([(design - center) / spread, levels], axis=1)

    penalty = np.ones(full.shape[1])
    penalty[0] = 0.01  # the level that runs share is no part of their own

    def regression(table: NDArray[Any]) -> list[float]:
        coef = ridge_logistic(
            table,
            np.concatenate(relevant),
            penalty=penalty,
            towards=np.zeros(table.shape[1]),
            weight=np.concatenate(weights),
        )
        rounded: list[float] = np.round(coef[: len(DESIGN)], 4).tolist()
        return rounded

    raw = [DESIGN.index(name) for name in ("raw", "best_raw")]
    coef = regression(full)
    full[:, raw] = 0.0
    return Pretrained(
        coef,
        regression(full),
        np.round(center, 4).tolist(),
        np.round(spread, 4).tolist(),
        values,
    )


def ship() -> None:
    """Learn from every list, and write what ships."""
    content = learned((run.family, lists) for run, lists in all_lists().items())
    TARGET.write_text(json.dumps(asdict(content), separators=(",", ":")) + "\n", encoding="utf-8")
    rows = []
    for name, known in elsewhere(all_lists()).items():
        left_out = [one for one in content.values["f1"] if corpus(one) == name]
        regression = {key: value for key, value in asdict(known).items() if key != "values"}
        rows.append(json.dumps({"collections": sorted(left_out), **regression}))
    text = ",\n".join(rows)
    WITHOUT.write_text(f'{{"corpora": [\n{text}\n]}}\n', encoding="utf-8")
