"""Models by name, loaded at the start, and the choice of who decides a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from paretocut.decisions.options import RULES
from paretocut.errors import InvalidParameterError, NotFittedError, ParetocutError
from paretocut.fusion import Fusion
from paretocut.loading import load
from paretocut.truncators import _NEURAL, _REGISTRY, Truncator, from_text, make
from paretocut.truncators.choose import choose
from paretocut.web.schemas import Deciding

__all__ = ["Models", "chosen", "learning_methods", "load_models", "method_of", "ready_methods"]

_Model = TypeVar("_Model")

_COSTLY = ("confidence",)
"""Methods with a parameter that makes them take as much memory as a request likes."""


@dataclass(frozen=True)
class Models:
    """Truncators and fusions by name; nothing else can be named by a request."""

    truncators: Mapping[str, Truncator] = field(default_factory=dict)
    fusions: Mapping[str, Fusion] = field(default_factory=dict)

    def truncator(self, name: str) -> Truncator:
        """Return the truncator of this name."""
        return _named(self.truncators, name, "model")

    def fusion(self, name: str) -> Fusion:
        """Return the fusion of this name."""
        return _named(self.fusions, name, "fusion")


def load_models(truncators: Mapping[str, str], fusions: Mapping[str, str]) -> Models:
    """Return the models of these files, which must be able to decide at once.

    Parameters
    ----------
    truncators
        Files of saved truncators, by the name that requests give.
    fusions
        Files of saved fusions, likewise.
    """
    loaded: dict[str, Truncator] = {}
    for name, path in truncators.items():
        found = load(path)
        if not isinstance(found, Truncator):
            raise InvalidParameterError(
                f"serve: model {name} must be a saved truncator, got a "
                f"{type(found).__name__} in {path} (a fusion is given by --fusion, a background "
                "needs a truncator to gate: `paretocut fit --unanswered`)"
            )
        found._validate()
        found._require_fitted()
        loaded[name] = found
    return Models(loaded, {name: Fusion.load(path) for name, path in fusions.items()})


def chosen(models: Models, asked: Deciding) -> tuple[str, Truncator]:
    """Return who decides, by a name for the metrics, and the truncator itself.

    Parameters
    ----------
    models
        What a request may name.
    asked
        What it says.
    """
    choice = asked.choice()
    named = [name for name in ("model", "method") if getattr(asked, name) is not None]
    deciders = [*named, *(name for name in ("expect", *RULES) if name in choice)]
    if len(deciders) > 1:
        raise InvalidParameterError(
            f"cut: at most one of model, method, expect, {', '.join(RULES)} may be given, "
            f"got {' and '.join(deciders)}"
        )
    if asked.model is not None:
        choice["truncator"] = models.truncator(asked.model)
        return f"model:{asked.model}", choose("cut", **choice)
    if asked.method is not None:
        choice["truncator"] = method_of(asked.method, ready_methods())
    return deciders[0] if deciders else "default", choose("cut", **choice)


@cache
def learning_methods() -> dict[str, str]:
    """Return the methods that can be compared on judged lists, each with what it needs: nothing.

    They are quick to learn and need scores alone: no networks, and no embeddings of queries.
    """
    quick = (name for name, (kind, _) in _REGISTRY.items() if kind not in _NEURAL)
    return {
        name: ""
        for name in quick
        if name not in _COSTLY and getattr(make(name), "neighbors", None) is None
    }


@cache
def ready_methods() -> dict[str, str]:
    """Return the methods that cut without training, each with the parameter it needs for that."""
    found = {}
    for name in learning_methods():
        truncator = make(name)
        try:
            truncator.cut([3.0, 2.0, 1.0])
        except NotFittedError:
            if truncator._in_place_of_fit:
                found[name] = truncator._in_place_of_fit
        except ParetocutError:
            continue  # it needs judgements of the list that it cuts
        else:
            found[name] = ""
    return found


def method_of(text: str, known: Mapping[str, str], metric: str = "f1") -> Truncator:
    """Return the truncator that a request describes by words.

    Parameters
    ----------
    text
        Short name and parameters, as on the command line: ``surprise:alpha=0.05``.
    known
        Methods that this request may name, each with the parameter it needs, if any.
    metric
        What it shall learn, where it learns.
    """
    name = text.partition(":")[0]
    if name not in known:
        listed = ", ".join(
            one + (f" (with {needs})" if needs else "") for one, needs in known.items()
        )
        raise InvalidParameterError(f"method must be one of {listed}, got {name[:60]!r}")
    truncator = from_text(text, metric)
    if getattr(truncator, "pretrained", None) is not None:
        # No path of a request reaches the file system.
        raise InvalidParameterError(
            "method: pretrained must be left out, got a file; load it as a model at the start"
        )
    truncator._validate()
    return truncator


def _named(known: Mapping[str, _Model], name: str, what: str) -> _Model:
    if name not in known:
        raise InvalidParameterError(
            f"{what} must be one of those loaded at the start, "
            f"{', '.join(sorted(known)) or 'of which there are none'}, got {name[:60]!r}"
        )
    return known[name]
