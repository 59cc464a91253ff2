"""The appendix on `Consensus` and simple rules, and its picture, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from experiments.compare.consensus import answer_tables
from experiments.compare.consensus.lists import JUDGED, LATER, MADE, MOST_NEW, NEW, SETS, SIMPLE
from experiments.compare.consensus.nested import FOLDS, RANGES
from experiments.compare.consensus.variants import FULL, MOST
from experiments.compare.methods.choice import CEILING, NEURAL
from experiments.pages import GREY, gain, percent, picture, share, table

__all__ = ["closed", "draw", "facts", "families", "set_rows"]

FREE = ("fixed_10", "surprise_alpha", "minmax_half", "untrained")
TOLD = ("told a word", "told the number", "told half of it", "told twice of it")
KEYS = {JUDGED: "judged", MADE: "made", LATER: "later", NEW: "new"}
SHIPPED_AND_NESTED = {
    "tuned, F1": ("f1", "consensus", "nested"),
    "tuned, DCG": ("penalized_dcg", "consensus", "nested"),
    "untrained, F1": ("f1", "untrained", "nested untrained"),
    "number known, F1": ("f1", "told the number", "nested told"),
    "untrained, DCG": ("penalized_dcg", "untrained", "nested untrained"),
}

Content = Mapping[str, Any]


def facts(content: Content) -> dict[str, Any]:
    """Return what ``tables.md`` asks for."""
    sets, calibration = content["sets"], content["calibration"]
    tuned = (*SIMPLE, *NEURAL, "consensus")
    return {
        **{
            f"{metric}_{key}": f"{_families(sets[name], metric, tuned)}\n\n"
            + _against(sets[name], metric)
            for metric in ("f1", "penalized_dcg")
            for name, key in KEYS.items()
        },
        **{
            f"free_{key}": _families(sets[name], "f1", (*FREE, *TOLD, "minmax", "global_k"))
            for name, key in KEYS.items()
        },
        **answer_tables.tables(content["answers"]),
        **closed(content["bounds"]),
        "gap_runs": content["bounds"]["runs"],
        "margin": share(content["margin"]),
        "most": MOST,
        "most_new": MOST_NEW,
        "folds": FOLDS,
        "ranges": _ranges(),
        "picked": _picked(content["nested"]),
        "nested_means": _nested(sets, lambda own, name: f"{own['mean'][name]:.3f}"),
        "nested_table": _nested(sets, _nested_gain),
        "dcg_table": table(
            ["set", "lists", "`Consensus`", "best single rule", "gain, mean", "gain, median",
             "over the best of each list, mean", "median"],
            set_rows(content, "penalized_dcg"),
        ),
        "free_gains": _free(sets),
        "free_dcg": _families(sets[JUDGED], "penalized_dcg", (*FREE, "global_k")),
        "curves": _curves(content["curves"]),
        "variants_f1": _variants(content["variants"]["f1"]),
        "variants_dcg": _variants(content["variants"]["penalized_dcg"]),
        "error": calibration["error, mean"],
        "largest_error": calibration["error, largest"],
        "bins": _bins(calibration["bins"]),
        "bounds": table(
            ["known", "F1"], ([name, f"{f1:.3f}"] for name, f1 in content["bounds"]["f1"].items())
        ),
        "lists": _lists(content["runs"]),
        "versions": ", ".join(f"{name} {number}" for name, number in content["versions"].items()),
        "commit": content["commit"],
    }  # fmt: skip


def set_rows(content: Content, metric: str) -> list[list[str]]:
    """Return a row for each set of lists: means, gains over the best rule and best of each list."""
    rows = []
    for name, own in content["sets"].items():
        part, rule = own[metric], own[metric]["best rule"]
        cells = [f"{part['mean']['consensus']:.3f}", f"`{rule}` {part['mean'][rule]:.3f}"]
        for kind in ("over the best rule", "over the best of each list"):
            cells += [gain(part[kind]["mean"]), percent(part[kind]["median"][0])]
        rows.append([name, str(own["lists"]), *cells])
    return rows


def families(content: Content) -> dict[str, Content]:
    """Return what was measured of each family; the later sets carry a mark."""
    return {
        f"{family} (later)" if name == LATER else family: own
        for name in SETS
        for family, own in content["sets"][name]["families"].items()
    }


def closed(content: Content) -> dict[str, str]:
    """Return the share of the gap to the oracle that each hint closes."""
    f1 = content["f1"]
    hints = list(f1)[2:5]
    gap = f1[CEILING] - f1["minmax"]
    names = ("own_number", "others_number", "others_threshold")
    shares = (share((f1[hint] - f1["minmax"]) / gap) for hint in hints)
    return dict(zip(names, shares, strict=True))


def _families(own: Content, metric: str, names: Iterable[str]) -> str:
    parts, means = own["families"], own[metric]["mean"]
    rows = []
    for name in (*names, CEILING):
        if name in means:
            cells = [*(part[metric]["mean"][name] for part in parts.values()), means[name]]
            rows.append([f"`{name}`", *(f"{value:.3f}" for value in cells)])
    return table(["method", *(f"{f} ({part['lists']})" for f, part in parts.items()), "all"], rows)


def _against(own: Content, metric: str) -> str:
    rows = []
    for family, part in own["families"].items():
        found = part[metric]["over it"]
        cells = [gain(found["mean"]), gain(found["median"]), part[metric]["verdict"]]
        rows.append([family, f"`{part[metric]['best']}`", *cells])
    return table(["family", "best with hindsight", "gain over it, mean", "median", "verdict"], rows)


def _nested(sets: Content, cell: Callable[[Content, str], str]) -> str:
    """Return a table of what ships beside what was chosen elsewhere."""
    groups = (JUDGED, MADE)
    rows = []
    for kind, (metric, *names) in SHIPPED_AND_NESTED.items():
        rows.append([kind, *(cell(sets[g][metric], name) for g in groups for name in names)])
    kinds = ("shipped", "chosen elsewhere")
    return table(["", *(f"{group}: {kind}" for group in groups for kind in kinds)], rows)


def _nested_gain(own: Content, name: str) -> str:
    return gain(own["over the best rule" if name == "consensus" else name]["mean"])


def _free(sets: Content) -> str:
    kinds = {"untrained": "untrained", "told a word": "a word", "told the number": "the number"}
    rows = []
    for name, own in sets.items():
        part = own["f1"]
        cells = [f"`{part['best rule']}`", *(gain(part[kind]["mean"]) for kind in kinds)]
        rows.append([f"{name} ({own['lists']})", *cells])
    head = ["lists", "best single rule, tuned", *(f"{kind}: gain" for kind in kinds.values())]
    return table(head, rows)


def _curves(rows: Content) -> str:
    names = ["global_k", "minmax", "z", "consensus"]
    gains = [(name, kind) for name in ("over minmax", "over the best of three")
             for kind in ("mean", "median")]  # fmt: skip
    lines = (
        [
            size,
            str(own["runs"]),
            *(f"{own[name]:.3f}" for name in names),
            *(percent(own[name][kind]) for name, kind in gains),
        ]
        for size, own in rows.items()
    )
    return table(["judged queries", "lists", *names, *map(", ".join, gains)], lines)


def _variants(rows: Content) -> str:
    ordered = {FULL: rows[FULL], **rows}
    lines = (
        [name, *(f"{own[group]:.4f}" for group in (JUDGED, MADE))] for name, own in ordered.items()
    )
    return table(["variant", JUDGED, MADE], lines)


def _bins(rows: Iterable[Content]) -> str:
    lines = (
        [
            f"{own['from']:g} to {own['to']:g}",
            f"{own['results']:,}",
            f"{own['predicted']:.3f}",
            f"{own['actual']:.3f}",
        ]
        for own in rows
    )
    return table(["probability", "results", "mean probability", "share relevant"], lines)


def _lists(runs: Content) -> str:
    rows = []
    for name, own in runs.items():
        means = own["f1"]
        best = max((k for k in (*SIMPLE, *NEURAL) if k in means), key=means.__getitem__)
        cells = [str(own["queries"]), f"{means['consensus']:.3f}", f"`{best}`"]
        rows.append([name, *cells, f"{means[best]:.3f}", f"{means[CEILING]:.3f}"])
    head = ["lists", "queries", "`Consensus`", "best rule or network", "its F1", "oracle"]
    return table(head, rows)


def _ranges() -> str:
    rows = []
    for strategy, (count, ranges) in RANGES.items():
        for name, values in ranges.items():
            plain = ", ".join(f"{v:g}" for v in values) if name != "without" else ""
            rows.append([strategy, str(count), f"`{name}`", plain or "seven sets of keys"])
    return table(["strategy", "settings drawn", "constant", "values"], rows)


def _picked(rows: Content) -> str:
    def shown(value: Any) -> str:
        return ", ".join(value) or "none" if isinstance(value, list) else f"{value:g}"

    lines = (
        [fold, strategy, "; ".join(f"`{name}` {shown(value)}" for name, value in changed.items())]
        for fold, best in rows.items()
        for strategy, changed in best.items()
    )
    return table(["tested on", "strategy", "chosen without them"], lines)


def draw(content: Content) -> None:
    """Draw the gain of each family over its best rule or network, with the margin."""
    rows = [
        (name, family, own["f1"]["over it"]["mean"])
        for name in SETS
        for family, own in content["sets"][name]["families"].items()
    ]
    with picture("compare-gains", (7.0, 0.8 + 0.22 * len(rows))) as axes:
        for name, colour in zip(SETS, ("#0072B2", "#D55E00", "#CC79A7", "#009E73"), strict=True):
            places = [i for i, row in enumerate(rows) if row[0] == name]
            gains = [[100 * value for value in rows[i][2]] for i in places]
            errors = [[g[0] - g[1] for g in gains], [g[2] - g[0] for g in gains]]
            middles = [g[0] for g in gains]
            axes.errorbar(middles, places, xerr=errors, fmt="o", color=colour, label=name, ms=4)
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.axvline(-100 * content["margin"], color=GREY, linewidth=0.8, linestyle="--")
        axes.set_yticks(range(len(rows)), [row[1] for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("gain in F1 over the family's best rule or network, %")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4)
