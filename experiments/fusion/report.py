"""The page on fusion: words from page.md, numbers from the measurements, long tables apart."""

from __future__ import annotations

import json
import re
import textwrap
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.data import ROOT
from experiments.fusion.measure import LEARNED, METRICS, SINGLE, UNJUDGED, two_fold
from experiments.fusion.pairs import NEW, OLD, Judged
from paretocut.fusion import Fusion, QueryCoverageWarning
from paretocut.show import plots

__all__ = ["page", "picture", "summary", "tables", "write"]

BETTER = "better single run"
FIRST = ("rrf", "DBSF", "minmax", "z", "surprise", "probability", UNJUDGED, LEARNED)
GROUPS = {"all": None, "first": OLD, "new": NEW}
DRAWS = 2000
WIDTH = 100
SHOWN = {
    "ndcg": "nDCG@10",
    "map": "MAP",
    "untrained": "F1, untrained",
    "told": "F1, told",
    "tuned": "F1, tuned",
    "oracle": "F1, oracle",
}

Array = NDArray[np.float64]


def _better(values: Mapping[str, Any]) -> str:
    """Return which of the two runs ranks better, with hindsight."""
    return max(SINGLE, key=lambda name: values[name]["ndcg"].mean())


def summary(measured: Mapping[str, Any], lists: Mapping[str, Judged]) -> dict[str, Any]:
    """Return means of every method on every pair, and paired intervals of the gains.

    Parameters
    ----------
    measured
        What `measure` returned, by pair.
    lists
        The pairs.
    """
    rows: dict[str, dict[str, dict[str, Array]]] = {}
    for pair, found in measured.items():
        own = found["values"]
        rows[pair] = {BETTER: own[_better(own)], **own}
    pairs = {
        pair: {
            "queries": len(lists[pair]),
            "better": list(lists[pair].runs)[SINGLE.index(_better(measured[pair]["values"]))],
            "weights": np.mean(measured[pair]["weights"], axis=0).tolist(),
            "means": {
                method: {metric: float(v.mean()) for metric, v in own.items()}
                for method, own in rows[pair].items()
                if method not in SINGLE
            },
        }
        for pair in rows
    }
    gains = {}
    for against in (BETTER, "rrf", "minmax", "z", UNJUDGED):
        for method in (*FIRST, LEARNED):
            for metric in METRICS:
                gain = _gain(rows.values(), method, against, metric)
                if gain is not None and method != against:
                    gains.setdefault(against, {}).setdefault(method, {})[metric] = gain
    return {"pairs": pairs, "gains": gains}


def _gain(rows: Iterable[Any], method: str, against: str, metric: str) -> list[float] | None:
    """Return the relative gain of the mean over pairs, with its interval over queries."""
    ours, theirs = [], []
    for own in rows:
        if metric not in own.get(method, {}) or metric not in own[against]:
            return None
        ours.append(own[method][metric])
        theirs.append(own[against][metric])
    rng = np.random.default_rng(0)
    drawn = np.zeros((2, DRAWS))
    for a, b in zip(ours, theirs, strict=True):
        counts = rng.multinomial(a.size, np.full(a.size, 1 / a.size), size=DRAWS) / a.size
        drawn += counts @ a, counts @ b
    low, high = np.quantile(drawn[0] / drawn[1] - 1, [0.025, 0.975])
    whole = np.mean([a.mean() for a in ours]) / np.mean([b.mean() for b in theirs]) - 1
    return [float(whole), float(low), float(high)]


def picture(lists: Mapping[str, Judged], path: Path) -> None:
    """Draw recall and precision against the results kept, over the BM25 and MiniLM pairs.

    Parameters
    ----------
    lists
        The pairs.
    path
        Where to write.
    """
    name = "2wiki, BM25 and MiniLM"
    pair = lists[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryCoverageWarning)
        runs = {
            **pair.runs,
            "RRF": pc.fuse(pair.runs, method="rrf"),
            "fuse": pc.fuse(pair.runs),
            "Fusion": two_fold(pair, lambda sample: Fusion().fit(sample)),
        }
    figure = plots.frontier(runs)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def write(content: Mapping[str, Any]) -> None:
    """Write the page and its appendix."""
    docs = ROOT / "docs"
    (docs / "fusion.md").write_text(page(content), encoding="utf-8")
    (docs / "fusion-tables.md").write_text(tables(content), encoding="utf-8")


