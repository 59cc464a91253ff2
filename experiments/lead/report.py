"""The pages on the lead: words from page.md and tables.md, numbers from the measurements."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments.compare.methods import CEILING, NEURAL
from experiments.data import ROOT
from experiments.lead import answers_report
from experiments.lead.answers_report import head, row
from experiments.lead.nested import FOLDS, RANGES
from experiments.lead.runs import JUDGED, LATER, MADE, MOST_NEW, NEW, SETS, SIMPLE
from experiments.lead.variants import FULL, MOST

__all__ = ["page", "tables", "write"]

WIDTH = 100
FIGURE = ROOT / "docs" / "images" / "lead-gains.svg"
FREE = ("fixed_10", "surprise_alpha", "minmax_half", "untrained")
TOLD = ("told a word", "told the number", "told half of it", "told twice of it")
VERDICTS = ("ahead", "not worse", "open", "worse")


def write(content: Mapping[str, Any]) -> None:
    """Write the page, its appendix and its figure."""
    docs = ROOT / "docs"
    (docs / "lead.md").write_text(page(content), encoding="utf-8")
    (docs / "lead-tables.md").write_text(tables(content), encoding="utf-8")
    draw(content)


def page(content: Mapping[str, Any]) -> str:
    """Return the page: the words of page.md with the numbers filled in."""
    return _filled("page.md", numbers(content))


def tables(content: Mapping[str, Any]) -> str:
    """Return the appendix: the words of tables.md with the tables filled in."""
    return _filled("tables.md", long_tables(content))


def _filled(name: str, facts: Mapping[str, str]) -> str:
    words = Path(__file__).with_name(name).read_text(encoding="utf-8")
    text = re.sub(r"\{(\w+)\}", lambda found: facts[found[1]].strip("\n"), words)
    return "\n\n".join(_wrapped(block) for block in text.split("\n\n"))


def _wrapped(block: str) -> str:
    """Return a paragraph or a list filled anew, now that the numbers are in it."""
    if not re.match(r"[A-Z*`]|- ", block):
        return block
    fill = textwrap.TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    items = re.split(r"\n(?=- )", block.rstrip("\n"))
    fill.subsequent_indent = "  " if block.startswith("- ") else ""
    return "\n".join(fill.fill(" ".join(item.split())) for item in items) + (
        "\n" if block.endswith("\n") else ""
    )


# The numbers of the page.


def numbers(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what page.md asks for, by name."""
    every, made = content["sets"]["all"], content["sets"][MADE]
    new, later = content["sets"][NEW], content["sets"][LATER]
    f1 = {name: own["f1"] for name, own in content["sets"].items()}
    dcg = {name: own["dcg"] for name, own in content["sets"].items()}
    groups = _verdicts(content, "f1")
    return {
        **answers_report.facts(content["answers"]),
        **{f"lists_{key}": str(own["lists"]) for key, own in
           (("all", every), ("made", made), ("later", later), ("new", new))},
        "commit": content["made"]["commit"],
        "margin": f"{content['margin']:.0%}",
        "families": str(sum(len(names) for names in groups.values())),
        "main_table": _sets(content, "f1"),
        "all_fixed": _gain(f1["all"]["over the best rule"]["mean"]),
        "all_hindsight": _gain(f1["all"]["over the best of each list"]["mean"]),
        "ahead_lists": str(f1["all"]["ahead"]),
        **{verdict.replace(" ", "_"): _counted(groups[verdict]) for verdict in VERDICTS},
        "below": _listed_below(content),
        **_chosen_elsewhere(content["sets"]),
        "dcg_fixed": _gain(dcg["all"]["over the best rule"]["mean"]),
        "dcg_hindsight": _gain(dcg["all"]["over the best of each list"]["mean"]),
        "dcg_rule": f"`{dcg['all']['best rule']}`",
        "folds": str(FOLDS),
        "untrained": f"{f1['all']['mean']['untrained']:.3f}",
        "untrained_half": f"{f1['all']['mean']['minmax_half']:.3f}",
        "untrained_ten": f"{f1['all']['mean']['fixed_10']:.3f}",
        "untrained_alpha": f"{f1['all']['mean']['surprise_alpha']:.3f}",
        "over_half": _gain(f1["all"]["untrained, over untrained rules"]["minmax_half"]["mean"]),
        "over_half_median": _gain(
            f1["all"]["untrained, over untrained rules"]["minmax_half"]["median"]
        ),
        "number": _gain(f1["all"]["told the number"]["mean"]),
        "number_median": _gain(f1["all"]["told the number"]["median"]),
        "told": f"{f1['all']['mean']['told the number']:.3f}",
        "told_word": f"{f1['all']['mean']['told a word']:.3f}",
        "told_half": f"{f1['all']['mean']['told half of it']:.3f}",
        "told_twice": f"{f1['all']['mean']['told twice of it']:.3f}",
        "rule_f1": f"{f1['all']['mean'][f1['all']['best rule']]:.3f}",
        "own_number": _closed(content["bounds"])["own_number"],
    }  # fmt: skip


