"""Who may decide a request: the models loaded at the start, and methods named by words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from paretocut.background import Background
from paretocut.errors import InvalidParameterError
from paretocut.fusion import Fusion
from paretocut.loading import load_as, load_decider
from paretocut.truncators import Truncator, from_text, make, names
from paretocut.truncators.choose import Chosen

_Model = TypeVar("_Model")


@dataclass(frozen=True)
class Models:
    """Truncators, backgrounds and fusions by name; a request can name no other."""

    truncators: Mapping[str, Truncator | Background] = field(default_factory=dict)
    fusions: Mapping[str, Fusion] = field(default_factory=dict)

    def truncator(self, name: str) -> Truncator | Background:
        """Return the truncator or background of this name."""
        return _named(self.truncators, name, "model")

    def fusion(self, name: str) -> Fusion:
        """Return the fusion of this name."""
        return _named(self.fusions, name, "fusion")


def _named(known: Mapping[str, _Model], name: str, what: str) -> _Model:
    if name not in known:
        loaded = ", ".join(sorted(known)) or "none"
        raise InvalidParameterError(
            f"{what} must be one of those loaded at the start ({loaded}), got {name[:60]!r}"
        )
    return known[name]


def load_models(truncators: Mapping[str, str], fusions: Mapping[str, str]) -> Models:
    """Return the models of these files, by name; each must be ready to decide."""
    models = Models(
        {name: load_decider(path) for name, path in truncators.items()},
        {n: load_as(Fusion, "a saved fusion", path, "--fusion") for n, path in fusions.items()},
    )
    for model in models.truncators.values():
        truncator = Chosen.of("serve", {"model": model}, models=("model",)).truncator
        truncator.check()
        truncator.require_fitted()
    return models


@cache
def learning_methods() -> dict[str, str]:
    """Return the methods that requests may compare; the parameter that each needs is empty.

    They learn quickly and from scores alone: no networks, no embeddings of queries.
    """
    methods = {name: make(name) for name in names()}
    return {
        name: ""
        for name, method in methods.items()
        if not (method.learns_slowly or method.needs_embeddings)
    }


@cache
def ready_methods() -> dict[str, str]:
    """Return the methods that cut without training, with the parameter that each needs for it."""
    found = {}
    for name in learning_methods():
        truncator = make(name)
        if truncator.needs_relevance:
            continue
        if not truncator.needs_fit:
            found[name] = ""
        elif truncator.instead_of_fit:
            found[name] = " or ".join(truncator.instead_of_fit)
    return found


def method_of(text: str, known: Mapping[str, str], metric: str = "f1") -> Truncator:
    """Return the truncator that words describe: ``surprise:alpha=0.05``; it must be known."""
    name = text.partition(":")[0]
    if name not in known:
        listed = ", ".join(
            one + (f" (with {needs})" if needs else "") for one, needs in known.items()
        )
        raise InvalidParameterError(f"method must be one of {listed}, got {name[:60]!r}")
    truncator = from_text(text, metric)
    truncator.check()
    return truncator
