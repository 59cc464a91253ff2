"""The page on the default, from the kept numbers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.default.measure import DEPTHS, RULES
from experiments.pages import fill, picture, share, table
from experiments.results import read
from paretocut.decisions.options import EXPECT

__all__ = ["draw", "pages"]

COLOURS = ("#0072b2", "#e69f00", "#cc79a7", "#009e73", "#999999")


def pages() -> dict[str, str]:
    """Return the page by its path."""
    content = read("default")
    steady, steadier = content["steady"], content["steadier"]
    counts = Counter(content["chosen"].values())
    facts = {
        "runs": content["runs"],
        "collections": content["collections"],
        "same": share(steady["same"]),
        "twice": share(steady["twice"]),
        "kept_10": steady["kept 10"],
        "kept_200": steady["kept 200"],
        "rules": steadier["rules"],
        "steadier": _steadier(steadier),
        "cost": f"{steadier['default'][0] - steadier['chosen']['0.1'][0]:.3f}",
        "words": _words(content["words"]),
        "depths": _depths(content),
        "shares": table(
            ["share", *content["shares"]],
            [["F1", *(f"{value:.3f}" for value in content["shares"].values())]],
        ),
        "chosen": ", ".join(
            f"{part} ({n} of {len(content['chosen'])})" for part, n in sorted(counts.items())
        ),
        "loss": f"{max(content['shares'].values()) - content['shares']['0.333']:.4f}",
        "commit": content["commit"],
    }
    return {"docs/evidence/default.md": fill(Path(__file__).with_name("page.md"), facts)}


def _depths(content: Mapping[str, Any]) -> str:
    head = ["results fetched", *(f"{depth:,}" for depth in DEPTHS)]
    rows = []
    for name in RULES:
        pairs = zip(content["kept"][name], content["f1"][name], strict=True)
        rows.append([f"{name}: kept; F1", *(f"{k:g}; {f1:.3f}" for k, f1 in pairs)])
    return table(head, rows)


def _steadier(measured: Mapping[str, Any]) -> str:
    rows = {"the default": measured["default"]}
    rows |= {f"the default, first {seen} alone": own for seen, own in measured["first"].items()}
    for gain, own in measured["chosen"].items():
        by = f"by more than {100 * float(gain):.0f} points" if float(gain) else "at all"
        rows[f"chosen on the others, steadier {by}"] = own
    cells = [[name, share(same), f"{f1:.3f}"] for name, (f1, same) in rows.items()]
    return table(["rule", "same number kept", "F1"], cells)


def _words(words: Mapping[str, Any]) -> str:
    labels = {"none": "no word", "right": "the right word", "next": "the next word"}
    rows = []
    for group in EXPECT:
        name, count = f'`"{group}"`', words[group]["collections"]
        for kind, f1 in words[group]["f1"].items():
            rows.append([f"{name} ({count}): {labels[kind]}", *(f"{value:.3f}" for value in f1)])
    return table(["runs (collections)", *(f"{depth:,}" for depth in DEPTHS)], rows)


def draw() -> None:
    """Draw what each rule keeps, and its F1, by the number of results fetched."""
    content = read("default")
    with picture("default-depth", (8, 3.2), columns=2) as (left, right):
        for name, colour in zip(RULES, COLOURS, strict=True):
            left.plot(DEPTHS, content["kept"][name], "o-", color=colour, label=name)
            right.plot(DEPTHS, content["f1"][name], "o-", color=colour)
        for axes, what in ((left, "results kept (median)"), (right, "F1 (mean over collections)")):
            axes.set_xscale("log")
            axes.set_xticks(DEPTHS, [f"{depth:,}" for depth in DEPTHS])
            axes.minorticks_off()
            axes.set_ylim(0)
            axes.set_xlabel("results fetched")
            axes.set_ylabel(what)
        left.legend(loc="upper left")
