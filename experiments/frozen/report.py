"""The page on the frozen test, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from experiments.data import ROOT
from experiments.frozen import gate
from experiments.frozen.measure import (
    ACCEPT_LEVEL,
    COMPARISONS,
    GATE_MARGIN,
    MEASURES,
    RESAMPLES,
)
from experiments.frozen.sets import MOST
from experiments.intervals import gain_over, interval_over
from experiments.pages import between, fill, gain, share, table
from experiments.results import read

__all__ = ["accepting", "facts", "fusing", "pages"]

Content = Mapping[str, Any]
Rows = Sequence[Content]
SHOWN = (
    *("Consensus, learned", "min-max, learned", "best k", "number", "right word"),
    *("second-nearest word", "unjudged lists", "default", "0.8 of the best", "largest gap"),
    *("first ten", "oracle"),
)
FRONT = {
    "Consensus, learned": ("half of the queries, judged", "`Consensus().fit(judged)`"),
    "number": ("the mean number of good results", "`pc.cut(scores, expect=7)`"),
    "right word": ("the right word", '`pc.cut(scores, expect="few")`'),
    "second-nearest word": ("a wrong word, the second-nearest", "the same"),
    "unjudged lists": ("unjudged lists", "`Consensus().fit(lists)`"),
    "default": ("nothing", "`pc.cut(scores)`"),
    "min-max, learned": ("a learned min-max threshold", ""),
    "best k": ("a learned k", ""),
    "0.8 of the best": ("0.8 of the best score", ""),
    "largest gap": ("the largest gap", ""),
    "first ten": ("the first ten", ""),
}
OURS = {ours for ours, _ in COMPARISONS}
BETTER = "better run"
FOUND = {"ahead": "ahead of", "behind": "behind", "not shown": "not shown against"}
WORDS = {"f1": "F1, recall of the list", "f1/collection": "F1, of the collection", "gain": "gain"}


def pages() -> dict[str, str]:
    """Return the page by its path."""
    content = read("frozen")
    about = {"commit": content["commit"]}
    words = Path(__file__).with_name("page.md")
    return {
        "docs/evidence/frozen.md": fill(words, about | facts(content)),
        "README.md": between(ROOT / "README.md", "frozen", _front(content)),
    }


def facts(content: Content) -> dict[str, Any]:
    """Return all tables and verdicts."""
    rows = content["rows"]
    names, gated, paired = (
        list(dict.fromkeys(row["collection"] for row in content[part]))
        for part in ("rows", "gate", "fusion")
    )
    return {
        "collections": len(names),
        "textless": ", ".join(name for name in names if name not in {*gated, *paired}),
        "large": ", ".join(name for name in paired if name not in gated),
        "largest": gate.LARGEST,
        "most": MOST,
        "blind": ", ".join(dict.fromkeys(row["collection"] for row in rows if row["blind"])),
        "runs": len(rows),
        "queries": f"{sum(row['queries'] for row in rows):,}",
        "verdicts": _verdicts(rows),
        "means": _means(rows),
        "rankers": _rankers(rows),
        "each": _each(rows),
        "gate": _gate(content["gate"]),
        "gate_verdicts": _gate_verdicts(content["gate"]),
        "margin": f"{100 * GATE_MARGIN:g}",
        "accept": _accept(content["accept"]),
        "accept_verdict": _accept_verdict(content["accept"]),
        "resamples": RESAMPLES,
        "fusion": _fusion(content["fusion"]),
        "fusion_verdicts": _fusion_verdicts(content["fusion"]),
    }


def _front(content: Content) -> str:
    """Return the table of README: each F1 once, and first what is most surely ahead."""
    rows = content["rows"]
    means = {name: np.mean(_by_collection(rows, _f1_of(name))) for name in FRONT}
    told: dict[str, list[tuple[float, str, str]]] = {}
    for ours, rival in COMPARISONS:
        both = (_f1_of(ours), _f1_of(rival))
        found = gain_over(_by_collection(rows, lambda row, f=both: [x(row) for x in f]))
        against = "no word" if rival in OURS else f"{FRONT[rival][0]} ({means[rival]:.3f})"
        told.setdefault(ours, []).append((found[1], FOUND[verdict(found)], against))
    order = sorted(told, key=lambda name: -max(told[name])[0])
    lines = []
    for name in order:
        words: dict[str, list[str]] = {}
        for _, word, against in sorted(told[name], reverse=True):
            words.setdefault(word, []).append(against)
        verdicts = "; ".join(f"{word} {', '.join(rivals)}" for word, rivals in words.items())
        lines.append([*FRONT[name], f"{means[name]:.3f}", verdicts])
    head = ["you know", "you write", "F1", "verdict"]
    plain = table(head, lines, text=2).split("\n")
    return "\n".join([plain[0], "|---|---|---:|---|", *plain[2:]])


def _f1_of(name: str) -> Callable[[Content], float]:
    return lambda row: float(row["means"][name][0])


def verdict(interval: Sequence[float]) -> str:
    """Return what the interval of a gain shows."""
    _, low, high = interval
    return "ahead" if low > 0 else "behind" if high < 0 else "not shown"


def _by_collection(rows: Rows, values: Callable[[Content], Any]) -> list[Any]:
    """Return the mean of each collection, its runs counting alike."""
    names = dict.fromkeys(row["collection"] for row in rows)
    return [
        np.mean([values(row) for row in rows if row["collection"] == name], axis=0)
        for name in names
    ]


def _blind(rows: Rows) -> Rows:
    return [row for row in rows if row["blind"]]


def _verdicts(rows: Rows) -> str:
    lines = []
    for ours, rival in COMPARISONS:
        cells = [f"{ours}; {rival}"]
        for some in (rows, _blind(rows)):
            pairs = _by_collection(
                some, lambda row, a=ours, b=rival: [row["means"][x][0] for x in (a, b)]
            )
            mine, other = np.mean(pairs, axis=0)
            found = gain_over(pairs)
            won = sum(a > b for a, b in pairs)
            cells += [
                f"{mine:.3f}; {other:.3f}",
                gain(found),
                f"{won} of {len(pairs)}",
                verdict(found),
            ]
        lines.append(cells)
    head = [
        "ours; rival",
        "all: F1",
        "gain",
        "won",
        "verdict",
        "blind: F1",
        "gain",
        "won",
        "verdict",
    ]
    return table(head, lines)


def _means(rows: Rows) -> str:
    lines = []
    for name in SHOWN:
        cells = [name]
        for some in (rows, _blind(rows)):
            values = np.mean(_by_collection(some, lambda row, n=name: row["means"][n]), axis=0)
            cells += [*(f"{value:.3f}" for value in values[:-1]), f"{values[-1]:.1f}"]
        lines.append(cells)
    head = [*(WORDS[name] for name in MEASURES), "kept"]
    return table(["row", *head, *(f"blind: {word}" for word in head)], lines)


def _rankers(rows: Rows) -> str:
    rankers = list(dict.fromkeys(row["ranker"] for row in rows))
    lines = []
    for name in SHOWN:
        cells = []
        for ranker in rankers:
            own = [row for row in rows if row["ranker"] == ranker]
            cells.append(
                f"{np.mean(_by_collection(own, lambda row, n=name: row['means'][n][0])):.3f}"
            )
        lines.append([name, *cells])
    counts = [sum(row["ranker"] == ranker for row in rows) for ranker in rankers]
    head = [f"{ranker}: {count} runs" for ranker, count in zip(rankers, counts, strict=True)]
    return table(["F1, recall of the list", *head], lines)


def _each(rows: Rows) -> str:
    lines = [
        [
            f"{row['collection']}{' (blind)' if row['blind'] else ''}, {row['run']}",
            *(str(row["queries"]), f"{row['number']:.1f}", row["word"]),
            *(f"{row['means'][name][0]:.3f}" for name in SHOWN),
        ]
        for row in rows
    ]
    return table(["run", "queries", "relevant", "right word", *SHOWN], lines)


def _error(rates: Content) -> float:
    """Return the balanced error: good questions left empty, and others answered."""
    return float(rates["good"] + 1 - rates["off"]) / 2


def _gate(rows: Rows) -> str:
    lines = []
    for row in rows:
        cells = [f"{row['collection']}{' (blind)' if row['blind'] else ''}", row["system"]]
        for way in ("nonsense", "log", "tuned"):
            rates = row[way]
            own = f", own {share(rates['own'])}" if row["questions"]["own"] else ""
            cells.append(
                f"{_error(rates):.3f} (good {share(rates['good'])}, off {share(rates['off'])}{own})"
            )
        lines.append(cells)
    head = ["index", "search", "nonsense alone", "with a log", "tuned with labels"]
    return table(head, lines, text=2)


def _gate_verdicts(rows: Rows) -> str:
    lines = []
    for system in dict.fromkeys(row["system"] for row in rows):
        own = [row for row in rows if row["system"] == system]
        for way, words in (("log", "with a log"), ("nonsense", "nonsense alone")):
            for label, some in (("all", own), ("blind", _blind(own))):
                above = [[_error(row[way]) - _error(row["tuned"])] for row in some]
                mean, low, high = interval_over(above, lambda x: float(x.mean()))
                told = "holds" if high <= GATE_MARGIN else "fails" if low > GATE_MARGIN else "open"
                points = f"{100 * mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
                lines.append([system, words, f"{label}, {len(some)}", points, told])
    head = ["search", "gate", "indexes", "points above labels", "verdict"]
    return table(head, lines, text=3)


def _cases(rows: Rows) -> list[tuple[Content, str, Content]]:
    return [(row, budget, cell) for row in rows for budget, cell in row["budgets"].items()]


def _accept(rows: Rows) -> str:
    budgets = list(rows[0]["budgets"])
    lines = [
        [
            f"{row['collection']}{' (blind)' if row['blind'] else ''}, {row['run']}",
            *(str(row["queries"]), share(row["right"])),
            *(
                f"{own['accept']['share']:.2f} ({share(own['accept']['broken'])})"
                f"; {own['tuned']['share']:.2f} ({share(own['tuned']['broken'])})"
                for own in (row["budgets"][budget] for budget in budgets)
            ),
        ]
        for row in rows
    ]
    head = [f"{100 * float(budget):g} %" for budget in budgets]
    return table(["run", "queries", "first hit right", *head], lines)


def accepting(rows: Rows) -> dict[str, int]:
    """Return the number of cases, and in how many the promise is kept and nothing is accepted."""
    cases = _cases(rows)
    counts = [round(cell["accept"]["broken"] * RESAMPLES) for _, _, cell in cases]
    tests = [stats.binomtest(n, RESAMPLES, 0.05, alternative="greater").pvalue for n in counts]
    order = np.argsort(tests)
    broken, running = 0, 0.0
    for place, i in enumerate(order):
        running = max(running, (len(tests) - place) * tests[i])
        broken += running <= ACCEPT_LEVEL
    empty = sum(cell["accept"]["share"] < 0.005 for _, _, cell in cases)
    return {"cases": len(cases), "unbroken": len(cases) - broken, "empty": empty}


def _accept_verdict(rows: Rows) -> str:
    found = accepting(rows)
    return (
        f"In {found['unbroken']} of {found['cases']} cases the promise is not broken. In "
        f"{found['empty']} of them nothing, or less than 0.5 % of the queries, is accepted"
    )


def _fusion(rows: Rows) -> str:
    names = list(rows[0]["means"])
    kinds = ("untrained", "tuned")
    lines = [
        [
            f"{row['collection']}{' (blind)' if row['blind'] else ''}",
            *(f"{row['means'][name][kind]:.3f}" for kind in kinds for name in names),
        ]
        for row in rows
    ]
    return table(["collection", *(f"{kind}: {name}" for kind in kinds for name in names)], lines)


def fusing(rows: Rows, kind: str, rival: str) -> tuple[float, float, float]:
    """Return the gain of `Fusion` over a rival, with one kind of cut, and its interval."""
    pairs = []
    for row in rows:
        means = {name: own[kind] for name, own in row["means"].items()}
        other = max(means["BM25"], means["MiniLM"]) if rival == BETTER else means[rival]
        pairs.append([means["Fusion"], other])
    return gain_over(pairs)


def _fusion_verdicts(rows: Rows) -> str:
    lines = []
    for kind in ("untrained", "tuned"):
        for rival in (BETTER, "rrf"):
            cells = [kind, f"Fusion; {rival}"]
            for some in (rows, _blind(rows)):
                found = fusing(some, kind, rival)
                cells += [gain(found), verdict(found)]
            lines.append(cells)
    head = ["cut", "ours; rival", "all: gain", "verdict", "blind: gain", "verdict"]
    return table(head, lines, text=2)