def _chosen_elsewhere(sets: Mapping[str, Any]) -> dict[str, str]:
    """Return the gains of tuned cuts with constants as shipped and as chosen elsewhere."""
    return {
        f"{kind}_{'dcg_' if metric == 'dcg' else ''}{name}": _gain(sets[group][metric][key]["mean"])
        for kind, key in (("nested", "nested"), ("shipped", "over the best rule"))
        for metric in ("f1", "dcg")
        for name, group in (("judged", JUDGED), ("made", MADE))
    }


def _listed_below(content: Mapping[str, Any]) -> str:
    """Return the families whose whole interval is below 0, whatever the margin."""
    names = [
        f"{family} (later)" if name == LATER else family
        for name in SETS
        for family, own in content["sets"][name]["families"].items()
        if own["f1"]["over it"]["mean"][2] < 0
    ]
    return "; ".join(names) or "none"


def _verdicts(content: Mapping[str, Any], metric: str) -> dict[str, list[str]]:
    """Return the families of each verdict; the later sets carry a mark."""
    out: dict[str, list[str]] = {verdict: [] for verdict in VERDICTS}
    for name in SETS:
        for family, own in content["sets"][name]["families"].items():
            shown = f"{family} (later)" if name == LATER else family
            out[own[metric]["verdict"]].append(shown)
    return out


def _closed(content: Mapping[str, Any]) -> dict[str, str]:
    told = content["f1"]
    number, others, threshold = list(told)[2:5]

    def share(name: str) -> str:
        return f"{(told[name] - told['minmax']) / (told[CEILING] - told['minmax']):.0%}"

    return {
        "gap_runs": str(content["runs"]),
        "own_number": share(number),
        "others_number": share(others),
        "others_threshold": share(threshold),
    }


def _gain(gain: Iterable[float]) -> str:
    return "{:+.1%} ({:+.1%} to {:+.1%})".format(*gain)


def _counted(names: list[str]) -> str:
    return f"{len(names)} ({'; '.join(names)})" if names else "none"


def _sets(content: Mapping[str, Any], metric: str) -> str:
    names = ["lists", "`Consensus`", "best single rule", "gain, mean", "gain, median"]
    text = head([*names, "over the best of each list, mean", "median"])
    for name, own in content["sets"].items():
        part, rule = own[metric], own[metric]["best rule"]
        fixed, best = part["over the best rule"], part["over the best of each list"]
        cells = [f"{part['mean']['consensus']:.3f}", f"`{rule}` {part['mean'][rule]:.3f}"]
        cells += [_gain(fixed["mean"]), f"{fixed['median'][0]:+.1%}"]
        cells += [_gain(best["mean"]), f"{best['median'][0]:+.1%}"]
        text += row([f"{name} ({own['lists']})", *cells])
    return text


KINDS = {
    "tuned, F1": ("f1", "consensus", "nested"),
    "tuned, DCG": ("dcg", "consensus", "nested"),
    "untrained, F1": ("f1", "untrained", "nested untrained"),
    "told the number, F1": ("f1", "told the number", "nested told"),
    "untrained, DCG": ("dcg", "untrained", "nested untrained"),
}


