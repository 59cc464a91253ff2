"""What the rules do on lists of pure noise and on lists with planted hits.

Every list is the top of a collection of independent scores, drawn exactly (order statistics of
uniform numbers through the inverse of the distribution), so that a collection of 100,000 costs no
more than its top. Seeds are fixed: the same numbers come out every time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

import paretocut as pc
from experiments.command import Again
from experiments.results import read

__all__ = ["again", "measure"]

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


def top(noise: str, collection: int, depth: int, rng: np.random.Generator) -> Array:
    """Return the ``depth`` best of ``collection`` independent scores, for many lists."""
    sums = np.cumsum(rng.standard_exponential((LISTS, depth)), axis=1)
    rest = rng.standard_gamma(collection + 1 - depth, (LISTS, 1))
    return NOISE[noise](sums / (sums[:, -1:] + rest))


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
        return self.empty["evalue"] >= 1 - LEVEL - 2 * standard_error(1 - LEVEL)


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


def standard_error(share: float) -> float:
    """Return the standard error of a share of the lists of a cell."""
    return float(np.sqrt(share * (1 - share) / LISTS))


def noise_cell(noise: str, collection: int, depth: int) -> NoiseCell:
    """Simulate one row of the table of noise."""
    rng = generator("noise", noise, collection, depth)
    scores = top(noise, collection, depth, rng)
    fits = {refit: pc.fit_tails(scores, refit=refit) for refit in ("window", "all")}
    kept = {
        name: fits[refit].cut(**{rule: LEVEL}, if_unsure="drop").k
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


def discovery_cell(noise: str, hits: int, depth: int) -> DiscoveryCell:
    """Simulate one row of the table of false discoveries, in a collection of 100,000."""
    rng = generator("discoveries", noise, hits, depth)
    chance = top(noise, 100_000, depth - hits, rng)
    planted = NOISE[noise](1e-7 * rng.random((LISTS, hits)))
    scores = np.concatenate([planted, chance], axis=1)
    order = np.argsort(-scores, axis=1)
    true = np.cumsum(order < hits, axis=1)
    fits = pc.fit_tails(np.take_along_axis(scores, order, axis=1))
    kept = fits.cut(fdr=LEVEL).k
    right = np.where(kept > 0, true[np.arange(LISTS), np.maximum(kept, 1) - 1], 0)
    false_share = (kept - right) / np.maximum(kept, 1)
    return DiscoveryCell(
        noise,
        hits,
        depth,
        false_share=float(false_share.mean()),
        found=float(right.mean()) / hits,
        shape=float(np.median(fits.shape)),
    )


def hit_lists(hits: int, depth: int) -> Array:
    """Return tops of 100,000 scores of N(0.25, 0.06) with hits of N(0.65, 0.03) among them."""
    rng = generator("hits", hits, depth)
    background = top("normal", 100_000, depth, rng)
    found = rng.normal(0.65, 0.03, (LISTS, hits))
    return -np.sort(-np.concatenate([found, background], axis=1), axis=1)[:, :depth]


def hit_cell(hits: int, depth: int) -> HitCell:
    """Simulate one row of the table of hits."""
    scores = hit_lists(hits, depth)
    found, median = {}, {}
    for name, (rule, refit) in RULES.items():
        kept = pc.fit_tails(scores, refit=refit).cut(**{rule: LEVEL}, if_unsure="drop").k
        # Within one, or within a tenth; nothing is never a find.
        close = (np.abs(kept - hits) <= max(1, hits // 10)) & (kept > 0)
        found[name] = float(close.mean())
        median[name] = float(np.median(kept))
    return HitCell(hits, depth, found, median)


def again() -> Again:
    """Yield the first cell of noise."""
    kept = read("noise")["noise"][0]
    cell = noise_cell(kept["noise"], kept["collection"], kept["depth"])
    for rule, share in kept["empty"].items():
        yield f"{cell.noise}, empty by {rule}", share, cell.empty[rule]


def measure() -> dict[str, Any]:
    """Return all cells as plain data."""
    noise = [noise_cell(n, c, d) for n in NOISE for c in COLLECTIONS for d in DEPTHS]
    return {
        "lists": LISTS,
        "noise": [asdict(cell) | {"holds": cell.holds} for cell in noise],
        "discoveries": [
            asdict(discovery_cell(n, h, d))
            for n in NOISE
            for h in DISCOVERIES
            for d in DISCOVERY_DEPTHS
        ],
        "hits": [asdict(hit_cell(h, d)) for h in HITS for d in HIT_DEPTHS],
    }
