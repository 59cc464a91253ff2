"""Write ``src/paretocut/data/zero_shot.json``: what `Consensus` knows of other collections.

    python -m experiments.lead.pretrain

All collections of `FAMILIES` and the lists made here take part in what is shipped. The tables
never use it for them: each is tested with what the others taught.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from experiments.data import ROOT, RUNS, Run, load
from experiments.lead.cache import remembered
from experiments.lead.collections import made
from paretocut.lists import RankedLists
from paretocut.truncators.consensus import Pretrained, pretrain

TARGET = ROOT / "src" / "paretocut" / "data" / "zero_shot.json"
FAMILIES = (
    "Robust04",
    "Robust04, runs of TREC 2003",
    "TREC Deep Learning",
    "CLEF TAR 2019",
    "Vaswani",
    "SciFact",
)
"""Families of judged runs that `Consensus` was made with."""


def all_lists() -> dict[Run, RankedLists]:
    """Return the judged runs that `Consensus` was made with, then the lists made here."""
    return {run: load(run) for run in RUNS if run.family in FAMILIES} | made()


def collection(family: str) -> str:
    """Return the collection of a family of runs: all of Robust04 share topics and judgements."""
    return family.partition(",")[0]


def corpus(family: str) -> str:
    """Return what a family of runs searches in: two of the kinds are searches in Reuters."""
    return collection(family).split()[0]


def learned(
    runs: Iterable[tuple[str, RankedLists]], *, without: Collection[str] = ()
) -> Pretrained:
    """Return what the collections teach, those of some corpora left out.

    Parameters
    ----------
    runs
        Family and lists of each run.
    without
        The corpora left out.
    """
    groups: dict[str, list[RankedLists]] = {}
    for family, lists in runs:
        if corpus(family) not in without:
            groups.setdefault(collection(family), []).append(lists)
    return pretrain(groups)


def elsewhere(runs: Mapping[Run, RankedLists]) -> dict[str, Pretrained]:
    """Return what all other corpora teach, for each corpus; from disk if there.

    Parameters
    ----------
    runs
        Judged lists.
    """
    pairs = [(run.family, lists) for run, lists in runs.items()]

    def without(name: str) -> Pretrained:
        def make() -> dict[str, object]:
            return learned(pairs, without=[name]).to_dict()

        return Pretrained(**remembered(f"without {name}", runs.values(), make))

    return {name: without(name) for name in sorted({corpus(family) for family, _ in pairs})}


def main() -> None:
    """Do what the module says."""
    content = learned((run.family, lists) for run, lists in all_lists().items())
    TARGET.write_text(json.dumps(content.to_dict(), separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
