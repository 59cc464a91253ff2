"""Write ``src/paretocut/data/zero_shot.json``: what `Consensus` knows of other collections.

``python -m experiments.compare --ship`` learns it from the judged runs and the home-made lists. The
tables never use it for these: each is tested with what the others taught.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from experiments.cache import hash_lists, library, remember
from experiments.compare.consensus.homemade import made
from experiments.compare.kinds import collection
from experiments.data import ROOT, RUNS, Run, load
from paretocut.lists import RankedLists
from paretocut.truncators.consensus import Pretrained, pretrain

TARGET = ROOT / "src" / "paretocut" / "data" / "zero_shot.json"


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


def ship() -> None:
    """Learn from every list, and write what ships."""
    content = learned((run.family, lists) for run, lists in all_lists().items())
    TARGET.write_text(json.dumps(content.to_dict(), separators=(",", ":")) + "\n", encoding="utf-8")
