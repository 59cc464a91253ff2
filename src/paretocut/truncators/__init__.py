"""Every way to choose how many results to keep, under one contract.

Each class learns with ``fit(lists)`` (where it learns anything), decides with ``cut(scores)`` and
``cut_batch(lists)``, and is saved with ``save(path)``; `paretocut.load` reads it back.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from paretocut.errors import InvalidParameterError
from paretocut.truncators.base import Truncator
from paretocut.truncators.checking import check_truncator
from paretocut.truncators.consensus import Consensus
from paretocut.truncators.distribution import ScoreDistribution
from paretocut.truncators.gated import Calibrated, Gated
from paretocut.truncators.promises import Accept, Conformal
from paretocut.truncators.simple import (
    Autocut,
    FixedK,
    GlobalK,
    Knee,
    LargestGap,
    LocalK,
    Oracle,
    TopP,
)
from paretocut.truncators.surprise import Surprise
from paretocut.truncators.threshold import Isotonic, ScoreThreshold

if TYPE_CHECKING:
    from paretocut.truncators.neural import AttnCut, BiCut, Choppy, Training

__all__ = [
    "Accept",
    "AttnCut",
    "Autocut",
    "BiCut",
    "Calibrated",
    "Choppy",
    "Conformal",
    "Consensus",
    "FixedK",
    "Gated",
    "GlobalK",
    "Isotonic",
    "Knee",
    "LargestGap",
    "LocalK",
    "Oracle",
    "ScoreDistribution",
    "ScoreThreshold",
    "Surprise",
    "TopP",
    "Training",
    "Truncator",
    "check_truncator",
    "from_text",
    "make",
    "names",
]

_NEURAL = ("AttnCut", "BiCut", "Choppy", "Training")

# Short name -> class and preset parameters. Neural classes load with their first use.
_REGISTRY: dict[str, tuple[str, dict[str, Any]]] = {
    "surprise": ("Surprise", {}),
    "surprise_local": ("Surprise", {"neighbors": 10}),
    "oracle": ("Oracle", {}),
    "fixed_k": ("FixedK", {}),
    "global_k": ("GlobalK", {}),
    "local_k": ("LocalK", {}),
    "raw": ("ScoreThreshold", {"normalize": "raw"}),
    "max": ("ScoreThreshold", {"normalize": "max"}),
    "minmax": ("ScoreThreshold", {"normalize": "minmax"}),
    "z": ("ScoreThreshold", {"normalize": "z"}),
    "isotonic": ("Isotonic", {}),
    "isotonic_max": ("Isotonic", {"normalize": "max"}),
    "isotonic_local": ("Isotonic", {"neighbors": 10}),
    "distribution": ("ScoreDistribution", {}),
    "distribution_truncated": ("ScoreDistribution", {"truncated": True}),
    "largest_gap": ("LargestGap", {}),
    "autocut": ("Autocut", {}),
    "knee": ("Knee", {}),
    "top_p": ("TopP", {}),
    "consensus": ("Consensus", {}),
    "conformal": ("Conformal", {"base": "minmax"}),
    "accept": ("Accept", {}),
    "bicut": ("BiCut", {}),
    "choppy": ("Choppy", {}),
    "attncut": ("AttnCut", {}),
}


def __getattr__(name: str) -> Any:
    if name in _NEURAL:
        return getattr(import_module("paretocut.truncators.neural"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def names() -> list[str]:
    """Return the short names `make` knows."""
    return list(_REGISTRY)


def make(name: str, /, **params: Any) -> Truncator:
    """Return a new truncator by its short name.

    Parameters
    ----------
    name
        One of `names`: "surprise", "global_k", "minmax", ...
    **params
        Arguments of its class, in addition to those the name implies. ``base`` may be a short name
        too. A ``metric`` is ignored if the class has none, so the same call works for every name.

    Examples
    --------
    >>> make("minmax", metric="penalized_dcg")
    ScoreThreshold(normalize='minmax', metric='penalized_dcg')
    """
    if name not in _REGISTRY:
        raise InvalidParameterError(
            f"truncators.make: name must be one of {', '.join(_REGISTRY)}, got {name!r}"
        )
    class_name, preset = _REGISTRY[name]
    kind: type[Truncator] = globals().get(class_name) or __getattr__(class_name)
    arguments = preset | params
    if isinstance(arguments.get("base"), str):
        arguments["base"] = make(arguments["base"])
    if "metric" not in kind.parameters:
        arguments.pop("metric", None)
    return kind(**arguments)


def from_text(text: str, metric: str = "f1") -> Truncator:
    """Return the truncator that a text describes, as on the command line.

    Parameters
    ----------
    text
        Short name and, after a colon, parameters, as JSON or text: ``surprise:refit=all``.
    metric
        The metric to train for, if it learns.

    Examples
    --------
    >>> from_text("minmax:threshold=0.4")
    ScoreThreshold(normalize='minmax', threshold=0.4)
    """
    name, _, settings = text.partition(":")
    params = read_settings(settings)
    if params.get("base") in names():
        params["base"] = make(params["base"])
    return make(name, metric=metric).set_params(**params)


def read_settings(text: str) -> dict[str, Any]:
    """Return the parameters that stand behind the name of a method: ``refit=all,min_window=10``."""
    params: dict[str, Any] = {}
    for setting in filter(None, text.split(",")):
        key, equals, value = setting.partition("=")
        if not equals:
            raise InvalidParameterError(
                f"parameters of a method must have the form name=value, got {setting!r}"
            )
        try:
            params[key] = json.loads(value)
        except ValueError:
            params[key] = value
    return params
