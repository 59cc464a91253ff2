"""The page on newer rules, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments.pages import fill, spread, table
from experiments.results import read
from experiments.rivals.measure import CONFIDENCES, NETWORKS

__all__ = ["pages"]

OURS = 'Consensus("accuracy")'


def pages() -> dict[str, str]:
    """Return the page by its path."""
    content = read("rivals")
    cuts, speed = content["cuts"], content["speed"]
    answers = content["answers"]
    ahead = sum(own[OURS] >= max(own[name] for name in CONFIDENCES) for own in answers.values())

    def below(other: str) -> str:
        return _percents(1 - own["TailAware()"]["f1"] / own[other]["f1"] for own in cuts.values())

    def steady(name: str) -> str:
        return _percents(own[name]["steady"] for own in cuts.values())

    facts = {
        "queries": sum(content["queries"].values()),
        "short": below("oracle"),
        "below": below("best k for all"),
        "readings": spread(
            (f1 for own in content["readings"].values() for f1 in own.values()), "{:.2f}"
        ),
        "cuts": _cuts(cuts, speed),
        "ours_us": speed["global fit, ours"],
        "scipy_ms": speed["global fit, SciPy"] / 1000,
        "faster": speed["TailAware()"] / speed["global fit, ours"],
        "steady": steady("TailAware()"),
        "steady_surprise": steady("Surprise(alpha=0.05)"),
        "steady_one": steady('Consensus(expect="one")'),
        "networks_list": NETWORKS,
        "answers": _answers(answers),
        **{f"f1_{name}": value for name, value in content["networks"].items()},
        "tasks": len(answers),
        "ahead": ahead,
        "commit": content["commit"],
        "renewed": content["renewed"],
    }
    return {"docs/evidence/rivals.md": fill(Path(__file__).with_name("page.md"), facts)}


def _percents(shares: Iterable[float]) -> str:
    return spread((100 * share for share in shares), "{:.0f}") + " %"


def _cuts(cuts: Mapping[str, Any], speed: Mapping[str, float]) -> str:
    lines = []
    for method in next(iter(cuts.values())):
        cells = [f"{own[method]['f1']:.3f} ({own[method]['k']:.0f})" for own in cuts.values()]
        shown = f"`{method}`" if "(" in method else method
        lines.append([shown, *cells, f"{speed[method]:.1f}" if method in speed else ""])
    return table(["", *(f"{name} (kept)" for name in cuts), "a list, microseconds"], lines)


def _answers(answers: Mapping[str, Any]) -> str:
    lines = []
    for task, own in answers.items():
        best = max(own[name] for name in CONFIDENCES)
        cells = [f"{own[name]:.3f}" for name in CONFIDENCES]
        bold = [
            f"**{cell}**" if own[n] == best else cell
            for n, cell in zip(CONFIDENCES, cells, strict=True)
        ]
        lines.append([task, str(own["queries"]), f"{own['always']:.3f}", *bold])
    head = ["", "queries", "always the same", *(f"`{name}`" for name in CONFIDENCES)]
    return table(head, lines)
