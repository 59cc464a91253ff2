"""How many results should a search return? Ranked lists cut by extreme value theory.

>>> import numpy as np
>>> import paretocut as pc
>>> rng = np.random.default_rng(1)
>>> index = rng.normal(0.25, 0.06, 100_000)  # similarities of everything that does not matter
>>> scores = np.concatenate([rng.normal(0.65, 0.03, 5), np.sort(index)[-195:]])
>>> pc.cut(scores, evalue=0.05).reason
'kept 5 of 200: the 6th would appear by chance 2 times per list'
"""

from paretocut import errors, gpd, io, metrics, truncators
from paretocut.io import read_trec, write_trec
from paretocut.surprise import WARNINGS, Cut, SurpriseFit, SurpriseFits, cut, fit, fit_batch
from paretocut.truncators import load
from paretocut.types import Ragged, RankedLists

__all__ = [
    "WARNINGS",
    "Cut",
    "Ragged",
    "RankedLists",
    "SurpriseFit",
    "SurpriseFits",
    "cut",
    "errors",
    "fit",
    "fit_batch",
    "gpd",
    "io",
    "load",
    "metrics",
    "read_trec",
    "truncators",
    "write_trec",
]
