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

    A file from a stranger can do no harm: it is plain data, every value in it is checked, nothing
    in it is run, and no other file is read.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    DataFormatError
        For a file that holds none of these.
    InvalidParameterError
        For anything but a path.

    Examples
    --------
    >>> import tempfile, paretocut as pc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pc.truncators.FixedK(3).save(f"{folder}/model.json")
    ...     load(f"{folder}/model.json")
    FixedK(k=3)
    """
    tags = ("truncator", "background", "fusion", "stopping")
    model: Truncator | Background | Fusion | Quantile = load_model(path, *tags)
    return model


def load_as(path: str, *kinds: type, option: str) -> Any:
    """Return the model in a file that an option names; it must be of one of these kinds."""
    found = load(path)
    if not isinstance(found, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidParameterError(
            f"{option} must name a saved {wanted}, got {type(found).__name__} in {path}"
        )
    return found