def _nested(content: Mapping[str, Any], cell: Callable[[Mapping[str, Any], str], str]) -> str:
    """Return a table of what ships beside what was chosen elsewhere."""
    groups = (JUDGED, MADE)
    text = head(["", *(f"{g}: {kind}" for g in groups for kind in ("shipped", "chosen elsewhere"))])
    for kind, (metric, *names) in KINDS.items():
        cells = [cell(content["sets"][g][metric], name) for g in groups for name in names]
        text += row([kind, *cells])
    return text


def _nested_gains(content: Mapping[str, Any]) -> str:
    def cell(own: Mapping[str, Any], name: str) -> str:
        return _gain(own["over the best rule" if name == "consensus" else name]["mean"])

    return _nested(content, cell)


def _nested_means(content: Mapping[str, Any]) -> str:
    return _nested(content, lambda own, name: f"{own['mean'][name]:.3f}")


# The tables of the appendix.


def long_tables(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what tables.md asks for, by name."""
    sets = content["sets"]
    tuned = (*SIMPLE, *NEURAL, "consensus")
    keys = {JUDGED: "judged", MADE: "made", LATER: "later", NEW: "new"}
    facts = {
        f"{metric}_{key}": "\n".join(
            [_families(sets[name], metric, tuned), _against(sets[name], metric)]
        )
        for metric in ("f1", "dcg")
        for name, key in keys.items()
    }
    facts |= {
        f"free_{key}": _families(sets[name], "f1", (*FREE, *TOLD, "minmax", "global_k"))
        for name, key in keys.items()
    }
    calibration = content["calibration"]
    return {
        **facts,
        **answers_report.tables(content["answers"]),
        **_closed(content["bounds"]),
        "margin": f"{content['margin']:.0%}",
        "most": str(MOST),
        "most_new": str(MOST_NEW),
        "folds": str(FOLDS),
        "ranges": _ranges(),
        "picked": _picked(content["nested"]),
        "nested_means": _nested_means(content),
        "nested_table": _nested_gains(content),
        "dcg_table": _sets(content, "dcg"),
        "free_gains": _free(sets),
        "free_dcg": _families(sets[JUDGED], "dcg", (*FREE, "global_k")),
        "curves": _curves(content["curves"]),
        "variants_f1": _variants(content["variants"]["f1"]),
        "variants_dcg": _variants(content["variants"]["dcg"]),
        "error": f"{calibration['error, mean']:.3f}",
        "largest_error": f"{calibration['error, largest']:.3f}",
        "bins": _bins(calibration["bins"]),
        "bounds": head(["told", "F1"])
        + "".join(row([k, f"{v:.3f}"]) for k, v in content["bounds"]["f1"].items()),
        "lists": _lists(content["runs"]),
        "made": ", ".join(f"{k} {v}" for k, v in content["made"]["versions"].items()),
        "commit": content["made"]["commit"],
    }


def _families(own: Mapping[str, Any], metric: str, names: Iterable[str]) -> str:
    families = own["families"]
    text = head(["method", *(f"{f} ({part['lists']})" for f, part in families.items()), "all"])
    for name in (*names, CEILING):
        if name in own[metric]["mean"]:
            cells = [part[metric]["mean"][name] for part in families.values()]
            cells.append(own[metric]["mean"][name])
            text += row([f"`{name}`", *(f"{value:.3f}" for value in cells)])
    return text


def _against(own: Mapping[str, Any], metric: str) -> str:
    text = head(["family", "best with hindsight", "gain over it, mean", "median", "verdict"])
    for family, part in own["families"].items():
        gain = part[metric]["over it"]
        cells = [_gain(gain["mean"]), _gain(gain["median"]), part[metric]["verdict"]]
        text += row([family, f"`{part[metric]['best']}`", *cells])
    return text


def _free(sets: Mapping[str, Any]) -> str:
    kinds = ("untrained", "told a word", "told the number")
    text = head(["lists", "best single rule, tuned", *(f"{kind}: gain" for kind in kinds)])
    for name, own in sets.items():
        part = own["f1"]
        cells = [f"`{part['best rule']}`", *(_gain(part[kind]["mean"]) for kind in kinds)]
        text += row([f"{name} ({own['lists']})", *cells])
    return text


def _curves(rows: Mapping[str, Any]) -> str:
    names = ["global_k", "minmax", "z", "consensus"]
    gains = ["over minmax", "over the best of three"]
    heads = [f"{name}, {kind}" for name in gains for kind in ("mean", "median")]
    text = head(["judged queries", "lists", *names, *heads])
    for size, own in rows.items():
        cells = [f"{own[name]:.3f}" for name in names]
        cells += [f"{own[name][kind]:+.1%}" for name in gains for kind in ("mean", "median")]
        text += row([size, str(own["runs"]), *cells])
    return text


def _variants(rows: Mapping[str, Any]) -> str:
    text = head(["variant", JUDGED, MADE])
    ordered = {FULL: rows[FULL], **rows}
    return text + "".join(
        row([name, *(f"{own[group]:.4f}" for group in (JUDGED, MADE))])
        for name, own in ordered.items()
    )


def _bins(rows: Iterable[Mapping[str, Any]]) -> str:
    text = head(["probability", "results", "mean probability", "share relevant"])
    for own in rows:
        cells = [f"{own['results']:,}", f"{own['predicted']:.3f}", f"{own['actual']:.3f}"]
        text += row([f"{own['from']:g} to {own['to']:g}", *cells])
    return text


def _lists(runs: Mapping[str, Any]) -> str:
    text = head(["lists", "queries", "`Consensus`", "best rule or network", "its F1", "oracle"])
    for name, own in runs.items():
        means = own["f1"]
        best = max((k for k in (*SIMPLE, *NEURAL) if k in means), key=means.__getitem__)
        cells = [str(own["queries"]), f"{means['consensus']:.3f}", f"`{best}`"]
        text += row([name, *cells, f"{means[best]:.3f}", f"{means[CEILING]:.3f}"])
    return text


def _ranges() -> str:
    text = head(["strategy", "settings drawn", "constant", "values"])
    for strategy, (count, ranges) in RANGES.items():
        for name, values in ranges.items():
            shown = (
                "seven sets of keys" if name == "without" else ", ".join(f"{v:g}" for v in values)
            )
            text += row([strategy, str(count), f"`{name}`", shown])
    return text


def _picked(rows: Mapping[str, Any]) -> str:
    def shown(value: Any) -> str:
        return ", ".join(value) or "none" if isinstance(value, list) else f"{value:g}"

    text = head(["tested on", "strategy", "chosen without them"])
    for fold, best in rows.items():
        for strategy, changed in best.items():
            cells = (f"`{name}` {shown(value)}" for name, value in changed.items())
            text += row([fold, strategy, "; ".join(cells)])
    return text


def draw(content: Mapping[str, Any]) -> None:
    """Draw the gain of each family over its best rule or network, with the margin."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "paretocut"
    grey = "#808080"
    rows = [
        (name, family, own["f1"]["over it"]["mean"])
        for name in SETS
        for family, own in content["sets"][name]["families"].items()
    ]
    figure = Figure(figsize=(7.0, 0.8 + 0.22 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for name, colour in zip(SETS, ("#0072B2", "#D55E00", "#CC79A7", "#009E73"), strict=True):
        places = [i for i, row in enumerate(rows) if row[0] == name]
        gains = [[100 * value for value in rows[i][2]] for i in places]
        errors = [[g[0] - g[1] for g in gains], [g[2] - g[0] for g in gains]]
        middles = [g[0] for g in gains]
        axes.errorbar(middles, places, xerr=errors, fmt="o", color=colour, label=name, ms=4)
    axes.axvline(0, color=grey, linewidth=0.8)
    axes.axvline(-100 * content["margin"], color=grey, linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(rows)), [row[1] for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("gain in F1 over the family's best rule or network, %")
    axes.tick_params(colors=grey)
    axes.xaxis.label.set_color(grey)
    for spine in axes.spines.values():
        spine.set_color(grey)
    legend = axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4)
    for text in legend.get_texts():
        text.set_color(grey)
    figure.savefig(FIGURE, metadata={"Date": None}, transparent=True)
