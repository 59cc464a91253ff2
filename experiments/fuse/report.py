"""The pages on fusion, from the kept numbers alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import ROOT
from experiments.frozen.report import BETTER as BETTER_RUN
from experiments.frozen.report import fusing
from experiments.fuse.measure import COMPARED
from experiments.fuse.methods import BETTER, LEARNED, METRICS, UNJUDGED
from experiments.fuse.pairs import NEW, OLD
from experiments.intervals import gain_over
from experiments.pages import fill, gain, share, sheets, spread, table
from experiments.results import read

__all__ = ["gains_of", "pages"]

GROUPS = {"first": OLD, "new": NEW}
SHOWN = {
    "ndcg": "nDCG@10",
    "map": "MAP",
    "untrained": "F1, untrained",
    "told": "F1, number known",
    "tuned": "F1, tuned",
    "oracle": "F1, oracle",
}
RIVALS = ("isr", "combmnz", "DBSF", "bayesian-bm25, balanced", "bayesian-bm25, log-odds")

Content = Mapping[str, Any]


def pages() -> dict[str, str]:
    """Return the page and its tables by their paths."""
    content, folder = read("fuse"), Path(__file__).parent
    return {
        "docs/evidence/fuse.md": fill(folder / "page.md", _facts(content)),
        **sheets("docs/evidence/fuse-tables.md", fill(folder / "tables.md", _tables(content))),
    }


def _mean(content: Content, method: str, metric: str, group: str = "all") -> float | None:
    names = [pair.name for pair in GROUPS[group]] if group in GROUPS else content["pairs"]
    values = [content["pairs"][name]["means"].get(method, {}).get(metric) for name in names]
    return None if None in values else float(np.mean(values))


def gain_of(content: Content, method: str, against: str, metric: str) -> list[float] | None:
    """Return the gain in the mean over pairs, and its interval over collections."""
    sums: dict[str, list[float]] = {}
    for name, own in content["pairs"].items():
        values = [own["means"][one].get(metric) for one in (method, against)]
        if None in values:
            return None
        total = sums.setdefault(collection(name), [0.0, 0.0])
        for i, value in enumerate(values):
            total[i] += value
    return list(gain_over(list(sums.values())))


def collection(pair: str) -> str:
    """Return what a pair of runs searches in."""
    return "DL" if pair.startswith("DL ") else pair.partition(",")[0]


def gains_of(content: Content) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return all gains, by rival, method and metric."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for against in (BETTER, "rrf", "minmax", "z", UNJUDGED):
        for method in COMPARED:
            own = {metric: gain_of(content, method, against, metric) for metric in METRICS}
            known = {metric: value for metric, value in own.items() if value is not None}
            if method != against and known:
                found.setdefault(against, {})[method] = known
    return found


def _shares(content: Content) -> dict[str, Any]:
    """Return F1 by share of the range, and F1 of the share that is best on other collections."""
    by_pair = content["shares"]
    names = [UNJUDGED, "z", "minmax", BETTER]
    parts = list(by_pair[next(iter(by_pair))][BETTER])
    table_of = {n: np.array([list(own[n].values()) for own in by_pair.values()]) for n in names}
    places = [collection(name) for name in by_pair]
    facts, rows = {}, []
    for name, values in table_of.items():
        held, chosen = [], []
        for i, place in enumerate(places):
            best = int(values[[p != place for p in places]].mean(axis=0).argmax())
            held.append(values[i, best])
            chosen.append(parts[best])
        means = [f"{value:.3f}" for value in values.mean(axis=0)]
        ours = values[:, parts.index("0.333")]
        sums = [
            np.sum([(h, o) for h, o, p in zip(held, ours, places, strict=True) if p == place], 0)
            for place in dict.fromkeys(places)
        ]
        change = gain(gain_over(sums))
        picked = ", ".join(sorted(set(chosen)))
        rows.append([_named(name), *means, f"{np.mean(held):.3f} ({picked})", change])
        if name == UNJUDGED:
            facts = {"share_change": change, "share_chosen": picked}
    head = ["share kept", *parts, "best on the others", "against 0.333"]
    return facts | {"shares_table": table(head, rows)}


def _facts(content: Content) -> dict[str, Any]:
    pairs, gains, guessed = content["pairs"], gains_of(content), content["guessed"].values()
    frozen = read("frozen")["fusion"]

    def behind(rival: str) -> list[str]:
        f1 = {name: own["means"] for name, own in pairs.items()}
        return [n for n, own in f1.items() if own[UNJUDGED]["tuned"] <= own[rival]["tuned"]]

    def rates(method: str, kind: str) -> str:
        return spread((100 * own[method][kind] for own in content["nothing"].values()), "{:.0f} %")

    timed = json.loads((ROOT / "benchmarks" / "fusion.json").read_text())["seconds"].values()
    return {
        "seconds": spread((own["ours"] for own in timed), "{:.2f}"),
        "ranx": spread((own["ranx"] / own["ours"] for own in timed if "ranx" in own), "{:.0f}"),
        "pairs": len(pairs),
        "queries": sum(own["queries"] for own in pairs.values()),
        "main_table": _means(content, (BETTER, *COMPARED), "all"),
        **{
            f"ndcg_{key}": _mean(content, method, "ndcg")
            for key, method in {"ours": UNJUDGED, "judged": LEARNED}.items()
        },
        **{f"ndcg_{method}": _mean(content, method, "ndcg") for method in ("rrf", "minmax", "z")},
        "over_z": gain(gains["z"][UNJUDGED]["ndcg"]),
        "map_over_z": gain(gains["z"][UNJUDGED]["map"]),
        **{kind: gain(gains[BETTER][UNJUDGED][kind]) for kind in ("tuned", "told", "untrained")},
        "tuned_judged": gain(gains[BETTER][LEARNED]["tuned"]),
        **{
            f"rrf_{kind}": gain(gains["rrf"][UNJUDGED][kind])
            for kind in ("tuned", "told", "untrained")
        },
        "wins": len(pairs) - len(behind(BETTER)),
        "loses": _listed(behind(BETTER)),
        "over_rrf": len(pairs) - len(behind("rrf")),
        "below_rrf": _listed(behind("rrf")),
        "empty": rates("Fusion", "off-topic empty"),
        "answered": rates("Fusion", "own answered"),
        "empty_dense": rates("MiniLM", "off-topic empty"),
        "answered_dense": rates("MiniLM", "own answered"),
        "indexes": len(content["nothing"]),
        "nothing_table": _nothing(content["nothing"]),
        "best_guess": f"{max(value[0] for value in guessed):+.4f}",
        "worst_guess": f"{min(value[0] for value in guessed):+.4f}",
        "hindsight": f"{content['best with hindsight'][0]:+.4f}",
        "learned_table": _learned(content["learned"]),
        "clearly_worse": _listed(
            f"{name} ({size} judged)"
            for size, own in content["learned"].items()
            for name in own["clearly worse"]
        ),
        "error": content["calibration"]["error, mean"],
        "largest_error": content["calibration"]["error, largest"],
        "collections": len({collection(name) for name in pairs}),
        "frozen_pairs": len(frozen),
        "frozen_tuned": gain(fusing(frozen, "tuned", BETTER_RUN)),
        "frozen_untrained": gain(fusing(frozen, "untrained", BETTER_RUN)),
        "frozen_rrf": gain(fusing(frozen, "tuned", "rrf")),
        **_shares(content),
        "commit": content["commit"],
        "renewed": content.get("renewed", content)["commit"],
    }


def _listed(names: Iterable[str]) -> str:
    return "; ".join(names) or "none"


def _named(method: str) -> str:
    special = {
        BETTER: BETTER,
        UNJUDGED: "`Fusion()`",
        LEARNED: "`Fusion()`, half of the queries judged",
        "rrf": 'RRF, `method="rrf"`',
        "DBSF": "DBSF",
    }
    return special.get(method, f'`method="{method}"`' if method.isalpha() else method)


def _means(content: Content, methods: Iterable[str], group: str) -> str:
    rows = []
    for method in methods:
        cells = [_mean(content, method, metric, group) for metric in SHOWN]
        if cells[0] is not None:
            rows.append([_named(method), *("" if v is None else f"{v:.3f}" for v in cells)])
    return table(["", *SHOWN.values()], rows)


def _nothing(rows: Content) -> str:
    names = ("BM25", "MiniLM", "z", "Fusion")
    kinds = ("off-topic empty", "own answered")
    lines = [
        [index, *(" / ".join(share(own[name][kind]) for kind in kinds) for name in names)]
        for index, own in rows.items()
    ]
    return table(["index", *(f"{name}: empty / answered" for name in names)], lines)


def _learned(rows: Content) -> str:
    lines = []
    for size, own in rows.items():
        name, value = own["lowest"]
        changes = [f"{own['ndcg']:+.4f}", f"{own['map']:+.4f}", f"{value:+.4f} ({name})"]
        lines.append([size, str(own["pairs"]), *changes])
    return table(["judged queries", "pairs", "nDCG@10", "MAP", "lowest MAP of a pair"], lines)


def _tables(content: Content) -> dict[str, str]:
    gains = gains_of(content)
    methods = dict.fromkeys([BETTER, *gains[BETTER], *RIVALS])
    guessed = content["guessed"] | {"best with hindsight": content["best with hindsight"]}
    return {
        **{group: _means(content, methods, group) for group in GROUPS},
        "gains": "\n\n".join(_gains(*against) for against in gains.items()),
        "every": "\n\n".join(_pair(*pair) for pair in content["pairs"].items()),
        "bins": table(
            ["probability", "results", "mean probability", "share relevant"],
            (
                [
                    f"{own['from']:g} to {own['to']:g}",
                    f"{own['results']:,}",
                    *(f"{own[kind]:.3f}" for kind in ("predicted", "actual")),
                ]
                for own in content["calibration"]["bins"]
            ),
        ),
        "guessed": table(
            ["guessed from", "nDCG@10", "MAP"],
            ([sign, *(f"{v:+.4f}" for v in value)] for sign, value in guessed.items()),
        ),
    }


def _gains(against: str, rows: Content) -> str:
    lines = (
        [method, *(gain(own[metric]) if metric in own else "" for metric in METRICS)]
        for method, own in rows.items()
    )
    return f"Against {against}:\n\n" + table(["", *(SHOWN[m] for m in METRICS)], lines)


def _pair(name: str, own: Content) -> str:
    weights = ", ".join(f"{weight:.2f}" for weight in own["weights"])
    lines = (
        [method, *(f"{means[metric]:.3f}" if metric in means else "" for metric in SHOWN)]
        for method, means in own["means"].items()
    )
    return (
        f"### {name}\n\n{own['queries']} queries; the better single run is {own['better']}; mean "
        f"learned weights: {weights}.\n\n" + table(["", *SHOWN.values()], lines)
    )
