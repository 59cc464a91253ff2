"""`Consensus` in the comparison without judgements, and what it may know of other collections.

What it ships was learned from the runs of `experiments.data.RUNS`, so each of these is tested with
what the other corpora teach. The other collections were never learned from, and are tested with
what is shipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.compare.consensus.homemade import made
from experiments.compare.consensus.pretrain import Taught, corpus, learned
from experiments.compare.methods.choice import METRICS
from experiments.data import RUNS, Run
from paretocut import metrics
from paretocut.lists import RankedLists
from paretocut.truncators.consensus.pretrained import Pretrained

__all__ = ["elsewhere", "unjudged"]


def elsewhere(lists: Mapping[Run, RankedLists]) -> dict[Run, Pretrained | None]:
    """Return what `Consensus` may know of other collections, for each run; None is what ships."""
    pairs = [(run.family, lists[run]) for run in RUNS]
    pairs += [(run.family, own) for run, own in made().items()]
    by_corpus = {name: learned(pairs, without=[name]) for name in {corpus(r.family) for r in RUNS}}
    return {run: by_corpus[corpus(run.family)] if run in RUNS else None for run in lists}


def unjudged(
    lists: RankedLists, known: Pretrained | None, query: NDArray[Any]
) -> dict[str, dict[str, NDArray[Any]]]:
    """Return cuts and values with the mean number known, and with nothing known, for each test."""
    bare = RankedLists(lists.scores, higher_is_better=lists.higher_is_better)
    number = float(lists.relevant.count(lists.relevant.values).mean())
    found = {}
    for name, expect in (("consensus_told", number), ("consensus_untrained", None)):
        models = [Taught(metric, expect=expect, pretrained=known) for metric in METRICS]
        cuts = [model.predict(bare) for model in models]
        values = [metrics.get(metric)(lists, k) for metric, k in zip(METRICS, cuts, strict=True)]
        found[name] = {
            "k": np.stack(cuts)[:, None, query],
            "values": np.stack(values)[:, None, query],
        }
    return found
