"""The page on what the rules promise, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.noise.measure import ALL, NOISE, RULES, standard_error
from experiments.pages import fill, spread, table
from experiments.results import read

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """Return the page and its tables by their paths."""
    content = read("noise")
    noise = content["noise"]
    kinds = {name: [cell for cell in noise if cell["noise"] == name] for name in NOISE}
    failed = [cell for cell in noise if not cell["holds"]]
    failing = [name for name in kinds if any(cell["noise"] == name for cell in failed)]
    held = [cell for cell in noise if cell["noise"] not in failing]
    light = [cell for cell in content["discoveries"] if cell["noise"] not in failing]
    low = [c for c in content["hits"] if c["depth"] >= 200 and c["found"]["evalue"] < 0.8]
    facts = {
        "lists": f"{content['lists']:,}",
        "error": percent(standard_error(0.95)),
        "wide": percent(standard_error(0.5)),
        "kinds": len(kinds),
        "holding": len(kinds) - len(failing),
        "cases": sum(len(kinds[name]) for name in failing),
        "failed": len(failed),
        "failing": "; ".join(failing) or "none",
        "lowest_held": percent(min(cell["empty"]["evalue"] for cell in held)),
        "lowest": percent(min(cell["empty"]["evalue"] for cell in failed)),
        "highest": percent(max(cell["empty"]["evalue"] for cell in failed)),
        "wrong": percent(max(cell["warned_if_wrong"] or 0.0 for cell in failed)),
        "shape_held": f"{max(cell['shape'] for cell in held):.2f}",
        "shape_failed": f"{min(cell['shape'] for cell in failed):.2f}",
        "shape_most": f"{max(cell['shape'] for cell in failed):.2f}",
        "shape_hits": f"{max(cell['shape'] for cell in light):.2f}",
        "families": _families(content, kinds),
        "noise_table": _noise(noise),
        "hits": _hits(content["hits"]),
        "low": "; ".join(
            f"{c['hits']} hits at {c['depth']} ({percent(c['found']['evalue'])} %)" for c in low
        )
        or "none",
        "commit": content["commit"],
    }
    tables = {name: facts.pop(name) for name in ("noise_table",)}
    folder = Path(__file__).parent
    return {
        "docs/evidence/noise.md": fill(folder / "page.md", facts),
        "docs/evidence/noise-tables.md": fill(folder / "tables.md", tables),
    }


def percent(share: float) -> str:
    """Return a share as a percentage with one digit, without its sign."""
    return f"{100 * share:.1f}"


def _range(shares: Sequence[float]) -> str:
    return spread([100 * share for share in shares], "{:.1f}") if shares else "none is wrong"


def _families(content: Mapping[str, Any], kinds: Mapping[str, Sequence[Any]]) -> str:
    head = ["scores", "`evalue` empty, %", "`fdr` empty, %"]
    head += ["false share of `fdr`, 1 or 10 hits, %", "median shape"]
    lines = []
    for name, cells in kinds.items():
        false = [c["false_share"] for c in content["discoveries"] if c["noise"] == name]
        wrong = [c["warned_if_wrong"] for c in cells if c["warned_if_wrong"] is not None]
        broken = sum(not cell["holds"] for cell in cells)
        lines.append(
            [
                name,
                *(_range([cell["empty"][rule] for cell in cells]) for rule in ("evalue", "fdr")),
                _range(false),
                spread((cell["shape"] for cell in cells), "{:.2f}"),
                _range(wrong),
                f"**fails** in {broken} of {len(cells)}" if broken else "holds",
            ]
        )
    return table([*head, "`poor_fit`, % of wrong lists", "promise"], lines)


def _noise(cells: Sequence[Any]) -> str:
    head = ["scores", "collection", "depth", "`evalue` empty, %", "`fdr` empty, %"]
    head += ['`evalue`, `refit="all"` empty, %', "`alpha` keeps, % of list"]
    lines = [
        [
            *(c["noise"], f"{c['collection']:,}", str(c["depth"])),
            *(percent(c["empty"][rule]) for rule in ("evalue", "fdr", ALL)),
            percent(c["kept_by_alpha"]),
            "holds" if c["holds"] else "**does not hold**",
        ]
        for c in cells
    ]
    return table([*head, "promise of `evalue`"], lines)


def _hits(cells: Sequence[Any]) -> str:
    lines = [
        [
            *(str(c["hits"]), str(c["depth"])),
            *(f"{percent(c['found'][name])} ({c['median'][name]:g})" for name in RULES),
        ]
        for c in cells
    ]
    return table(["hits", "depth", *(f"`{name}`, %" for name in RULES)], lines)
