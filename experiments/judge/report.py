"""The page ``docs/judge.md`` and its figure, from the measurements alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import ROOT
from experiments.judge.measure import BUDGETS, JUDGES

__all__ = ["by_collection", "draw", "mean_f1", "page"]

_NAMES = {
    "clean": "no errors",
    "80 %, 3 %": "finds 80 %, 3 % false",
    "95 %, 1 %": "finds 95 %, 1 % false",
}
_USUAL = "200"


def by_collection(
    content: Mapping[str, Any], value: Callable[[Mapping[str, Any]], float]
) -> dict[str, float]:
    """Return the mean of each collection: over halves, then over runs.

    Parameters
    ----------
    content
        The measurements.
    value
        Takes one half of a run.
    """
    found: dict[str, list[float]] = {}
    for run in content["runs"]:
        mean = float(np.mean([value(half) for half in run["halves"]]))
        found.setdefault(run["collection"], []).append(mean)
    return {name: float(np.mean(values)) for name, values in found.items()}


def _mean(content: Mapping[str, Any], value: Callable[[Mapping[str, Any]], float]) -> float:
    return float(np.mean(list(by_collection(content, value).values())))


def mean_f1(content: Mapping[str, Any], judge: str, budget: str, kind: str = "f1") -> float:
    """Return the mean F1 over collections with so many answers of a judge.

    Parameters
    ----------
    content
        The measurements.
    judge, budget
        Who judged, and how much.
    kind
        "f1", or "with word" if the right word was said too.
    """
    return _mean(content, lambda half: half["judges"][judge][budget][kind])


def _covered(content: Mapping[str, Any], judge: str, budget: str) -> float:
    def inside(half: Mapping[str, Any]) -> float:
        low, high = half["judges"][judge][budget]["interval"]
        return float(low <= half["number"] <= high)

    return _mean(content, inside)


def _bounded(content: Mapping[str, Any], judge: str, budget: str) -> float:
    def held(half: Mapping[str, Any]) -> float:
        row = half["judges"][judge][budget]
        return float(row["lost"] <= row["loss"])

    return _mean(content, held)


def page(content: Mapping[str, Any]) -> str:
    """Return the page: the words of ``page.md`` with the numbers filled in."""
    words = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    return words.format(**_facts(content))


def _facts(content: Mapping[str, Any]) -> dict[str, str]:
    fixed = {
        name: _mean(content, lambda half, name=name: half[name])  # type: ignore[misc]
        for name in ("nothing", "word", "told", "twenty", "full")
    }
    lenient = {
        name: _mean(content, lambda half, name=name: half[name])  # type: ignore[misc]
        for name in ("lenient", "lenient, stated", "repeated")
    }
    clean = mean_f1(content, "clean", _USUAL)
    noisy = [mean_f1(content, judge, _USUAL) for judge in JUDGES if judge != "clean"]
    word = by_collection(content, lambda half: half["word"])
    both = by_collection(content, lambda half: half["judges"]["clean"][_USUAL]["with word"])
    below = {name: word[name] - both[name] for name in word if both[name] < word[name]}
    worst = max(below, key=lambda name: below[name]) if below else "none"
    least = min(mean_f1(content, judge, str(b), "with word") for judge in JUDGES for b in BUDGETS)
    curve = {b: mean_f1(content, "clean", str(b)) for b in BUDGETS}
    enough = [b for b in BUDGETS if curve[b] >= fixed["word"]]
    covered = [_covered(content, judge, str(b)) for judge in JUDGES for b in BUDGETS]
    return {
        "commit": content["commit"],
        "runs": str(len(content["runs"])),
        "collections": str(len(word)),
        "curve_table": _curve(content),
        "cover_table": _coverage(content),
        "collection_table": _collections(content),
        **{f"{name}_f1": f"{value:.3f}" for name, value in fixed.items()},
        "clean_f1": f"{clean:.3f}",
        "clean_gap": _percent(1 - clean / fixed["full"]),
        "clean_twenty": _against(clean, fixed["twenty"]),
        "five_gap": _percent(1 - mean_f1(content, "clean", "500") / fixed["full"]),
        "noisy_gap": _percent(1 - min(noisy) / fixed["full"]),
        "noisy_f1": f"{min(noisy):.3f}",
        "plain_clean": f"{_mean(content, lambda half: half['judges']['clean']['plain']):.3f}",
        "plain_noisy": f"{_mean(content, lambda half: half['judges']['80 %, 3 %']['plain']):.3f}",
        "below": str(len(below)),
        "worst": worst,
        "worst_by": f"{below.get(worst, 0.0):.3f}",
        "clean_verdict": _verdict(clean >= 0.99 * fixed["full"]),
        "noisy_verdict": _verdict(min(noisy) >= 0.96 * fixed["full"]),
        "word_verdict": _verdict(least >= 0.999 * fixed["word"]),
        "both_f1": f"{mean_f1(content, 'clean', _USUAL, 'with word'):.3f}",
        "both_noisy": f"{mean_f1(content, '80 %, 3 %', _USUAL, 'with word'):.3f}",
        "both_least": _against(least, fixed["word"]),
        "enough": f"from {min(enough)} answers on" if enough else "with none of these numbers",
        "few_f1": f"{mean_f1(content, 'clean', '25'):.3f}",
        "least_cover": f"{100 * min(covered):.0f} %",
        "most_cover": f"{100 * max(covered):.0f} %",
        "lenient_f1": f"{lenient['lenient']:.3f}",
        "stated_f1": f"{lenient['lenient, stated']:.3f}",
        "repeated_f1": f"{lenient['repeated']:.3f}",
        "unrepeated_f1": f"{mean_f1(content, '80 %, 3 %', _USUAL):.3f}",
    }


def _verdict(met: bool) -> str:
    return "met" if met else "missed"


def _against(value: float, other: float) -> str:
    side = "above" if value >= other else "below"
    return f"{_percent(abs(value / other - 1))} {side}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _curve(content: Mapping[str, Any]) -> str:
    rows = [
        [label + more, *(f"{mean_f1(content, judge, str(b), kind):.3f}" for b in BUDGETS)]
        for kind, more in (("f1", ""), ("with word", ", and the word"))
        for judge, label in _NAMES.items()
    ]
    return _table(["judge", *(f"{budget} answers" for budget in BUDGETS)], rows)


def _coverage(content: Mapping[str, Any]) -> str:
    rows = []
    for judge, label in _NAMES.items():
        cells = [
            f"{100 * _covered(content, judge, str(b)):.0f} / "
            f"{100 * _bounded(content, judge, str(b)):.0f}"
            for b in BUDGETS
        ]
        rows.append([label, *cells])
    return _table(["judge", *(f"{budget} answers" for budget in BUDGETS)], rows)


def _collections(content: Mapping[str, Any]) -> str:
    columns: dict[str, dict[str, float]] = {
        "nothing": by_collection(content, lambda half: half["nothing"]),
        "a word": by_collection(content, lambda half: half["word"]),
    }
    for budget in ("25", _USUAL):
        columns[f"{budget} answers"] = by_collection(
            content,
            lambda half, b=budget: half["judges"]["clean"][b]["f1"],  # type: ignore[misc]
        )
    columns["200, 3 % false"] = by_collection(
        content, lambda half: half["judges"]["80 %, 3 %"][_USUAL]["f1"]
    )
    columns["20 lists"] = by_collection(content, lambda half: half["twenty"])
    columns["all"] = by_collection(content, lambda half: half["full"])
    names = list(columns["all"])
    rows = [[name, *(f"{column[name]:.3f}" for column in columns.values())] for name in names]
    means = [float(np.mean(list(column.values()))) for column in columns.values()]
    rows.append(["**mean**", *(f"**{mean:.3f}**" for mean in means)])
    return _table(["collection", *columns], rows)


def draw(content: Mapping[str, Any]) -> None:
    """Write the figure of the page: F1 against the number of answers."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "paretocut"
    from matplotlib import pyplot

    colours = ("#0072B2", "#D55E00", "#009E73")
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    for (judge, label), colour, mark in zip(_NAMES.items(), colours, "osD", strict=True):
        values = [mean_f1(content, judge, str(budget)) for budget in BUDGETS]
        axes.plot(BUDGETS, values, f"{mark}-", color=colour, label=label, markersize=5)
    lines = {"full": "all judged", "word": "told a word", "nothing": "told nothing"}
    for kind, label in lines.items():
        height = _mean(content, lambda half, kind=kind: half[kind])  # type: ignore[misc]
        axes.axhline(height, color="#808080", linestyle="--", linewidth=1)
        axes.text(BUDGETS[0], height, label, color="#808080", va="bottom", fontsize=8)
    axes.set_xscale("log")
    axes.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
    axes.minorticks_off()
    axes.set_xlabel("answers")
    axes.set_ylabel("F1")
    legend = axes.legend(frameon=False, fontsize=8, loc="center right")
    # Grey reads on light and on dark pages.
    for text in (*legend.get_texts(), axes.xaxis.label, axes.yaxis.label):
        text.set_color("#808080")
    axes.tick_params(colors="#808080")
    for side in axes.spines.values():
        side.set_color("#808080")
    figure.savefig(
        ROOT / "docs" / "images" / "judge-curve.svg",
        bbox_inches="tight",
        transparent=True,
        metadata={"Date": None},
    )
    pyplot.close(figure)
