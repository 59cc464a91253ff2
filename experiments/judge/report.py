"""The page on judging and its picture, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.judge.measure import BUDGETS, JUDGES
from experiments.pages import GREY, fill, picture, share, spread, table
from experiments.results import read

__all__ = ["by_collection", "draw", "mean_f1", "pages"]

Content = Mapping[str, Any]

_NAMES = {
    "clean": "no errors",
    "80 %, 3 %": "finds 80 %, 3 % false",
    "95 %, 1 %": "finds 95 %, 1 % false",
}
_USUAL = "200"
_FIXED = {
    "nothing": "nothing known",
    "word": "the right word",
    "next word": "the second-nearest word",
    "told": "the true mean number",
    "twenty": "20 lists judged in full",
    "full": "all lists judged in full",
}


def by_collection(content: Content, value: Callable[[Content], float]) -> dict[str, float]:
    """Return the mean of each collection: of ``value`` over halves, then over runs."""
    found: dict[str, list[float]] = {}
    for run in content["runs"]:
        mean = float(np.mean([value(half) for half in run["halves"]]))
        found.setdefault(run["collection"], []).append(mean)
    return {name: float(np.mean(values)) for name, values in found.items()}


def _mean(content: Content, value: Callable[[Content], float]) -> float:
    return float(np.mean(list(by_collection(content, value).values())))


def mean_f1(content: Content, judge: str, budget: str, kind: str = "f1") -> float:
    """Return the mean F1 over collections with so many answers of a judge."""
    return _mean(content, lambda half: half["judges"][judge][budget][kind])


def _covered(content: Content, judge: str, budget: str) -> float:
    def inside(half: Content) -> float:
        low, high = half["judges"][judge][budget]["interval"]
        return float(low <= half["number"] <= high)

    return _mean(content, inside)


def _bounded(content: Content, judge: str, budget: str) -> float:
    def held(half: Content) -> float:
        row = half["judges"][judge][budget]
        return float(row["lost"] <= row["loss"])

    return _mean(content, held)


def pages() -> dict[str, str]:
    """Return the page by its path."""
    words = Path(__file__).with_name("page.md")
    return {"docs/evidence/judge.md": fill(words, _facts(read("judge")))}


def _facts(content: Content) -> dict[str, Any]:
    def at(name: str) -> float:
        return _mean(content, lambda half: half[name])

    def plain(judge: str) -> float:
        return _mean(content, lambda half: half["judges"][judge]["plain"])

    fixed = {name: at(name) for name in _FIXED}
    clean = mean_f1(content, "clean", _USUAL)
    noisy = min(mean_f1(content, judge, _USUAL) for judge in JUDGES if judge != "clean")
    word = by_collection(content, lambda half: half["word"])
    both = by_collection(content, lambda half: half["judges"]["clean"][_USUAL]["with word"])
    below = {name: word[name] - both[name] for name in word if both[name] < word[name]}
    worst = max(below, key=lambda name: below[name])
    least = min(mean_f1(content, judge, str(b), "with word") for judge in JUDGES for b in BUDGETS)
    enough = [b for b in BUDGETS if mean_f1(content, "clean", str(b)) >= fixed["word"]]
    return {
        "commit": content["commit"],
        "runs": len(content["runs"]),
        "collections": len(word),
        "curve_table": _by_budget(content, _f1_cells),
        "cover_table": _by_budget(content, _cover_cells),
        "collection_table": _collections(content),
        "fixed_table": table(list(_FIXED.values()), [[f"{f1:.3f}" for f1 in fixed.values()]]),
        **{f"{name}_f1": f1 for name, f1 in fixed.items() if name not in ("twenty", "next word")},
        "clean_f1": clean,
        "clean_gap": share(1 - clean / fixed["full"], 1),
        "clean_twenty": _against(clean, fixed["twenty"]),
        "five_gap": share(1 - mean_f1(content, "clean", "500") / fixed["full"], 1),
        "noisy_gap": share(1 - noisy / fixed["full"], 1),
        "noisy_f1": noisy,
        "plain_clean": plain("clean"),
        "plain_noisy": plain("80 %, 3 %"),
        "below": len(below),
        "worst": worst,
        "worst_by": below[worst],
        "clean_verdict": _verdict(clean >= 0.99 * fixed["full"]),
        "noisy_verdict": _verdict(noisy >= 0.96 * fixed["full"]),
        "word_verdict": _verdict(least >= 0.999 * fixed["word"]),
        "both_f1": mean_f1(content, "clean", _USUAL, "with word"),
        "both_noisy": mean_f1(content, "80 %, 3 %", _USUAL, "with word"),
        "both_least": _against(least, fixed["word"]),
        "enough": f"from {min(enough)} answers on" if enough else "with none of these numbers",
        "few_f1": mean_f1(content, "clean", "25"),
        "cover": spread(
            (100 * _covered(content, judge, str(b)) for judge in JUDGES for b in BUDGETS),
            "{:.0f} %",
        ),
        "lenient_f1": at("lenient"),
        "stated_f1": at("lenient, stated"),
    }


def _verdict(met: bool) -> str:
    return "met" if met else "missed"


def _against(value: float, other: float) -> str:
    return f"{share(abs(value / other - 1), 1)} {'above' if value >= other else 'below'}"


def _by_budget(content: Content, rows: Callable[[Content], Iterator[list[str]]]) -> str:
    return table(["judge", *(f"{budget} answers" for budget in BUDGETS)], rows(content))


def _f1_cells(content: Content) -> Iterator[list[str]]:
    for kind, more in (("f1", ""), ("with word", ", and the word")):
        for judge, label in _NAMES.items():
            values = (mean_f1(content, judge, str(budget), kind) for budget in BUDGETS)
            yield [label + more, *(f"{f1:.3f}" for f1 in values)]


def _cover_cells(content: Content) -> Iterator[list[str]]:
    for judge, label in _NAMES.items():
        pairs = (
            (_covered(content, judge, str(b)), _bounded(content, judge, str(b))) for b in BUDGETS
        )
        yield [label, *(f"{100 * cover:.0f} / {100 * bound:.0f}" for cover, bound in pairs)]


def _collections(content: Content) -> str:
    def answers(judge: str, budget: str) -> dict[str, float]:
        return by_collection(content, lambda half: half["judges"][judge][budget]["f1"])

    columns = {
        "nothing": by_collection(content, lambda half: half["nothing"]),
        "a word": by_collection(content, lambda half: half["word"]),
        "25 answers": answers("clean", "25"),
        "200 answers": answers("clean", _USUAL),
        "200, 3 % false": answers("80 %, 3 %", _USUAL),
        "20 lists": by_collection(content, lambda half: half["twenty"]),
        "all": by_collection(content, lambda half: half["full"]),
    }
    rows = [[n, *(f"{column[n]:.3f}" for column in columns.values())] for n in columns["all"]]
    means = (np.mean(list(column.values())) for column in columns.values())
    rows.append(["**mean**", *(f"**{mean:.3f}**" for mean in means)])
    return table(["collection", *columns], rows)


def draw() -> None:
    """Draw F1 against the number of answers."""
    content = read("judge")
    colours = ("#0072B2", "#D55E00", "#009E73")
    with picture("judge-curve", (6.4, 3.6)) as axes:
        for (judge, label), colour, mark in zip(_NAMES.items(), colours, "osD", strict=True):
            values = [mean_f1(content, judge, str(budget)) for budget in BUDGETS]
            axes.plot(BUDGETS, values, f"{mark}-", color=colour, label=label, markersize=5)
        lines = {"full": "all judged", "word": "given a word", "nothing": "nothing known"}
        for kind, label in lines.items():
            height = _mean(content, lambda half, kind=kind: half[kind])  # type: ignore[misc]
            axes.axhline(height, color=GREY, linestyle="--", linewidth=1)
            axes.text(BUDGETS[0], height, label, va="bottom", fontsize=8)
        axes.set_xscale("log")
        axes.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
        axes.minorticks_off()
        axes.set_xlabel("answers")
        axes.set_ylabel("F1")
        axes.legend(fontsize=8, loc="center right")
