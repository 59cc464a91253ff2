"""The page of the comparison and its appendices, from kept numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.compare import evidence as on_one_page
from experiments.compare import kinds
from experiments.compare.consensus import answer_tables
from experiments.compare.consensus import tables as consensus
from experiments.compare.consensus.lists import JUDGED, LATER, MADE, NEW
from experiments.compare.consensus.nested import FOLDS
from experiments.compare.methods import tables as methods
from experiments.data import RUNS
from experiments.pages import fill, gain, percent, share, sheets, spread, table
from experiments.results import read
from paretocut.decisions.options import EXPECT

__all__ = ["draw", "pages"]

VERDICTS = ("ahead", "not worse", "open", "worse")
KNOWN = {
    "consensus": ("half of the queries judged", "`Consensus().fit(lists)`", "consensus"),
    "minmax": ("", "threshold on min-max scores", "minmax"),
    "consensus_told": ("the mean number", "`Consensus(expect=number)`", "told the number"),
    "": ("a word", '`Consensus(expect="few")`', "told a word"),
    "consensus_untrained": ("nothing", "`Consensus()`, the default", "untrained"),
    "minmax_half": ("", "upper half of the score range", "minmax_half"),
    "fixed_k": ("", "first ten", "fixed_10"),
    "surprise_alpha": ("", "`alpha=0.05`, on the paper's score", "surprise_alpha"),
    "oracle": ("every judgement", "oracle", "oracle"),
}
"""Name on the runs, what is known, the method in words, and its name on the lists."""

Content = Mapping[str, Any]


def pages() -> dict[str, str]:
    """Return all pages by their paths."""
    runs, lists, new = (read("compare", part) for part in ("methods", "consensus", "domains"))
    means = kinds.by_kind(runs)
    folder = Path(__file__).parent
    evidence = "docs/evidence/compare"
    return {
        f"{evidence}.md": fill(folder / "page.md", _facts(runs, lists, means)),
        f"{evidence}-evidence.md": fill(
            folder / "evidence.md", on_one_page.facts(runs, lists, new)
        ),
        **sheets(
            f"{evidence}-methods.md", fill(folder / "methods" / "tables.md", methods.facts(runs))
        ),
        **sheets(
            f"{evidence}-consensus.md",
            fill(folder / "consensus" / "tables.md", consensus.facts(lists)),
        ),
    }


def draw() -> None:
    """Draw F1 by kind of search, and the gain of each family."""
    kinds.draw(kinds.by_kind(read("compare", "methods")))
    consensus.draw(read("compare", "consensus"))


def _facts(runs: Content, lists: Content, means: Mapping[str, Any]) -> dict[str, Any]:
    f1, penalized_dcg = (lists["sets"]["all"][metric] for metric in ("f1", "penalized_dcg"))
    minmax = runs["gains"]["minmax"]
    rules = [name for name in kinds.TUNED if name != "consensus"]
    first = [run for run in runs["runs"] if run["run"] in {known.name for known in RUNS}]
    counts = {kind: sum(run["kind"] == kind for run in runs["runs"]) for kind in kinds.ORDER}
    return {
        "runs": len(runs["runs"]),
        **on_one_page.tuned(runs, lists),
        "ahead_runs": minmax["ahead"],
        "gain_new": _interval(runs["gains"]["minmax, other collections"]),
        "first_kinds": sum(
            means["consensus"][k] >= max(means[rule][k] for rule in rules) for k in kinds.ORDER
        ),
        "all_kinds": len(kinds.ORDER),
        "kinds": ", ".join(f"{kind} {count} runs" for kind, count in counts.items()),
        "kinds_table": kinds.table(means),
        "gap": means["largest_gap"]["all"],
        **_nothing(means),
        **_weighted(runs),
        "words": ", ".join(f'"{word}"' for word in EXPECT),
        "commit_renewed": runs["renewed"]["commit"],
        **{
            f"{name}_first": float(np.mean([kinds.mean_of(run, name) for run in first]))
            for name in ("choppy", "consensus", "minmax")
        },
        "ahead_lists": f1["ahead"],
        **{
            f"lists_{key}": lists["sets"][name]["lists"]
            for key, name in (("all", "all"), ("made", MADE), ("later", LATER), ("new", NEW))
        },
        "sets_table": _sets(runs, lists, means),
        "known_table": _known(f1["mean"], means),
        "number": gain(f1["told the number"]["mean"]),
        "number_median": gain(f1["told the number"]["median"]),
        "told_half": f1["mean"]["told half of it"],
        "told_twice": f1["mean"]["told twice of it"],
        "over_half": gain(f1["untrained, over untrained rules"]["minmax_half"]["mean"]),
        "over_half_median": gain(f1["untrained, over untrained rules"]["minmax_half"]["median"]),
        "dcg_fixed": gain(penalized_dcg["over the best rule"]["mean"]),
        "dcg_hindsight": gain(penalized_dcg["over the best of each list"]["mean"]),
        "dcg_rule": penalized_dcg["best rule"],
        **_answers(lists["answers"]["tasks"]),
        **_verdicts(lists),
        **_chosen_elsewhere(lists["sets"]),
        "commit_runs": runs["commit"],
        "commit_lists": lists["commit"],
    }


def _nothing(means: Mapping[str, Any]) -> dict[str, Any]:
    """Return how `Consensus()` stands among the cuts that know nothing."""
    free = kinds.ROWS["nothing is known"]
    own = means["consensus_untrained"]
    best = max(
        (name for name in free if name != "consensus_untrained"), key=lambda n: means[n]["all"]
    )

    def ahead(name: str) -> str:
        return ", ".join(kind for kind in kinds.ORDER if means[name][kind] > own[kind]) or "none"

    return {
        "free": own["all"],
        "next_free": f"{free[best]}, {means[best]['all']:.3f}",
        "gap_kinds": ahead("largest_gap"),
        "half_kinds": ahead("minmax_half"),
    }


def _weighted(runs: Content) -> dict[str, Any]:
    """Return the learned gain with runs alike, and how much halves matter."""
    pairs: dict[str, set[str]] = {}
    for run in runs["runs"]:
        pairs.setdefault(run["kind"], set()).add(kinds.collection(run["family"]))
    alike = on_one_page.means(runs, on_one_page.WAYS["44 runs, equal weights"])
    return {
        "single_kinds": sum(len(own) == 1 for own in pairs.values()),
        "gain_alike": percent(alike["consensus"] / alike["minmax"] - 1),
        "ahead_seeds": spread((seed["ahead"] for seed in runs["seeds"]), "{}"),
        "small_runs": runs["seeds"][0]["runs"],
        **_words(runs),
    }


def _words(runs: Content) -> dict[str, float]:
    """Return F1 with the right word, the second-nearest and none, collections alike."""
    weigh = on_one_page.WAYS["16 collections, equal weights"]
    by_word = np.array([runs["words"][run["run"]] for run in runs["runs"]])
    right, second, *_ = weigh(runs["runs"]) @ by_word
    none = on_one_page.means(runs, weigh)["consensus_untrained"]
    return {"word": right, "second_word": second, "no_word": none}


def _interval(found: Content) -> str:
    return gain(found[key] for key in ("gain", "low", "high"))


def _sets(runs: Content, lists: Content, means: Mapping[str, Any]) -> str:
    """Return both gains, and those of each set of lists, in one table."""
    minmax, hindsight = runs["gains"]["minmax"], runs["gains"]["hindsight"]
    *parts, every = consensus.set_rows(lists, "f1")
    best = f"`minmax` {means['minmax']['all']:.3f}"
    cells = [f"{means['consensus']['all']:.3f}", best, _interval(minmax)]
    cells += [percent(minmax["median"]), _interval(hindsight)]
    rows = [["judged runs, mean over kinds of search", str(len(runs["runs"])), *cells]]
    rows += [["all lists, mean over lists", *every[1:-1]]]
    rows += [[f"of these: {name}", *own[:-1]] for name, *own in parts]
    head = ["measured on", "lists", "`Consensus`", "best single rule", "gain, mean", "gain, median"]
    return table([*head, "over the best of each list, mean"], rows)


def _known(f1: Mapping[str, float], means: Mapping[str, Any]) -> str:
    rows = [
        [known, words, f"{means[name]['all']:.3f}" if name else "", f"{f1[key]:.3f}"]
        for name, (known, words, key) in KNOWN.items()
    ]
    head = ["you know", "method", "44 judged runs, mean over kinds", "63 lists, mean over lists"]
    return table(head, rows, text=2)


def _answers(tasks: Content) -> dict[str, Any]:
    """Return on how many tasks the model is ahead, and where beyond the interval."""
    leads = {name: answer_tables.best_other(task)[1]["lead"] for name, task in tasks.items()}
    return {
        "signals_ahead": sum(mean > 0 for mean, _, _ in leads.values()),
        "tasks": len(leads),
        "sure": "; ".join(name for name, (_, low, _) in leads.items() if low > 0) or "none",
        "smallest": percent(min(mean for mean, _, _ in leads.values())),
        "largest": percent(max(mean for mean, _, _ in leads.values())),
    }


def _verdicts(lists: Content) -> dict[str, Any]:
    """Return the families of each verdict."""
    families = {name: own["f1"] for name, own in consensus.families(lists).items()}
    facts: dict[str, Any] = {"families": len(families), "margin": share(lists["margin"])}
    for verdict in VERDICTS:
        names = [name for name, own in families.items() if own["verdict"] == verdict]
        listed = f"{len(names)} ({'; '.join(names)})" if names else "none"
        facts[verdict.replace(" ", "_")] = listed
    return facts


def _chosen_elsewhere(sets: Content) -> dict[str, Any]:
    """Return the gains of tuned cuts with constants as shipped and as chosen elsewhere."""
    return {"folds": FOLDS} | {
        f"{kind}_{metric}_{name}": gain(sets[group][metric][key]["mean"])
        for kind, key in (("nested", "nested"), ("shipped", "over the best rule"))
        for metric in ("f1", "penalized_dcg")
        for name, group in (("judged", JUDGED), ("made", MADE))
    }
