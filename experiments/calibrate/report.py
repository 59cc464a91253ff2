"""The page on calibration and its pictures, from the kept numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.pages import GREY, fill, picture, share, table
from experiments.results import read

__all__ = ["draw", "pages", "rates", "seen"]

_KINDS = {"nonsense": "nonsense", "log": "with a log", "tuned": "labels"}
_NUMBER = {
    "default": "default",
    "one": "one list",
    "many": "lists",
    "word": "word",
    "number": "number",
    "judged": "judged",
}


def pages() -> dict[str, str]:
    """Return the page and its tables by their paths."""
    content = read("calibrate")
    whether = content["whether"]
    dense, lexical = whether["MiniLM"], whether["BM25"]
    facts = {
        "commit": content["commit"],
        "collections": len(content["number"]["default"]),
        "systems": content["systems"],
        "whether_minilm": _whether(dense),
        "whether_bm25": _whether(lexical),
        "contaminated": _contaminated(whether),
        "number": _number(content["number"]),
        "own": _own(whether),
        "alphas": _alphas(whether),
        "confidence": _confidence(whether),
        "raw_auc": np.mean([row["raw"] for row in lexical.values()]),
        "scaled_auc": np.mean([row["confidence"]["best score"][0] for row in lexical.values()]),
        "seconds": max(row["seconds"] for part in whether.values() for row in part.values()),
        **content["expect"],
        **_excess(dense, "log"),
        **_excess(lexical, "bm25"),
        **_emptied(dense),
        **_gains(content["number"]),
        "passing": _passing(whether),
        "contracts": share(1 - dense["contractnli"]["alpha"]["0.05"]["other"]),
        "lengths": _lengths(content["lengths"]),
        "small": _small(content["small"]),
        "small_all": _small_all(content["small"]["ships"]),
        "chosen": _chosen(content["small"]["chosen"]),
        "scripts": _scripts(content["scripts"]),
        **_strange(content["strange"]),
        **_noticed(content["noticed"]),
        **_doubts(content["doubts"]),
    }
    tables = {name: facts.pop(name) for name in ("alphas", "confidence", "small_all")}
    folder = Path(__file__).parent
    return {
        "docs/evidence/calibrate.md": fill(folder / "page.md", facts),
        "docs/evidence/calibrate-tables.md": fill(folder / "tables.md", tables),
    }


def rates(row: Mapping[str, Any], kind: str) -> tuple[float, float]:
    """Return the share of good questions left empty and the balanced error, over the splits."""
    good = float(np.mean([split[kind]["good"] for split in row["splits"]]))
    other = float(np.mean([split[kind]["other"] for split in row["splits"]]))
    return good, (good + 1 - other) / 2


def _whether(part: Mapping[str, Any]) -> str:
    head = ["index", *(f"{n}: empty" for n in _KINDS.values())]
    rows = []
    for name, row in part.items():
        pairs = [rates(row, kind) for kind in _KINDS]
        rows.append([name, *(share(good) for good, _ in pairs), *(f"{e:.3f}" for _, e in pairs)])
    means = [np.mean([rates(row, kind)[1] for row in part.values()]) for kind in _KINDS]
    rows.append(["**mean**", "", "", "", *(f"**{mean:.3f}**" for mean in means)])
    return table([*head, *(f"{n}: error" for n in _KINDS.values())], rows)


def _excess(part: Mapping[str, Any], prefix: str) -> dict[str, str]:
    over = {name: rates(row, "log")[1] - rates(row, "tuned")[1] for name, row in part.items()}
    worst = max(over, key=lambda name: over[name])
    return {
        f"{prefix}_excess": f"{100 * np.mean(list(over.values())):.1f}",
        f"{prefix}_worst": f"{100 * over[worst]:.1f}",
        f"{prefix}_worst_name": worst,
    }


def _emptied(part: Mapping[str, Any]) -> dict[str, str]:
    """Return where most good questions are left empty."""
    facts = {}
    for kind in ("log", "nonsense"):
        lost = {name: rates(row, kind)[0] for name, row in part.items()}
        most = max(lost, key=lambda name: lost[name])
        facts |= {f"{kind}_lost": share(lost[most]), f"{kind}_lost_name": most}
    return facts


def _contaminated(whether: Mapping[str, Any]) -> str:
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

    rows = (
        [label, *(mean(part, kind) for part in whether.values())] for kind, label in labels.items()
    )
    return table(["log", *whether], rows)


def _number(number: Mapping[str, Mapping[str, float]]) -> str:
    rows = [[n, *(f"{number[kind][n]:.3f}" for kind in _NUMBER)] for n in number["default"]]
    means = [np.mean(list(number[kind].values())) for kind in _NUMBER]
    rows.append(["**mean**", *(f"**{mean:.3f}**" for mean in means)])
    return table(["collection", *_NUMBER.values()], rows)


def _gains(number: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    mean = {kind: float(np.mean(list(values.values()))) for kind, values in number.items()}
    over = {name: number["many"][name] - number["default"][name] for name in number["default"]}
    worst = min(over, key=lambda name: over[name])
    return {
        "lists_gain": f"{100 * (mean['many'] - mean['default']):.1f}",
        "lists_worst": f"{100 * over[worst]:.1f}",
        "lists_worst_name": worst,
        "word_share": share(mean["word"] / mean["number"]),
    }


def _own(whether: Mapping[str, Any]) -> str:
    names = [name for name, row in whether["MiniLM"].items() if "own" in row]
    rows = ([name, *(f"{part[name]['own']:.2f}" for part in whether.values())] for name in names)
    return table(["questions without an answer of", *whether], rows)


def seen(part: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the least, median and largest share of off-topic questions that get results."""
    passed = [1 - row["alpha"]["0.05"]["other"] for row in part.values()]
    return min(passed), float(np.median(passed)), max(passed)


