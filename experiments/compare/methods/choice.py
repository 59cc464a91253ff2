"""The truncators of the comparison: all that the library registers, variants, and rivals."""

from __future__ import annotations

from typing import Any

from experiments.rivals.cluster_gap import ClusterGap
from experiments.rivals.of_best import OfBest
from experiments.rivals.tail_aware import TailAware
from paretocut import truncators
from paretocut.lists import RankedLists
from paretocut.truncators import LargestGap, ScoreThreshold, Surprise, Truncator

__all__ = ["BASELINE", "CEILING", "DOMAINS", "KINDS", "METRICS", "NEURAL", "PROTOCOL", "methods"]

METRICS = ("f1", "penalized_dcg")
PROTOCOL: dict[str, Any] = {"metrics": METRICS, "splits": 5, "folds": 2, "seed": 0}
BASELINE = "global_k"
CEILING = "oracle"
NEURAL = ("bicut", "choppy", "attncut")
KINDS = {
    "Robust04": "news",
    "Robust04, runs of TREC 2003": "news",
    "time": "news",
    "TREC Deep Learning": "web",
    "CLEF TAR 2019": "science",
    "Vaswani": "science",
    "SciFact": "science",
    "nfcorpus": "science",
    "cranfield": "science",
    "cisi": "science",
    "med": "science",
    "adi": "science",
    "2wiki": "multi-hop",
    "hotpotqa500": "multi-hop",
    "squad2": "questions",
    "clinc150": "intents",
    "contractnli": "legal",
}
"""What a family of runs searches for; a column of the page's table each."""
DOMAINS = {
    "abt_buy": "linkage",
    "dblp_acm": "linkage",
    "locomo_a": "memory",
    "banking77oos": "banking",
    "tar2017": "reviews",
}
"""The same of the new domains."""
# `ours` measures Consensus without what it has learned from the run.
_APART = ("consensus",)

_VARIANTS = {
    "surprise": {
        "surprise_all": Surprise(refit="all"),
        "surprise_alpha": Surprise(alpha=0.05),
        "surprise_evalue": Surprise(evalue=0.05),
    },
    "minmax": {"minmax_half": ScoreThreshold("minmax", 0.5)},
    "max": {"max_80": OfBest(0.8)},
    "z": {"z_1": ScoreThreshold("z", 1.0)},
    "largest_gap": {"adaptive_k": LargestGap(ignore_tail=0.1, extra=5)},
}
# MtCut was not trained on the runs: a CPU takes a day for that.
_RIVALS = {"tail_aware": TailAware(), "cluster_gap": ClusterGap()}


def methods(lists: RankedLists) -> dict[str, Truncator]:
    """Return the truncators that can work on the lists, by name; the ceiling is not among them."""
    chosen: dict[str, Truncator] = {}
    for name in truncators.names():
        if name in (CEILING, *_APART):
            continue
        chosen[name] = truncators.make(name)
        chosen |= _VARIANTS.get(name, {})
    chosen |= _RIVALS
    if lists.query_embeddings is None:
        return {name: item for name, item in chosen.items() if not _is_local(item)}
    return chosen


def _is_local(truncator: Truncator) -> bool:
    return truncator.get_params().get("neighbors") is not None
