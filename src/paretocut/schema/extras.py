"""Import of optional packages, at the moment they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from paretocut.errors import MissingExtraError


def require(module: str, *, feature: str, extra: str) -> Any:
    """Return the imported module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is there; one of its own dependencies is missing
        raise MissingExtraError(feature, package, extra) from error