def _passing(whether: Mapping[str, Any]) -> str:
    rows = []
    for system, part in whether.items():
        lost = [row["alpha"]["0.05"]["good"] for row in part.values()]
        rows.append([system, *map(share, seen(part)), share(float(np.median(lost)))])
        log = [[split["log"] for split in row["splits"]] for row in part.values()]
        good, other = (
            [float(np.mean([split[kind] for split in own])) for own in log]
            for kind in ("good", "other")
        )
        passed = (1 - max(other), 1 - float(np.median(other)), 1 - min(other))
        rows.append([f"{system}, with a log", *map(share, (*passed, float(np.median(good))))])
    return table(["scores", "least", "median", "most", "good left empty, median"], rows)


def _lengths(rows: Mapping[str, Mapping[str, float | None]]) -> str:
    def mean(kind: str) -> str:
        known = [row[kind] for row in rows.values() if row[kind] is not None]
        return f"{np.mean(known):.3f}"

    body = [["not scaled, 8", mean("unscaled"), ""]]
    body += [[f"scaled, {n}", mean(str(n)), mean(f"{n} long")] for n in (8, 16, 32)]
    return table(["BM25, words of nonsense", "all questions", "more than eight words"], body)


def _small(small: Mapping[str, Any]) -> str:
    def mean(rows: Mapping[str, Any], size: str) -> str:
        pairs = [row[size] for row in rows.values() if size in row]
        good, other = np.mean(pairs, axis=0)
        return f"{100 * good:.0f} / {100 * other:.0f}"

    plain = {
        name: {size: row["8"] for size, row in rates.items()}
        for name, rates in small["rates"].items()
    }
    sizes = max((list(row) for row in plain.values()), key=len)
    kinds = (plain, small["ships"], small["held_out"])
    rows = ([size, *(mean(kind, size) for kind in kinds)] for size in sizes)
    return table(["documents", "index words alone", "as shipped", "held out"], rows)


def _small_all(ships: Mapping[str, Any]) -> str:
    sizes = max((list(row) for row in ships.values()), key=len)
    rows = (
        [
            name,
            *(f"{100 * row[s][0]:.0f} / {100 * row[s][1]:.0f}" if s in row else "" for s in sizes),
        ]
        for name, row in ships.items()
    )
    return table(["collection", *sizes], rows)


