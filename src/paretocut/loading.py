"""`paretocut.load`: any model that was saved, whatever it is."""

from __future__ import annotations

import os
from typing import Any

from paretocut.background import Background
from paretocut.errors import InvalidParameterError
from paretocut.fusion import Fusion
from paretocut.schema.files import load_model
from paretocut.stopping import Quantile
from paretocut.truncators import Truncator


def load(path: str | os.PathLike[str]) -> Truncator | Background | Fusion | Quantile:
    """Return the truncator, the background, the fusion or the stopping rule that ``save`` wrote.

    A file from a stranger can do no harm: every value in it is checked, nothing in it is run, and
    no other file is read. If ``path`` holds none of these, `DataFormatError` is raised.

    Examples
    --------
    >>> import tempfile, paretocut as pc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pc.truncators.FixedK(3).save(f"{folder}/model.json")
    ...     load(f"{folder}/model.json")
    FixedK(k=3)
    """
    found: Truncator | Background | Fusion | Quantile
    found = load_model(path, "truncator", "background", "fusion", "stopping")
    return found


def load_as(kind: Any, what: str, path: str, option: str) -> Any:
    """Return the model in a file, which must be of one kind; an option named the file."""
    found = load(path)
    if not isinstance(found, kind):
        got = f"{type(found).__name__} in {path}"
        raise InvalidParameterError(f"{option} must name {what}, got {got}")
    return found


def load_decider(path: str) -> Truncator | Background:
    """Return the model that ``--model NAME=FILE`` names."""
    what = "a saved truncator or background"
    found: Truncator | Background = load_as((Truncator, Background), what, path, "--model")
    return found
