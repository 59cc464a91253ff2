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

from paretocut import errors
from paretocut.decisions import WARNINGS, Cut, Cuts
from paretocut.lists import RankedLists
from paretocut.schema.drawn import Drawn as _Drawn
from paretocut.tail import fit_tail, fit_tails

if _TYPE_CHECKING:
    from paretocut import io, metrics, truncators
    from paretocut.adapters.keeping import keep
    from paretocut.background import Background
    from paretocut.calibration import calibrate
    from paretocut.evaluation import Evaluation, evaluate
    from paretocut.fusion import Fusion, fuse
    from paretocut.io import read_lists, read_trec, write_lists, write_trec
    from paretocut.judging import judge, plan_judgements
    from paretocut.loading import load
    from paretocut.truncators.choose import cut, cut_batch

__all__ = [
    "WARNINGS",
    "Background",
    "Cut",
    "Cuts",
    "Evaluation",
    "Fusion",
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
    "truncators",
    "write_lists",
    "write_trec",
]

# Loaded with their first use, so that a service that only cuts lists starts as fast as NumPy.
_LAZY = {
    "Background": "background",
    "Evaluation": "evaluation",
    "Fusion": "fusion",
    "calibrate": "calibration",
    "cut": "truncators.choose",
    "cut_batch": "truncators.choose",
    "evaluate": "evaluation",
    "fuse": "fusion",
    "io": "",
    "judge": "judging",
    "keep": "adapters.keeping",
    "load": "loading",
    "metrics": "",
    "plan_judgements": "judging",
    "read_lists": "io",
    "read_trec": "io",
    "truncators": "",
    "write_lists": "io",
    "write_trec": "io",
}


def _draw(value: object) -> str:
    from paretocut.show.notebook import html

    return html(value)


_Drawn.draw = _draw

_ROOMS = (
    "adapters",
    "answers",
    "background",
    "calibration",
    "evaluation",
    "fusion",
    "judging",
    "relevance",
    "stopping",
)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("paretocut")
    if name not in _LAZY and name not in _ROOMS:
        raise AttributeError(f"module 'paretocut' has no attribute {name!r}")
    from importlib import import_module

    module = _LAZY.get(name, "")
    if not module:
        return import_module(f"paretocut.{name}")
    found = getattr(import_module(f"paretocut.{module}"), name)
    globals()[name] = found  # the next use finds it without a detour
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
