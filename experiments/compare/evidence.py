"""One page of evidence: three sets of lists, with intervals over collections, from kept numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.compare import kinds
from experiments.compare.consensus.lists import LATER, MADE
from experiments.compare.methods.choice import CEILING, DOMAINS
from experiments.intervals import gain_over
from experiments.pages import gain, percent, spread, table
from experiments.results import read

__all__ = ["WAYS", "facts", "means", "tuned"]

RUNS, LISTS, NEW = "44 judged runs", "63 lists", "new domains"
PAIRS = (
    ("consensus", "minmax"),
    ("consensus_told", "minmax"),
    ("consensus_untrained", "minmax_half"),
    ("consensus_untrained", "largest_gap"),
    ("consensus_untrained", "max_80"),
    ("consensus_untrained", "fixed_k"),
)
"""Ours and the rival: tuned, told the number, and four times with nothing known."""
WORDS = {
    "consensus": "`Consensus`, learned",
    "consensus_told": "`Consensus(expect=number)`",
    "consensus_untrained": "`Consensus()`, the default",
    "minmax": "min-max threshold, learned",
    "minmax_half": "upper half of the range",
    "largest_gap": "largest gap",
    "max_80": "0.8 of the best score",
    "fixed_k": "first ten",
    CEILING: "oracle",
}
FOLDER = {
    "Robust04": "robust04",
    "TREC Deep Learning": "dl",
    "CLEF TAR 2019": "tar",
    "Vaswani": "vaswani",
    "SciFact": "scifact",
}
"""Where the page on the default has another name for a collection."""
ON_LISTS = {
    "consensus_told": "told the number",
    "consensus_untrained": "untrained",
    "fixed_k": "fixed_10",
}
"""What the 63 lists call the same."""

Content = Mapping[str, Any]
Means = dict[str, dict[str, float]]  # of each list, by method
Array = NDArray[np.float64]


def facts(runs: Content, lists: Content, domains: Content) -> dict[str, Any]:
    """Return what ``evidence.md`` asks for."""
    sets = {
        RUNS: _of_runs(runs),
        LISTS: _of_lists(lists),
        NEW: _of_runs(domains),
    }
    found = {
        (name, ours, rival): _gain(*own, ours, rival)
        for name, own in sets.items()
        for ours, rival in PAIRS
        if all(ours in row and rival in row for row in own[0].values())
    }
    tuned, free = (found[NEW, *pair] for pair in (PAIRS[0], PAIRS[2]))
    return {
        "gains_table": _gains(sets, found),
        "weights_table": _weighted(runs),
        "kinds_table": _by_kind(runs, domains),
        "domains_table": table(
            ["method", *_kinds(domains), "all"],
            [
                [words, *(f"{row[kind]:.3f}" for kind in (*_kinds(domains), "all"))]
                for words, row in _domain_rows(domains).items()
            ],
        ),
        "most": domains["most"],
        "runs_tuned": gain(found[RUNS, *PAIRS[0]]["gain"]),
        "runs_free": gain(found[RUNS, *PAIRS[2]]["gain"]),
        "runs_gap": gain(found[RUNS, *PAIRS[3]]["gain"]),
        "new_tuned": gain(tuned["gain"]),
        "new_free": gain(free["gain"]),
        "runs_max": gain(found[RUNS, *PAIRS[4]]["gain"]),
        "new_max": gain(found[NEW, *PAIRS[4]]["gain"]),
        "new_gap": gain(found[NEW, *PAIRS[3]]["gain"]),
        "runs_won": _won(found[RUNS, *PAIRS[0]]),
        "new_won": _won(tuned),
        "made": sum(lists["sets"][name]["lists"] for name in (MADE, LATER)),
        "commit": domains["commit"],
        "seeds_table": _seeds(runs),
        **_honest(runs),
    }


def tuned(runs: Content, lists: Content) -> dict[str, str]:
    """Return the gain of learned `Consensus` on two sets, with intervals over collections."""
    sets = {"runs": _of_runs(runs), "lists": _of_lists(lists)}
    return {f"{name}_tuned": gain(_gain(*own, *PAIRS[0])["gain"]) for name, own in sets.items()}


def _honest(runs: Content) -> dict[str, str]:
    """Return the default with its share chosen elsewhere, beside 0.8 of the best score."""
    facts = {}
    by_way = {way: means(runs, weigh) for way, weigh in WAYS.items()}
    chosen = read("default")["chosen"]
    for key, way in zip(("kind", "collection"), WAYS, strict=False):
        found = [chosen_elsewhere(runs, of)[way] for of in (chosen, None)]
        facts[f"elsewhere_{key}"] = spread(found)
        by_kind = chosen_elsewhere(runs, choice=next(iter(WAYS.values())))
        facts[f"kinds_{key}"] = f"{by_kind[way]:.3f}"
        facts[f"rival_{key}"] = f"{by_way[way]['max_80']:.3f}"
    return facts


def _won(found: Content) -> str:
    return f"{found['won']} of {found['collections']}"


def _of_runs(content: Content) -> tuple[Means, dict[str, str]]:
    """Return the mean F1 of each method on each run, and the collection of each run."""
    means = {
        run["run"]: {row[1]: row[2] for row in run["rows"] if row[0] == kinds.METRIC}
        for run in content["runs"]
    }
    return means, {run["run"]: kinds.collection(run["family"]) for run in content["runs"]}


def _of_lists(content: Content) -> tuple[Means, dict[str, str]]:
    means, family = {}, {}
    for name, own in content["runs"].items():
        f1 = own["f1"]
        means[name] = f1 | {ours: f1[theirs] for ours, theirs in ON_LISTS.items() if theirs in f1}
        # Lists made later search the same texts as those made first.
        family[name] = kinds.collection(own["family"]).split()[0].casefold()
    return means, family


def _gain(means: Means, family: Mapping[str, str], ours: str, rival: str) -> dict[str, Any]:
    """Return the gain in mean F1, collections alike, and its interval over collections."""
    names = list(dict.fromkeys(family.values()))
    pairs = np.array(
        [
            [
                np.mean([means[run][m] for run in means if family[run] == name])
                for m in (ours, rival)
            ]
            for name in names
        ]
    )
    each = pairs[:, 0] / np.maximum(pairs[:, 1], 1e-9) - 1
    return {
        "means": pairs.mean(axis=0).tolist(),
        "gain": gain_over(pairs),
        "won": int((each > 0).sum()),
        "collections": len(names),
        "worst": names[int(each.argmin())],
        "loss": float(each.min()),
    }


def _gains(sets: Mapping[str, tuple[Means, Any]], found: Mapping[Any, Content]) -> str:
    rows = []
    for (name, ours, rival), one in found.items():
        mine, other = one["means"]
        rows.append(
            [
                f"{name}",
                f"{WORDS[ours]} {mine:.3f}; {WORDS[rival]} {other:.3f}",
                str(len(sets[name][0])),
                gain(one["gain"]),
                _won(one),
                f"{one['worst']} {percent(one['loss'])}",
            ]
        )
    head = ["set", "ours; rival", "lists", "gain, interval over collections", "collections won"]
    return table([*head, "worst collection"], rows, text=2)


def means(runs: Content, weigh: Weigh) -> dict[str, float]:
    """Return the mean F1 of each method of the page's table, runs weighted by a function."""
    share = weigh(runs["runs"])
    names = [name for own in kinds.ROWS.values() for name in own]
    return {
        name: float(share @ np.array([kinds.mean_of(run, name) for run in runs["runs"]]))
        for name in names
    }


