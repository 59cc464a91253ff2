"""The page ``docs/reranking.md`` and its figure, from the measurements alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["draw", "page"]

GREY = "#808080"
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


def page(content: Mapping[str, Any]) -> str:
    """Return the page: the words of ``page.md`` with the numbers filled in."""
    words = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    rows = content["rows"]
    gains = {
        name: row["gain"] for name, row in rows.items() if "gain" in row and "oracle" not in name
    }
    facts = {
        "queries": content["queries"],
        "cost": content["cost"],
        "hundred": f"{100 * content['cost']:g}",
        "folds": content["folds"],
        "missing": f"{100 * content['missing']:.0f}",
        "missing_first": f"{100 * content['missing_first']:.0f}",
        "table": _table(content),
        "methods": len(gains),
        "clearly_above": sum(low > 0 for _, low, _ in gains.values()),
        "clearly_below": sum(high < 0 for _, _, high in gains.values()),
        "best": f"{max(gain for gain, _, _ in gains.values()):+.3f}",
        "worst": f"{min(gain for gain, _, _ in gains.values()):+.3f}",
        "oracle": f"{rows['oracle with cost']['bert']:.3f}",
        "oracle_calls": f"{rows['oracle with cost']['calls']:.0f}",
        "fifty": f"{rows['fixed 50']['bert']:.3f}",
        "all": f"{rows['fixed 1000']['bert']:.3f}",
        "start": f"{rows['fixed 1']['bert']:.3f}",
    }
    return words.format(**facts)


def _table(content: Mapping[str, Any]) -> str:
    lines = [
        "| depth | calls a query | nDCG@10 | against one depth, as many calls | perfect re-ranker "
        "| RankLLaMA, published |",
        "|---|---|---|---|---|---|",
    ]
    for name, shown in SHOWN.items():
        row = content["rows"][name]
        gain = "{:+.3f} ({:+.3f} to {:+.3f})".format(*row["gain"]) if "gain" in row else ""
        theirs = f"{row['rankllama']:.3f}" if "rankllama" in row else ""
        lines.append(
            f"| {shown} | {row['calls']:.0f} | {row['bert']:.3f} | {gain} | {row['perfect']:.3f} "
            f"| {theirs} |"
        )
    return "\n".join(lines)


def draw(content: Mapping[str, Any], path: Path) -> None:
    """Draw nDCG@10 against the number of calls.

    Parameters
    ----------
    content
        The measurements.
    path
        Where to write.
    """
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "paretocut"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes.patch.set_alpha(0.0)
    axes.plot(
        content["grid"][1:], content["curve"]["bert"][1:], color=GREY, label="one depth for all"
    )
    for kind, (label, colour, marker) in KINDS.items():
        rows = [row for name, row in content["rows"].items() if _kind(name) == kind]
        axes.scatter(
            [row["calls"] for row in rows],
            [row["bert"] for row in rows],
            s=26,
            color=colour,
            marker=marker,
            label=label,
        )
    axes.set_xscale("log")
    axes.set_xlabel("re-ranked results a query, mean", color=GREY)
    axes.set_ylabel("nDCG@10 after re-ranking, mean", color=GREY)
    axes.tick_params(colors=GREY, which="both")
    for name, spine in axes.spines.items():
        spine.set_color(GREY)
        spine.set_visible(name in ("left", "bottom"))
    axes.legend(frameon=False, labelcolor=GREY)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _kind(name: str) -> str:
    if "oracle" in name:
        return "oracle"
    return name.partition(" ")[0] if name.startswith(("fixed", "published")) else "ours"
