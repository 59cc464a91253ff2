"""`Consensus` in the comparison: tuned, told one number, and told nothing.

What it ships was learned from the runs of `experiments.data.RUNS`, so each of these is tested with
what the other corpora teach. The other collections were never learned from, and are tested with
what is shipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.compare import cache
from experiments.compare.methods import METRICS, PROTOCOL
from experiments.data import RUNS, Run
from experiments.lead.collections import made
from experiments.lead.pretrain import corpus, learned
from paretocut import metrics
from paretocut.evaluation import evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import Consensus
from paretocut.truncators.consensus import Pretrained

__all__ = ["NAMES", "elsewhere", "rows"]

NAMES = ("consensus", "consensus_told", "consensus_untrained")
"""Fitted on half of the queries; told the mean number of relevant results; told nothing."""

Rows = dict[str, dict[str, NDArray[Any]]]


def elsewhere(lists: Mapping[Run, RankedLists]) -> dict[Run, Pretrained | None]:
    """Return what `Consensus` may know of other collections, for each run; None is what ships."""
    pairs = [(run.family, lists[run]) for run in RUNS]
    pairs += [(run.family, own) for run, own in made().items()]
    by_corpus = {name: learned(pairs, without=[name]) for name in {corpus(r.family) for r in RUNS}}
    return {run: by_corpus[corpus(run.family)] if run in RUNS else None for run in lists}


def rows(run: Run, lists: RankedLists, known: Pretrained | None, query: NDArray[Any]) -> Rows:
    """Return cuts and values of the three, as `evaluate` shapes them.

    Parameters
    ----------
    run, lists
        The run and what it holds.
    known
        What it may know of other collections, as `elsewhere` gives it.
    query
        Which list each test is about.
    """
    bare = RankedLists(lists.scores, higher_is_better=lists.higher_is_better)
    relevant = lists.relevant
    number = float(relevant.count(relevant.values).mean())
    told = [Consensus(metric, expect=number, pretrained=known) for metric in METRICS]
    untold = [Consensus(metric, pretrained=known) for metric in METRICS]
    return {
        "consensus": _tuned(run, lists, known),
        "consensus_told": _looked_up(lists, [t.predict(bare) for t in told], query),
        "consensus_untrained": _looked_up(lists, [t.predict(bare) for t in untold], query),
    }


def _looked_up(
    lists: RankedLists, cuts: list[NDArray[Any]], query: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """Return the cuts of all lists, and their values, once for each test of a list."""
    values = [metrics.get(name)(lists, k) for name, k in zip(METRICS, cuts, strict=True)]
    return {"k": np.stack(cuts)[:, None, query], "values": np.stack(values)[:, None, query]}


def _tuned(run: Run, lists: RankedLists, known: Pretrained | None) -> dict[str, NDArray[Any]]:
    content = None if known is None else json.dumps(known.to_dict(), sort_keys=True)
    key = cache.key_of(run, Consensus(), PROTOCOL | {"known": content})
    stored = cache.read(key)
    if stored is None:
        done = evaluate({"consensus": Consensus(pretrained=known)}, lists, **PROTOCOL)
        stored = {"k": done.k[:, :1], "values": done.values[:, :1]}
        cache.write(key, **stored)
    return stored