Weigh = Callable[[Sequence[Content]], Array]


def _by_collection(runs: Sequence[Content]) -> Array:
    names = [kinds.collection(run["family"]) for run in runs]
    return np.array([1 / len(set(names)) / names.count(name) for name in names])


WAYS: dict[str, Weigh] = {
    "7 kinds, equal weights": lambda own: kinds.weights(
        (run["kind"], kinds.collection(run["family"])) for run in own
    ),
    "16 collections, equal weights": _by_collection,
    "44 runs, equal weights": lambda own: np.full(len(own), 1 / len(own)),
}
"""How much each run counts in a mean."""


def _weighted(runs: Content) -> str:
    """Return the means with kinds, collections and runs counting alike."""
    columns = [means(runs, way) for way in WAYS.values()]
    titles = {name: words for own in kinds.ROWS.values() for name, words in own.items()}
    rows = {
        words: [f"{own[name]:.3f}" for own in columns]
        for name, words in titles.items()
        if name != CEILING
    }
    rows |= {
        f"`Consensus()`, share chosen on the other collections, {how}": [
            f"{value:.3f}" for value in chosen_elsewhere(runs, of).values()
        ]
        for how, of in (("on these lists", None), ("over six depths", read("default")["chosen"]))
    }
    rows[titles[CEILING]] = [f"{own[CEILING]:.3f}" for own in columns]
    return table(["F1", *WAYS], [[words, *cells] for words, cells in rows.items()])


