"""What is compared, and the rule of each verdict: written before any frozen run was read.

The constants are those of the commit that the results name. All rows of one run are measured on
the same queries (at most 300, with a relevant document). Learned rows are fitted on half of them
and tested on the other half, twice both ways. All rows are tuned for F1 with the recall of the
list; F1 with the recall of the collection and the gain are measured on the same cuts.

Gain, in the style of nDCG: the DCG of the kept results (1 / log2(rank + 1) for each relevant one)
over that of a perfect list as long as the longer of two, the kept results and the relevant ones. It
is 1 only if exactly the relevant results are kept.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.accept.measure import BUDGETS, accept, first_results, tuned
from experiments.command import say
from experiments.frozen import gate
from experiments.frozen.sets import Collection
from experiments.fuse.methods import F1, halves, two_fold
from experiments.fuse.pairs import Pair, load
from experiments.results import PACKAGE
from experiments.rivals.of_best import OfBest
from paretocut import RankedLists, metrics
from paretocut.decisions.options import EXPECT
from paretocut.fusion import Fusion
from paretocut.relevance import CONSTANTS
from paretocut.truncators import Consensus, FixedK, LargestGap, Oracle

__all__ = ["COMPARISONS", "MEASURES", "constants", "measure"]

Array = NDArray[np.float64]
MEASURES = ("f1", "f1/collection", "gain")
LEARNED = {"Consensus, learned": "consensus", "min-max, learned": "minmax", "best k": "global_k"}
COMPARISONS = (
    # README: learned, the best-supported claim.
    ("Consensus, learned", "min-max, learned"),
    ("Consensus, learned", "best k"),
    # Something is known: a number, a word, unjudged lists.
    ("number", "min-max, learned"),
    ("right word", "default"),
    ("second-nearest word", "default"),
    ("unjudged lists", "default"),
    # Nothing is known.
    ("default", "0.8 of the best"),
    ("default", "largest gap"),
    ("default", "first ten"),
)
"""Ours and the rival. The verdict on F1 with the recall of the list counts: "ahead" if the whole
95 % interval over collections (jackknife, Student's t) is above 0, "behind" if it is below 0, else
"not shown". A sentence about a lead needs "ahead" on all collections, and a positive gain on the
blind ones."""
GATE_MARGIN = 0.05
"""The gate without labels "holds" against a threshold tuned with labels if the upper end of the
interval of the difference in balanced error is at most this, and "fails" if the lower end is above
it. Otherwise it is "open"."""
ACCEPT_LEVEL = 0.05
"""`Accept` breaks its promise in a case if significantly more than 5 % of the resamples have an
error above the budget: binomial test, Holm-corrected over all cases, at this level."""
RESAMPLES = 60


def measure(collections: Sequence[Collection]) -> dict[str, Any]:
    """Return all numbers of the page."""
    rows = []
    for one in collections:
        for file, ranker in one.runs:
            rows.append(
                {"collection": one.name, "run": file, "ranker": ranker, "blind": one.blind}
                | cuts(one.lists(file))
            )
        say(one.name)
    content: dict[str, Any] = {"rows": rows}
    content["fusion"] = [fusion(one) for one in collections if _hybrid(one)]
    say("fusion")
    content["accept"] = [
        accepted(one, file, seed)
        for seed, one in enumerate(collections)
        if one.first_hit
        for file, _ in one.runs
    ]
    say("accept")
    content["gate"] = gate.measure([one for one in collections if one.text])
    return content


def constants() -> dict[str, Any]:
    """Return what is frozen: constants by name, and hashes of everything that ships as data."""
    data = sorted((PACKAGE / "data").glob("*.json"))
    return {
        "consensus": asdict(CONSTANTS),
        "words": dict(EXPECT),
        "data": {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in data},
    }


def gain(lists: RankedLists, k: NDArray[np.int64]) -> Array:
    """Return the gain of each cut."""
    values = np.zeros(len(lists))
    for i, (relevant, kept) in enumerate(zip(lists.relevant, k, strict=True)):
        weight = 1 / np.log2(np.arange(2, relevant.size + 2))
        longer = max(int(relevant.sum()), int(kept))
        if longer > 0:
            values[i] = weight[:kept][relevant[:kept]].sum() / weight[:longer].sum()
    return values


def _values(lists: RankedLists, k: NDArray[np.int64]) -> list[float]:
    """Return the mean of each of `MEASURES`, then the mean number kept."""
    f1 = [metrics.get(name)(lists, k) for name in MEASURES[:2]]
    return [float(np.mean(value)) for value in (*f1, gain(lists, k), k)]


def cuts(lists: RankedLists) -> dict[str, Any]:
    """Return the means of every row on one run."""
    bare = RankedLists(lists.scores, higher_is_better=lists.higher_is_better)
    number = float(lists.relevant.count(lists.relevant.values).mean())
    words = sorted(EXPECT, key=lambda word: abs(math.log(EXPECT[word] / max(number, 0.1))))
    rules = {
        "default": Consensus(),
        "right word": Consensus(expect=words[0]),
        "second-nearest word": Consensus(expect=words[1]),
        "number": Consensus(expect=max(number, 0.1)),
        "unjudged lists": Consensus().fit(bare),
        "0.8 of the best": OfBest(0.8),
        "largest gap": LargestGap(),
        "first ten": FixedK(10),
    }
    found = {name: _values(lists, rule.predict(bare)) for name, rule in rules.items()}
    found["oracle"] = _values(lists, Oracle("f1").predict(lists))
    done = pc.evaluate(LEARNED, lists, ["f1"], folds=2, splits=2, resamples=100)
    tested = lists[done.query]
    found |= {name: _values(tested, done.cuts("f1", name)) for name in LEARNED}
    return {"queries": len(lists), "number": number, "word": words[0], "means": found}


def _hybrid(one: Collection) -> bool:
    return [file for file, _ in one.runs] == ["bm25", "minilm"]


def fusion(one: Collection) -> dict[str, Any]:
    """Return F1 (recall of the collection) of both runs and fusions, untrained and tuned."""
    files = {"BM25": f"{one.folder}/bm25.run.gz", "MiniLM": f"{one.folder}/minilm.run.gz"}
    lists = load(Pair(one.name, files, f"{one.folder}/qrels.txt.gz"))
    runs = {
        **lists.runs,
        "rrf": pc.fuse(lists.runs, method="rrf"),
        "Fusion": two_fold(lists, lambda sample: Fusion().fit(sample)),
    }
    means: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        bare = RankedLists(run.scores)
        learned = np.zeros(len(run))
        pairs = list(halves(len(run)))[:2]
        for train, test in pairs:
            fitted = Consensus(F1).fit(run[train])
            learned[test] += F1(run[test], fitted.predict(run[test]))
        means[name] = {
            "untrained": float(F1(run, Consensus().predict(bare)).mean()),
            "tuned": float(learned.mean()),
        }
    return {"collection": one.name, "blind": one.blind, "queries": len(lists), "means": means}


def accepted(one: Collection, file: str, seed: int) -> dict[str, Any]:
    """Return what `Accept` accepts of one run, and how often its error is above the budget."""
    pairs, right = first_results(one.folder, file)
    rng = np.random.default_rng(seed)
    cells: dict[str, Any] = {}
    for budget in BUDGETS:
        found: dict[str, list[tuple[float, bool]]] = {"accept": [], "tuned": []}
        for _ in range(RESAMPLES):
            drawn = rng.integers(right.size, size=right.size)
            for name, method in (("accept", accept), ("tuned", tuned)):
                kept = method(pairs[drawn], right[drawn], budget)(pairs)
                broken = bool(kept.any() and np.mean(right[kept] == 0) > budget)
                found[name].append((float(kept.mean()), broken))
        cells[str(budget)] = {
            name: dict(zip(("share", "broken"), np.mean(own, axis=0).tolist(), strict=True))
            for name, own in found.items()
        }
    place = {"collection": one.name, "run": file, "blind": one.blind}
    return place | {"queries": right.size, "right": float(right.mean()), "budgets": cells}
