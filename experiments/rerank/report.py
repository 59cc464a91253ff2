"""The page on re-ranking and its picture, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.pages import GREY, fill, picture, table
from experiments.results import read

__all__ = ["draw", "pages"]

# Label, colour and marker; the colours are those of Okabe and Ito.
KINDS = {
    "published": ("published depths", "#0072B2", "s"),
    "ours": ("our truncators", "#D55E00", "o"),
    "oracle": ("oracle", "#009E73", "*"),
}
SHOWN = {
    "fixed 20": "20 for all",
    "fixed 50": "50 for all",
    "fixed 100": "100 for all",
    "fixed 200": "200 for all",
    "fixed 1000": "1000 for all",
    "published bicut alpha0.5": "published: BiCut",
    "published choppy beta2": "published: Choppy",
    "published attncut beta1": "published: AttnCut",
    "published mmoecut beta1": "published: MtCut",
    "published surprise": "published: Surprise",
    "global_k, tuned": "`global_k`, tuned",
    "minmax, tuned": "`minmax`, tuned",
    "surprise, tuned": "`surprise`, tuned",
    "consensus, tuned": "`consensus`, tuned",
    "Consensus()": "`Consensus()`, untrained",
    "TailAware()": "`TailAware()`, untrained",
    "oracle with cost": "oracle",
}


def pages() -> dict[str, str]:
    """Return the page by its path."""
    content = read("rerank")
    rows = content["rows"]
    gains = [own["gain"] for name, own in rows.items() if "gain" in own and "oracle" not in name]
    facts = {
        "queries": content["queries"],
        "cost": content["cost"],
        "hundred": f"{100 * content['cost']:g}",
        "folds": content["folds"],
        "missing": f"{100 * content['missing']:.0f}",
        "missing_first": f"{100 * content['missing_first']:.0f}",
        "table": _table(rows),
        "methods": len(gains),
        "clearly_above": sum(low > 0 for _, low, _ in gains),
        "clearly_below": sum(high < 0 for _, _, high in gains),
        "best": f"{max(gain for gain, _, _ in gains):+.3f}",
        "worst": f"{min(gain for gain, _, _ in gains):+.3f}",
        "oracle": rows["oracle with cost"]["bert"],
        "oracle_calls": rows["oracle with cost"]["calls"],
        "fifty": rows["fixed 50"]["bert"],
        "all": rows["fixed 1000"]["bert"],
        "start": rows["fixed 1"]["bert"],
        "commit": content["commit"],
    }
    return {"docs/evidence/rerank.md": fill(Path(__file__).with_name("page.md"), facts)}


def _table(rows: Mapping[str, Any]) -> str:
    head = ["depth", "calls a query", "nDCG@10", "against one depth, as many calls"]
    lines = []
    for name, shown in SHOWN.items():
        own = rows[name]
        gain = "{:+.3f} ({:+.3f} to {:+.3f})".format(*own["gain"]) if "gain" in own else ""
        theirs = f"{own['rankllama']:.3f}" if "rankllama" in own else ""
        means = [f"{own['calls']:.0f}", f"{own['bert']:.3f}", gain, f"{own['perfect']:.3f}"]
        lines.append([shown, *means, theirs])
    return table([*head, "perfect re-ranker", "RankLLaMA, published"], lines)


def draw() -> None:
    """Draw nDCG@10 against the number of calls."""
    content = read("rerank")
    with picture("rerank", (6.4, 3.8)) as axes:
        curve = content["curve"]["bert"]
        axes.plot(content["grid"][1:], curve[1:], color=GREY, label="one depth for all")
        for kind, (label, colour, marker) in KINDS.items():
            rows = [row for name, row in content["rows"].items() if _kind(name) == kind]
            points = [row["calls"] for row in rows], [row["bert"] for row in rows]
            axes.scatter(*points, s=26, color=colour, marker=marker, label=label)
        axes.set_xscale("log")
        axes.set_xlabel("re-ranked results a query, mean")
        axes.set_ylabel("nDCG@10 after re-ranking, mean")
        axes.legend()


def _kind(name: str) -> str:
    if "oracle" in name:
        return "oracle"
    return name.partition(" ")[0] if name.startswith(("fixed", "published")) else "ours"
