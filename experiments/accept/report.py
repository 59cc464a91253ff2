"""The page on accepting one hit, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.accept.measure import BUDGETS
from experiments.frozen.report import accepting
from experiments.pages import fill, table
from experiments.results import read

__all__ = ["pages"]

Cell = Mapping[str, Any]
_KEPT = ("accept", "top", "margin")  # those with the promise
_NEAR = 0.03
_SOME = 0.005  # share of the queries below which hardly anything is accepted
DESIGNED_ON = ("abt_buy", "dblp_acm", "clinc150")


def pages() -> dict[str, str]:
    """Return the page by its path."""
    content = read("accept")
    runs = content["runs"]
    cells = [
        (f"{run['collection']}, {run['system']}", budget, run["budgets"][str(budget)])
        for run in runs
        for budget in BUDGETS
    ]
    open_cells = [cell for cell in cells if any(cell[2][name]["share"] > 0.01 for name in _KEPT)]
    answered = {cell[0] for cell in open_cells}
    shut = [run for run in runs if f"{run['collection']}, {run['system']}" not in answered]
    closed = [run["budgets"][str(budget)] for run in shut for budget in BUDGETS if budget <= 0.05]
    spoken = [cell for cell in cells if cell[2]["accept"]["share"] >= _SOME]
    assert {name.partition(",")[0] for name, _, _ in spoken} <= set(DESIGNED_ON)
    far = [cell for cell in cells if _gain(cell[2]) < -_NEAR]
    better = [cell for cell in cells if _gain(cell[2]) > _NEAR]
    null = content["simulated"]
    flat = [row["broken"] for row in null if row["kind"] == "flat"]
    facts = {
        "runs": len(runs),
        "resamples": content["resamples"],
        "cells": len(cells),
        "silent": len(cells) - len(spoken),
        "spoken": len(spoken),
        "worst": _percent(max(cell["accept"]["broken"] for _, _, cell in spoken)),
        "at_one": ", ".join(
            dict.fromkeys(name.partition(",")[0] for name, budget, _ in spoken if budget == 0.01)
        ),
        "within": len(cells) - len(far),
        "far": "; ".join(_told(cell) for cell in far) or "none",
        "better": len(better),
        "best": "; ".join(_told(cell) for cell in sorted(better, key=lambda c: -_gain(c[2]))[:3]),
        "shut": ", ".join(dict.fromkeys(run["collection"] for run in shut)),
        "possible": _percent(max(cell["possible"] for cell in closed)),
        "roc": sum(cell["roc"]["broken"] > 0.5 for _, _, cell in cells),
        "tuned": sum(cell["tuned"]["broken"] > 0.05 for _, _, cell in cells),
        "fixed": sum(
            cell["fixed"]["broken"] > 0.5 for name, _, cell in cells if name.endswith("minilm")
        ),
        "cosines": len(cells) // 2,
        "table": _table(open_cells),
        "draws": content["draws"],
        "flat": len(flat),
        "mean": _percent(sum(flat) / len(flat)),
        "highest": _percent(max(flat)),
        "null": _null(null),
        "commit": content["commit"],
        **{f"frozen_{key}": count for key, count in accepting(read("frozen")["accept"]).items()},
    }
    return {"docs/evidence/accept.md": fill(Path(__file__).with_name("page.md"), facts)}


def _gain(cell: Cell) -> float:
    """Return how much more is accepted than by the best signal alone, known by hindsight."""
    best = max(cell[name]["share"] for name in ("top", "margin"))
    return float(cell["accept"]["share"] - best)


def _told(found: tuple[str, float, Cell]) -> str:
    name, budget, cell = found
    best = max(cell[signal]["share"] for signal in ("top", "margin"))
    return f"{name} at {100 * budget:g} %: {cell['accept']['share']:.2f}, against {best:.2f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _table(cells: list[tuple[str, float, Cell]]) -> str:
    head = ["run", "budget, %", "`Accept`", "top score", "margin", "possible"]
    head += ["tuned top score", "ROC", "fixed 0.8"]
    lines = []
    for name, budget, cell in cells:
        rivals = ["tuned", "roc", *(["fixed"] if name.endswith("minilm") else [])]
        told = [
            f"{cell[x]['share']:.2f} ({_percent(cell[x]['broken'])})" for x in (*_KEPT, *rivals)
        ]
        row = [name, f"{100 * budget:g}", *told[:3], f"{cell['possible']:.2f}", *told[3:]]
        lines.append(row if len(row) == len(head) else [*row, "-"])
    return table(head, lines)


def _null(rows: list[Cell]) -> str:
    kinds = {"flat": "tell nothing", "slope": "tell something"}
    return table(
        ["scores", "judged queries", "budget, %", "promise broken, %"],
        [
            [
                *(kinds[row["kind"]], str(row["queries"]), f"{100 * row['budget']:g}"),
                _percent(row["broken"]),
            ]
            for row in rows
        ],
    )
