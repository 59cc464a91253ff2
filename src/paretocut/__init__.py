"""Decide how many results a search should return, and when it should return nothing.

>>> import numpy as np
>>> import paretocut as pc
>>> rng = np.random.default_rng(1)
>>> index = rng.normal(0.25, 0.06, 100_000)  # similarities of irrelevant documents
>>> scores = np.concatenate([rng.normal(0.65, 0.03, 5), np.sort(index)[-195:]])
>>> pc.cut(scores, expect="few").k
5
>>> pc.cut(scores, evalue=0.05).reason
'kept 5 of 200: the 6th would appear by chance 2 times per list'
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from paretocut import decisions as decisions
from paretocut import errors
from paretocut.decisions import Cut, Cuts
from paretocut.lists import RankedLists
from paretocut.schema.drawn import Drawn as _Drawn
from paretocut.tail import fit_tail, fit_tails

if _TYPE_CHECKING:
    from paretocut import adapters as adapters
    from paretocut import answers as answers
    from paretocut import background as background
    from paretocut import calibration as calibration
    from paretocut import evaluation as evaluation
    from paretocut import fusion as fusion
    from paretocut import io, metrics, stopping, truncators
    from paretocut import judging as judging
    from paretocut import relevance as relevance
    from paretocut.adapters.keeping import keep
    from paretocut.background import Background
    from paretocut.calibration import calibrate
    from paretocut.evaluation import evaluate
    from paretocut.fusion import fuse
    from paretocut.io import read_lists, read_trec
    from paretocut.judging import judge, plan_judgements
    from paretocut.loading import load
    from paretocut.truncators.choose import cut, cut_batch

__all__ = [
    "Background",
    "Cut",
    "Cuts",
    "RankedLists",
    "calibrate",
    "cut",
    "cut_batch",
    "errors",
    "evaluate",
    "fit_tail",
    "fit_tails",
    "fuse",
    "io",
    "judge",
    "keep",
    "load",
    "metrics",
    "plan_judgements",
    "read_lists",
    "read_trec",
    "stopping",
    "truncators",
]

# Loaded with their first use, so that a service that only cuts lists starts as fast as NumPy.
_HOMES = {
    "Background": "background",
    "calibrate": "calibration",
    "cut": "truncators.choose",
    "cut_batch": "truncators.choose",
    "evaluate": "evaluation",
    "fuse": "fusion",
    "judge": "judging",
    "keep": "adapters.keeping",
    "load": "loading",
    "plan_judgements": "judging",
    "read_lists": "io",
    "read_trec": "io",
}


def _draw(value: object) -> str:
    from paretocut.show.notebook import html

    return html(value)


_Drawn.draw = _draw


def __getattr__(name: str) -> object:
    from importlib import import_module, util

    if name == "__version__":
        return import_module("importlib.metadata").version("paretocut")
    if name in _HOMES:
        found = getattr(import_module(f"paretocut.{_HOMES[name]}"), name)
        globals()[name] = found  # the next use finds it without a detour
        return found
    if util.find_spec(f"paretocut.{name}") is not None:
        return import_module(f"paretocut.{name}")
    raise AttributeError(f"module 'paretocut' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
