"""`paretocut.load`: any model that was saved, whatever it is."""

from __future__ import annotations

import os

from paretocut.background import Background
from paretocut.fusion import Fusion
from paretocut.fusion._fitted import FORMAT as FUSION
from paretocut.schema.files import read_model
from paretocut.truncators import Truncator
from paretocut.truncators._persistence import FORMATS, restored

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Truncator | Background | Fusion:
    """Return the truncator, the background or the fusion that ``save`` wrote.

    A file from a stranger can do no harm: it is plain data, every value in it is checked, nothing
    in it is run, and no file is read but this one and the ``.safetensors`` file beside it.

    Parameters
    ----------
    path
        The JSON file; its ``.safetensors`` file, where it has one, must lie beside it.

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
    content = read_model(path, (*FORMATS, FUSION))
    if content["format"] == FUSION:
        return Fusion.restored(path, content)
    return restored(path, content)
