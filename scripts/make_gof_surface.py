"""Simulate the null distribution of W2 over shapes and window sizes; write the shipped surface.

For every shape ``xi`` and size ``m`` of the grid, windows of ``m`` scores are drawn whose excesses
over their own minimum follow a generalized Pareto distribution exactly (one zero and ``m - 1``
independent draws), fitted by the engine under ``xi >= 0``, and the upper quantiles of their W2
kept. With ``N`` samples per cell a tail probability ``p`` read off the surface has a Monte-Carlo
standard error of ``sqrt(p (1 - p) / N)``: 0.0007 at p = 0.05 with the 100,000 of the shipped file.

    python scripts/make_gof_surface.py src/paretocut/data/gof_surface.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

from paretocut import _kernel

SHAPES = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0]
SIZES = [5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 2000]
LEVELS = [0.999, 0.99, 0.975, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4]
LEVELS += [0.35, 0.3, 0.25, 0.2, 0.175, 0.15, 0.125, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.025]
LEVELS += [0.02, 0.015, 0.01, 0.0075, 0.005, 0.0025, 0.001, 0.0005]
SEED = 20210413


def cell(shape: float, size: int, samples: int, rng: np.random.Generator) -> list[float]:
    """Return the upper quantiles of W2 for one shape and size."""
    statistics = []
    rows = max(1, 4_000_000 // size)
    for start in range(0, samples, rows):
        count = min(rows, samples - start)
        # Rényi: ascending exponential order statistics as sums of scaled independent ones.
        gaps = rng.standard_exponential((count, size - 1)) / np.arange(size - 1, 0, -1)
        exponential = np.cumsum(gaps, axis=1)
        excess = np.zeros((count, size))
        excess[:, 1:] = exponential if shape == 0 else np.expm1(shape * exponential) / shape
        out = np.empty((3, count))
        _kernel.cvm_rows(excess, os.cpu_count() or 1, *out)
        statistics.append(out[0])
    quantiles = np.quantile(np.concatenate(statistics), 1 - np.array(LEVELS))
    return [float(f"{q:.4g}") for q in quantiles]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--samples", type=int, default=100_000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(SEED)
    critical = []
    for shape in SHAPES:
        critical.append([cell(shape, size, arguments.samples, rng) for size in SIZES])
        print(f"shape {shape}: done", file=sys.stderr)
    surface = {
        "what": "upper quantiles of W2 for a generalized Pareto fit under shape >= 0",
        "samples": arguments.samples,
        "seed": SEED,
        "shapes": SHAPES,
        "sizes": SIZES,
        "levels": LEVELS,
        "critical": critical,
    }
    temporary = arguments.path.with_suffix(".tmp")
    temporary.write_text(json.dumps(surface, separators=(",", ":")) + "\n", encoding="utf-8")
    temporary.replace(arguments.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