def _chosen(chosen: Mapping[str, Any]) -> str:
    rules = sorted({(over, least) for over, least in chosen.values()})
    return " or ".join(f"{over:g} and at least {least:g}" for over, least in rules)


def _scripts(rows: Mapping[str, Mapping[str, float]]) -> str:
    kinds = ("words answered", "words refused", "pairs answered", "pairs refused")
    body = ([name, *(share(row[kind]) for kind in kinds)] for name, row in rows.items())
    head = ["sentences: answered", "refused", "pairs of characters: answered", "refused"]
    return table(["texts", *head], body)


def _strange(rows: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    right = [row["right"] for row in rows.values()]
    wrong = [row["wrong"] for row in rows.values()]
    return {
        "strange_right": f"{100 * max(right):.1f} %",
        "strange_wrong": share(float(np.mean(wrong))),
        "strange_least": share(min(wrong)),
    }


def _noticed(noticed: Mapping[str, Mapping[str, bool]]) -> dict[str, int]:
    return {
        "noticed_bm25": sum(noticed["BM25"].values()),
        "noticed_minilm": sum(noticed["MiniLM"].values()),
        "noticed_of": len(noticed["BM25"]),
    }


def _doubts(doubts: Mapping[str, Any]) -> dict[str, str]:
    few = {kind: _few(rows) for kind, rows in doubts["few"].items()}
    rows = [
        [number, *(cell for kind in few.values() for cell in kind[number])]
        for number in few["dense"]
    ]
    head = ["texts", "dense", "worst", "BM25", "worst"]
    return {
        "few_texts": table(head, rows),
        "few_dense": _least(few["dense"]),
        "few_lexical": _least(few["lexical"]),
        "intervals": _intervals(doubts["intervals"]),
        "leads": _leads(doubts["leads"]),
        "lexical_leads": _lexical_leads(doubts["lexical leads"]),
        "few_pass": share(1 - _refused(doubts["few"]["lexical"], "100")),
        "many_pass": share(1 - _refused(doubts["few"]["lexical"], "300")),
        "filters": _filters(doubts["filters"]),
        "changed_article": share(doubts["filters"]["article"]["changed"]),
        "changed_random": share(doubts["filters"]["random"]["changed"]),
    }


def _few(few: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the cells of each number of texts: the mean, and the worst loss."""
    cells = {}
    for number in max(few.values(), key=len):
        known = {name: own for name, own in few.items() if number in own}
        good, other = np.mean([own[number] for own in known.values()], axis=0)
        lost = {name: own[number][0] - list(own.values())[-1][0] for name, own in known.items()}
        worst = min(lost, key=lambda name: lost[name])
        loss = f"{100 * lost[worst]:+.0f} ({worst})" if lost[worst] < 0 else "0"
        cells[number] = [f"{100 * good:.0f} / {100 * other:.0f}", loss]
    return cells


def _least(cells: Mapping[str, list[str]]) -> str:
    """Return the worst loss from ten texts on."""
    worst = min(int(cell[1].split()[0]) for number, cell in cells.items() if int(number) >= 10)
    return f"{-worst} points"


def _refused(few: Mapping[str, Any], number: str) -> float:
    return float(np.mean([own[number][1] for own in few.values() if number in own]))


def _intervals(kinds: Mapping[str, Mapping[str, Mapping[str, list[float]]]]) -> str:
    dense, lexical = kinds["dense"], kinds["lexical"]
    body = [
        [name, size, *map(share, row), *map(share, lexical[name][size])]
        for name, sizes in dense.items()
        for size, row in sizes.items()
    ]
    one = ["held", "left empty", "of the log"]
    head = ["index", "log", *(f"{kind}: {what}" for kind in ("MiniLM", "BM25") for what in one)]
    return table(head, body)


def _leads(rows: Mapping[str, Mapping[str, list[float]]]) -> str:
    labels = {
        "8": "eight words, as shipped",
        **{str(n): f"{n} words" for n in (3, 5, 12, 16, 24)},
        "as long as the questions": "as long as the questions",
        "all lengths": "3 to 24 words",
        "second": "lower quarter of second-best hits",
        "halfway": "halfway between the medians of those and of nonsense",
    }
    body = []
    for kind, label in labels.items():
        mean = np.mean([row[kind] for row in rows.values()])
        body.append([label, f"{mean:.3f}", f"{np.mean(rows['nfcorpus'][kind]):.3f}"])
    return table(["threshold from", "error", "NFCorpus"], body)


def _lexical_leads(rows: Mapping[str, Mapping[str, Mapping[str, list[float]]]]) -> str:
    labels = {
        "nonsense": "nonsense, as shipped",
        "second": "lower quarter of second-best hits",
        "halfway": "halfway",
        "labels": "labels",
    }
    ways = ("whole, sample", "whole, all", "stems, sample", "stems, all")
    body = []
    for kind, label in labels.items():
        means = (np.mean([row[way][kind] for row in rows.values()]) for way in ways)
        body.append([label, *(f"{mean:.3f}" for mean in means)])
    head = ["words of 300 texts", "of all texts", "stems of 300 texts", "of all texts"]
    return table(["BM25, threshold from", *head], body)


def _filters(rows: Mapping[str, Mapping[str, float]]) -> str:
    names = ("inside", "outside", "off topic")
    body = [
        [f"{gate}, {kind}", *(share(row[f"{name}, {key}"]) for name in names)]
        for kind, row in rows.items()
        for key, gate in (("whole", "gate of the whole"), ("own", "gate of the tenth"))
    ]
    body += [
        [f"grown, {kind}", share(row["grown, good"]), "", share(row["grown, off topic"])]
        for kind, row in rows.items()
    ]
    return table(["gate, tenth by", *names], body)


def _alphas(whether: Mapping[str, Any]) -> str:
    rows = []
    for system, part in whether.items():
        for name, row in part.items():
            kinds = ("good", "other", "letters", *(["own"] if "own" in row else []))
            cells = [
                " / ".join(f"{100 * shares[kind]:.0f}" for kind in kinds)
                for shares in row["alpha"].values()
            ]
            rows.append([system, name, *cells])
    return table(["system", "index", "0.01", "0.05", "0.1"], rows, text=2)


def _confidence(whether: Mapping[str, Any]) -> str:
    rows = []
    for system, part in whether.items():
        for name, row in part.items():
            cells = [f"{auc:.2f}, {nauc:.2f}" for auc, nauc in row["confidence"].values()]
            cells.append(f"{rates(row, 'regression')[1]:.3f}")
            cells += [_error(row[rule]) if rule in row else "" for rule in ("fixed", "surprise")]
            rows.append([system, name, *cells])
    head = ["system", "index", "best score", "std", "first difference"]
    return table([*head, "regression, labels", "cosine 0.5", "Surprise"], rows, text=2)


def _error(shares: Mapping[str, float]) -> str:
    return f"{(shares['good'] + 1 - shares['other']) / 2:.3f}"


def draw() -> None:
    """Draw the balanced error and the F1 of each collection."""
    content = read("calibrate")
    part, number = content["whether"]["MiniLM"], content["number"]
    errors = {
        label: [rates(row, kind)[1] for row in part.values()] for kind, label in _KINDS.items()
    }
    _dots("whether", list(part), errors, "balanced error, MiniLM")
    names = sorted(number["default"], key=lambda name: number["number"][name])
    kinds = ("default", "many", "word", "number")
    f1 = {_NUMBER[kind]: [number[kind][name] for name in names] for kind in kinds}
    _dots("number", names, f1, "F1")


def _dots(name: str, names: list[str], values: Mapping[str, list[float]], caption: str) -> None:
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    with picture(f"calibrate-{name}", (6.4, 0.9 + 0.26 * len(names))) as axes:
        for (label, row), colour, mark in zip(values.items(), colours, "osD^", strict=False):
            at = range(len(names))
            axes.plot(row, at, mark, color=colour, label=label, markersize=5, alpha=0.9)
        axes.set_yticks(range(len(names)), names)
        axes.set_xlabel(caption)
        axes.grid(axis="x", color=GREY, alpha=0.3)
        axes.legend()
