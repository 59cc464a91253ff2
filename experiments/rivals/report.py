"""The page ``docs/rivals.md``, from the measurements alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.rivals.measure import CONFIDENCES, NETWORKS

__all__ = ["page"]


def page(content: Mapping[str, Any]) -> str:
    """Return the page: the words of ``page.md`` with the numbers filled in."""
    words = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    cuts, speed = content["cuts"], content["speed"]
    short = [1 - own["TailAware()"]["f1"] / own["oracle"]["f1"] for own in cuts.values()]
    below = [1 - own["TailAware()"]["f1"] / own["best k for all"]["f1"] for own in cuts.values()]
    gates = content["answers"].values()
    ours = 'Consensus("accuracy")'
    ahead = sum(own[ours] >= max(own[name] for name in CONFIDENCES) for own in gates)
    readings = [value for own in content["readings"].values() for value in own.values()]
    return words.format(
        queries=f"{sum(content['queries'].values()):,}",
        lists=len(cuts),
        short=_percents(short),
        below=_percents(below),
        readings=f"{min(readings):.2f} to {max(readings):.2f}",
        cuts=_cuts(content),
        ours_us=f"{speed['global fit, ours']:.1f}",
        tail_us=f"{speed['TailAware()']:.0f}",
        scipy_ms=f"{speed['global fit, SciPy'] / 1000:.0f}",
        faster=f"{speed['TailAware()'] / speed['global fit, ours']:.0f}",
        steady=_percents([own["TailAware()"]["steady"] for own in cuts.values()]),
        steady_surprise=_percents([own["Surprise(alpha=0.05)"]["steady"] for own in cuts.values()]),
        steady_one=_percents([own['Consensus(expect="one")']["steady"] for own in cuts.values()]),
        networks_list=NETWORKS,
        answers=_answers(content["answers"]),
        **{f"f1_{name}": f"{value:.3f}" for name, value in content["networks"].items()},
        tasks=len(content["answers"]),
        ahead=ahead,
    )


def _percents(shares: list[float]) -> str:
    low, high = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _cuts(content: Mapping[str, Any]) -> str:
    cuts, speed = content["cuts"], content["speed"]
    lines = [
        "| | " + " | ".join(f"{name} (kept)" for name in cuts) + " | a list, microseconds |",
        "|---|" + "---|" * (len(cuts) + 1),
    ]
    for method in next(iter(cuts.values())):
        cells = [f"{own[method]['f1']:.3f} ({own[method]['k']:.0f})" for own in cuts.values()]
        time = f"{speed[method]:.1f}" if method in speed else ""
        shown = f"`{method}`" if "(" in method else method
        lines.append(f"| {shown} | " + " | ".join(cells) + f" | {time} |")
    return "\n".join(lines)


def _answers(answers: Mapping[str, Any]) -> str:
    names = list(CONFIDENCES)
    lines = [
        "| | queries | always the same | " + " | ".join(f"`{name}`" for name in names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for task, own in answers.items():
        best = max(own[name] for name in names)
        cells = [
            f"**{own[name]:.3f}**" if own[name] == best else f"{own[name]:.3f}" for name in names
        ]
        lines.append(
            f"| {task} | {own['queries']} | {own['always']:.3f} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines)
