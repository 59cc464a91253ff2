"""Simulate what the rules do on lists of pure noise and on lists with planted hits; write the page.

    python -m scripts.calibration docs/calibration.md [--lists 2000]

Every list is the top of a collection of independent scores, drawn exactly (order statistics of
uniform numbers through the inverse of the distribution), so that a collection of 100,000 costs no
more than its top. Seeds are fixed: the same numbers come out every time. The numbers are written
beside the page, as JSON; the words are those of calibration_page.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

import paretocut as pc
from experiments.results import rounded, stamp

Array = NDArray[np.float64]

LISTS = 2000
LEVEL = 0.05
DEPTHS = (50, 200, 1000)
COLLECTIONS = (10_000, 100_000)
HITS = (1, 5, 20)
HIT_DEPTHS = (20, 50, 200, 1000)
DISCOVERIES = (1, 10)
DISCOVERY_DEPTHS = (200, 1000)

ALL = 'evalue, refit="all"'
RULES = {
    "evalue": ("evalue", "window"),
    "fdr": ("fdr", "window"),
    "alpha": ("alpha", "window"),
    ALL: ("evalue", "all"),
}

# A normal score whose standard deviation is 3 in one case out of ten; its distribution has no
# inverse in closed form, and is read off a fine grid.
_GRID = np.linspace(-6.0, 60.0, 40_001)
_LOG_SHARE = np.logaddexp(
    np.log(0.9) + special.log_ndtr(-_GRID), np.log(0.1) + special.log_ndtr(-_GRID / 3)
)

# The score that a share p of the collection exceeds.
NOISE: dict[str, Callable[[Array], Array]] = {
    "normal": lambda p: 0.25 - 0.06 * special.ndtri(p),
    "exponential": lambda p: -np.log(p),
    "logistic": lambda p: np.log1p(-p) - np.log(p),
    "Gumbel": lambda p: -np.log(-np.log1p(-p)),
    "gamma, shape 2": lambda p: special.gammainccinv(2, p),
    "beta(2, 5), bounded": lambda p: 1 - special.betaincinv(5, 2, p),
    "squared cosine, 64 dimensions": lambda p: 1 - special.betaincinv(31.5, 0.5, p),
    "scale mixture of normals": lambda p: np.interp(-np.log(p), -_LOG_SHARE, _GRID),
    "lognormal": lambda p: np.exp(-special.ndtri(p)),
    "Student t, 5 degrees": lambda p: -special.stdtrit(5, p),
    "Student t, 3 degrees": lambda p: -special.stdtrit(3, p),
}


def top(
    exceeded_by: Callable[[Array], Array],
    *,
    collection: int,
    depth: int,
    lists: int,
    rng: np.random.Generator,
) -> Array:
    """Return the ``depth`` best of ``collection`` independent scores, for many lists."""
    sums = np.cumsum(rng.standard_exponential((lists, depth)), axis=1)
    rest = rng.standard_gamma(collection + 1 - depth, (lists, 1))
    return exceeded_by(sums / (sums[:, -1:] + rest))


def generator(*what: object) -> np.random.Generator:
    """Return a generator of its own for every cell, so that cells do not hang on each other."""
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


@dataclass(frozen=True)
class NoiseCell:
    """What the rules do on lists without anything to find."""

    noise: str
    collection: int
    depth: int
    empty: dict[str, float]  # share of lists of which nothing is kept, by rule
    kept_by_alpha: float  # mean share of the list kept
    shape: float  # median of the fitted shapes
    warned: float  # share of the lists with the warning poor_fit
    warned_if_wrong: float | None  # the same, of the lists of which evalue keeps something

    @property
    def holds(self) -> bool:
        """Whether evalue keeps its promise, within two standard errors."""
        return self.empty["evalue"] >= 1 - LEVEL - 2 * standard_error(1 - LEVEL, LISTS)


@dataclass(frozen=True)
class DiscoveryCell:
    """What ``fdr`` keeps of lists with hits that chance reaches once in ten million scores."""

    noise: str
    hits: int
    depth: int
    false_share: float  # mean share of chance among what is kept, 0 where nothing is
    found: float  # mean share of the hits that is kept
    shape: float  # median of the fitted shapes


@dataclass(frozen=True)
class HitCell:
    """How often the planted hits come back."""

    hits: int
    depth: int
    found: dict[str, float]  # share of lists in which as many as planted are kept, by rule
    median: dict[str, float]  # median number kept


def standard_error(share: float, lists: int) -> float:
    """Return the standard error of a share of lists."""
    return float(np.sqrt(share * (1 - share) / lists))


def noise_cell(noise: str, collection: int, depth: int, lists: int = LISTS) -> NoiseCell:
    """Simulate one row of the table of noise."""
    rng = generator("noise", noise, collection, depth)
    scores = top(NOISE[noise], collection=collection, depth=depth, lists=lists, rng=rng)
    fits = {refit: pc.fit_tails(scores, refit=refit) for refit in ("window", "all")}
    kept = {
        name: fits[refit].cut(**{rule: LEVEL}, if_shallow="drop").k
        for name, (rule, refit) in RULES.items()
    }
    warned = np.array(["poor_fit" in names for names in fits["window"].warnings])
    wrong = kept["evalue"] > 0
    return NoiseCell(
        noise,
        collection,
        depth,
        empty={name: float((k == 0).mean()) for name, k in kept.items()},
        kept_by_alpha=float(kept["alpha"].mean()) / depth,
        shape=float(np.median(fits["window"].shape)),
        warned=float(warned.mean()),
        warned_if_wrong=float(warned[wrong].mean()) if wrong.any() else None,
    )


def discovery_cell(noise: str, hits: int, depth: int, lists: int = LISTS) -> DiscoveryCell:
    """Simulate one row of the table of false discoveries, in a collection of 100,000."""
    rng = generator("discoveries", noise, hits, depth)
    chance = top(NOISE[noise], collection=100_000, depth=depth - hits, lists=lists, rng=rng)
    planted = NOISE[noise](1e-7 * rng.random((lists, hits)))
    scores = np.concatenate([planted, chance], axis=1)
    order = np.argsort(-scores, axis=1)
    true = np.cumsum(order < hits, axis=1)
    fits = pc.fit_tails(np.take_along_axis(scores, order, axis=1))
    kept = fits.cut(fdr=LEVEL).k
    right = np.where(kept > 0, true[np.arange(lists), np.maximum(kept, 1) - 1], 0)
    false_share = (kept - right) / np.maximum(kept, 1)
    return DiscoveryCell(
        noise,
        hits,
        depth,
        false_share=float(false_share.mean()),
        found=float(right.mean()) / hits,
        shape=float(np.median(fits.shape)),
    )


def hit_lists(hits: int, depth: int, lists: int) -> Array:
    """Return tops of 100,000 scores of N(0.25, 0.06) with hits of N(0.65, 0.03) among them."""
    rng = generator("hits", hits, depth)
    background = top(NOISE["normal"], collection=100_000, depth=depth, lists=lists, rng=rng)
    found = rng.normal(0.65, 0.03, (lists, hits))
    return -np.sort(-np.concatenate([found, background], axis=1), axis=1)[:, :depth]


def hit_cell(hits: int, depth: int, lists: int = LISTS) -> HitCell:
    """Simulate one row of the table of hits."""
    scores = hit_lists(hits, depth, lists)
    found, median = {}, {}
    for name, (rule, refit) in RULES.items():
        kept = pc.fit_tails(scores, refit=refit).cut(**{rule: LEVEL}, if_shallow="drop").k
        # Within one, or within a tenth; nothing is never a find.
        close = (np.abs(kept - hits) <= max(1, hits // 10)) & (kept > 0)
        found[name] = float(close.mean())
        median[name] = float(np.median(kept))
    return HitCell(hits, depth, found, median)


def percent(share: float) -> str:
    """Return a share as a percentage with one digit."""
    return f"{100 * share:.1f}"


def simulate(lists: int) -> dict[str, Any]:
    """Return all cells as plain data."""
    noise = [noise_cell(n, c, d, lists) for n in NOISE for c in COLLECTIONS for d in DEPTHS]
    return {
        "lists": lists,
        "noise": [asdict(cell) | {"holds": cell.holds} for cell in noise],
        "discoveries": [
            asdict(discovery_cell(n, h, d, lists))
            for n in NOISE
            for h in DISCOVERIES
            for d in DISCOVERY_DEPTHS
        ],
        "hits": [asdict(hit_cell(h, d, lists)) for h in HITS for d in HIT_DEPTHS],
    }


def page(content: Mapping[str, Any]) -> str:
    """Return the text of the page: the words of calibration_page.md with the numbers filled in."""
    words = Path(__file__).with_name("calibration_page.md").read_text(encoding="utf-8")
    noise, lists = content["noise"], content["lists"]
    kinds = {name: [cell for cell in noise if cell["noise"] == name] for name in NOISE}
    failing = [name for name, cells in kinds.items() if not all(cell["holds"] for cell in cells)]
    holding = [name for name in kinds if name not in failing]
    low = [c for c in content["hits"] if c["depth"] >= 200 and c["found"]["evalue"] < 0.8]
    wrong = [
        cell["warned_if_wrong"]
        for name in failing
        for cell in kinds[name]
        if cell["warned_if_wrong"] is not None and not cell["holds"]
    ]
    failed = [cell for cell in noise if not cell["holds"]]
    light = [cell for cell in content["discoveries"] if cell["noise"] in holding]
    return words.format(
        lists=f"{lists:,}",
        error=f"{100 * standard_error(0.95, lists):.1f}",
        wide=f"{100 * standard_error(0.5, lists):.1f}",
        kinds=len(kinds),
        holding=len(holding),
        cases=sum(len(kinds[name]) for name in failing),
        failed=len(failed),
        failing="; ".join(failing) or "none",
        lowest_held=percent(min(cell["empty"]["evalue"] for n in holding for cell in kinds[n])),
        lowest=percent(min(cell["empty"]["evalue"] for cell in failed)),
        highest=percent(max(cell["empty"]["evalue"] for cell in failed)),
        wrong=percent(max(wrong)),
        shape_held=f"{max(cell['shape'] for n in holding for cell in kinds[n]):.2f}",
        shape_failed=f"{min(cell['shape'] for cell in failed):.2f}",
        shape_most=f"{max(cell['shape'] for cell in failed):.2f}",
        shape_hits=f"{max(cell['shape'] for cell in light):.2f}",
        families=_families(content, kinds),
        noise_table=_noise(noise),
        hits=_hits(content["hits"]),
        low="; ".join(
            f"{c['hits']} hits at {c['depth']} ({percent(c['found']['evalue'])} %)" for c in low
        )
        or "none",
    )


def _families(content: Mapping[str, Any], kinds: Mapping[str, Sequence[Any]]) -> str:
    lines = [
        "| scores | `evalue` empty, % | `fdr` empty, % | false share of `fdr`, 1 or 10 hits, % "
        "| median shape | `poor_fit`, % of wrong lists | promise |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, cells in kinds.items():
        false = [c["false_share"] for c in content["discoveries"] if c["noise"] == name]
        wrong = [c["warned_if_wrong"] for c in cells if c["warned_if_wrong"] is not None]
        held = sum(cell["holds"] for cell in cells)
        promise = "holds" if held == len(cells) else f"**fails** in {len(cells) - held} of 6"
        shapes = [cell["shape"] for cell in cells]
        lines.append(
            f"| {name} | {_range([c['empty']['evalue'] for c in cells])} "
            f"| {_range([c['empty']['fdr'] for c in cells])} | {_range(false)} "
            f"| {min(shapes):.2f} to {max(shapes):.2f} | {_range(wrong)} | {promise} |"
        )
    return "\n".join(lines)


def _range(shares: Sequence[float]) -> str:
    """Return the lowest and the highest share, as percentages."""
    return f"{percent(min(shares))} to {percent(max(shares))}" if shares else "none is wrong"


def _noise(cells: Sequence[Any]) -> str:
    lines = [
        "| scores | collection | depth | `evalue` empty, % | `fdr` empty, % "
        '| `evalue`, `refit="all"` empty, % | `alpha` keeps, % of list | promise of `evalue` |',
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {c['noise']} | {c['collection']:,} | {c['depth']} | {percent(c['empty']['evalue'])} "
        f"| {percent(c['empty']['fdr'])} | {percent(c['empty'][ALL])} "
        f"| {percent(c['kept_by_alpha'])} | {'holds' if c['holds'] else '**does not hold**'} |"
        for c in cells
    ]
    return "\n".join(lines)


def _hits(cells: Sequence[Any]) -> str:
    lines = [
        "| hits | depth | " + " | ".join(f"`{name}`, %" for name in RULES) + " |",
        "|---|---|" + "---|" * len(RULES),
    ]
    lines += [
        f"| {c['hits']} | {c['depth']} | "
        + " | ".join(f"{percent(c['found'][name])} ({c['median'][name]:g})" for name in RULES)
        + " |"
        for c in cells
    ]
    return "\n".join(lines)


def main() -> int:
    """Write the page, and the numbers beside it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--lists", type=int, default=LISTS)
    arguments = parser.parse_args()
    text = json.dumps(rounded(stamp() | simulate(arguments.lists)), indent=1) + "\n"
    arguments.path.with_suffix(".json").write_text(text, encoding="utf-8")
    arguments.path.write_text(page(json.loads(text)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