def page(content: Mapping[str, Any]) -> str:
    """Return the page: the words of page.md with the numbers filled in."""
    words = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    numbers = _numbers(content)
    # Only {names} of ours: the page shows code with braces, too.
    text = re.sub(r"\{(\w+)\}", lambda found: numbers.get(found[1], found[0]), words)
    return "\n\n".join(_wrapped(block) for block in text.split("\n\n"))


def _wrapped(block: str) -> str:
    """Return a paragraph or a list filled anew, now that the numbers are in it."""
    if not re.match(r"[A-Z*]|- ", block):
        return block
    fill = textwrap.TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    items = re.split(r"\n(?=- )", block.rstrip("\n"))
    fill.subsequent_indent = "  " if block.startswith("- ") else ""
    return "\n".join(fill.fill(" ".join(item.split())) for item in items) + (
        "\n" if block.endswith("\n") else ""
    )


def _mean(content: Mapping[str, Any], method: str, metric: str, group: str = "all") -> float | None:
    chosen = GROUPS[group]
    names = content["pairs"] if chosen is None else [pair.name for pair in chosen]
    values = [content["pairs"][name]["means"].get(method, {}).get(metric) for name in names]
    return None if None in values else float(np.mean(values))


def _numbers(content: Mapping[str, Any]) -> dict[str, str]:
    gains, learned = content["gains"], content["learned"]
    ours = gains[BETTER][UNJUDGED]
    means = {m: _mean(content, m, "ndcg") for m in ("rrf", "minmax", "z", UNJUDGED, LEARNED)}
    wins = [
        name
        for name, own in content["pairs"].items()
        if own["means"][UNJUDGED]["tuned"] > own["means"][BETTER]["tuned"]
    ]
    over_rrf = [
        name
        for name, own in content["pairs"].items()
        if own["means"][UNJUDGED]["tuned"] > own["means"]["rrf"]["tuned"]
    ]
    empty = {k: [own[k]["off-topic empty"] for own in content["nothing"].values()]
             for k in ("MiniLM", "Fusion")}  # fmt: skip
    answered = {k: [own[k]["own answered"] for own in content["nothing"].values()]
                for k in ("MiniLM", "Fusion")}  # fmt: skip
    guessed = content["guessed"]
    timed = json.loads((ROOT / "benchmarks" / "fusion.json").read_text())["seconds"].values()
    ours_s = [own["ours"] for own in timed]
    ratios = [own["ranx"] / own["ours"] for own in timed if "ranx" in own]
    return {
        "seconds": f"{min(ours_s):.2f} to {max(ours_s):.2f}",
        "ranx": f"{min(ratios):.0f} to {max(ratios):.0f}",
        "pairs": str(len(content["pairs"])),
        "queries": f"{sum(own['queries'] for own in content['pairs'].values()):,}",
        "main_table": _means(content, (BETTER, *FIRST), "all"),
        "ndcg_ours": f"{means[UNJUDGED]:.3f}",
        "ndcg_judged": f"{means[LEARNED]:.3f}",
        "ndcg_rrf": f"{means['rrf']:.3f}",
        "ndcg_minmax": f"{means['minmax']:.3f}",
        "ndcg_z": f"{means['z']:.3f}",
        "over_z": _shown(gains["z"][UNJUDGED]["ndcg"]),
        "map_over_z": _shown(gains["z"][UNJUDGED]["map"]),
        "tuned": _shown(ours["tuned"]),
        "tuned_judged": _shown(gains[BETTER][LEARNED]["tuned"]),
        "told": _shown(ours["told"]),
        "untrained": _shown(ours["untrained"]),
        "rrf_tuned": _shown(gains["rrf"][UNJUDGED]["tuned"]),
        "rrf_told": _shown(gains["rrf"][UNJUDGED]["told"]),
        "rrf_untrained": _shown(gains["rrf"][UNJUDGED]["untrained"]),
        "wins": str(len(wins)),
        "loses": _listed(name for name in content["pairs"] if name not in wins),
        "over_rrf": str(len(over_rrf)),
        "below_rrf": _listed(name for name in content["pairs"] if name not in over_rrf),
        "empty": _range(empty["Fusion"]),
        "answered": _range(answered["Fusion"]),
        "empty_dense": _range(empty["MiniLM"]),
        "answered_dense": _range(answered["MiniLM"]),
        "indexes": str(len(content["nothing"])),
        "nothing_table": _nothing(content["nothing"]),
        "best_guess": f"{max(value[0] for value in guessed.values()):+.4f}",
        "worst_guess": f"{min(value[0] for value in guessed.values()):+.4f}",
        "hindsight": f"{content['best with hindsight'][0]:+.4f}",
        "learned_table": _learned(learned),
        "clearly_worse": _listed(
            f"{name} ({size} judged)"
            for size, own in learned.items()
            for name in own["clearly worse"]
        ),
        "error": f"{content['calibration']['error, mean']:.3f}",
        "largest_error": f"{content['calibration']['error, largest']:.3f}",
    }


