"""Who may decide a request: models in files, and methods named by words."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar

from paretocut.background import Background
from paretocut.errors import InvalidParameterError
from paretocut.fusion import Fusion
from paretocut.loading import load_as, load_decider
from paretocut.truncators import Truncator, from_text, make, names
from paretocut.truncators.choose import Chosen
from paretocut.web.telemetry import note

_Model = TypeVar("_Model")
_NAME = re.compile(r"\w[\w.-]{0,199}")  # no path: the file is in the folder itself


class Models:
    """Truncators, backgrounds and fusions by name; a request can name no other.

    The files of ``truncators`` and ``fusions`` are read at once. ``folder`` holds more truncators
    and backgrounds, NAME.json each, which are read when a request names them; the ``most`` used
    last are kept, until their file changes.
    """

    def __init__(
        self,
        truncators: Mapping[str, str] | None = None,
        fusions: Mapping[str, str] | None = None,
        folder: str | None = None,
        most: int = 1000,
    ) -> None:
        if folder is not None and not Path(folder).is_dir():
            raise InvalidParameterError(f"--models must name a folder, got {folder}")
        self._folder = None if folder is None else Path(folder)
        self._kept = lru_cache(most)(_read)
        self._truncators = {name: _ready(path) for name, path in (truncators or {}).items()}
        self._fusions: dict[str, Fusion] = {
            name: load_as(Fusion, "a saved fusion", path, "--fusion")
            for name, path in (fusions or {}).items()
        }

    @property
    def names(self) -> list[str]:
        return sorted({*self._truncators, *self._fusions})

    def may_load(self, body: bytes) -> bool:
        """Return whether a body may name a model that has to be read from a file."""
        return self._folder is not None and b'"model"' in body

    def truncator(self, name: str) -> Truncator | Background:
        if self._folder is not None and name not in self._truncators and _NAME.fullmatch(name):
            path = self._folder / f"{name}.json"
            try:
                return self._kept(path, path.stat().st_mtime_ns)
            except FileNotFoundError:
                pass  # the error lists what there is
        more = "" if self._folder is None else " or in the folder of models"
        return _named(self._truncators, name, "model", more)

    def fusion(self, name: str) -> Fusion:
        return _named(self._fusions, name, "fusion")


def _named(known: Mapping[str, _Model], name: str, what: str, more: str = "") -> _Model:
    if name not in known:
        loaded = ", ".join(sorted(known)) or "none"
        raise InvalidParameterError(
            f"{what} must be one of those loaded at the start ({loaded}){more}, got {name[:60]!r}"
        )
    return known[name]


def _read(path: Path, changed: int) -> Truncator | Background:
    try:
        return _ready(str(path))
    except Exception as error:
        note("model", logging.ERROR, file=path.name, problem=str(error))
        raise RuntimeError("this is not the client's fault") from error


def _ready(path: str) -> Truncator | Background:
    """Return the model in a file; it must be ready to decide."""
    model = load_decider(path)
    truncator = Chosen.of("serve", {"model": model}, models=("model",)).truncator
    truncator.check()
    truncator.require_fitted()
    return model


@cache
def ready_methods() -> dict[str, str]:
    """Return the methods that cut without training, with the parameter that each needs for it."""
    made = {name: make(name) for name in names()}
    return {
        name: " or ".join(method.instead_of_fit) if method.needs_fit else ""
        for name, method in made.items()
        if not (method.needs_relevance or method.needs_embeddings)
        and (method.instead_of_fit or not method.needs_fit)
    }


def method_of(text: str) -> Truncator:
    """Return the truncator that words describe: ``surprise:alpha=0.05``; it must be ready."""
    name = text.partition(":")[0]
    if name not in ready_methods():
        listed = ", ".join(
            one + (f" (with {needs})" if needs else "") for one, needs in ready_methods().items()
        )
        raise InvalidParameterError(f"method must be one of {listed}, got {name[:60]!r}")
    truncator = from_text(text)
    truncator.check()
    return truncator
