"""The page on stopping and its picture, from the kept numbers alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.pages import GREY, fill, picture, share, spread, table
from experiments.results import read
from experiments.stop.measure import PARTS, TARGETS

__all__ = ["draw", "pages"]

CERTIFICATE, QUANTILE, PUBLISHED, TARGET = (
    "`Certificate`, 95 %",
    "`Quantile`, 90 %",
    "`Quantile`, 90 %, test as published",
    "`Target` (QBCB), 95 %",
)
# What the picture joins by a line, and how it is drawn.
_DRAWN = {
    "Quantile": (("`Quantile`, 95 %", QUANTILE, "`Quantile`, 80 %"), "o-", "#2471a3"),
    "Certificate": ((CERTIFICATE,), "s", "#c0392b"),
    "Target": ((TARGET,), "D", "#b7950b"),
    "in a row": (tuple(f"{n} irrelevant in a row" for n in (50, 100, 200)), "v:", GREY),
    "fixed share": (("a fixed share, learned, 90 %",), "^", GREY),
    "knee, Poisson": (("knee", "Poisson, power law, 95 %"), "x", GREY),
    "perfect": (("perfect stop",), "*", GREY),
}

Rows = Mapping[tuple[str, float], Mapping[str, Any]]


def _rows(content: Mapping[str, Any]) -> Rows:
    return {(row["rule"], row["target"]): row for row in content["stops"]}


def pages() -> dict[str, str]:
    """Return the page and its tables by their paths."""
    content = read("stop")
    rows, states, simulations = _rows(content), content["states"], content["simulations"]
    names = list(dict.fromkeys(rule for rule, _ in rows))
    reads = {name: [rows[name, target]["read"] for target in TARGETS] for name in names}
    inside = sum(row["inside"] * row["reviews"] for row in states)
    looks = sum(row["reviews"] for row in states)
    facts = {
        "rankings": content["rankings"],
        "reviews": content["reviews"],
        "certificate": _listed(reads[CERTIFICATE]),
        "quantile": _listed(reads[QUANTILE]),
        "published": _listed(reads[PUBLISHED]),
        "certificate_short": spread(
            (100 - 100 * rows[CERTIFICATE, target]["held"] for target in TARGETS), "{:.0f}"
        ),
        "run_held": spread(
            (100 * rows["200 irrelevant in a row", target]["held"] for target in TARGETS), "{:.0f}"
        ),
        "error": f"{100 * (0.9 * 0.1 / content['reviews']) ** 0.5:.0f}",
        "stops": _stops(rows, names),
        "details": _details(rows, names),
        "parts": _parts(rows),
        "random": content["random"],
        "simulations": _simulations(simulations),
        "worst_kind": share(max(row["short"] for row in simulations), 1),
        "inside": share(inside / looks),
        "sure": spread((100 * row["sure_held"] for row in states), "{:.0f}"),
        "states": _states(states),
        "transfers": _transfers(content["transfers"]),
        **_worst(content["transfers"]),
        "prices": _prices(content["prices"]),
        "commit": content["commit"],
    }
    tables = {name: facts.pop(name) for name in ("parts", "details")}
    folder = Path(__file__).parent
    return {
        "docs/evidence/stop.md": fill(folder / "page.md", facts),
        "docs/evidence/stop-tables.md": fill(folder / "tables.md", tables),
    }


def _listed(values: list[float]) -> str:
    """Return three shares: "0.51, 0.64 and 0.82"."""
    first, second, third = (f"{value:.2f}" for value in values)
    return f"{first}, {second} and {third}"


def _cell(row: Mapping[str, float], rule: str = "") -> str:
    return f"{row['read']:.2f}" + ("" if _by_design(rule) else f" ({share(row['held'])})")


def _by_design(rule: str) -> bool:
    """Return whether the share of rankings that reach the recall follows from the computation."""
    return rule.startswith("`Quantile`") or "learned" in rule


def _stops(rows: Rows, names: list[str]) -> str:
    head = ["rule, with what it promises", *(f"recall {target:g}" for target in TARGETS)]
    lines = ([name, *(_cell(rows[name, target], name) for target in TARGETS)] for name in names)
    return table(head, lines)


def _details(rows: Rows, names: list[str]) -> str:
    head = ["rule", "recall wanted", "recall at the stop", "recall reached in", "read", "too much"]
    lines = (
        [
            *(name, f"{target:g}", f"{row['recall']:.3f}"),
            "" if _by_design(name) else share(row["held"]),
            *(f"{row['read']:.3f}", f"{row['overshoot']:+.3f}"),
        ]
        for target in TARGETS
        for name in names
        for row in [rows[name, target]]
    )
    return table(head, lines)


def _parts(rows: Rows) -> str:
    rules = ("perfect stop", CERTIFICATE, QUANTILE)
    head = ["reviews", *(f"{rule}, recall {target:g}" for target in (0.9, 0.95) for rule in rules)]
    lines = (
        [
            part,
            *(
                _cell(rows[rule, target]["parts"][part], rule)
                for target in (0.9, 0.95)
                for rule in rules
            ),
        ]
        for part in PARTS
    )
    return table(head, lines)


def _simulations(cells: list[Mapping[str, Any]]) -> str:
    head = ["order", "documents", "relevant", *(f"recall {target:g}" for target in TARGETS)]
    kinds = dict.fromkeys((cell["order"], cell["total"], cell["relevant"]) for cell in cells)
    by_kind = {
        (*(cell[key] for key in ("order", "total", "relevant", "target")),): cell for cell in cells
    }
    lines = (
        [order, f"{total:,}", str(relevant)]
        + [
            f"{share(cell['short'], 1)} short, {cell['read']:.2f} read"
            for target in TARGETS
            for cell in [by_kind[order, total, relevant, target]]
        ]
        for order, total, relevant in kinds
    )
    return table(head, lines)


def _states(states: list[Mapping[str, Any]]) -> str:
    head = ["read", "true recall", "best guess", "mean error", "inside the interval"]
    lines = (
        [
            *(share(row["share"]), f"{row['true']:.2f}", f"{row['expected']:.2f}"),
            *(f"{row['error']:.2f}", share(row["inside"])),
        ]
        for row in states
    )
    return table(head, lines)


def _transfers(cells: list[Mapping[str, Any]]) -> str:
    pairs = dict.fromkeys((cell["learned"], cell["used"], cell["reviews"]) for cell in cells)
    by_pair = {(cell["learned"], cell["used"], cell["target"]): cell for cell in cells}
    head = ["learned from", "used on", "reviews", *(f"recall {target:g}" for target in TARGETS)]
    lines = (
        [learned, used, str(reviews)]
        + [
            f"{_cell(cell)}; {_cell(cell['fallback'])}"
            for target in TARGETS
            for cell in [by_pair[learned, used, target]]
        ]
        for learned, used, reviews in pairs
    )
    return table(head, lines, text=2)


def _worst(cells: list[Mapping[str, Any]]) -> dict[str, str]:
    """Return the direction that reaches the recall least often, and how far the warnings help."""
    worst = min(cells, key=lambda cell: cell["held"])
    after = min(cells, key=lambda cell: cell["fallback"]["held"])
    short = [round((1 - cell["held"]) * cell["reviews"]) for cell in cells]
    kept = sum(cell["held"] >= 0.9 for cell in cells)
    then = sum(cell["fallback"]["held"] >= 0.9 for cell in cells)
    return {
        "worst_learned": worst["learned"],
        "worst_used": worst["used"],
        "worst_recall": f"{worst['target']:g}",
        "worst_held": share(worst["held"]),
        "worst_fallback": share(worst["fallback"]["held"]),
        "after": share(after["fallback"]["held"]),
        "short": str(sum(short)),
        "noticed": str(sum(cell["noticed"] for cell in cells)),
        "directions": str(len(cells)),
        "kept_directions": str(kept),
        "fallback_directions": str(then),
    }


def _prices(prices: list[Mapping[str, Any]]) -> str:
    head = ["rule", "price", "read in the end", "mean difference", "between good and poor"]
    lines = (
        [
            *(f"`{row['rule']}`", f"{row['told']:.2f}", f"{row['read']:.2f}"),
            *(f"{row['error']:.2f}", share(row["inside"])),
        ]
        for row in prices
    )
    return table(head, lines)


def _promised(rule: str) -> float | None:
    """Return the percentage that a rule with a learned level promises."""
    found = re.search(r"(\d+) %", rule)
    return float(found[1]) if _by_design(rule) and found else None


def draw() -> None:
    """Draw what each rule reads against how often it reaches the recall."""
    rows = _rows(read("stop"))
    with picture("stop-promise", (9, 2.6), columns=len(TARGETS)) as panels:
        for axes, target in zip(panels, TARGETS, strict=True):
            for name, (rules, style, colour) in _DRAWN.items():
                points = [rows[rule, target] for rule in rules]
                axes.plot(
                    [point["read"] for point in points],
                    [_promised(rule) or 100 * rows[rule, target]["held"] for rule in rules],
                    style,
                    color=colour,
                    label=name,
                    markersize=5,
                )
            axes.set_title(f"recall {target:g}")
            axes.set_xlabel("share of the documents read")
            axes.set_xlim(0, 1.05)
            axes.set_ylim(30, 105)
        panels[0].set_ylabel("rankings that reach it, %\n(learned rules: as promised)")
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