def _shown(gain: Iterable[float]) -> str:
    return "{:+.1%} ({:+.1%} to {:+.1%})".format(*gain)


def _listed(names: Iterable[str]) -> str:
    return "; ".join(names) or "none"


def _range(values: Iterable[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.0%} to {high:.0%}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _head(cells: list[str]) -> str:
    return _row(cells) + _row(["---", *["---:"] * (len(cells) - 1)])


def _named(method: str) -> str:
    kinds = {
        BETTER: method,
        UNJUDGED: "`Fusion()`",
        LEARNED: "`Fusion()`, half of the queries judged",
    }
    kinds |= {"rrf": 'RRF, `method="rrf"`', "DBSF": "DBSF"}
    return kinds.get(method, f'`method="{method}"`' if method.isalpha() else method)


def _means(content: Mapping[str, Any], methods: Iterable[str], group: str) -> str:
    text = _head(["", *SHOWN.values()])
    for method in methods:
        cells = [_mean(content, method, metric, group) for metric in SHOWN]
        if cells[0] is not None:
            text += _row([_named(method), *("" if v is None else f"{v:.3f}" for v in cells)])
    return text.rstrip()


def _nothing(rows: Mapping[str, Any]) -> str:
    names = ("BM25", "MiniLM", "z", "Fusion")
    text = _head(["index", *(f"{name}: empty / answered" for name in names)])
    for index, own in rows.items():
        cells = [
            f"{own[name]['off-topic empty']:.0%} / {own[name]['own answered']:.0%}"
            for name in names
        ]
        text += _row([index, *cells])
    return text.rstrip()


def _learned(rows: Mapping[str, Any]) -> str:
    text = _head(["judged queries", "pairs", "nDCG@10", "MAP", "lowest MAP of a pair"])
    for size, own in rows.items():
        name, value = own["lowest"]
        cells = [str(own["pairs"]), f"{own['ndcg']:+.4f}", f"{own['map']:+.4f}"]
        text += _row([size, *cells, f"{value:+.4f} ({name})"])
    return text.rstrip()


def tables(content: Mapping[str, Any]) -> str:
    """Return the appendix: every method on every pair."""
    text = (
        "# Fusion: all tables\n\nThe numbers behind [Fuse, then cut](fusion.md). Means over "
        "queries, then over pairs. `make fuse` makes this page.\n"
    )
    methods = [BETTER, *content["gains"][BETTER], "isr", "combmnz", "DBSF"]
    rivals = ("bayesian-bm25, balanced", "bayesian-bm25, log-odds")
    methods = list(dict.fromkeys([*methods, *rivals]))
    for title, group in (("The eight first pairs", "first"), ("The eleven others", "new")):
        text += f"\n## {title}\n\n{_means(content, methods, group)}\n"
    text += "\n## Gains, with intervals over queries\n"
    for against, rows in content["gains"].items():
        text += f"\nAgainst {against}:\n\n" + _head(["", *(SHOWN[m] for m in METRICS)])
        for method, own in rows.items():
            text += _row([method, *(_shown(own[m]) if m in own else "" for m in METRICS)])
    text += "\n## Every pair\n"
    for name, own in content["pairs"].items():
        text += (
            f"\n### {name}\n\n{own['queries']} queries; the better single run is {own['better']}; "
            f"weights learned, on average: {', '.join(f'{w:.2f}' for w in own['weights'])}.\n\n"
        )
        text += _head(["", *SHOWN.values()])
        for method, means in own["means"].items():
            cells = (f"{means[m]:.3f}" if m in means else "" for m in SHOWN)
            text += _row([method, *cells])
    text += "\n## Are the probabilities right?\n\n"
    text += _head(["probability", "results", "mean probability", "share relevant"])
    for own in content["calibration"]["bins"]:
        bounds = f"{own['from']:g} to {own['to']:g}"
        cells = [f"{own['results']:,}", f"{own['predicted']:.3f}", f"{own['actual']:.3f}"]
        text += _row([bounds, *cells])
    text += "\n## Weights guessed from unjudged lists\n\n"
    text += _head(["guessed from", "nDCG@10", "MAP"])
    for sign, value in content["guessed"].items():
        text += _row([sign, *(f"{v:+.4f}" for v in value)])
    text += _row(["best with hindsight", *(f"{v:+.4f}" for v in content["best with hindsight"])])
    return text