def chosen_elsewhere(
    runs: Content, chosen: Mapping[str, str] | None = None, choice: Weigh = _by_collection
) -> dict[str, float]:
    """Return F1 of the default if its share is chosen without the collection, by way of weighting.

    ``chosen`` has the share of each collection; without it, the best share on these lists counts,
    with runs weighted by ``choice``.
    """
    entries = runs["runs"]
    places = [kinds.collection(run["family"]) for run in entries]
    values = [runs["shares"][run["run"]] for run in entries]
    parts = list(values[0])
    each = np.array([list(own.values()) for own in values])
    weight = choice(entries)
    held = []
    for i, place in enumerate(places):
        others = weight * np.array([other != place for other in places])
        best = parts[int(np.argmax(others @ each))]
        held.append(values[i][chosen[FOLDER.get(place, place)] if chosen else best])
    return {name: float(way(entries) @ np.array(held)) for name, way in WAYS.items()}


def _kinds(content: Content) -> list[str]:
    return list(dict.fromkeys(run["kind"] for run in content["runs"]))


def _by_kind(runs: Content, domains: Content) -> str:
    """Return for each kind on how many runs ours is ahead of a rival, and on how many behind."""
    rows = []
    for content in (runs, domains):
        for kind in _kinds(content):
            own = [run for run in content["runs"] if run["kind"] == kind]
            cells = []
            for ours, rival in PAIRS:
                lead = [kinds.mean_of(run, ours) - kinds.mean_of(run, rival) for run in own]
                cells.append(f"{sum(x > 0 for x in lead)} : {sum(x < 0 for x in lead)}")
            collections = {kinds.collection(run["family"]) for run in own}
            rows.append([kind, f"{len(collections)}, {len(own)}", *cells])
    head = [f"{WORDS[ours]} : {WORDS[rival]}" for ours, rival in PAIRS]
    return table(["kind", "collections, runs", *head], rows)


def _domain_rows(domains: Content) -> dict[str, dict[str, float]]:
    """Return the mean of each method by kind of the new domains, and over these kinds."""
    share = kinds.weights((run["kind"], run["family"]) for run in domains["runs"])
    out = {}
    for own in kinds.ROWS.values():
        for name, words in own.items():
            f1 = np.array([kinds.mean_of(run, name) for run in domains["runs"]])
            row = {}
            for kind in dict.fromkeys(DOMAINS.values()):
                here = np.array([run["kind"] == kind for run in domains["runs"]])
                row[kind] = float(share[here] @ f1[here] / share[here].sum())
            out[words] = row | {"all": float(share @ f1)}
    return out


def _seeds(runs: Content) -> str:
    """Return on how many runs tuned `Consensus` is ahead of min-max, by seed of the halves."""
    seeds = runs["seeds"]
    return table(
        ["seed of the halves", "runs", "ahead of min-max", "mean gain"],
        [[str(s["seed"]), str(s["runs"]), str(s["ahead"]), percent(s["gain"])] for s in seeds],
    )
