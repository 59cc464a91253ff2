"""Write ``src/paretocut/data/zero_shot.json``: what `Consensus` knows of other collections.

    python -m experiments.lead.pretrain

All collections take part in what is shipped. The tables never use it: each collection is tested
with what the others taught.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from experiments.data import ROOT, RUNS, load
from experiments.lead.collections import made
from paretocut.lists import RankedLists
from paretocut.truncators.consensus import Pretrained, pretrain

TARGET = ROOT / "src" / "paretocut" / "data" / "zero_shot.json"


def collection(family: str) -> str:
    """Return the collection of a family of runs: all of Robust04 share topics and judgements."""
    return family.partition(",")[0]


def corpus(family: str) -> str:
    """Return what a family of runs searches in: two of the kinds are searches in Reuters."""
    return collection(family).split()[0]


def learned(runs: Iterable[tuple[str, RankedLists]], *, without: str | None = None) -> Pretrained:
    """Return what the collections teach, those of one corpus left out.

    Parameters
    ----------
    runs
        Family and lists of each run.
    without
        The corpus left out.
    """
    groups: dict[str, list[RankedLists]] = {}
    for family, lists in runs:
        if corpus(family) != without:
            groups.setdefault(collection(family), []).append(lists)
    return pretrain(groups)


def main() -> None:
    """Do what the module says."""
    runs = {run: load(run) for run in RUNS} | made()
    content = learned((run.family, lists) for run, lists in runs.items())
    TARGET.write_text(json.dumps(content.to_dict(), separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
