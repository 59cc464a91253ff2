"""The page ``docs/calibrate.md`` and its figures, from the measurements alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import ROOT
from paretocut.relevance.constants import EXPECT

__all__ = ["draw", "page"]

_KINDS = ("nonsense", "log", "tuned")
_NAMES = {"nonsense": "nonsense", "log": "with a log", "tuned": "labels"}
_NUMBER = {
    "half": "half",
    "one": "one list",
    "many": "lists",
    "word": "word",
    "number": "number",
    "judged": "judged",
}


def page(content: Mapping[str, Any]) -> str:
    """Return the page: the words of ``page.md`` with the numbers filled in."""
    words = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    dense, lexical = content["whether"]["MiniLM"], content["whether"]["BM25"]
    scaled = [row["confidence"]["best score"][0] for row in lexical.values()]
    seconds = [row["seconds"] for part in (dense, lexical) for row in part.values()]
    facts = {
        "commit": content["commit"],
        "collections": len(content["number"]["half"]),
        "systems": content["systems"],
        "whether_minilm": _whether(dense),
        "whether_bm25": _whether(lexical),
        "contaminated": _contaminated(content["whether"]),
        "number": _number(content["number"]),
        "own": _own(content["whether"]),
        "alphas": _alphas(content["whether"]),
        "confidence": _confidence(content["whether"]),
        "raw_auc": f"{np.mean([row['raw'] for row in lexical.values()]):.2f}",
        "scaled_auc": f"{np.mean(scaled):.2f}",
        "seconds": f"{max(seconds):.1f}",
        **EXPECT,
        **_excess(dense, "log"),
        **_excess(lexical, "bm25"),
        **_gains(content["number"]),
    }
    return words.format(**facts)


def rates(row: Mapping[str, Any], kind: str) -> tuple[float, float]:
    """Return the share of good questions left empty and the balanced error, over the splits."""
    good = float(np.mean([split[kind]["good"] for split in row["splits"]]))
    other = float(np.mean([split[kind]["other"] for split in row["splits"]]))
    return good, (good + 1 - other) / 2


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _whether(part: Mapping[str, Any]) -> str:
    head = [
        "index",
        *(f"{_NAMES[k]}: empty" for k in _KINDS),
        *(f"{_NAMES[k]}: error" for k in _KINDS),
    ]
    rows = []
    for name, row in part.items():
        pairs = [rates(row, kind) for kind in _KINDS]
        rows.append(
            [name, *(f"{100 * good:.0f} %" for good, _ in pairs), *(f"{e:.3f}" for _, e in pairs)]
        )
    means = [np.mean([rates(row, kind)[1] for row in part.values()]) for kind in _KINDS]
    rows.append(["**mean**", "", "", "", *(f"**{mean:.3f}**" for mean in means)])
    return _table(head, rows)


def _excess(part: Mapping[str, Any], prefix: str) -> dict[str, str]:
    over = {name: rates(row, "log")[1] - rates(row, "tuned")[1] for name, row in part.items()}
    lost = {name: rates(row, "log")[0] for name, row in part.items()}
    bare = {name: rates(row, "nonsense")[0] for name, row in part.items()}
    worst, most, alone = (max(x, key=lambda name: x[name]) for x in (over, lost, bare))
    facts = {
        f"{prefix}_excess": f"{100 * np.mean(list(over.values())):.1f}",
        f"{prefix}_worst": f"{100 * over[worst]:.1f}",
        f"{prefix}_worst_name": worst,
    }
    if prefix == "log":
        facts |= {
            "log_lost": f"{100 * lost[most]:.0f} %",
            "log_lost_name": most,
            "nonsense_lost": f"{100 * bare[alone]:.0f} %",
            "nonsense_lost_name": alone,
        }
    return facts


def _contaminated(whether: Mapping[str, Any]) -> str:
    head = ["log", *whether]
    labels = {
        "log": "all answerable",
        "log 10%": "10 % off-topic, nothing said",
        "log 10%, told": "10 % off-topic, `unanswered=0.1`",
        "log 30%": "30 % off-topic, nothing said",
        "log 30%, told": "30 % off-topic, `unanswered=0.3`",
        "nonsense": "no log",
        "tuned": "labels",
    }

    def mean(part: Mapping[str, Any], kind: str) -> str:
        return f"{np.mean([rates(row, kind)[1] for row in part.values()]):.3f}"

    return _table(
        head,
        [
            [label, *(mean(part, kind) for part in whether.values())]
            for kind, label in labels.items()
        ],
    )


def _number(number: Mapping[str, Mapping[str, float]]) -> str:
    names = list(number["half"])
    rows = [[name, *(f"{number[kind][name]:.3f}" for kind in _NUMBER)] for name in names]
    means = [np.mean(list(number[kind].values())) for kind in _NUMBER]
    rows.append(["**mean**", *(f"**{mean:.3f}**" for mean in means)])
    return _table(["collection", *_NUMBER.values()], rows)


def _gains(number: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    mean = {kind: float(np.mean(list(values.values()))) for kind, values in number.items()}
    over = {name: number["many"][name] - number["half"][name] for name in number["half"]}
    worst = min(over, key=lambda name: over[name])
    return {
        "lists_gain": f"{100 * (mean['many'] - mean['half']):.1f}",
        "lists_worst": f"{100 * over[worst]:.1f} points",
        "lists_worst_name": worst,
        "word_share": f"{100 * mean['word'] / mean['number']:.0f} %",
    }


def _own(whether: Mapping[str, Any]) -> str:
    names = [name for name, row in whether["MiniLM"].items() if "own" in row]
    rows = [[name, *(f"{part[name]['own']:.2f}" for part in whether.values())] for name in names]
    return _table(["questions without an answer of", *whether], rows)


def _alphas(whether: Mapping[str, Any]) -> str:
    rows = []
    for system, part in whether.items():
        for name, row in part.items():
            cells = [
                " / ".join(
                    f"{100 * shares[kind]:.0f}"
                    for kind in ("good", "other", "letters", *(["own"] if "own" in row else []))
                )
                for shares in row["alpha"].values()
            ]
            rows.append([system, name, *cells])
    return _table(["system", "index", "0.01", "0.05", "0.1"], rows)


def _confidence(whether: Mapping[str, Any]) -> str:
    rows = []
    for system, part in whether.items():
        for name, row in part.items():
            areas = [f"{auc:.2f}, {nauc:.2f}" for auc, nauc in row["confidence"].values()]
            fixed = f"{_error(row['fixed']):.3f}" if "fixed" in row else ""
            rows.append(
                [
                    *(system, name, *areas),
                    f"{rates(row, 'regression')[1]:.3f}",
                    *(fixed, f"{_error(row['surprise']):.3f}"),
                ]
            )
    head = ["system", "index", "best score", "std", "first difference"]
    return _table([*head, "regression, labels", "cosine 0.5", "Surprise"], rows)


def _error(shares: Mapping[str, float]) -> float:
    return (shares["good"] + 1 - shares["other"]) / 2


def draw(content: Mapping[str, Any]) -> None:
    """Write the two figures of the page."""
    part = content["whether"]["MiniLM"]
    _dots(
        "calibrate-whether",
        list(part),
        {_NAMES[kind]: [rates(row, kind)[1] for row in part.values()] for kind in _KINDS},
        "balanced error, MiniLM",
    )
    number = content["number"]
    kinds = ("half", "many", "word", "number")
    names = sorted(number["half"], key=lambda name: number["number"][name])
    _dots(
        "calibrate-number",
        names,
        {_NUMBER[kind]: [number[kind][name] for name in names] for kind in kinds},
        "F1",
    )


def _dots(file: str, names: list[str], values: Mapping[str, list[float]], caption: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "paretocut"
    from matplotlib import pyplot

    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    figure, axes = pyplot.subplots(figsize=(6.4, 0.9 + 0.26 * len(names)))
    for (label, row), colour, mark in zip(values.items(), colours, "osD^", strict=False):
        axes.plot(row, range(len(names)), mark, color=colour, label=label, markersize=5, alpha=0.9)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel(caption)
    axes.grid(axis="x", color="#808080", alpha=0.3)
    _grey(axes)
    figure.savefig(
        ROOT / "docs" / "images" / f"{file}.svg",
        bbox_inches="tight",
        transparent=True,
        metadata={"Date": None},
    )
    pyplot.close(figure)


def _grey(axes: Any) -> None:
    """Make everything but the data grey, which reads on light and on dark pages."""
    axes.tick_params(colors="#808080")
    axes.xaxis.label.set_color("#808080")
    for spine in axes.spines.values():
        spine.set_color("#808080")
    for text in axes.legend(frameon=False, loc="best").get_texts():
        text.set_color("#808080")
